//! `mcp-hil requirements`.

use crate::args::Requirements;
use crate::exit::Exit;
use crate::output;
use mcp_hil_conformance::coverage;

pub fn run(args: &Requirements) -> Exit {
    let text = if args.list {
        coverage::list()
    } else {
        coverage::table()
    };
    output::print(false, &text);
    Exit::Passed
}
