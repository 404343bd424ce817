//! Boards of the kind `chip`: an emulator that is started with the board's lease, and ends with it. What is in its flash stays.

use super::{Refusal, refusal};
use mcp_hil_harness::bench::failure::{Failure, Kind};
use mcp_hil_harness::bench::inventory::{EMULATOR, Entry};
use mcp_hil_harness::bench::mac::Mac;
use mcp_hil_virtual_board::serial::board::Options;
use mcp_hil_virtual_board::serial::kind::{Choice, Emulator};
use mcp_hil_virtual_board::{MCP_PATH, SerialBoard};
use std::any::Any;

/// Starts the emulator, which gives the board its port and, by its own network, its endpoint.
///
/// # Errors
/// No emulator is named, or it does not start.
pub(super) fn plug_in(mut board: Entry) -> Result<(Entry, Box<dyn Any + Send>), Refusal> {
    let emulator = emulator(&board)?;
    let folder = board.port.parent().unwrap_or(&board.port).to_owned();
    let options = Options {
        kind: Choice::Chip(emulator),
        ..Options::new(folder)
    };
    let started = SerialBoard::alone(board.mac.map_or([0; 6], Mac::bytes), &options).map_err(|error| {
        let mut failure = Failure::new(Kind::PowerFailed, &board.name, error.to_string());
        failure.advice = Some(format!(
            "correct the board's `emulator` in the inventory, or {EMULATOR}"
        ));
        refusal(&failure)
    })?;
    if let (None, Some(at)) = (&board.endpoint, started.endpoint()) {
        board.endpoint = Some(format!("http://{at}{MCP_PATH}"));
    }
    Ok((board, Box::new(started)))
}

fn emulator(board: &Entry) -> Result<Emulator, Refusal> {
    let name = &board.name;
    let named = board.emulator.named().ok_or_else(|| {
        Refusal::usage(format!(
            "{name} has no emulator: give it `emulator` in the inventory, or set {EMULATOR}, as qemu=PATH or esp-emu=PATH"
        ))
    })?;
    let emulator: Emulator = named
        .parse()
        .map_err(|error| Refusal::usage(format!("{name}: {error}")))?;
    Ok(Emulator {
        arguments: board.emulator.arguments.clone(),
        ..emulator
    })
}
