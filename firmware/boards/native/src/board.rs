//! The board's functions, simulated.

use embassy_time::Instant;
use mcp_device::{Board, Led, Millis, ReadError, Stats};

use crate::HEAP;

/// A board made of software.
pub struct Native {
    /// Host name without `.local`.
    pub name: String,
    /// MAC address to report.
    pub mac: [u8; 6],
    /// GNU build id in hex.
    pub build_id: String,
}

impl Board for Native {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &str {
        "native"
    }

    fn chip(&self) -> &str {
        std::env::consts::ARCH
    }

    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn build_id(&self) -> &str {
        &self.build_id
    }

    async fn read_sensor(&self, channel: &str) -> Result<f32, ReadError> {
        mcp_hil_board_simulated::read_sensor(channel, Millis(Instant::now().as_millis()))
    }

    fn sensor_fitted(&self, channel: &str) -> bool {
        mcp_hil_board_simulated::sensor_fitted(channel)
    }

    fn set_led(&self, _: Led) {
        // No LED: the device remembers its state.
    }

    fn stats(&self) -> Stats {
        Stats {
            heap_used: HEAP.current_usage(),
            heap_peak: HEAP.peak_usage(),
        }
    }

    #[allow(clippy::panic)] // an answer here that an observer could guess would be worse than none
    fn entropy(&self) -> u32 {
        getrandom::u32().unwrap_or_else(|error| panic!("the kernel gives no random numbers: {error}"))
    }
}
