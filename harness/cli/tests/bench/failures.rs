//! A board that fails is named in time, keeps its evidence, and works again the next time.

use crate::Bench;
use std::time::Duration;

/// What the board does, the name that the command has for it, what it says, and by when.
const FAILURES: [(&str, &str, &str, u64); 8] = [
    (
        "no-sync",
        "no-sync",
        "the ROM loader waits, and does not answer",
        8,
    ),
    ("line-noise", "line-noise", "bytes came in place of an answer", 8),
    ("trickle", "line-noise", "bytes came in place of an answer", 8),
    (
        "wrong-chip",
        "wrong-chip",
        "the board is an esp32c6, not an esp32c3",
        4,
    ),
    (
        "wrong-board",
        "wrong-board",
        "is the board 02:00:00:00:00:81, not 02:00:00:00:00:01",
        4,
    ),
    ("write-failed", "write-failed", "SPI operation failed", 6),
    (
        "verify-failed",
        "verify-failed",
        "what the flash holds is not what was written",
        6,
    ),
    ("port-lost", "port-lost", "went away", 8),
];

#[test]
fn every_failure_of_the_bench_has_its_name_and_the_next_run_is_green() {
    let bench = Bench::new();
    bench.write_image(60_000);
    for (fault, name, said, seconds) in FAILURES {
        bench.fault(Some(fault));
        let ran = bench.flash(&["--force"]);
        assert_eq!(ran.code, Some(3), "{fault}: {ran:?}");
        let line = ran
            .stderr
            .lines()
            .find(|line| line.starts_with("mcp-hil: "))
            .unwrap_or_default();
        assert!(
            line.contains(&format!("bench-1: {name}: ")) && line.contains(said),
            "{fault}: {ran:?}"
        );
        assert!(ran.stderr.contains("\ntry: "), "{fault}: {ran:?}");
        assert!(ran.time < Duration::from_secs(seconds), "{fault}: {ran:?}");
        bench.fault(None);
        let next = bench.flash(&["--force"]);
        assert_eq!(next.code, Some(0), "after {fault}: {next:?}");
    }
}

#[test]
fn a_wrong_board_is_not_written_to() {
    let bench = Bench::new();
    bench.write_image(60_000);
    let before = bench.flash_content();
    bench.write("boards.toml", bench.entry("bench-1", "02:00:00:00:00:02"));
    let ran = bench.flash(&[]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("wrong-board: "), "{ran:?}");
    assert_eq!(bench.flash_content(), before);
}

#[test]
fn a_line_that_is_too_slow_is_flashed_at_a_rate_that_holds_and_the_rate_is_remembered() {
    let bench = Bench::new();
    bench.write_image(60_000);
    bench.fault(Some("slow-line"));
    let ran = bench.flash(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("at 460800 baud"), "{ran:?}");
    assert!(ran.stderr.contains("2000000 baud does not hold"), "{ran:?}");
    let again = bench.flash(&["--force"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(!again.stderr.contains("does not hold"), "{again:?}");
}

#[test]
fn a_job_that_does_not_end_is_ended() {
    let bench = Bench::new();
    bench.write_image(4_000_000);
    let ran = bench.flash(&["--deadline", "600ms"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stderr
            .contains("bench-1: write-failed: no end within 0.6 s, in the application"),
        "{ran:?}"
    );
    assert!(ran.time < Duration::from_secs(4), "{ran:?}");
}

#[test]
fn a_console_without_a_word_of_what_was_waited_for_is_a_failure() {
    let bench = Bench::new();
    let seen = bench.run(&[
        "monitor",
        "--reset",
        "--until",
        "invalid header",
        "--timeout",
        "10s",
    ]);
    assert_eq!(seen.code, Some(0), "{seen:?}");
    assert!(seen.stdout.contains("rst:0x1 (POWERON)"), "{seen:?}");
    let missed = bench.run(&["monitor", "--reset", "--until", "no such line", "--timeout", "3s"]);
    assert_eq!(missed.code, Some(1), "{missed:?}");
    assert!(
        missed.stderr.contains("-- boot-loop: it started 4 times"),
        "{missed:?}"
    );
    let log = std::fs::read_to_string(bench.path("state/logs/bench-1.log")).unwrap();
    assert_eq!(log.matches("-- bench-1 on ").count(), 2);
}
