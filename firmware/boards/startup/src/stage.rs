//! What the console tells of the configuration and the station, beside the boot stages of all boards. Never the name of
//! the network, a password or a token.

use core::fmt;

use mcp_device::Millis;

use crate::configuration::{Configuration, ConfigurationError, Wifi};
use crate::station::{Event, Step};

/// How a board starts that is of no use without a network of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start<'a> {
    /// With this network and configuration.
    Run(Wifi<'a>, Configuration<'a>),
    /// Not before it is configured, for this reason.
    Wait(Unconfigured),
}

/// Why a board waits. Displayed as its console line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unconfigured {
    /// There is no sector that could be read.
    Sector(ConfigurationError),
    /// The sector names no network.
    NoNetwork,
}

impl<'a> Start<'a> {
    /// What follows from the sector.
    pub fn new(sector: Result<Configuration<'a>, ConfigurationError>) -> Self {
        match sector {
            Ok(configuration) => match configuration.wifi {
                Some(wifi) => Self::Run(wifi, configuration),
                None => Self::Wait(Unconfigured::NoNetwork),
            },
            Err(error) => Self::Wait(Unconfigured::Sector(error)),
        }
    }

    /// The value of `state` in the boot log: `ok`, `missing` or `bad`.
    fn state(&self) -> &'static str {
        match self {
            Self::Run(..) => "ok",
            Self::Wait(Unconfigured::Sector(ConfigurationError::Missing) | Unconfigured::NoNetwork) => {
                "missing"
            }
            Self::Wait(Unconfigured::Sector(_)) => "bad",
        }
    }
}

/// The boot stage: `mcp-device boot stage=configuration state=ok`.
impl fmt::Display for Start<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mcp-device boot stage=configuration state={}", self.state())
    }
}

impl fmt::Display for Unconfigured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mcp-device warning: configuration: ")?;
        match self {
            Self::Sector(error) => write!(f, "{error}")?,
            Self::NoNetwork => f.write_str("it names no network")?,
        }
        f.write_str("; write one to the partition `config`, and reset the board")
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
        }
    }
}
