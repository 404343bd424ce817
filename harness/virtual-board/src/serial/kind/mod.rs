//! What sits behind a virtual board's serial port. Another kind is one more file here
//! and a line in [`Choice`].

mod chip;
mod virt;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use self::chip::Chip;
pub use self::chip::{Emulator, Flavour, NoEmulator};
use self::virt::Virt;
use super::fault::Fault;
use super::loader::Effect;
use super::{Cause, Mode};
use crate::Error;
use crate::machine::Wire;
use crate::plan::Mac;

/// Which kind a board is of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Our loader, and QEMU's `virt` machine for firmware of the `virt` board.
    #[default]
    Virt,
    /// An emulator of the genuine ESP32-C3, for its own firmware.
    Chip(Emulator),
}

impl Choice {
    pub(super) fn make(&self, folder: &Path, mac: Mac, wire: Option<Wire>) -> Result<Box<dyn Kind>, Error> {
        Ok(match self {
            Choice::Virt => Box::new(Virt::new(folder, mac, wire)?),
            Choice::Chip(emulator) => Box::new(Chip::new(folder, mac, wire, emulator)?),
        })
    }
}

/// A kind of board.
pub(super) trait Kind: Send {
    /// Resets the chip, which ends whatever ran on it.
    fn reset(&mut self, mode: Mode, cause: Cause, fault: Option<Fault>) -> Result<Next, Error>;

    /// Takes bytes of the host, after [`Then::Load`].
    fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Effect>, Error>;

    /// How many blocks of data for the flash it has taken since the last reset.
    fn blocks(&self) -> usize;

    /// Why the chip resets when its guest has ended so, and how much later; none when it stays off.
    fn ended(&self, status: ExitStatus) -> Option<(Cause, Duration)>;

    /// The file with the flash's content.
    fn flash(&self) -> &Path;

    /// Where its MCP endpoint is reached if it is not at the board's address on the network.
    fn endpoint(&self) -> Option<SocketAddr> {
        None
    }
}

/// What a reset leads to.
pub(super) struct Next {
    /// For the console.
    pub text: String,
    pub then: Then,
}

pub(super) enum Then {
    /// Bytes of the host go to [`Kind::receive`].
    Load,
    /// A process with the line's other end.
    Guest(Box<Command>, Line),
    /// Another reset, so much later.
    Again { cause: Cause, after: Duration },
}

/// Where a guest has its UART.
pub(super) enum Line {
    /// On its standard streams.
    Streams,
    /// It listens there. What it says itself is in the file.
    Tcp(SocketAddr, PathBuf),
}
