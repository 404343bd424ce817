//! What the harness and its flashing process say to each other: one JSON value a line.

use crate::bench::failure::Failure;
use crate::bench::power::{PowerBy, Site};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Baud rates, the fastest first. The last is the one at which every chip starts.
pub const BAUDS: [u32; 4] = [2_000_000, 921_600, 460_800, 115_200];

/// What is to be done with which board.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Where the board is.
    pub site: Site,
    /// How it is reset.
    pub power: PowerBy,
    /// Chip that it must be.
    pub chip: Option<String>,
    /// Baud rates to try, in this order.
    pub bauds: Vec<u32>,
    /// Write what is there already, too.
    pub force: bool,
    /// What to do.
    pub task: Task,
}

/// What to do with a board.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Only tell what it is.
    Identify,
    /// Write an image.
    Write {
        /// Its file.
        image: PathBuf,
        /// Partition table.
        table: Option<PathBuf>,
        /// Bootloader.
        bootloader: Option<PathBuf>,
        /// Configuration sector.
        sector: Option<Secret>,
    },
    /// Write a configuration sector where the board's partition table has a place for it.
    Configure {
        /// The sector.
        sector: Secret,
    },
    /// Erase.
    Erase {
        /// Address and size; without them all of it.
        region: Option<(u32, u32)>,
    },
    /// Read into a file.
    Read {
        /// Address.
        address: u32,
        /// Number of bytes; without it all up to the end.
        size: Option<u32>,
        /// The file.
        file: PathBuf,
    },
}

/// Bytes that are never shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What happened, in the order in which it did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    /// Lines that came from the port while nothing was flashed.
    Output(Vec<String>),
    /// The board is known, and the right one. Nothing is written before this.
    Identified(Identity),
    /// A baud rate did not hold; the next is tried.
    Slower {
        /// The rate.
        baud: u32,
        /// What went wrong.
        why: String,
    },
    /// Data go at this rate.
    Baud(u32),
    /// A part is looked at.
    Part {
        /// What it is.
        name: String,
        /// Its address.
        address: u32,
        /// Its bytes.
        bytes: usize,
    },
    /// So many of its blocks are written.
    Progress {
        /// Blocks written.
        done: usize,
        /// Blocks in all.
        total: usize,
    },
    /// It is written, and what is there is what was sent.
    Verified,
    /// It was there already.
    Unchanged,
    /// All is done.
    Done,
    /// What was asked for can't be done with any board.
    Refused(String),
    /// It failed.
    Failed(Failure),
}

/// What a board is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its chip, as `esp32c3`.
    pub chip: String,
    /// Revision of the chip, as `0.4`.
    pub revision: Option<String>,
    /// Its MAC address.
    pub mac: String,
    /// Bytes of its flash.
    pub flash: u32,
}
