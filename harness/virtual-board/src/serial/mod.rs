//! The serial side of a virtual board: a pseudo-terminal that behaves as the UART of an ESP32-C3.
//!
//! ```text
//!  flashing tool, monitor
//!        │ pty
//!      port ──── board: one thread, one poll
//!                  │ bytes, resets          ▲ text, effects
//!                 kind ──── loader ── flash (a file of 4 MiB)
//!                  │           boot ── image, partitions
//!                 guest: QEMU, its UART is the console
//! ```
//!
//! [`loader`], [`boot`] and what they stand on are pure: bytes in, bytes and effects out.

pub mod board;
pub mod boot;
mod cable;
mod failing;
pub mod fault;
pub mod flash;
mod guest;
pub mod image;
pub mod kind;
pub mod loader;
mod machine;
pub mod packet;
pub mod partitions;
mod port;
mod program;
pub mod registers;
pub mod slip;
mod switch;
mod transfer;

use std::fmt;

/// The boot switch: what the strap pin tells the chip at a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Boot from flash.
    Run,
    /// Wait for a flashing tool.
    Download,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Run => "0xc (SPI_FAST_FLASH_BOOT)",
            Mode::Download => "0x4 (DOWNLOAD(USB/UART0/1))",
        })
    }
}

/// Why a chip was reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Power, or the reset pin.
    PowerOn,
    /// Software reset everything; the bootloader does when it finds nothing to boot.
    System,
    /// Software reset the processor; a program does after a panic.
    Processor,
    /// The watchdog, which the ROM leaves to bite when it finds nothing to boot.
    Watchdog,
    /// The watchdog of the RTC.
    RtcWatchdog,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::PowerOn => "0x1 (POWERON)",
            Cause::System => "0x3 (RTC_SW_SYS_RST)",
            Cause::Processor => "0xc (RTC_SW_CPU_RST)",
            Cause::Watchdog => "0x7 (TG0WDT_SYS_RST)",
            Cause::RtcWatchdog => "0x10 (RTCWDT_RTC_RST)",
        })
    }
}
