//! Children of the command: they serve, and they never outlive it.

use crate::run::{File, command, run};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Ends its process when dropped.
pub struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `mcp-hil reference` and its URL.
pub fn reference() -> (Ended, String) {
    let mut child = command(&["reference"]).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let url = line.trim().strip_prefix("serving ").unwrap().to_owned();
    (Ended(child), url)
}

#[test]
fn the_reference_is_known_by_its_name_over_http_and_stdio() {
    let (_child, url) = reference();
    run(&["replay", &url, "--filter", "unknown-tool"]).ended(0, "2 passed, 0 failed, 0 skipped");
    let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    run(&["replay", &stdio, "--filter", "unknown-tool"]).ended(0, "2 passed, 0 failed, 0 skipped");
}

#[test]
fn a_child_does_not_outlive_a_killed_command() {
    let file = File::ping();
    let pid_file = file.beside("pid");
    // ignores the end of its input, as a hanging server would
    let target =
        format!("stdio:sh -c 'echo $$ > {pid_file}.part; mv {pid_file}.part {pid_file}; exec sleep 300'");
    let mut child = command(&["replay", &target, file.path()]).spawn().unwrap();
    let pid = wait_for(|| std::fs::read_to_string(&pid_file).ok());
    let process = Path::new("/proc").join(pid.trim());
    assert!(process.exists());
    // SIGKILL: the command gets no chance to clean up
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for(|| is_gone(&process).then_some(()));
}

/// Gone, or dead and not yet collected by its new parent.
pub fn is_gone(process: &Path) -> bool {
    match std::fs::read_to_string(process.join("stat")) {
        Ok(stat) => stat
            .rsplit(')')
            .next()
            .is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => true,
    }
}

pub fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "it did not happen within 10 s"
        );
        sleep(Duration::from_millis(20));
    }
}
