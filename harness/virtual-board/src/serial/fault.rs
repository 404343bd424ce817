//! What a virtual board does wrong on demand, one name for each failure.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing answers a flashing tool.
    NoSync,
    /// Random bytes all the time.
    LineNoise,
    /// A line feed every 50 ms for ever.
    Trickle,
    /// The chip says it is an ESP32-C6.
    WrongChip,
    /// The chip says another MAC address than the board's.
    WrongBoard,
    /// Blocks are refused.
    WriteFailed,
    /// A bit of what was written is wrong.
    VerifyFailed,
    /// Above 460800 baud bytes are damaged.
    SlowLine,
    /// The port vanishes for good.
    PortLost,
    /// The port vanishes and comes back under another path.
    PortMoved,
    /// Nothing is kept of what is written, so that the old firmware boots.
    OldFirmware,
    /// The firmware panics at each start.
    BootPanic,
    /// The bootloader finds the firmware damaged, again and again.
    BootLoop,
    /// The network cable leads nowhere.
    NoNetwork,
    /// The board has its network, and says nothing over mDNS.
    NotAnnounced,
    /// The board is announced, and refuses connections.
    Refused,
    /// The board answers HTTP requests, and has no MCP endpoint.
    NotMcp,
    /// The board resets by its watchdog.
    Rebooted,
    /// The board stands still.
    Hung,
}

/// When it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// From the start.
    Start,
    /// When so many blocks for the flash have been taken since the last reset.
    Blocks(usize),
    /// When the console has printed this.
    Console(String),
    /// So long after it was asked for.
    After(Duration),
}

/// A failure and when it begins, written `NAME` or `NAME@MOMENT`: `hung`, `port-lost@blocks=8`,
/// `rebooted@console=stage=serving`, `line-noise@after=500ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// What fails.
    pub fault: Fault,
    /// When it begins.
    pub at: Moment,
}

/// No such fault, or no such moment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPlanned {
    /// The name is unknown.
    #[error("there is no fault {name:?}; there are: {}", names())]
    Name {
        /// What was written.
        name: String,
    },
    /// The moment makes no sense.
    #[error("there is no moment {0:?}; there are: start, blocks=N, console=TEXT, after=N[ms|s]")]
    Moment(String),
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 19] = [
        Fault::NoSync,
        Fault::LineNoise,
        Fault::Trickle,
        Fault::WrongChip,
        Fault::WrongBoard,
        Fault::WriteFailed,
        Fault::VerifyFailed,
        Fault::SlowLine,
        Fault::PortLost,
        Fault::PortMoved,
        Fault::OldFirmware,
        Fault::BootPanic,
        Fault::BootLoop,
        Fault::NoNetwork,
        Fault::NotAnnounced,
        Fault::Refused,
        Fault::NotMcp,
        Fault::Rebooted,
        Fault::Hung,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Fault::NoSync => "no-sync",
            Fault::LineNoise => "line-noise",
            Fault::Trickle => "trickle",
            Fault::WrongChip => "wrong-chip",
            Fault::WrongBoard => "wrong-board",
            Fault::WriteFailed => "write-failed",
            Fault::VerifyFailed => "verify-failed",
            Fault::SlowLine => "slow-line",
            Fault::PortLost => "port-lost",
            Fault::PortMoved => "port-moved",
            Fault::OldFirmware => "old-firmware",
            Fault::BootPanic => "boot-panic",
            Fault::BootLoop => "boot-loop",
            Fault::NoNetwork => "no-network",
            Fault::NotAnnounced => "not-announced",
            Fault::Refused => "refused",
            Fault::NotMcp => "not-mcp",
            Fault::Rebooted => "rebooted",
            Fault::Hung => "hung",
        }
    }

    /// When it begins if nothing else is said.
    pub fn usual_moment(self) -> Moment {
        match self {
            Fault::PortLost | Fault::PortMoved => Moment::Blocks(2),
            Fault::Rebooted | Fault::Hung => Moment::Console("stage=serving".to_owned()),
            _ => Moment::Start,
        }
    }
}

fn names() -> String {
    Fault::ALL.map(Fault::name).join(", ")
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Fault> for Planned {
    fn from(fault: Fault) -> Self {
        let at = fault.usual_moment();
        Planned { fault, at }
    }
}

impl FromStr for Planned {
    type Err = NotPlanned;

    fn from_str(text: &str) -> Result<Self, NotPlanned> {
        let (name, moment) = match text.split_once('@') {
            Some((name, moment)) => (name, Some(moment)),
            None => (text, None),
        };
        let fault = Fault::ALL
            .into_iter()
            .find(|fault| fault.name() == name)
            .ok_or_else(|| NotPlanned::Name {
                name: name.to_owned(),
            })?;
        let at = match moment {
            Some(moment) => moment.parse()?,
            None => fault.usual_moment(),
        };
        Ok(Planned { fault, at })
    }
}

impl FromStr for Moment {
    type Err = NotPlanned;

    fn from_str(text: &str) -> Result<Self, NotPlanned> {
        let none = || NotPlanned::Moment(text.to_owned());
        match text.split_once('=') {
            None if text == "start" => Ok(Moment::Start),
            Some(("blocks", count)) => count.parse().map(Moment::Blocks).map_err(|_| none()),
            Some(("console", line)) if !line.is_empty() => Ok(Moment::Console(line.to_owned())),
            Some(("after", time)) => duration(time).map(Moment::After).ok_or_else(none),
            _ => Err(none()),
        }
    }
}

fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = match text.strip_suffix("ms") {
        Some(digits) => (digits, 1),
        None => (text.strip_suffix('s')?, 1000),
    };
    let count: u64 = digits.parse().ok()?;
    Some(Duration::from_millis(count.checked_mul(unit)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_found_by_its_name() {
        for fault in Fault::ALL {
            assert_eq!(fault.name().parse(), Ok(Planned::from(fault)));
        }
    }

    #[test]
    fn a_moment_may_be_chosen() {
        let planned = |text: &str| text.parse::<Planned>().map(|planned| planned.at);
        assert_eq!(planned("hung"), Ok(Moment::Console("stage=serving".to_owned())));
        assert_eq!(planned("port-lost@blocks=8"), Ok(Moment::Blocks(8)));
        assert_eq!(
            planned("rebooted@console=stage=mac"),
            Ok(Moment::Console("stage=mac".to_owned()))
        );
        assert_eq!(
            planned("line-noise@after=500ms"),
            Ok(Moment::After(Duration::from_millis(500)))
        );
        assert_eq!(
            planned("line-noise@after=2s"),
            Ok(Moment::After(Duration::from_secs(2)))
        );
        assert_eq!(planned("line-noise@start"), Ok(Moment::Start));
    }

    #[test]
    fn what_is_unknown_is_told_with_what_there_is() {
        let error = "noize".parse::<Planned>().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no fault \"noize\"; there are: no-sync, line-noise, "),
            "{error}"
        );
        let error = "line-noise@later".parse::<Planned>().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no moment \"later\"; there are: start, blocks=N, "),
            "{error}"
        );
        assert!(
            "line-noise@after=99999999999999999999s"
                .parse::<Planned>()
                .is_err()
        );
        assert!("line-noise@console=".parse::<Planned>().is_err());
    }
}
