//! Child processes that cannot outlive this one, not even when it is killed with SIGKILL.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{self, Child, Command};
use std::sync::mpsc::{self, Sender};
use std::thread;

use crate::Error;

/// After `setpriv` has asked for the signal, looks whether the parent is still there to cause it.
const SCRIPT: &str = r#"[ "$PPID" = "$0" ] || exit 1; exec "$@""#;

type Request = (Command, Sender<io::Result<Child>>);

/// The thread that starts the children. The kernel's parent-death signal follows the thread that forked, not
/// the process. A child in its first instants outlives the thread, but not the process.
#[derive(Clone)]
pub struct Tether {
    requests: Sender<Request>,
}

impl Tether {
    /// Starts the thread. It ends with the last clone.
    pub fn start() -> Result<Self, Error> {
        require_setpriv()?;
        let (requests, inbox) = mpsc::channel::<Request>();
        thread::Builder::new()
            .name("tether".to_owned())
            .spawn(move || {
                for (mut command, answer) in inbox {
                    let _ = answer.send(command.spawn());
                }
            })
            .map_err(Error::io("start the tether's thread"))?;
        Ok(Tether { requests })
    }

    /// A command for [`Tether::spawn`]; arguments and the rest are set on it as on any other.
    pub fn command(program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "sh", "-c", SCRIPT])
            .arg(process::id().to_string())
            .arg(program);
        command
    }

    /// Starts a command made with [`Tether::command`].
    pub fn spawn(&self, command: Command) -> io::Result<Child> {
        let gone = || io::Error::other("the tether's thread has ended");
        let (answer, started) = mpsc::channel();
        self.requests.send((command, answer)).map_err(|_| gone())?;
        started.recv().map_err(|_| gone())?
    }
}

/// Whether there is the program that ties children to this process.
pub fn require_setpriv() -> Result<(), Error> {
    require("setpriv", "install util-linux")
}

/// Looks for a program on PATH.
pub fn require(program: &str, advice: &'static str) -> Result<(), Error> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).any(|folder| Path::new(&folder).join(program).is_file());
    if found {
        Ok(())
    } else {
        Err(Error::ProgramMissing {
            program: program.to_owned(),
            advice,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_runs_and_its_end_is_seen() {
        let tether = Tether::start().unwrap();
        let mut command = Tether::command("sh");
        command.args(["-c", "exit 3"]);
        assert_eq!(tether.spawn(command).unwrap().wait().unwrap().code(), Some(3));
    }

    #[test]
    fn the_end_of_the_thread_ends_the_children() {
        use std::io::{BufRead, BufReader};
        use std::os::unix::process::ExitStatusExt;
        let tether = Tether::start().unwrap();
        let mut command = Tether::command("sh");
        command
            .args(["-c", "echo up; exec sleep 1000"])
            .stdout(std::process::Stdio::piped());
        let mut child = tether.spawn(command).unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        drop(tether);
        assert_eq!(child.wait().unwrap().signal(), Some(9));
    }

    #[test]
    fn a_child_whose_parent_is_gone_already_does_not_start() {
        // The shell between stands for whoever adopts an orphan.
        let orphan = Tether::command("true");
        let status = |command: &mut Command| command.status().unwrap().code();
        let mut between = Command::new("sh");
        between
            .args(["-c", "\"$@\"; exit $?", "sh"])
            .arg(orphan.get_program())
            .args(orphan.get_args());
        assert_eq!(status(&mut between), Some(1));
        assert_eq!(status(&mut Tether::command("true")), Some(0));
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        require("sh", "").unwrap();
        let error = require("no-such-program", "install it").unwrap_err().to_string();
        assert_eq!(error, "no-such-program is not on PATH; install it");
    }
}
