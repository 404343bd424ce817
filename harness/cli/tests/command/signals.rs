//! A signal ends the command, and everything that it started.

use crate::processes::{is_gone, wait_for};
use crate::run::{File, command};
use std::path::Path;

/// Ends a replay whose server has a child of its own by a signal; the exit code is 128 and the signal's number.
fn ended_by(signal: &str, code: i32) {
    let file = File::ping();
    let pid_file = file.beside("pid");
    let target =
        format!("stdio:sh -c 'sleep 300 & echo $! > {pid_file}.part; mv {pid_file}.part {pid_file}; wait'");
    let mut child = command(&["replay", &target, file.path()]).spawn().unwrap();
    let pid = wait_for(|| std::fs::read_to_string(&pid_file).ok());
    let grandchild = Path::new("/proc").join(pid.trim());
    assert!(grandchild.exists());
    let sent = std::process::Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let status = wait_for(|| child.try_wait().unwrap());
    wait_for(|| is_gone(&grandchild).then_some(()));
    assert_eq!(status.code(), Some(code), "{status}");
}

#[test]
fn interrupt() {
    ended_by("-INT", 130);
}

#[test]
fn terminate() {
    ended_by("-TERM", 143);
}

/// `nohup` has it ignored for a run that outlives its terminal.
#[test]
fn an_ignored_hangup_ends_nothing() {
    let file = File::ping();
    let pid_file = file.beside("pid");
    let target = format!("stdio:sh -c 'echo > {pid_file}; exec sleep 300'");
    let (program, path) = (env!("CARGO_BIN_EXE_mcp-hil"), file.path());
    let mut child = std::process::Command::new("sh")
        .args([
            "-c",
            "trap '' HUP; exec \"$@\"",
            "sh",
            program,
            "replay",
            &target,
            path,
        ])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| std::fs::read_to_string(&pid_file).ok());
    let id = child.id().to_string();
    let send = |signal: &str| {
        let sent = std::process::Command::new("kill").args([signal, &id]).status();
        assert!(sent.unwrap().success());
    };
    send("-HUP");
    std::thread::sleep(std::time::Duration::from_millis(300));
    send("-TERM");
    assert_eq!(wait_for(|| child.try_wait().unwrap()).code(), Some(143));
}

#[test]
fn hangup() {
    ended_by("-HUP", 129);
}
