//! A RISC-V board in QEMU. The whole process is inside of its network, where loopback is its own.

use crate::targets::{Ground, Up};
use mcp_hil::targets::{BOOT_LIMIT, VirtualBoards};
use mcp_hil_virtual_board::{BoardOptions, Options, VirtualNetwork};

/// To be called before the process has a second thread.
pub fn enter() -> Result<VirtualNetwork, String> {
    let options = Options {
        boards: 1,
        ..Options::default()
    };
    VirtualNetwork::enter(&options).map_err(|error| error.to_string())
}

pub fn start(ground: &Ground) -> Result<Up, String> {
    let firmware = ground.firmware("virtual")?;
    let network = ground
        .network
        .lock()
        .map_err(|error| error.to_string())?
        .take()
        .ok_or("the network was not entered")??;
    let boards = VirtualBoards::start(network, firmware, BOOT_LIMIT, |_| BoardOptions::default())
        .map_err(|error| error.to_string())?;
    let subject = boards.subjects().pop().ok_or("no board")?;
    ground.runs_what_was_built("virtual", &subject.target)?;
    Ok(Up {
        subject,
        guard: Box::new(boards),
    })
}
