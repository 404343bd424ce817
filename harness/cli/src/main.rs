//! The `mcp-hil` command.
fn main() {}
