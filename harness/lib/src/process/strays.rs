//! Processes that a child started and that left its process group, as by `setsid`: known by a variable in their
//! environment, which is handed down.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Begin of the variable's name.
const NAME: &str = "MCP_HIL_STARTED_BY";
/// How often it is looked again, as a process may start another meanwhile.
const ROUNDS: usize = 20;

/// The name of a variable that no other child of any process has, in containers of this machine as well.
pub fn mark() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{NAME}_{}_{:x}_{count}", std::process::id(), now.as_nanos())
}

/// Ends every process whose environment at its start had the variable. One that took it out before it started another
/// program is not found.
pub fn end(mark: &str) {
    let entry = format!("{mark}=");
    for _ in 0..ROUNDS {
        let mut found = false;
        for pid in running() {
            // held before it is looked at: a number may be given to another process at any time
            let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
                continue;
            };
            let path = format!("/proc/{}/environ", pid.as_raw_nonzero());
            // of those that are dead and of other users there is none
            let environment = std::fs::read(path).unwrap_or_default();
            let mut entries = environment.split(|byte| *byte == 0);
            if entries.any(|other| other.starts_with(entry.as_bytes())) {
                found |= pidfd_send_signal(process, Signal::KILL).is_ok();
            }
        }
        if !found {
            return;
        }
    }
}

fn running() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}
