//! The console: UART0, and beside it the chip's own USB port, which is all that many boards have. Nothing here waits for
//! long: a host may be away, or there without reading.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use esp_hal::peripherals::USB_DEVICE;
use esp_hal::time::{Duration, Instant};
use esp_println::Printer;

/// For a host to take what the port holds. A host that reads asks every millisecond.
const PATIENCE: Duration = Duration::from_millis(20);

/// The host has let the port fill up. Until it takes something nothing waits for it again.
static IS_STUCK: AtomicBool = AtomicBool::new(false);

/// Prints one line on the console.
#[macro_export]
macro_rules! console {
    ($($arguments:tt)*) => { $crate::console::line(format_args!($($arguments)*)) };
}

/// Writes a line to both.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(Printer, "{text}"); // neither can fail
    if is_host_there() {
        let _ = writeln!(Usb, "{text}");
        send();
    }
}

/// Whether a host has ever started a frame on the port, which it does every millisecond.
fn is_host_there() -> bool {
    USB_DEVICE::regs().int_raw().read().sof().bit_is_set()
}

struct Usb;

impl Write for Usb {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if !has_room() && !wait_for_room() {
                break;
            }
            // SAFETY: any byte may be sent.
            USB_DEVICE::regs()
                .ep1()
                .write(|register| unsafe { register.rdwr_byte().bits(byte) });
        }
        Ok(())
    }
}

fn has_room() -> bool {
    let room = USB_DEVICE::regs()
        .ep1_conf()
        .read()
        .serial_in_ep_data_free()
        .bit_is_set();
    if room {
        IS_STUCK.store(false, Ordering::Relaxed);
    }
    room
}

/// Sends what the full port holds; whether that went.
fn wait_for_room() -> bool {
    if IS_STUCK.load(Ordering::Relaxed) {
        return false;
    }
    send();
    let begun = Instant::now();
    while !has_room() {
        if begun.elapsed() > PATIENCE {
            IS_STUCK.store(true, Ordering::Relaxed);
            return false;
        }
    }
    true
}

fn send() {
    USB_DEVICE::regs()
        .ep1_conf()
        .modify(|_, register| register.wr_done().set_bit());
}
