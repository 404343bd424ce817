//! Plays every golden transcript against every target, one trial for each pair: [`mcp_hil::suite`].
//!
//! - With the feature `hil` boards are a target too: those of the inventory, `inventory`, or without one a RISC-V board in QEMU,
//!   `virtual`, on whose network everything runs then. `MCP_HIL_TARGET` names another target.
//! - What the reference answers is kept in `tests/snapshots`, one file a transcript; the others are compared with it. To renew
//!   them: `INSTA_UPDATE=always cargo test -p mcp-hil --test replay reference::`, then look at the diff.
#![allow(missing_docs)]

mod compare;
mod snapshot;

#[cfg(all(feature = "hil", not(target_os = "linux")))]
compile_error!("the feature hil tests on boards in QEMU on a virtual network, which only Linux has");

use mcp_hil::suite::{Suite, Trial};
use mcp_hil_harness::replay::CONTRACT;
use mcp_hil_harness::transcript;
use std::collections::BTreeSet;
#[cfg(feature = "hil")]
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let transcripts = match transcript::embedded() {
        Ok(transcripts) => transcripts,
        Err(error) => {
            eprintln!("replay: {error}");
            return ExitCode::FAILURE;
        }
    };
    let names: BTreeSet<_> = transcripts.iter().map(snapshot::name).collect();
    let have_transcripts = move || snapshot::none_is_left_over(&names);
    let over_stdio = format!("stdio:'{}' reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    let contract = Some(CONTRACT);
    let suite = Suite::new(transcripts, env!("CARGO_TARGET_TMPDIR"))
        .trial(Trial::test("snapshots/have-transcripts", have_transcripts))
        .check(snapshot::check)
        .target("reference", "reference", contract)
        .target(snapshot::OVER_STDIO, &over_stdio, contract)
        .target("native", "native", contract);
    #[cfg(feature = "hil")]
    let suite = suite.firmware(&package(), contract);
    suite.run()
}

/// The firmware: for the chips of the inventory, if it has any, or else for QEMU's `virt` machine.
#[cfg(feature = "hil")]
fn package() -> PathBuf {
    use mcp_hil_harness::bench::inventory::{self, BoardKind, Inventory};
    let inventory = inventory::find(None).and_then(|file| Inventory::load(&file).ok());
    let boards = inventory.map_or_else(Vec::new, |inventory| inventory.boards);
    let chips = boards.iter().any(|board| board.kind != BoardKind::Virtual);
    let board = if chips { "esp32" } else { "virt" };
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../firmware/boards")
        .join(board)
}
