//! The board's functions, as the device's tools call them.

use embassy_time::Instant;
use mcp_device::{Board, Led, Millis, ReadError, Stats};
use mcp_device_net::mdns::Label;

use crate::entropy::Entropy;
use crate::memory;

/// QEMU's `virt` machine as a board.
pub struct Virt {
    name: Label,
    mac: [u8; 6],
    build_id: &'static str,
    entropy: Entropy,
}

impl Virt {
    /// The board of this name and MAC address.
    pub fn new(name: Label, mac: [u8; 6], build_id: &'static str, entropy: Entropy) -> Self {
        Self {
            name,
            mac,
            build_id,
            entropy,
        }
    }
}

impl Board for Virt {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn kind(&self) -> &str {
        "virt"
    }

    fn chip(&self) -> &str {
        if cfg!(target_feature = "a") {
            "riscv32imac"
        } else {
            "riscv32imc"
        }
    }

    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn build_id(&self) -> &str {
        self.build_id
    }

    async fn read_sensor(&self, channel: &str) -> Result<f32, ReadError> {
        mcp_hil_board_simulated::read_sensor(channel, now())
    }

    fn sensor_fitted(&self, channel: &str) -> bool {
        mcp_hil_board_simulated::sensor_fitted(channel)
    }

    fn set_led(&self, _: Led) {
        // The machine has none; the device keeps its state.
    }

    fn stats(&self) -> Stats {
        Stats {
            heap_used: memory::heap_used(),
            heap_peak: memory::heap_peak(),
        }
    }

    fn entropy(&self) -> u32 {
        self.entropy.next_u32()
    }
}

/// Time since the board started.
pub fn now() -> Millis {
    Millis(Instant::now().as_millis())
}
