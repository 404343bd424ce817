//! The address map of QEMU's `virt` machine, and volatile access to it.

/// CLINT: compare register of the timer, 64 bits.
pub const MTIMECMP: usize = 0x0200_4000;
/// CLINT: the timer, 64 bits, 10 MHz.
pub const MTIME: usize = 0x0200_bff8;
/// PLIC.
pub const PLIC: usize = 0x0c00_0000;
/// "SiFive test" device: power off, failure and reset.
pub const POWER: usize = 0x0010_0000;
/// 16550 UART.
pub const UART: usize = 0x1000_0000;
/// Interrupt of the UART.
pub const UART_IRQ: u32 = 10;
/// First virtio-mmio slot.
pub const VIRTIO: usize = 0x1000_1000;
/// Distance between virtio-mmio slots, bytes.
pub const VIRTIO_STRIDE: usize = 0x1000;
/// Number of virtio-mmio slots; slot `n` interrupts with number `n + 1`.
pub const VIRTIO_SLOTS: usize = 8;

/// A device register of type `T` at a fixed address.
#[derive(Clone, Copy)]
pub struct Register<T>(*mut T);

// SAFETY: device registers have no owner; there is one hart, and every access is a single load or store.
unsafe impl<T> Sync for Register<T> {}

impl<T: Copy> Register<T> {
    /// The register at `address`.
    ///
    /// # Safety
    /// `address` is a register of this width on the `virt` machine, aligned for `T`, and reading or writing it
    /// touches no memory that Rust objects live in.
    pub const unsafe fn at(address: usize) -> Self {
        Self(address as *mut T)
    }

    /// Reads it once.
    pub fn read(self) -> T {
        // SAFETY: promised in `at`.
        unsafe { self.0.read_volatile() }
    }

    /// Writes it once.
    pub fn write(self, value: T) {
        // SAFETY: promised in `at`.
        unsafe { self.0.write_volatile(value) }
    }
}
