//! The right to use a board: one file a board, locked with `flock(2)`.
//!
//! The kernel drops the lock when its holder ends, whatever way it ends, so no lease outlives a process and nothing has
//! to be cleaned up. What stands in the file is only for people: who has it, since when, and for what.

use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// How often a lease is asked for while it is waited for.
const ASK: Duration = Duration::from_millis(50);
/// For this long a lock is asked for again although nobody waits: a look at the lock takes it for a moment.
const GLANCE: Duration = Duration::from_millis(120);

/// Who has a board.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Id of the process.
    pub pid: u32,
    /// User and host, as far as the environment tells.
    pub who: String,
    /// Seconds since 1970 at which it was taken.
    pub since: u64,
    /// The command, without its options: these may be secret.
    pub command: String,
}

impl Holder {
    /// This process, from now on.
    pub fn here(command: &str) -> Self {
        let value = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let number = || format!("user {}", rustix::process::getuid().as_raw());
        let user = value("USER").or_else(|| value("LOGNAME")).unwrap_or_else(number);
        // a runner's job says more than its user
        let job = value("GITHUB_RUN_ID")
            .map(|run| format!("GitHub run {run}"))
            .or_else(|| value("CI_JOB_ID").map(|job| format!("GitLab job {job}")));
        Self {
            pid: std::process::id(),
            who: job.into_iter().chain([user]).collect::<Vec<_>>().join(", "),
            since: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
            command: command.to_owned(),
        }
    }

    /// One line, as `root (pid 4711, mcp-hil flash) for 3 min`.
    pub fn describe(&self, now: SystemTime) -> String {
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let age = now.saturating_sub(self.since);
        let age = match age {
            0..120 => format!("{age} s"),
            120..7200 => format!("{} min", age / 60),
            _ => format!("{} h", age / 3600),
        };
        format!("{} (pid {}, {}) for {age}", self.who, self.pid, self.command)
    }
}

/// Why there is no lease.
#[derive(Debug, thiserror::Error)]
pub enum LeaseError {
    /// Somebody has it, and the time to wait is up.
    #[error("leased by {}", describe(.0.as_ref()))]
    Held(Option<Holder>),
    /// The file can't be used.
    #[error("the lease {file}: {error}")]
    File {
        /// Its path.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

fn describe(holder: Option<&Holder>) -> String {
    holder.map_or_else(
        || "somebody".to_owned(),
        |holder| holder.describe(SystemTime::now()),
    )
}

/// The folder of the leases, the same for all users of a machine.
#[derive(Clone, Debug)]
pub struct Leases {
    folder: PathBuf,
}

impl Leases {
    /// Those of `MCP_HIL_LEASES`, or of this machine.
    pub fn of_this_machine() -> Self {
        let folder = std::env::var_os("MCP_HIL_LEASES")
            .map(PathBuf::from)
            .or_else(|| {
                let lock = Path::new("/run/lock");
                lock.is_dir().then(|| lock.join("mcp-hil"))
            })
            .unwrap_or_else(|| std::env::temp_dir().join("mcp-hil-leases"));
        Self { folder }
    }

    /// Those of a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Takes the lease of a board, known by `key`; waits so long for it. `waiting` is told once who has it.
    ///
    /// # Errors
    /// [`LeaseError`].
    pub fn take(
        &self,
        key: &str,
        holder: &Holder,
        wait: Duration,
        mut waiting: impl FnMut(Option<&Holder>),
    ) -> Result<Lease, LeaseError> {
        let path = self.path(key);
        let failed = |error| LeaseError::File {
            file: path.clone(),
            error,
        };
        let mut file = self.open(&path).map_err(failed)?;
        let start = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            let waited = start.elapsed();
            if waited >= wait.max(GLANCE) {
                return Err(LeaseError::Held(read(&mut file)));
            }
            if waited >= GLANCE && !told {
                told = true;
                waiting(read(&mut file).as_ref());
            }
            std::thread::sleep(ASK);
        }
        write(&mut file, holder).map_err(failed)?;
        Ok(Lease { file })
    }

    /// Who has a board now.
    ///
    /// # Errors
    /// The file can't be used.
    pub fn holder(&self, key: &str) -> Result<Option<Holder>, LeaseError> {
        let path = self.path(key);
        if !path.exists() {
            return Ok(None);
        }
        let failed = |error| LeaseError::File {
            file: path.clone(),
            error,
        };
        let mut file = self.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(None),
            Err(TryLockError::WouldBlock) => Ok(Some(read(&mut file).unwrap_or_else(|| Holder {
                pid: 0,
                who: "somebody".to_owned(),
                since: 0,
                command: "unknown".to_owned(),
            }))),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    fn path(&self, key: &str) -> PathBuf {
        let name: String = key
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || "-_.".contains(c) {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        self.folder.join(format!("{name}.lease"))
    }

    /// Opens a file that every user may lock.
    fn open(&self, path: &Path) -> io::Result<File> {
        if !self.folder.is_dir() {
            fs::create_dir_all(&self.folder)?;
            // as /tmp: everybody may make a lease, nobody may remove another's
            fs::set_permissions(&self.folder, fs::Permissions::from_mode(0o1777))?;
        }
        // in a sticky folder the kernel refuses O_CREAT on another user's file (fs.protected_regular)
        let plain = OpenOptions::new().read(true).write(true).open(path);
        match plain {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create(true)
                    .truncate(false)
                    .mode(0o666)
                    .open(path)?;
                // the umask must not keep other users from asking; who did not make it can't change it
                let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o666));
                Ok(made)
            }
            opened => opened,
        }
    }
}

