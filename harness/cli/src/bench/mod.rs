//! The commands that deal with boards.

pub(crate) mod args;
pub(crate) mod boards;
#[cfg(target_os = "linux")]
mod chip;
pub(crate) mod doctor;
pub(crate) mod flash;
pub(crate) mod monitor;

use crate::exit::Exit;
use crate::output;
use args::{Choice, ConfigurationFrom};
use mcp_hil_harness::bench::choose::{self, ChooseError};
use mcp_hil_harness::bench::configuration::Configuration;
use mcp_hil_harness::bench::failure::{Blame, Failure};
use mcp_hil_harness::bench::inventory::{self, BoardKind, Entry, Inventory, InventoryError};
use mcp_hil_harness::bench::lease::{Holder, Lease, Leases};
use mcp_hil_harness::bench::memory::Memories;
use mcp_hil_harness::bench::ports;
use mcp_hil_harness::report::escape;
use std::any::Any;
use std::path::{Path, PathBuf};

/// Why a command ends before it has begun.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// Who is at fault.
    pub exit: Exit,
    /// What is wrong, and what to do.
    pub reason: String,
}

impl Refusal {
    pub(crate) fn usage(reason: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            reason: reason.into(),
        }
    }
}

impl From<Refusal> for Exit {
    fn from(refusal: Refusal) -> Self {
        refusal.exit.because(&refusal.reason)
    }
}

/// A board, and the right to use it.
#[derive(Debug)]
pub(crate) struct Held {
    /// The board.
    pub board: Entry,
    /// What is plugged in as long as the board is held; an emulator ends before its lease does.
    _plugged: Box<dyn Any + Send>,
    _lease: Lease,
}

/// Finds the board that is meant and takes its lease, waiting as long as was asked.
///
/// # Errors
/// No such board, or it can't be had.
pub(crate) async fn acquire(choice: &Choice, named: Option<&str>, command: &str) -> Result<Held, Refusal> {
    let wanted = choice.wanted(named).map_err(Refusal::usage)?;
    let inventory = load(choice.inventory.as_deref())?;
    let candidates =
        choose::candidates(&wanted, inventory.as_ref(), &ports::list()).map_err(|error| match error {
            ChooseError::Unclear(reason) => Refusal::usage(reason),
            ChooseError::Failed(failure) => refusal(&failure),
        })?;
    let (wait, holder) = (choice.wait, Holder::here(&format!("mcp-hil {command}")));
    let waiting = |who: &str| output::print(true, &format!("waiting: {}\n", escape(who)));
    let leases = Leases::of_this_machine();
    let taken = blocking(move || choose::lease(&leases, &candidates, &holder, wait, waiting)).await?;
    let (board, lease) = taken.map_err(|failure| refusal(&failure))?;
    let (board, plugged) = plug_in(board)?;
    Ok(Held {
        board,
        _plugged: plugged,
        _lease: lease,
    })
}

/// Starts the emulator of a board that has one.
#[cfg(target_os = "linux")]
fn plug_in(board: Entry) -> Result<(Entry, Box<dyn Any + Send>), Refusal> {
    match board.kind {
        BoardKind::Chip => chip::plug_in(board),
        BoardKind::Board | BoardKind::Virtual => Ok((board, Box::new(()))),
    }
}

#[cfg(not(target_os = "linux"))]
fn plug_in(board: Entry) -> Result<(Entry, Box<dyn Any + Send>), Refusal> {
    match board.kind {
        BoardKind::Chip => Err(Refusal::usage(format!(
            "{}: chips are emulated on Linux only",
            board.name
        ))),
        BoardKind::Board | BoardKind::Virtual => Ok((board, Box::new(()))),
    }
}

/// The inventory that is meant; none if there is none.
pub(crate) fn load(named: Option<&Path>) -> Result<Option<Inventory>, Refusal> {
    let Some(file) = inventory::find(named) else {
        return Ok(None);
    };
    match Inventory::load(&file) {
        Ok(inventory) => Ok(Some(inventory)),
        Err(error @ InventoryError::File { .. }) => Err(Refusal::usage(format!("the inventory {error}"))),
        Err(error) => Err(Refusal::usage(error.to_string())),
    }
}

/// A failure with its evidence and the way out; the code says who is at fault.
pub(crate) fn refusal(failure: &Failure) -> Refusal {
    let exit = match failure.kind.blame() {
        Blame::Bench => Exit::Infrastructure,
        Blame::Firmware => Exit::Failed,
    };
    Refusal {
        exit,
        reason: failure.report(),
    }
}

/// Tells a failure.
pub(crate) fn failed(failure: &Failure) -> Exit {
    refusal(failure).into()
}

/// Runs on a thread of its own what waits for ports and files, so that a signal still ends the command.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Refusal {
        exit: Exit::Infrastructure,
        reason: format!("a thread ended: {error}"),
    })
}

/// The configuration of a file, or of the environment; none if neither has one.
pub(crate) fn configuration(from: &ConfigurationFrom) -> Result<Option<Configuration>, Refusal> {
    if let Some(file) = &from.config {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Refusal::usage(format!("--config {shown}: {error}")))?;
        return Configuration::parse(&text)
            .map(Some)
            .map_err(|error| Refusal::usage(format!("--config {shown}: {error}")));
    }
    let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Configuration::from_values(
        value("MCP_HIL_WIFI_SSID"),
        value("MCP_HIL_WIFI_PASSWORD"),
        value("MCP_HIL_HOSTNAME"),
        value("MCP_HIL_TOKEN"),
    )
    .map_err(|error| {
        Refusal::usage(format!(
            "MCP_HIL_WIFI_SSID, _PASSWORD, MCP_HIL_HOSTNAME or MCP_HIL_TOKEN: {error}"
        ))
    })
}

/// The log of a board's console.
pub(crate) fn log_of(board: &Entry, named: Option<&Path>) -> Option<PathBuf> {
    named
        .map(Path::to_owned)
        .or_else(|| Memories::of_user().log(&board.name))
}
