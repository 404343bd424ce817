//! The `mcp-hil` command.

use clap::Parser as _;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        print!("{}", mcp_hil::FIRST_STEPS);
        return mcp_hil::Exit::Usage.into();
    }
    mcp_hil::run(mcp_hil::Args::parse()).into()
}