fn read(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write(file: &mut File, holder: &Holder) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(
        serde_json::to_string(holder)
            .map_err(io::Error::other)?
            .as_bytes(),
    )
}

/// The right to use a board, until it is dropped or this process ends.
#[derive(Debug)]
pub struct Lease {
    file: File,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(who: &str) -> Holder {
        Holder {
            pid: 4711,
            who: who.to_owned(),
            since: 1_000_000,
            command: "mcp-hil flash".to_owned(),
        }
    }

    fn leases() -> (Leases, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (Leases::in_folder(&folder.path().join("leases")), folder)
    }

    #[test]
    fn one_has_it_and_the_next_learns_who() {
        let (leases, _folder) = leases();
        assert_eq!(leases.holder("a/b").unwrap(), None);
        let lease = leases
            .take("a/b", &holder("ann"), Duration::ZERO, |_| {})
            .unwrap();
        assert_eq!(leases.holder("a/b").unwrap(), Some(holder("ann")));
        let other = leases.take("a/b", &holder("bob"), Duration::ZERO, |_| {});
        let Err(LeaseError::Held(Some(by))) = other else {
            panic!("{other:?}");
        };
        assert_eq!(by, holder("ann"));
        drop(lease);
        leases
            .take("a/b", &holder("bob"), Duration::ZERO, |_| {})
            .unwrap();
    }

    #[test]
    fn whoever_waits_is_told_who_has_it_and_gets_it() {
        let (leases, _folder) = leases();
        let lease = leases.take("x", &holder("ann"), Duration::ZERO, |_| {}).unwrap();
        let waiting = leases.clone();
        let thread = std::thread::spawn(move || {
            let mut told = None;
            let taken = waiting.take("x", &holder("bob"), Duration::from_secs(10), |by| {
                told = by.cloned()
            });
            (taken.is_ok(), told)
        });
        std::thread::sleep(Duration::from_millis(400));
        drop(lease);
        assert_eq!(thread.join().unwrap(), (true, Some(holder("ann"))));
    }

    #[test]
    fn a_lease_dies_with_a_holder_that_is_killed() {
        let (leases, folder) = leases();
        drop(leases.take("x", &holder("ann"), Duration::ZERO, |_| {}).unwrap());
        let file = folder.path().join("leases/x.lease");
        let mut child = std::process::Command::new("flock")
            .arg("--no-fork")
            .arg(&file)
            .args(["sh", "-c", "echo held; exec sleep 60"])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut held = [0; 5];
        child.stdout.take().unwrap().read_exact(&mut held).unwrap();
        assert!(leases.holder("x").unwrap().is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        leases
            .take("x", &holder("bob"), Duration::from_secs(5), |_| {})
            .unwrap();
    }

    #[test]
    fn a_holder_is_one_line() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000_000 + 200);
        assert_eq!(
            holder("ann").describe(now),
            "ann (pid 4711, mcp-hil flash) for 3 min"
        );
    }
}
