//! QEMU's `virt` machine: heap, console, timer, power, and memory for its devices.

use alloc::string::String;
use core::fmt::{self, Write as _};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use embedded_alloc::LlffHeap;
use mcp_device::Millis;
use riscv::register::mie;
use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

const UART: *mut u8 = 0x1000_0000 as *mut u8;
const POWER: *mut u32 = 0x10_0000 as *mut u32;
const POWER_OFF: u32 = 0x5555;
const TIMER: *const u32 = 0x0200_bff8 as *const u32;
const TIMER_COMPARE: *mut u32 = 0x0200_4000 as *mut u32;
const TICKS_PER_MS: u64 = 10_000;
const HEAP: usize = 1 << 20;

#[global_allocator]
static ALLOCATOR: LlffHeap = LlffHeap::empty();

/// To be called once, first thing.
pub fn init() {
    static mut MEMORY: [MaybeUninit<u8>; HEAP] = [MaybeUninit::uninit(); HEAP];
    // SAFETY: once, and nothing else uses the memory.
    unsafe { ALLOCATOR.init(&raw mut MEMORY as usize, HEAP) };
}

/// The 16550, which takes bytes as fast as they come here.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: the transmit register.
        text.bytes().for_each(|byte| unsafe { UART.write_volatile(byte) });
        Ok(())
    }
}

/// A line on the console.
macro_rules! println {
    ($($text:tt)*) => {{
        use core::fmt::Write as _;
        let _ = writeln!($crate::machine::Console, $($text)*);
    }};
}
pub(crate) use println;

/// Time since the start.
pub fn now() -> Millis {
    Millis(ticks() / TICKS_PER_MS)
}

fn ticks() -> u64 {
    loop {
        // SAFETY: the halves of a register that counts.
        let [high, low, again] = [1, 0, 1].map(|half| unsafe { TIMER.add(half).read_volatile() });
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// Sleeps. The timer's interrupt ends that without being served, because interrupts are off.
pub fn sleep(time: Duration) {
    let at = ticks() + time.as_millis() as u64 * TICKS_PER_MS;
    // SAFETY: the halves of the compare register, the upper one in the far future meanwhile.
    unsafe {
        TIMER_COMPARE.add(1).write_volatile(u32::MAX);
        TIMER_COMPARE.write_volatile(at as u32);
        TIMER_COMPARE.add(1).write_volatile((at >> 32) as u32);
        mie::set_mtimer();
    }
    riscv::asm::wfi();
}

/// Ends QEMU.
pub fn power_off() -> ! {
    // SAFETY: the machine's power register.
    unsafe { POWER.write_volatile(POWER_OFF) };
    loop {
        riscv::asm::wfi();
    }
}

/// GNU build id of this image, in lowercase hex.
pub fn build_id() -> String {
    unsafe extern "C" {
        #[link_name = "_build_id_note"]
        static NOTE: [u8; 36]; // a head of 16 bytes, then SHA-1
    }
    let mut text = String::new();
    // SAFETY: `build-id.x` keeps the note there.
    for byte in unsafe { &NOTE[16..] } {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

const PAGES: usize = 8;

#[repr(C, align(4096))]
struct Pages([u8; PAGES * PAGE_SIZE]);

/// Memory that devices write to. The network's queues are all there are, and stay for ever.
pub struct DeviceMemory;

// SAFETY: zeroed pages of their own, each given once, where physical and virtual addresses are one.
unsafe impl Hal for DeviceMemory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        static mut POOL: Pages = Pages([0; PAGES * PAGE_SIZE]);
        static TAKEN: AtomicUsize = AtomicUsize::new(0);
        let first = TAKEN.load(Ordering::Relaxed);
        TAKEN.store(first + pages, Ordering::Relaxed);
        assert!(first + pages <= PAGES, "more pages than {PAGES} are needed");
        // SAFETY: within the pool.
        let page = unsafe { NonNull::new_unchecked((&raw mut POOL).cast::<u8>().add(first * PAGE_SIZE)) };
        (page.as_ptr() as PhysAddr, page)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unreachable!("asked for on PCI only")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
