//! Boards on serial ports, for a run.

use crate::bench::args::{Choice, Flashing as How};
use crate::bench::{self, Refusal};
use crate::exit::Exit;
use mcp_hil_harness::bench::flash::job::Secret;
use mcp_hil_harness::run::{Dut as _, Firmware, Flashing, Port, Stage};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which boards are meant, and how to get at them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Names in the inventory, or ports.
    pub named: Vec<String>,
    /// The first free one each, as `chip=esp32c3`. With neither the only board that is plugged in.
    pub any: Vec<String>,
    /// The inventory, where it is not the usual one.
    pub inventory: Option<PathBuf>,
    /// So long a board is waited for that somebody else has.
    pub wait: Duration,
    /// Folder for the folders with the boards' consoles.
    pub logs: Option<PathBuf>,
}

/// What is written to the boards of a command line.
///
/// # Errors
/// A configuration that can't be used.
pub(crate) fn flashing(how: &How, mut firmware: Firmware) -> Result<Arc<Flashing>, Refusal> {
    let program = std::env::current_exe().map_err(|error| Refusal {
        exit: Exit::Infrastructure,
        reason: format!("this program's own path is not known: {error}"),
    })?;
    firmware.file = absolute(&firmware.file);
    let sector = bench::configuration(&how.configuration)?;
    Ok(Arc::new(Flashing {
        program,
        firmware,
        table: how.partitions.as_deref().map(absolute),
        bootloader: how.bootloader.as_deref().map(absolute),
        sector: sector.map(|configuration| Secret(configuration.sector())),
        baud: how.line.baud,
        deadline: how.line.deadline,
        force: how.force,
    }))
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The boards that are meant, each with its lease. The stage of each is told, with the board's name.
///
/// # Errors
/// Why one can't be had.
pub(crate) async fn acquire(
    wanted: &Wanted,
    flashing: &Arc<Flashing>,
    mut told: impl FnMut(&str, &Stage),
) -> Result<Vec<Port>, Refusal> {
    let mut asked: Vec<(Option<&str>, Option<&String>)> = Vec::new();
    asked.extend(wanted.named.iter().map(|name| (Some(name.as_str()), None)));
    asked.extend(wanted.any.iter().map(|any| (None, Some(any))));
    // in one order in every run: two that want the same boards don't wait for each other
    asked.sort_unstable();
    asked.dedup_by(|one, other| one.0.is_some() && one.0 == other.0);
    if asked.is_empty() {
        asked.push((None, None));
    }
    let mut boards = Vec::new();
    for (name, any) in asked {
        let choice = Choice {
            inventory: wanted.inventory.clone(),
            any: any.cloned(),
            wait: wanted.wait,
        };
        let begun = Instant::now();
        let held = bench::acquire(&choice, name, "run").await?;
        let board = held.board.clone();
        let log = log(wanted.logs.as_deref(), &board.name);
        let port = Port::new(board, held, Some(Arc::clone(flashing))).with_log(log);
        let stage = Stage {
            name: "lease",
            time: begun.elapsed(),
            note: String::new(),
            failed: false,
        };
        told(port.name(), &stage);
        boards.push(port);
    }
    Ok(boards)
}

/// Where a board's console goes.
pub(crate) fn log(logs: Option<&Path>, board: &str) -> Option<PathBuf> {
    let folder = board.trim_start_matches('/').replace('/', "_");
    Some(logs?.join(folder).join("console.log"))
}
