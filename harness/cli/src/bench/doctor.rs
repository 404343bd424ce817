//! `mcp-hil doctor`.

use super::{args::Doctor, load};
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::bench::doctor::{Level, examine};
use mcp_hil_harness::report::escape;

pub(crate) fn run(args: &Doctor) -> Exit {
    let inventory = match load(args.inventory.as_deref()) {
        Ok(inventory) => inventory,
        Err(refusal) => return refusal.into(),
    };
    let findings = examine(inventory.as_ref());
    for finding in &findings {
        output::print(false, &escape(&finding.show()));
    }
    match findings
        .iter()
        .filter(|finding| finding.level == Level::Bad)
        .count()
    {
        0 => Exit::Passed,
        bad => Exit::Infrastructure.because(&format!("{bad} things to mend before boards can be used")),
    }
}
