//! What can go wrong between an image and a verdict, by name: pure.
//!
//! The names are part of the interface: scripts and reports tell failures apart by them.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The bench: port, cable, power, network, inventory. Nothing was found out about the firmware.
    Bench,
    /// The firmware that was flashed.
    Firmware,
}

/// The kinds of failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// No device where the board's port should be.
    PortMissing,
    /// The port may not be opened.
    PermissionDenied,
    /// Another program has the port.
    PortBusy,
    /// Somebody else has the lease.
    BoardLeased,
    /// The board could not be reset or switched.
    PowerFailed,
    /// Nothing answers the ROM loader's sync.
    NoSync,
    /// Something is on the line, and it is no answer.
    LineNoise,
    /// Another chip than the inventory or the image says.
    WrongChip,
    /// Another board than the one named.
    WrongBoard,
    /// Flash could not be erased, written or read.
    WriteFailed,
    /// What was read back is not what was written.
    VerifyFailed,
    /// The port went away and did not come back.
    PortLost,
    /// The board has no network to join, or does not get into it.
    NoNetwork,
    /// What answers does not run what was flashed.
    OldFirmware,
    /// The firmware panicked on its way up.
    BootPanic,
    /// The board starts again and again.
    BootLoop,
    /// It has an address, and mDNS does not tell it.
    NotAnnounced,
    /// It is announced, and connections are refused.
    Refused,
    /// It talks HTTP, and not MCP.
    NotMcp,
    /// It restarted in the middle.
    Rebooted,
    /// It fell silent in the middle, or on its way up.
    Hung,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 21] = [
        Self::PortMissing,
        Self::PermissionDenied,
        Self::PortBusy,
        Self::BoardLeased,
        Self::PowerFailed,
        Self::NoSync,
        Self::LineNoise,
        Self::WrongChip,
        Self::WrongBoard,
        Self::WriteFailed,
        Self::VerifyFailed,
        Self::PortLost,
        Self::NoNetwork,
        Self::OldFirmware,
        Self::BootPanic,
        Self::BootLoop,
        Self::NotAnnounced,
        Self::Refused,
        Self::NotMcp,
        Self::Rebooted,
        Self::Hung,
    ];

    /// Its name, which does not change.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PortMissing => "port-missing",
            Self::PermissionDenied => "permission-denied",
            Self::PortBusy => "port-busy",
            Self::BoardLeased => "board-leased",
            Self::PowerFailed => "power-failed",
            Self::NoSync => "no-sync",
            Self::LineNoise => "line-noise",
            Self::WrongChip => "wrong-chip",
            Self::WrongBoard => "wrong-board",
            Self::WriteFailed => "write-failed",
            Self::VerifyFailed => "verify-failed",
            Self::PortLost => "port-lost",
            Self::NoNetwork => "no-network",
            Self::OldFirmware => "old-firmware",
            Self::BootPanic => "boot-panic",
            Self::BootLoop => "boot-loop",
            Self::NotAnnounced => "not-announced",
            Self::Refused => "refused",
            Self::NotMcp => "not-mcp",
            Self::Rebooted => "rebooted",
            Self::Hung => "hung",
        }
    }

    /// The kind of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Who is at fault.
    pub const fn blame(self) -> Blame {
        match self {
            Self::BootPanic
            | Self::BootLoop
            | Self::NotAnnounced
            | Self::Refused
            | Self::NotMcp
            | Self::Rebooted
            | Self::Hung => Blame::Firmware,
            _ => Blame::Bench,
        }
    }

    /// What to do about it.
    pub const fn mend(self) -> &'static str {
        match self {
            Self::PortMissing => "plug the board in, or renew its port with `mcp-hil boards scan`",
            Self::PermissionDenied => {
                "add yourself to the group of the port, or install the udev rule of ci/99-mcp-hil.rules"
            }
            Self::PortBusy => {
                "close the program that has the port: a serial monitor, another flashing tool, ModemManager"
            }
            Self::BoardLeased => "wait for it with --wait DURATION, or name another board",
            Self::PowerFailed => {
                "check the board's `power` in the inventory; `mcp-hil doctor` tries what it names"
            }
            Self::NoSync => {
                "check cable and power; if the board has no reset circuit, hold BOOT while you press RESET, or give it `power` in the inventory"
            }
            Self::LineNoise => {
                "the firmware talks instead of the ROM loader: check the reset circuit, the ground, and that the port is this board's"
            }
            Self::WrongChip => {
                "build for the chip that is there, or correct the inventory with `mcp-hil boards scan`"
            }
            Self::WrongBoard => {
                "two boards have changed places: renew the inventory with `mcp-hil boards scan`"
            }
            Self::WriteFailed => {
                "try again; if it persists, lower the baud rate with --baud, or change cable or board"
            }
            Self::VerifyFailed => {
                "try again with --force; if it persists, the flash chip is worn or the supply is weak"
            }
            Self::PortLost => "check cable, hub and supply; the console log says when it went away",
            Self::NoNetwork => {
                "give the board its network with `mcp-hil config`, and check that the access point is up and hands out addresses"
            }
            Self::OldFirmware => {
                "flash again with --force, and check that no other board answers under this name"
            }
            Self::BootPanic => {
                "read the panic and its backtrace above; give the ELF file to see function, file and line"
            }
            Self::BootLoop => {
                "read the console log for the reason of the resets: a panic, a watchdog, an image that can't be started"
            }
            Self::NotAnnounced => {
                "check the firmware's mDNS, and that multicast gets from the board to here; `mcp-hil discover` tells more"
            }
            Self::Refused => "the firmware announces a port on which it does not listen",
            Self::NotMcp => "check path and port of the endpoint; what came back is shown above",
            Self::Rebooted => "read the console log for the reason of the reset",
            Self::Hung => "read the console log for the last that it said",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A failure of a board, with what a person needs to act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{board}: {kind}: {cause}")]
pub struct Failure {
    /// What kind it is.
    pub kind: Kind,
    /// The board's name, or its port.
    pub board: String,
    /// What happened, in one line.
    pub cause: String,
    /// What to do, where it is more than the kind's own advice.
    pub advice: Option<String>,
    /// What came from the port or stood on the console, the last of it: lines.
    pub output: Vec<String>,
}

impl Failure {
    /// A failure without evidence.
    pub fn new(kind: Kind, board: &str, cause: impl Into<String>) -> Self {
        Self {
            kind,
            board: board.to_owned(),
            cause: cause.into(),
            advice: None,
            output: Vec::new(),
        }
    }

    /// With lines that came from the port.
    #[must_use]
    pub fn with_output(mut self, output: Vec<String>) -> Self {
        self.output = output;
        self
    }

    /// What to do.
    pub fn mend(&self) -> &str {
        self.advice.as_deref().unwrap_or(self.kind.mend())
    }

    /// All of it for a terminal: the line, the output, the advice.
    pub fn report(&self) -> String {
        format!("{}: {}", self.board, self.evidence())
    }

    /// The same without the board's name, for a report that has it already.
    pub fn evidence(&self) -> String {
        let mut text = format!("{}: {}", self.kind, self.cause);
        if !self.output.is_empty() {
            text.push_str("\nthe port said:");
            for line in &self.output {
                text.push_str("\n  ");
                text.push_str(line);
            }
        }
        text.push_str("\ntry: ");
        text.push_str(self.mend());
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_kebab_case_and_lead_back() {
        for kind in Kind::ALL {
            let name = kind.name();
            assert!(
                name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase()),
                "{name}"
            );
            assert_eq!(Kind::parse(name), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), name);
            assert!(!kind.mend().is_empty());
        }
    }

    #[test]
    fn the_firmware_is_blamed_for_what_it_does_and_the_bench_for_the_rest() {
        let blamed: Vec<_> = Kind::ALL
            .into_iter()
            .filter(|kind| kind.blame() == Blame::Firmware)
            .map(Kind::name)
            .collect();
        let wanted = [
            "boot-panic",
            "boot-loop",
            "not-announced",
            "refused",
            "not-mcp",
            "rebooted",
            "hung",
        ];
        assert_eq!(blamed, wanted);
    }

    #[test]
    fn a_report_has_the_name_the_evidence_and_the_way_out() {
        let failure = Failure::new(Kind::LineNoise, "bench-1", "3 bytes, none of them an answer")
            .with_output(vec!["I am up".to_owned()]);
        let report = failure.report();
        assert!(report.starts_with("bench-1: line-noise: 3 bytes"), "{report}");
        assert!(report.contains("\n  I am up\n"), "{report}");
        assert!(report.contains("\ntry: the firmware talks"), "{report}");
    }
}
