//! Boards on serial ports, for a run.

use crate::args::Run;
use crate::bench::args::{Choice, Flashing as How};
use crate::bench::{self, Held};
use crate::exit::Exit;
use crate::playing::Chosen;
use mcp_hil_harness::bench::flash::job::Secret;
use mcp_hil_harness::run::{Firmware, Flashing, Port, Stage, line};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What is written to the boards of a command line.
///
/// # Errors
/// A configuration that can't be used, told already.
pub(crate) fn flashing(how: &How, mut firmware: Firmware) -> Result<Arc<Flashing>, Exit> {
    let program = std::env::current_exe().map_err(|error| {
        Exit::Infrastructure.because(&format!("this program's own path is not known: {error}"))
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

/// The boards that a command line means, each with its lease.
///
/// # Errors
/// Why one can't be had, told already.
pub(crate) async fn acquire(args: &Run, firmware: Firmware, chosen: &Chosen) -> Result<Vec<Port>, Exit> {
    let flashing = flashing(&args.flashing, firmware)?;
    let mut asked: Vec<(Option<&str>, Option<&String>)> = Vec::new();
    asked.extend(args.board.iter().map(|name| (Some(name.as_str()), None)));
    asked.extend(args.any.iter().map(|any| (None, Some(any))));
    // in one order in every run: two that want the same boards don't wait for each other
    asked.sort_unstable();
    asked.dedup_by(|one, other| one.0.is_some() && one.0 == other.0);
    if asked.is_empty() {
        asked.push((None, None));
    }
    let mut boards = Vec::new();
    for (name, any) in asked {
        let choice = Choice {
            boards: args.inventory.clone(),
            any: any.cloned(),
            wait: args.wait,
        };
        let begun = Instant::now();
        let Held { board, lease } = bench::acquire(&choice, name, "run").await?;
        let log = log(args.logs.as_deref(), &board.name);
        let port = Port::new(board, Some(lease), Some(Arc::clone(&flashing))).with_log(log);
        let stage = Stage {
            name: "lease",
            time: begun.elapsed(),
            note: String::new(),
        };
        chosen.print(&line(mcp_hil_harness::run::Dut::name(&port), &stage));
        boards.push(port);
    }
    Ok(boards)
}

/// Where a board's console goes.
pub(crate) fn log(logs: Option<&Path>, board: &str) -> Option<PathBuf> {
    let folder = board.trim_start_matches('/').replace('/', "_");
    Some(logs?.join(folder).join("console.log"))
}
