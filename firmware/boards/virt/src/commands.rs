//! The command line on the console.

use core::num::NonZeroU32;

use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;

use mcp_hil_board_network::listener;

use crate::{Connections, console, memory};

/// Largest factor for time limits.
const MAX_FACTOR: u32 = 100;

/// How the board ends.
pub enum End {
    Off,
    Restart,
}

/// Set once the board is told to end.
pub static END: Signal<CriticalSectionRawMutex, End> = Signal::new();

/// Obeys, line by line.
#[embassy_executor::task]
pub async fn obey(connections: &'static Connections) {
    let mut line = [0; console::LINE];
    loop {
        let line = console::read_line(&mut line).await;
        match line {
            b"stats" => console!("mcp-device stats {}", memory::Figures::now()),
            b"restart" => END.signal(End::Restart),
            b"shutdown" => END.signal(End::Off),
            _ => match line.strip_prefix(b"deadline-factor ").map(factor) {
                Some(Some(factor)) => {
                    connections.stretch_deadlines(factor);
                    listener::stretch_deadlines(factor);
                    console!("mcp-device deadline-factor {factor}");
                }
                Some(None) => {
                    console!("mcp-device warning: deadline-factor takes a number from 1 to {MAX_FACTOR}")
                }
                None => console!(
                    "mcp-device unknown command `{}`: stats, restart, shutdown, deadline-factor N",
                    line.escape_ascii()
                ),
            },
        }
    }
}

/// Digits alone, and no more than the largest factor.
fn factor(text: &[u8]) -> Option<NonZeroU32> {
    let is_plain = text.iter().all(u8::is_ascii_digit);
    let number = core::str::from_utf8(text)
        .ok()
        .filter(|_| is_plain)?
        .parse()
        .ok()?;
    NonZeroU32::new(number).filter(|factor| factor.get() <= MAX_FACTOR)
}
