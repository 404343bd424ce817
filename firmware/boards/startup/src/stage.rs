//! What the console tells of the configuration and the station, beside the boot stages of all boards. Never the name of
//! the network, a password or a token.

use core::fmt;

use mcp_device::Millis;

use crate::configuration::{Configuration, ConfigurationError, Wifi};
use crate::station::{Event, Step};

/// What has become of the sector, displayed as its boot stage: `mcp-device boot stage=configuration state=ok`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The board goes on with what it says.
    Ok,
    /// There is none, or not what this board can't do without.
    Missing,
    /// The board waits: who knows what it was to say.
    Bad,
}

/// Why a board waits. Displayed as its console line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfigured {
    /// There is no sector that could be read.
    Sector(ConfigurationError),
    /// The sector names no network.
    NoNetwork,
}

/// A sector, or why there is none to go by.
pub type Sector<'a> = Result<Configuration<'a>, ConfigurationError>;

/// The start of a board that has only Wi-Fi: it must be told its network.
pub fn wireless(sector: Sector<'_>) -> (State, Result<(Wifi<'_>, Configuration<'_>), Unconfigured>) {
    match sector {
        Ok(configuration) => match configuration.wifi {
            Some(wifi) => (State::Ok, Ok((wifi, configuration))),
            None => (State::Missing, Err(Unconfigured::NoNetwork)),
        },
        Err(error @ ConfigurationError::Missing) => (State::Missing, Err(Unconfigured::Sector(error))),
        Err(error) => (State::Bad, Err(Unconfigured::Sector(error))),
    }
}

/// The start of a board that has a cable: without a sector it goes by the defaults. A damaged one may have asked for a
/// token, so the board does not go on without it.
pub fn wired(sector: Sector<'_>) -> (State, Result<Configuration<'_>, Unconfigured>) {
    match sector {
        Ok(configuration) => (State::Ok, Ok(configuration)),
        Err(ConfigurationError::Missing) => (State::Missing, Ok(Configuration::default())),
        Err(error) => (State::Bad, Err(Unconfigured::Sector(error))),
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self {
            Self::Ok => "ok",
            Self::Missing => "missing",
            Self::Bad => "bad",
        };
        write!(f, "mcp-device boot stage=configuration state={state}")
    }
}

impl fmt::Display for Unconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mcp-device warning: configuration: ")?;
        match self {
            Self::Sector(error) => write!(f, "{error}")?,
            Self::NoNetwork => f.write_str("it names no network")?,
        }
        f.write_str("; write a configuration sector, and reset the board")
    }
}

/// What the station has come to, displayed as its console line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<'a> {
    /// The boot stage: `mcp-device boot stage=joined`.
    Joined,
    /// The board is out of its network, or never was in it, and when it tries again.
    Out {
        /// In the radio driver's words.
        reason: &'a str,
        /// From now on, milliseconds.
        pause: u64,
    },
    /// It leaves a network that gave no address, or stops joining.
    Leaving {
        /// Whether it had joined.
        joined: bool,
    },
    /// It restarts the board.
    Restarting,
}

impl<'a> Told<'a> {
    /// What is to be told when `event` has led from one step to another; `reason` is why the radio is out.
    pub fn of(from: Step, event: Event, to: Step, reason: &'a str, now: Millis) -> Option<Self> {
        match (from, event, to) {
            (Step::Join { .. }, Event::Joined, _) => Some(Self::Joined),
            (Step::Join { .. } | Step::Stay { .. }, _, Step::Wait { until }) => Some(Self::Out {
                reason,
                pause: until.0.saturating_sub(now.0),
            }),
            (Step::Join { .. } | Step::Stay { .. }, _, Step::Restart) => Some(Self::Restarting),
            (Step::Join { .. }, _, Step::Leave) => Some(Self::Leaving { joined: false }),
            (Step::Stay { .. }, _, Step::Leave) => Some(Self::Leaving { joined: true }),
            _ => None,
        }
    }
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Joined => f.write_str("mcp-device boot stage=joined"),
            Self::Out { reason, pause } => write!(
                f,
                "mcp-device warning: not in the network: {reason}; next attempt in {pause} ms"
            ),
            Self::Leaving { joined: true } => f.write_str(
                "mcp-device warning: the network gives no address; leaving it for another attempt",
            ),
            Self::Leaving { joined: false } => {
                f.write_str("mcp-device warning: the radio neither joins nor gives up; stopping it")
            }
            Self::Restarting => f.write_str(
                "mcp-device warning: no address in a row of attempts; restarting, for the radio may be stuck",
            ),
        }
    }
}
