use mcp_hil::suite::Checks;

fn main() -> std::process::ExitCode {
    Checks::of_firmware("../firmware").allow_tool("set_target").run()
}
