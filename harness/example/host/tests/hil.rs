fn main() -> std::process::ExitCode {
    mcp_hil::main("../firmware")
}
