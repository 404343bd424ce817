//! The whole loop on virtual boards that are plugged in all the time, as a bench has them: lease, identify, flash, boot,
//! find, replay. Every failure has its name, and the next run on the same board is green.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod lab;

use lab::{Lab, child_of, runs};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// What a board does, the name that the run has for it, its exit code, and by when it ends, in seconds.
const FAILURES: [(&str, &str, i32, u64); 17] = [
    ("no-network", "no-network", 3, 40),
    ("not-announced", "not-announced", 1, 20),
    ("hung", "hung", 1, 25),
    ("no-sync", "no-sync", 3, 15),
    ("line-noise", "line-noise", 3, 15),
    ("trickle", "line-noise", 3, 15),
    ("wrong-chip", "wrong-chip", 3, 10),
    ("wrong-board", "wrong-board", 3, 10),
    ("write-failed", "write-failed", 3, 10),
    ("verify-failed", "verify-failed", 3, 15),
    ("port-lost", "port-lost", 3, 15),
    ("old-firmware", "old-firmware", 3, 20),
    ("boot-panic", "boot-panic", 1, 15),
    ("boot-loop", "boot-loop", 1, 15),
    ("refused", "refused", 1, 15),
    ("not-mcp", "not-mcp", 1, 15),
    ("rebooted", "rebooted", 1, 15),
];

#[test]
fn every_failure_has_its_name_and_the_next_run_is_green() {
    const BOARDS: usize = 4;
    let lab = Lab::new(BOARDS);
    std::thread::scope(|scope| {
        for board in 0..BOARDS {
            let lab = &lab;
            scope.spawn(move || {
                for (fault, name, code, seconds) in FAILURES.iter().skip(board).step_by(BOARDS) {
                    one(lab, board, fault, name, *code, Duration::from_secs(*seconds));
                }
            });
        }
    });
}

fn one(lab: &Lab, board: usize, fault: &str, name: &str, code: i32, limit: Duration) {
    let desk = format!("desk-{board}");
    if fault == "old-firmware" {
        // so that there is one
        lab.flash_other(board);
    }
    lab.throw(board, &format!("fault {fault}"));
    let logs = lab.path(&format!("logs/{fault}"));
    let ran = lab.run(&["--board", &desk, "--force", "--logs", logs.to_str().unwrap()]);
    assert_eq!(ran.code, Some(code), "{fault}: {ran:?}");
    let line = ran
        .stdout
        .lines()
        .map(str::trim)
        .find(|line| line.contains(&format!("{name}: ")))
        .unwrap_or_else(|| panic!("{fault}: no {name} in {ran:?}"));
    println!(
        "| `{fault}` | {code} | {:.1} s | {line} |",
        ran.time.as_secs_f64()
    );
    assert!(ran.time < limit, "{fault}: {ran:?}");
    let kept = std::fs::read_to_string(logs.join(&desk).join("verdicts.log")).unwrap();
    assert!(kept.contains(&format!("{name}: ")), "{fault}: {kept}");
    lab.throw(board, "fault none");
    let next = lab.run(&["--board", &desk]);
    assert_eq!(next.code, Some(0), "after {fault}: {next:?}");
}

#[test]
fn kill_9_in_the_middle_of_flashing_leaves_a_board_that_the_next_run_has() {
    let lab = Lab::new(1);
    let mut command = lab.command(&["--board", "desk-0", "--force", "--baud", "115200"]);
    let mut run = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let identified = BufReader::new(run.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains(" identify "));
    assert!(identified.is_some());
    let child = child_of(run.id()).expect("it flashes");
    run.kill().unwrap();
    run.wait().unwrap();
    let next = lab.run(&["--board", "desk-0"]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(!runs(child), "the flashing process {child} is still there");
}

#[test]
fn several_boards_are_named_and_one_is_asked_for() {
    let lab = Lab::new(2);
    let both = lab.run(&["--board", "desk-0", "--board", "desk-1"]);
    assert_eq!(both.code, Some(0), "{both:?}");
    for (board, mac) in [("desk-0", "0d250a"), ("desk-1", "0d250b")] {
        for stage in ["lease", "identify", "flash", "reset", "boot", "find", "replay"] {
            assert!(
                both.stdout.contains(&format!("stage {board} {stage}  (")),
                "{both:?}"
            );
        }
        let found = format!("stage {board} find");
        let line = both.stdout.lines().find(|line| line.starts_with(&found)).unwrap();
        assert!(
            line.contains(&format!("mcp-hil-{mac} at ")) && line.ends_with("runs this build"),
            "{line}"
        );
    }
    let again = lab.run(&["--any", "chip=esp32c3"]);
    assert!(
        again.stdout.contains("all of it was in flash already"),
        "{again:?}"
    );
    let none = lab.run(&["--board", "desk-2"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("there are desk-0, desk-1"), "{none:?}");
}
