//! A firmware on boards as a target, for those who play transcripts on it themselves: `cargo test`. It goes the way of
//! `mcp-hil run`, up to the transcripts.

use super::ports::{self, Wanted};
use super::virtual_::VirtualBench;
use crate::bench::{self, args::Flashing};
use crate::output;
use crate::targets::{Open, OpenError, Prepared, firmware};
use mcp_hil_harness::bench::failure::{Blame, Failure};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::run::{Dut, Event, Firmware, Machine, Options, bring_up, line};
use mcp_hil_virtual_board::VirtualNetwork;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// So long a board is waited for that somebody else has.
const LEASE_LIMIT: Duration = Duration::from_secs(300);

/// Boards that a firmware is to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// So many in QEMU.
    Virtual(usize),
    /// These of the inventory, or on these ports.
    Named(Vec<String>),
    /// All of the inventory that take it; if none does, one in QEMU.
    OfInventory,
}

/// Builds a firmware package and gets the boards ready that it will run on. Their consoles go into folders of `logs`. Must be
/// called before the process has a second thread.
///
/// # Errors
/// [`OpenError`]: it does not build, no board takes it, or there is no network for virtual boards.
pub(crate) async fn prepare(package: &Path, which: Which, logs: PathBuf) -> Result<Prepared, OpenError> {
    if matches!(which, Which::Virtual(_)) {
        prerequisites()?;
    }
    // built outside: from the network of virtual boards no crate can be fetched
    let file = firmware::of_package(package).await?;
    let firmware = Firmware::read(&file).map_err(|error| OpenError::Usage(error.to_string()))?;
    match which {
        Which::Virtual(boards) => in_qemu(firmware, boards),
        Which::Named(named) => Ok(on_ports(firmware, named, logs)),
        Which::OfInventory => {
            let fit = takers(&firmware)?;
            if fit.is_empty() && firmware.machine == Machine::Virt {
                prerequisites()?;
                return in_qemu(firmware, 1);
            }
            if fit.is_empty() {
                let reason = format!("no board of the inventory takes {}", file.display());
                return Err(OpenError::Infrastructure(reason));
            }
            Ok(on_ports(firmware, fit, logs))
        }
    }
}

/// Whether this machine can have virtual boards.
fn prerequisites() -> Result<(), OpenError> {
    VirtualNetwork::prerequisites().map_err(|error| OpenError::Infrastructure(error.to_string()))
}

/// The boards of the inventory that take a firmware.
fn takers(firmware: &Firmware) -> Result<Vec<String>, OpenError> {
    let boards = bench::load(None)?.map_or_else(Vec::new, |inventory| inventory.boards);
    let fit = boards.into_iter().filter(|board| firmware.fits(board));
    Ok(fit.map(|board| board.name).collect())
}

fn in_qemu(firmware: Firmware, boards: usize) -> Result<Prepared, OpenError> {
    let bench = VirtualBench::enter(boards, None).map_err(OpenError::Infrastructure)?;
    Ok(Prepared::new(async move || {
        let boards = bench.boards(&firmware);
        open(boards, &firmware).await
    }))
}

fn on_ports(firmware: Firmware, named: Vec<String>, logs: PathBuf) -> Prepared {
    Prepared::new(async move || {
        let flashing = ports::flashing(&Flashing::default(), firmware.clone())?;
        let wanted = Wanted {
            named,
            wait: LEASE_LIMIT,
            logs: Some(logs),
            ..Wanted::default()
        };
        let boards = ports::acquire(&wanted, &flashing, |board, stage| told(&line(board, stage))).await?;
        open(boards, &firmware).await
    })
}

/// Brings the boards up; they run as long as what is given back lives.
async fn open<D: Dut + Send + 'static>(mut boards: Vec<D>, firmware: &Firmware) -> Result<Open, OpenError> {
    let options = Options {
        build: firmware.build_id.clone(),
        symbols: (!firmware.is_image).then(|| firmware.file.clone()),
        ..Options::default()
    };
    let subjects = bring_up(&mut boards, &options, |event| {
        if let Event::Stage(board, stage) = event {
            told(&line(board, stage));
        }
    });
    Ok(Open::all(all_up(subjects.await)?, boards))
}

/// A test's own output is on standard output.
fn told(line: &str) {
    output::print(true, line);
}

/// Every board must be up; a failure of the firmware weighs more than one of the bench.
fn all_up(boards: Vec<Result<Subject, Failure>>) -> Result<Vec<Subject>, OpenError> {
    let (mut up, mut failures) = (Vec::new(), Vec::new());
    for board in boards {
        match board {
            Ok(subject) => up.push(subject),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() {
        return Ok(up);
    }
    let reports: Vec<_> = failures.iter().map(Failure::report).collect();
    let by_firmware = failures
        .iter()
        .any(|failure| failure.kind.blame() == Blame::Firmware);
    Err(match by_firmware {
        true => OpenError::Failed(reports.join("\n")),
        false => OpenError::Infrastructure(reports.join("\n")),
    })
}
