//! Finds virtio devices on the machine's mmio slots and lends them memory.

use core::ptr::NonNull;

use embassy_sync::waitqueue::AtomicWaker;
use portable_atomic::{AtomicUsize, Ordering};
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::{BufferDirection, PAGE_SIZE, PhysAddr};

use crate::machine::{Register, VIRTIO, VIRTIO_SLOTS, VIRTIO_STRIDE};

/// Woken when a device interrupts: an answer, a frame, or a change of the link.
pub static WAKER: AtomicWaker = AtomicWaker::new();

/// The first device of a kind: the slot it sits in, and its transport.
pub fn find(kind: DeviceType) -> Option<(usize, MmioTransport<'static>)> {
    // A transport resets its device when it is dropped, so none is made to ask what a slot holds.
    let slot = (0..VIRTIO_SLOTS).find(|slot| device_id(*slot) == kind as u32)?;
    let header = NonNull::new(base(slot) as *mut VirtIOHeader)?;
    // SAFETY: the slot's registers and configuration space, which are there for ever.
    let transport = unsafe { MmioTransport::new(header, VIRTIO_STRIDE) }.ok()?;
    Some((slot, transport))
}

fn device_id(slot: usize) -> u32 {
    // SAFETY: DeviceID of the slot; 0 where the slot is empty.
    unsafe { Register::<u32>::at(base(slot) + 0x8) }.read()
}

/// A byte of a device's configuration space, read past the transport.
pub fn config(slot: usize, offset: usize) -> Register<u8> {
    // SAFETY: the configuration space starts at 0x100 and is made of bytes.
    unsafe { Register::at(base(slot) + 0x100 + offset) }
}

/// The device in `slot` interrupted.
pub fn interrupt(slot: usize) {
    // SAFETY: InterruptStatus and InterruptACK of the slot.
    let (status, acknowledge) = unsafe {
        (
            Register::<u32>::at(base(slot) + 0x60),
            Register::<u32>::at(base(slot) + 0x64),
        )
    };
    acknowledge.write(status.read());
    WAKER.wake();
}

const fn base(slot: usize) -> usize {
    VIRTIO + slot * VIRTIO_STRIDE
}

/// Pages for queues: two for each of the network's two and the random numbers' one.
const PAGES: usize = 6;

#[repr(C, align(4096))]
struct Pages([u8; PAGES * PAGE_SIZE]);

static mut MEMORY: Pages = Pages([0; PAGES * PAGE_SIZE]);

/// Queue memory, handed out once and never returned: the devices live as long as the board.
pub struct Memory;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: pages come from a static of their own, zeroed and aligned, each handed out once; physical and virtual
// addresses are the same.
unsafe impl virtio_drivers::Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        let first = TAKEN.fetch_add(pages, Ordering::Relaxed);
        assert!(
            first + pages <= PAGES,
            "queue memory is used up: {PAGES} pages are too few"
        );
        // SAFETY: within the static, by the assertion above.
        let page = unsafe { NonNull::new_unchecked((&raw mut MEMORY).cast::<u8>().add(first * PAGE_SIZE)) };
        (page.as_ptr() as PhysAddr, page)
    }

    unsafe fn dma_dealloc(_: PhysAddr, _: NonNull<u8>, _: usize) -> i32 {
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unreachable!("asked for by the PCI transport only")
    }

    unsafe fn share(buffer: NonNull<[u8]>, _: BufferDirection) -> PhysAddr {
        buffer.cast::<u8>().as_ptr() as PhysAddr
    }

    unsafe fn unshare(_: PhysAddr, _: NonNull<[u8]>, _: BufferDirection) {}
}
