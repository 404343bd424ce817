//! Why a run did not come to its transcripts, or not to their end: each way has a name, and somebody who has to act.

use std::error::Error;
use std::time::Duration;

use crate::fault::seconds;

/// What went wrong with a board in a run.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The bench could not put the firmware on the board, or could not start it.
    #[error("{0}")]
    Bench(Box<dyn Error + Send + Sync>),
    /// Nobody could be asked over mDNS.
    #[error("no search: {0}")]
    NoSearch(String),
    /// The firmware ended the board's run by itself.
    #[error("ended: the board ended {} after its start; its console ended with\n{console}", seconds(.after))]
    Ended {
        /// From its start.
        after: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// Up, and no address came.
    #[error("no network: the board {} has told no address within {}; is there a DHCP server?", .mac, seconds(.after))]
    NoNetwork {
        /// Its MAC address.
        mac: String,
        /// The time limit.
        after: Duration,
    },
    /// Neither the console nor the network told anything of it.
    #[error("not booted: the board told neither on its console nor over mDNS within {} that it is up; its console says\n{console}", seconds(.after))]
    Silent {
        /// The time limit.
        after: Duration,
        /// The last lines of its console.
        console: String,
    },
    /// It has an address, and mDNS does not have it.
    #[error("not announced: the board ({clues}) was not found over mDNS within {}{others}", seconds(.after))]
    NotAnnounced {
        /// By what it was looked for.
        clues: String,
        /// The time limit.
        after: Duration,
        /// Who was found instead, a line each.
        others: String,
    },
    /// The board is announced with another build.
    #[error("old firmware answers: build {wanted} was started, and build {running} answers")]
    OldFirmware {
        /// Build id of the file.
        wanted: String,
        /// Build id that the board tells.
        running: String,
    },
    /// The board is announced, and no connection is made there.
    #[error("refused: the board is announced at {url}, and no connection can be made there")]
    Refused {
        /// What was announced.
        url: String,
    },
    /// It started again while it was used.
    #[error("rebooted: the board started again in the middle of the transcripts: {line}")]
    Rebooted {
        /// The line of the console that says so.
        line: String,
    },
}

impl Trouble {
    /// Whether the firmware is at fault: the run has failed. Otherwise the bench is, and nothing is known of the firmware.
    pub const fn is_firmwares(&self) -> bool {
        match self {
            Self::Bench(_) | Self::NoSearch(_) | Self::NoNetwork { .. } | Self::OldFirmware { .. } => false,
            Self::Ended { .. }
            | Self::Silent { .. }
            | Self::NotAnnounced { .. }
            | Self::Refused { .. }
            | Self::Rebooted { .. } => true,
        }
    }
}
