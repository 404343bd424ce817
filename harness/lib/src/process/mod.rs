//! Child processes that do not outlive us, even when we are killed.
//!
//! Whoever drops a [`Guarded`] ends the child, everything in its process group, and on Linux what the child started in
//! sessions of their own. When we are killed with SIGKILL nothing is dropped: the kernel then ends the child itself, but
//! children of the child stay, unless they end with their standard streams.

#[cfg(target_os = "linux")]
mod strays;

use crate::target::Command;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::Path;
use std::process::Stdio;
use tokio::process::{Child, Command as Process};

/// Variables that hold secrets which are not for a child.
const SECRETS: [&str; 1] = ["MCP_HIL_BEARER"];

/// A command to be started so that it dies with us: in a process group of its own, killed on drop, and where
/// `setpriv` is installed (Linux) by the kernel, should we get no chance. The kernel's part follows the
/// thread that starts the child, so that thread must be a long-lived one.
fn prepare(command: &Command) -> Process {
    let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"]
        .into_iter()
        .find(|path| Path::new(path).exists());
    let mut process = match setpriv {
        Some(setpriv) => {
            let mut process = Process::new(setpriv);
            process.args(["--pdeathsig", "KILL", "--", &command.program]);
            process
        }
        None => Process::new(&command.program),
    };
    process.args(&command.arguments);
    for secret in SECRETS {
        process.env_remove(secret);
    }
    process
}

/// A running child with all three standard streams piped.
#[derive(Debug)]
pub struct Guarded {
    /// The child; its streams can be taken.
    pub child: Child,
    group: Option<Pid>,
    #[cfg(target_os = "linux")]
    mark: String,
}

impl Guarded {
    /// Starts a command.
    ///
    /// # Errors
    /// What the system says, in words: there is no such program, or it may not be run.
    pub fn spawn(command: &Command) -> Result<Self, String> {
        // setpriv would start well and fail itself, which looks like a program that ends at once
        find(&command.program)?;
        let mut process = prepare(command);
        #[cfg(target_os = "linux")]
        let mark = strays::mark();
        #[cfg(target_os = "linux")]
        process.env(&mark, "1");
        let child = process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| error.to_string())?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self {
            child,
            group,
            #[cfg(target_os = "linux")]
            mark,
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // the leader's id stays taken until it has been waited for, so this can't hit a stranger's group
        if let (Some(group), Ok(None)) = (self.group, self.child.try_wait()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        #[cfg(target_os = "linux")]
        strays::end(&self.mark);
    }
}

/// Looks a program up as `execvp` would.
fn find(program: &str) -> Result<(), String> {
    use std::os::unix::fs::PermissionsExt as _;
    let runs = |path: &Path| {
        path.metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return if runs(Path::new(program)) {
            Ok(())
        } else {
            Err("there is no such program, or it may not be run".to_owned())
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|folder| runs(&folder.join(program))) {
        Ok(())
    } else {
        Err("no program of this name in PATH".to_owned())
    }
}
