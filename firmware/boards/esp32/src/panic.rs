//! The end of a panic, which a CPU exception is as well: a backtrace on the console, and a reset by software.

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

use esp_backtrace::Backtrace;
use esp_hal::delay::Delay;

use crate::console;

/// For the UART to send its last bytes, which it holds 128 of, and for a person to read: a board that panics at each
/// start must not flood its console. Milliseconds.
const PAUSE: u32 = 500;

/// A panic within a panic, such as a backtrace through a broken stack, must not go round for ever.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    // Not `swap`: the C3 has no such instruction, and nothing runs beside a panic that panics too.
    if IS_ENDING.load(Ordering::Relaxed) {
        esp_hal::system::software_reset();
    }
    IS_ENDING.store(true, Ordering::Relaxed);
    match info.location() {
        Some(place) => console!("mcp-device panic at {place}: {}", info.message()),
        None => console!("mcp-device panic: {}", info.message()),
    }
    for frame in Backtrace::capture().frames() {
        console!("mcp-device backtrace {:#010x}", frame.program_counter());
    }
    Delay::new().delay_millis(PAUSE);
    esp_hal::system::software_reset()
}
