//! Time: embassy's driver on the CLINT's 10 MHz timer.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::{CriticalSection, Mutex};
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use riscv_rt::core_interrupt;

use crate::machine::{MTIME, MTIMECMP, Register};

struct Clock {
    queue: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock { queue: Mutex::new(RefCell::new(Queue::new())) });

// SAFETY: the halves of the CLINT's 64-bit registers are registers of 32 bits.
const TIME: [Register<u32>; 2] = unsafe { [Register::at(MTIME), Register::at(MTIME + 4)] };
// SAFETY: as above.
const COMPARE: [Register<u32>; 2] = unsafe { [Register::at(MTIMECMP), Register::at(MTIMECMP + 4)] };

impl Clock {
    fn rearm(&self, cs: CriticalSection) {
        let at = self.queue.borrow(cs).borrow_mut().next_expiration(self.now());
        // The upper half goes to the far future first, so that no half-written value fires.
        COMPARE[1].write(u32::MAX);
        COMPARE[0].write(at as u32);
        COMPARE[1].write((at >> 32) as u32);
    }
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        loop {
            let high = TIME[1].read();
            let low = TIME[0].read();
            if TIME[1].read() == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let earlier = self.queue.borrow(cs).borrow_mut().schedule_wake(at, waker);
            if earlier {
                self.rearm(cs);
            }
        });
    }
}

#[core_interrupt(riscv::interrupt::Interrupt::MachineTimer)]
fn timer() {
    critical_section::with(|cs| CLOCK.rearm(cs));
}
