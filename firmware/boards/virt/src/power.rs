//! Why the board started, and how it ends.

use crate::machine::{POWER, Register};

// SAFETY: the test device is one register of 32 bits.
const FINISHER: Register<u32> = unsafe { Register::at(POWER) };
const PASS: u32 = 0x5555;
const FAIL: u32 = 0x3333;
const RESET: u32 = 0x7777;

/// Values of the word that outlives a reset. RAM after power-on holds neither.
const RUNNING: u32 = 0x6d63_7001;
const RESTARTING: u32 = 0x6d63_7002;

unsafe extern "C" {
    #[link_name = "_retained"]
    static RETAINED: u32;
}

fn retained() -> Register<u32> {
    // SAFETY: the linker script reserves the word for this alone.
    unsafe { Register::at(&raw const RETAINED as usize) }
}

/// Why the board started. To be called once, at start.
pub fn reset_reason() -> &'static str {
    let reason = match retained().read() {
        RUNNING => "external",
        RESTARTING => "software",
        _ => "power-on",
    };
    retained().write(RUNNING);
    reason
}

/// Powers the board off: QEMU ends with exit code 0.
pub fn off() -> ! {
    finish(PASS)
}

/// Powers the board off after a panic: QEMU ends with exit code 1.
pub fn fail() -> ! {
    finish(FAIL | 1 << 16)
}

/// Starts the board again.
pub fn restart() -> ! {
    retained().write(RESTARTING);
    finish(RESET)
}

fn finish(how: u32) -> ! {
    FINISHER.write(how);
    loop {
        riscv::asm::wfi();
    }
}
