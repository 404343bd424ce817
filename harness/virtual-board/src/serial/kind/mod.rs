//! What sits behind a virtual board's serial port. Another kind is one more file here.

mod virt;

use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

pub(super) use self::virt::Virt;
use super::fault::Fault;
use super::loader::Effect;
use super::{Cause, Mode};
use crate::Error;

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
    /// A process whose standard streams are the line.
    Guest(Command),
    /// Another reset, so much later.
    Again { cause: Cause, after: Duration },
}
