//! The console: QEMU's 16550 UART. Lines out are written at once; bytes in come by interrupt.

use core::fmt;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;

use crate::machine::{Register, UART};

// SAFETY: the 16550's registers are bytes.
const DATA: Register<u8> = unsafe { Register::at(UART) };
// SAFETY: as above.
const INTERRUPT_ENABLE: Register<u8> = unsafe { Register::at(UART + 1) };
// SAFETY: as above.
const LINE_STATUS: Register<u8> = unsafe { Register::at(UART + 5) };

const RECEIVED: u8 = 1;
const TRANSMITTER_EMPTY: u8 = 1 << 5;

/// Longest command line, bytes.
pub const LINE: usize = 64;

static INPUT: Channel<CriticalSectionRawMutex, u8, LINE> = Channel::new();

/// Writes to the UART.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            while LINE_STATUS.read() & TRANSMITTER_EMPTY == 0 {}
            DATA.write(byte);
        }
        Ok(())
    }
}

/// Prints one line on the console.
#[macro_export]
macro_rules! console {
    ($($arguments:tt)*) => {{
        use core::fmt::Write as _;
        let _ = writeln!($crate::console::Console, $($arguments)*); // it can't fail
    }};
}

/// Lets the UART interrupt when a byte has come.
pub fn listen() {
    INTERRUPT_ENABLE.write(RECEIVED);
}

/// The UART interrupted: takes what it holds. Bytes nobody has room for are lost, as on any UART.
pub fn interrupt() {
    while LINE_STATUS.read() & RECEIVED != 0 {
        let _ = INPUT.try_send(DATA.read());
    }
}

/// The next line typed, without its end. What is longer than [`LINE`] is cut.
pub async fn read_line(line: &mut [u8; LINE]) -> &[u8] {
    let mut length = 0;
    loop {
        match INPUT.receive().await {
            b'\r' | b'\n' if length > 0 => return &line[..length],
            b'\r' | b'\n' => {}
            byte if length < LINE => {
                line[length] = byte;
                length += 1;
            }
            _ => {}
        }
    }
}
