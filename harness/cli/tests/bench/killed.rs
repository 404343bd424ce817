//! A run that is killed leaves nothing behind.

use crate::{Bench, FLASH};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The flashing process that this process has started.
fn child_of(parent: u32) -> Option<u32> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}

fn runs(pid: u32) -> bool {
    // a zombie has no command line
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

#[test]
fn kill_9_in_the_middle_of_flashing_frees_the_board() {
    let bench = Bench::new();
    bench.write_image(1_800_000);
    let mut run = bench
        .command(&FLASH)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    let blank = |bench: &Bench| {
        bench.flash_content()[0x10000..0x20000]
            .iter()
            .all(|byte| *byte == 0xff)
    };
    while blank(&bench) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    let child = child_of(run.id()).expect("it flashes");
    run.kill().unwrap();
    run.wait().unwrap();
    let next = bench.flash(&[]);
    assert_eq!(next.code, Some(0), "{next:?}");
    assert!(
        next.stdout
            .contains("application      0x010000  1800000 bytes  written and verified"),
        "{next:?}"
    );
    assert!(!runs(child), "the flashing process {child} is still there");
}
