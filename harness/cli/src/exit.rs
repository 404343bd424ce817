//! What the command's exit code says.

use crate::output::without_secrets;
use mcp_hil_harness::report::escape;
use std::io::Write as _;
use std::process::ExitCode;

/// How a run ended. The numbers are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything that ran passed.
    Passed = 0,
    /// Something failed.
    Failed = 1,
    /// The command line or a transcript can't be used.
    Usage = 2,
    /// No board, no port, no network: nothing was found out about the target.
    Infrastructure = 3,
    /// No transcript was chosen, or all were skipped.
    NothingRan = 4,
    /// SIGHUP came: 128 and its number, as a shell has it.
    HungUp = 129,
    /// SIGINT came.
    Interrupted = 130,
    /// SIGTERM came.
    Terminated = 143,
}

/// The exit codes of `replay` for `--help`.
pub const TABLE: &str = "Exit codes:
  0  everything that ran passed
  1  a transcript failed
  2  the command line or a transcript can't be used
  3  infrastructure: the target could not be started or reached
  4  nothing ran: no transcript was chosen, or all were skipped
129  ended by SIGHUP
130  ended by SIGINT, as by Ctrl-C
143  ended by SIGTERM";

/// Those of `discover`.
pub const DISCOVER: &str = "Exit codes:
  0  as many boards as --wait asks for, or one, were found and can be used
  2  the command line can't be used
  3  fewer boards, or no network to search on
129  ended by SIGHUP
130  ended by SIGINT, as by Ctrl-C
143  ended by SIGTERM";

/// Those of `virtual`.
#[cfg(target_os = "linux")]
pub const VIRTUAL: &str = "Exit codes:
  0  the command that ran inside ended with 0, or all boards were shut down
  1  the command that ran inside ended otherwise
  2  the command line or the firmware can't be used
  3  infrastructure: no network, no board, no capture
129  ended by SIGHUP
130  ended by SIGINT, as by Ctrl-C
143  ended by SIGTERM";

/// Those of `reference`.
pub const REFERENCE: &str = "Exit codes:
  0  standard input ended, with --stdio
  2  the command line can't be used
  3  infrastructure: the port can't be had
129  ended by SIGHUP
130  ended by SIGINT, as by Ctrl-C
143  ended by SIGTERM";

impl Exit {
    /// Says on standard error why the run ended so.
    pub fn because(self, reason: &str) -> Self {
        // a reader that has gone away is no reason to fail
        let _ = writeln!(std::io::stderr(), "mcp-hil: {}", escape(&without_secrets(reason)));
        self
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(table: &str) -> Vec<u8> {
        let code = |line: &str| line.trim().split(' ').next().unwrap_or_default().parse();
        table.lines().skip(1).map(|line| code(line).unwrap()).collect()
    }

    #[test]
    fn the_tables_have_the_codes_of_their_commands() {
        assert_eq!(codes(DISCOVER), [0, 2, 3, 129, 130, 143]);
        assert_eq!(codes(REFERENCE), [0, 2, 3, 129, 130, 143]);
        #[cfg(target_os = "linux")]
        assert_eq!(codes(VIRTUAL), [0, 1, 2, 3, 129, 130, 143]);
    }

    #[test]
    fn the_table_has_every_code() {
        let all = [
            Exit::Passed,
            Exit::Failed,
            Exit::Usage,
            Exit::Infrastructure,
            Exit::NothingRan,
            Exit::HungUp,
            Exit::Interrupted,
            Exit::Terminated,
        ];
        assert_eq!(codes(TABLE), all.map(|exit| exit as u8));
    }
}
