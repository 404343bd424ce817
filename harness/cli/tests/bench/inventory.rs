//! The inventory, the leases, the doctor.

use crate::{Bench, FLASH, MAC};
use std::io::Read as _;
use std::process::Stdio;

#[test]
fn a_scan_finds_out_what_a_board_is_and_keeps_what_a_person_wrote() {
    let bench = Bench::new();
    let port = bench.board.link();
    let written = format!(
        "# mine\n[boards.window] # on the sill\nkind = \"virtual\"\nowner = \"ann\"\nport = {port:?}\n"
    );
    bench.write("boards.toml", &written);
    let ran = bench.run(&["boards", "scan"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = std::fs::read_to_string(bench.path("boards.toml")).unwrap();
    assert_eq!(text, format!("{written}mac = \"{MAC}\"\nchip = \"esp32c3\"\n"));
    let again = bench.run(&["boards", "scan"]);
    assert!(again.stdout.contains("as before"), "{again:?}");
    assert_eq!(std::fs::read_to_string(bench.path("boards.toml")).unwrap(), text);
}

#[test]
fn who_has_a_board_is_shown_to_whoever_wants_it() {
    let bench = Bench::new();
    bench.write_image(30_000);
    let free = bench.run(&["boards"]);
    assert!(
        free.stdout.contains("bench-1") && free.stdout.contains("  free"),
        "{free:?}"
    );
    let mut other = bench
        .command(&["monitor", "bench-1", "--reset"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // it has the board when it prints
    other.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
    let pid = format!("(pid {}, mcp-hil monitor)", other.id());
    let taken = bench.run(&["boards"]);
    assert!(taken.stdout.contains(&pid), "{taken:?}");
    let refused = bench.flash(&[]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("board-leased: bench-1 is leased by ") && refused.stderr.contains(&pid),
        "{refused:?}"
    );
    let wait = bench
        .command(&[&FLASH[..], &["--wait", "30s"]].concat())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    // whatever way it dies
    other.kill().unwrap();
    other.wait().unwrap();
    let waited = wait.wait_with_output().unwrap();
    assert!(waited.status.success(), "{waited:?}");
    let told = String::from_utf8(waited.stderr).unwrap();
    assert!(
        told.contains("waiting: bench-1 is leased by ") && told.contains(&pid),
        "{told}"
    );
}

#[test]
fn the_doctor_says_what_to_mend() {
    let bench = Bench::new();
    let ran = bench.run(&["doctor"]);
    assert!(ran.stdout.contains("good  bench-1: port "), "{ran:?}");
    bench.write("boards.toml", "[boards.gone]\nport = \"/dev/no-such-port\"\n");
    let ran = bench.run(&["doctor"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.stdout
            .contains("BAD   gone: there is no port /dev/no-such-port\n        plug it in"),
        "{ran:?}"
    );
    bench.write("boards.toml", "[boards.x]\nport = 3\n");
    let ran = bench.run(&["doctor"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("boards.x.port: must be a string"), "{ran:?}");
}
