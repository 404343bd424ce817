//! What a person sees before the first run: the first steps, completions, the manual page.

use crate::args::Args;
use crate::exit::Exit;
use crate::output;
use clap::CommandFactory as _;

/// What people come for, shown where no argument is given.
pub const FIRST_STEPS: &str = "mcp-hil tests MCP servers, on microcontrollers and elsewhere.

Does my server keep the specification?
    mcp-hil check http://192.168.4.2:18791/mcp
    mcp-hil check 'stdio:python my-server.py' --html report.html
Where is my board, and what is wrong with its announcement?
    mcp-hil discover
Does it still answer as it did?
    mcp-hil replay http://192.168.4.2:18791/mcp
What does a board need, and what is it saying?
    mcp-hil boards scan
    mcp-hil doctor
I have no board, and no server yet.
    mcp-hil reference --port 8000

mcp-hil COMMAND --help tells all of a command, mcp-hil --help lists them.
";

/// Prints a shell's completions.
pub fn completions(shell: clap_complete::Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "mcp-hil", &mut script);
    output::print(false, &String::from_utf8_lossy(&script));
    Exit::Passed
}

/// Prints the manual page.
pub fn man() -> Exit {
    let mut page = Vec::new();
    match clap_mangen::Man::new(Args::command()).render(&mut page) {
        Ok(()) => {
            output::print(false, &String::from_utf8_lossy(&page));
            Exit::Passed
        }
        Err(error) => Exit::Infrastructure.because(&format!("the manual page could not be written: {error}")),
    }
}
