//! The whole loop on virtual boards that are plugged in all the time, as a bench has them: lease, identify, flash, boot,
//! find, replay. Every failure has its name, and the next run on the same board is green.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod failures;
mod lab;

use lab::{Lab, child_of, runs};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

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

#[test]
fn ready_images_run_and_their_build_is_found_in_them() {
    let lab = Lab::new(2);
    let elf = lab.run(&["--board", "desk-0"]);
    assert_eq!(elf.code, Some(0), "{elf:?}");
    let whole = lab.read_flash(0, "whole.bin", "0,0x80000");
    let application = lab.read_flash(0, "application.bin", "0x10000,0x70000");
    for (image, written) in [
        (&whole, "written and verified"),
        (&application, "all of it was in flash already"),
    ] {
        let ran = lab.run_file(image, &["--board", "desk-1"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let line = |stage: &str| {
            ran.stdout
                .lines()
                .find(|line| line.starts_with(&format!("stage desk-1 {stage} ")))
                .unwrap()
        };
        assert!(line("flash").contains(written), "{ran:?}");
        assert!(line("find").ends_with(", runs this build"), "{ran:?}");
    }
    // another build in the file than on the board, told by the image alone
    lab.throw(1, "fault old-firmware");
    let other = lab.changed_firmware("other.elf", 16);
    let old = lab.run_file(&other, &["--board", "desk-1"]);
    assert_eq!(old.code, Some(3), "{old:?}");
    lab.throw(1, "fault none");

    // with another type it is no build id: what runs can't be compared with the file, and the report says so
    let without = lab.changed_firmware("without.elf", 8);
    let ran = lab.run_file(&without, &["--board", "desk-0", "--json", "report.json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = std::fs::read_to_string(lab.path("report.json")).unwrap();
    assert!(
        report.contains("the build was not proved: the file has no build id to compare with"),
        "{report}"
    );
    let image = lab.read_flash(0, "without.bin", "0,0x80000");
    let ran = lab.run_file(&image, &["--board", "desk-1"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("warn  desk-1 run/build"), "{ran:?}");

    // what is none is said before a board is touched
    let cut = lab.path("cut.bin");
    std::fs::write(&cut, &std::fs::read(&application).unwrap()[..100_000]).unwrap();
    let ran = lab.run_file(&cut, &["--board", "desk-1"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr
            .contains("cut.bin is no firmware: its application image is cut off"),
        "{ran:?}"
    );
}
