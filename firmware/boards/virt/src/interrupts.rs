//! External interrupts through the PLIC, and what is reported when the processor faults.

use core::mem::size_of;

use riscv::register::{mcause, mepc, mie, mtval};
use riscv_rt::core_interrupt;

use crate::machine::{PLIC, Register, UART_IRQ, VIRTIO_SLOTS};
use crate::{console, memory, virtio};

const fn plic(offset: usize) -> Register<u32> {
    // SAFETY: the offsets below are the PLIC's 32-bit registers for hart 0 in machine mode.
    unsafe { Register::at(PLIC + offset) }
}

const ENABLE: Register<u32> = plic(0x2000);
const THRESHOLD: Register<u32> = plic(0x20_0000);
const CLAIM: Register<u32> = plic(0x20_0004);

/// Opens the timer's, the UART's and the virtio slots' interrupts.
pub fn enable() {
    let virtio = 1..=VIRTIO_SLOTS as u32;
    let mut mask = 0;
    for irq in virtio.chain([UART_IRQ]) {
        plic(irq as usize * size_of::<u32>()).write(1);
        mask |= 1 << irq;
    }
    ENABLE.write(mask);
    THRESHOLD.write(0);
    // SAFETY: every handler is in place, and none of them touches what an interrupted critical section guards.
    unsafe {
        mie::set_mtimer();
        mie::set_mext();
        riscv::interrupt::enable();
    }
}

#[core_interrupt(riscv::interrupt::Interrupt::MachineExternal)]
fn external() {
    loop {
        match CLAIM.read() {
            0 => return,
            irq => {
                if irq == UART_IRQ {
                    console::interrupt()
                } else {
                    virtio::interrupt(irq as usize - 1)
                }
                CLAIM.write(irq);
            }
        }
    }
}

/// Called by riscv-rt for every exception: all of them are bugs, and the report is a panic's.
#[unsafe(no_mangle)]
#[allow(non_snake_case)] // the name riscv-rt looks for
extern "C" fn ExceptionHandler(_frame: &riscv_rt::TrapFrame) -> ! {
    let (cause, at, value) = (mcause::read().code(), mepc::read(), mtval::read());
    if memory::is_stack_guard(value) {
        panic!("stack overflow at {at:#010x}");
    }
    panic!("exception {cause} at {at:#010x}, value {value:#010x}");
}

// On an overflow there is no stack left to report it on: an exception that finds the stack pointer at the limit
// moves to a small one of its own. It never returns, so the old pointer need not be kept. Interrupts stay where
// they are: they return, and if they overflow, that is an exception.
core::arch::global_asm!(
    ".section .trap.start, \"ax\"
.global _pre_default_start_trap
_pre_default_start_trap:
    csrw mscratch, t0
    csrr t0, mcause
    bltz t0, 1f
    la t0, _stack_end + 256
    bgeu sp, t0, 1f
    la sp, {stack} + {size}
1:  csrr t0, mscratch
    j _pre_default_start_trap_ret",
    stack = sym TRAP_STACK,
    size = const TRAP_STACK_SIZE,
);

const TRAP_STACK_SIZE: usize = 1024;

#[repr(C, align(16))]
struct TrapStack([u8; TRAP_STACK_SIZE]);

static mut TRAP_STACK: TrapStack = TrapStack([0; TRAP_STACK_SIZE]);
