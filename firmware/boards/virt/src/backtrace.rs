//! Who called whom, for a panic: the chain of frame pointers, which the build keeps (`.cargo/config.toml`).

use crate::memory::stack;

/// So many callers are told.
const DEPTH: usize = 24;
/// A call is never at address 0, and the code of `virt` begins where its memory does.
const CODE: usize = 0x8000_0000;

/// Return addresses, the innermost first, each moved back into the call that it returns from.
pub fn callers() -> impl Iterator<Item = usize> {
    let mut frame: usize;
    // SAFETY: reads a register.
    unsafe { core::arch::asm!("mv {}, s0", out(reg) frame) };
    core::iter::from_fn(move || {
        // RISC-V psABI, "Frame Pointer Convention": above the return address and the caller's frame pointer
        let (bottom, top) = stack();
        if !frame.is_multiple_of(4) || frame < bottom + 8 || frame > top {
            return None;
        }
        let words = frame as *const usize;
        // SAFETY: both words lie within the stack, which is plain memory, and are aligned.
        let (back, next) = unsafe { (words.sub(1).read(), words.sub(2).read()) };
        // the stack grows down: a caller's frame lies above
        frame = if next > frame { next } else { 0 };
        (back > CODE).then(|| back - 2)
    })
    .take(DEPTH)
}
