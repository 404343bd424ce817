//! Random numbers from the host, through virtio-rng.

use core::cell::RefCell;

use virtio_drivers::device::rng::VirtIORng;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use crate::virtio::{self, Memory};

/// The random number device.
pub struct Entropy(RefCell<VirtIORng<Memory, MmioTransport<'static>>>);

impl Entropy {
    /// Finds the device.
    ///
    /// # Panics
    /// Where QEMU was started without one: a board with numbers that can be guessed must not come up.
    pub fn find() -> Self {
        let Some((_, transport)) = virtio::find(DeviceType::EntropySource) else {
            panic!("no random number device: start QEMU with -device virtio-rng-device");
        };
        match VirtIORng::new(transport) {
            Ok(device) => Self(RefCell::new(device)),
            Err(error) => panic!("the random number device did not start: {error}"),
        }
    }

    /// Four bytes that an observer can't guess.
    pub fn next_u32(&self) -> u32 {
        let mut bytes = [0; 4];
        let mut filled = 0;
        while filled < bytes.len() {
            match self.0.borrow_mut().request_entropy(&mut bytes[filled..]) {
                Ok(length) => filled += length,
                Err(error) => panic!("the random number device failed: {error}"),
            }
        }
        u32::from_le_bytes(bytes)
    }

    /// Eight such bytes.
    pub fn next_u64(&self) -> u64 {
        u64::from(self.next_u32()) << 32 | u64::from(self.next_u32())
    }
}
