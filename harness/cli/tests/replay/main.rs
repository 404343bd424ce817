//! Plays every golden transcript against every target, one trial for each pair: [`mcp_hil::suite`].
//!
//! - With the feature `hil` a RISC-V board in QEMU is a target too, `virtual`; then everything runs on its network.
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
    let suite = suite.target("virtual", "virtual", contract);
    suite.run()
}
