//! The `mcp-hil` command.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    mcp_hil::run(mcp_hil::Args::parse()).into()
}
