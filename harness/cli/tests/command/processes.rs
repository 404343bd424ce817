//! Children of the command: they serve, and they never outlive it.

use crate::run::{File, command, ping, run};
use serde_json::json;
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
fn the_line_that_repeats_a_stdio_exchange_opens_with_the_handshake() {
    let mut transcript = ping();
    transcript["steps"][0]["expect"]["message"]["result"] = json!({"no": "such"});
    let file = File::new(&transcript);
    let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    let ran = run(&["replay", &stdio, file.path()]);
    ran.ended(1, "1 failed");
    let line = ran
        .stdout
        .lines()
        .find_map(|line| line.trim().strip_prefix("to repeat: "))
        .unwrap();
    let repeated = std::process::Command::new("sh")
        .args(["-c", line])
        .output()
        .unwrap();
    let answers: Vec<serde_json::Value> = String::from_utf8(repeated.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(answers[0]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
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

#[test]
fn a_server_on_standard_streams_is_not_told_the_token() {
    let file = File::ping();
    let seen = file.beside("environment");
    let server = env!("CARGO_BIN_EXE_mcp-hil");
    let target = format!("stdio:sh -c 'env > {seen}; exec {server} reference --stdio'");
    let mut command = command(&["replay", &target, file.path()]);
    let child = command.env("MCP_HIL_BEARER", "tok-0123456789").spawn().unwrap();
    crate::run::finish(child).ended(0, "1 passed");
    let seen = std::fs::read_to_string(seen).unwrap();
    assert!(
        seen.contains("PATH=") && !seen.contains("tok-0123456789"),
        "{seen}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_child_started_in_a_session_of_its_own_ends_with_it() {
    let file = File::ping();
    let server = env!("CARGO_BIN_EXE_mcp-hil");
    // as a child of the server, and as one whose parent has gone
    for (name, setsid) in [("child", "setsid"), ("orphan", "setsid -f")] {
        let pid = file.beside(name);
        let stray =
            format!("{setsid} sh -c \"echo \\$\\$ > {pid}.part; mv {pid}.part {pid}; exec sleep 300\"");
        let target = format!(
            "stdio:sh -c '{stray} >/dev/null 2>&1 & while [ ! -e {pid} ]; do sleep 0.01; done; exec {server} reference --stdio'"
        );
        run(&["replay", &target, file.path()]).ended(0, "1 passed");
        let pid = std::fs::read_to_string(&pid).unwrap();
        let process = Path::new("/proc").join(pid.trim());
        assert!(is_gone(&process), "{name} {pid} lives");
    }
}
