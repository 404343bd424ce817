//! The heap with its figures, the painted stack, and write protection of code and constants.

use core::alloc::{GlobalAlloc, Layout};
use core::fmt;
use core::mem::MaybeUninit;

use embedded_alloc::LlffHeap;
use portable_atomic::{AtomicUsize, Ordering};
use riscv::register::{Permission, Range, pmpaddr0, pmpcfg0};

/// Size of the heap, bytes.
const HEAP_SIZE: usize = 52 * 1024;

#[unsafe(link_section = ".uninit.heap")]
static mut HEAP_SPACE: [MaybeUninit<u8>; HEAP_SIZE] = [MaybeUninit::uninit(); HEAP_SIZE];

#[global_allocator]
static HEAP: Heap = Heap {
    inner: LlffHeap::empty(),
    peak: AtomicUsize::new(0),
};

/// An allocator that knows its largest use.
struct Heap {
    inner: LlffHeap,
    peak: AtomicUsize,
}

// SAFETY: every request is passed on unchanged.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the one asked for.
        let block = unsafe { self.inner.alloc(layout) };
        self.peak.fetch_max(self.inner.used(), Ordering::Relaxed);
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { self.inner.dealloc(block, layout) }
    }
}

/// Bytes of heap in use now.
pub fn heap_used() -> usize {
    HEAP.inner.used()
}

/// Largest use of the heap since start, bytes.
pub fn heap_peak() -> usize {
    HEAP.peak.load(Ordering::Relaxed)
}

/// Written over the unused stack at start; what has changed was used.
const PAINT: u32 = 0xa5a5_a5a5;

unsafe extern "C" {
    #[link_name = "_stack_end"]
    static STACK_END: u32;
    #[link_name = "_stack_start"]
    static STACK_START: u32;
    #[link_name = "__sdata"]
    static DATA_START: u32;
    #[link_name = "__ebss"]
    static BSS_END: u32;
    #[link_name = "__stext"]
    static FLASH_START: u32;
}

/// Sets up heap, paint and protection. To be called once, first thing.
pub fn init() {
    // SAFETY: nothing else names the space, and this runs once.
    unsafe { HEAP.inner.init(&raw mut HEAP_SPACE as usize, HEAP_SIZE) };
    paint_stack();
    protect_flash();
}

#[inline(never)]
fn paint_stack() {
    /// Room for this function's own frame, words.
    const MARGIN: usize = 32;
    let here: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mv {}, sp", out(reg) here) };
    let mut word = (&raw const STACK_END).cast_mut();
    let end = (here as *mut u32).wrapping_sub(MARGIN);
    while word < end {
        // SAFETY: below the stack pointer nothing lives.
        unsafe { word.write_volatile(PAINT) };
        word = word.wrapping_add(1);
    }
}

/// Size of the mebibyte that plays the part of flash.
const FLASH_SIZE: usize = 1 << 20;

/// Locks code and constants as read-only: a stray write, or a stack that grows into them, is an exception.
fn protect_flash() {
    let napot = (&raw const FLASH_START as usize >> 2) | ((FLASH_SIZE >> 3) - 1);
    // SAFETY: nothing writes there from here on.
    unsafe {
        pmpaddr0::write(napot);
        pmpcfg0::set_pmp(0, Range::NAPOT, Permission::RX, true);
    }
}

/// Where the stack's memory begins and ends.
pub fn stack() -> (usize, usize) {
    (&raw const STACK_END as usize, &raw const STACK_START as usize)
}

/// Whether `address` lies where an overflowing stack would write next.
pub fn is_stack_guard(address: usize) -> bool {
    (&raw const FLASH_START as usize..&raw const STACK_END as usize).contains(&address)
}

/// What the board uses of its RAM, displayed as one line of `name=bytes`.
pub struct Figures {
    /// Variables: `.data` and `.bss`, heap and stack not counted.
    variables: usize,
    stack: usize,
    stack_peak: usize,
    heap_used: usize,
    heap_peak: usize,
}

impl Figures {
    /// The figures at this moment.
    pub fn now() -> Self {
        Self {
            variables: &raw const BSS_END as usize - &raw const DATA_START as usize,
            stack: &raw const STACK_START as usize - &raw const STACK_END as usize,
            stack_peak: stack_peak(),
            heap_used: heap_used(),
            heap_peak: heap_peak(),
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            variables,
            stack,
            stack_peak,
            heap_used,
            heap_peak,
        } = self;
        write!(f, "static={variables} stack={stack} stack_peak={stack_peak} ")?;
        write!(f, "heap={HEAP_SIZE} heap_used={heap_used} heap_peak={heap_peak}")
    }
}

/// Most stack used since start, bytes.
fn stack_peak() -> usize {
    let mut word = &raw const STACK_END;
    // SAFETY: the stack is plain memory; only its unused part is read.
    while word < &raw const STACK_START && unsafe { word.read_volatile() } == PAINT {
        word = word.wrapping_add(1);
    }
    &raw const STACK_START as usize - word as usize
}
