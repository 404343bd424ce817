//! Every failure has its name: the run ends in time, says it, exits as it should, keeps the logs and lets go of the board, and
//! the next run is green. With `MCP_HIL_WRITE=1` what was seen is written to `harness/failures.md`.

use crate::lab::{Lab, Ran, Running, is_root};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::time::Duration;

/// How a failure comes about.
#[derive(Clone, Copy, Debug)]
enum By {
    /// The board's fault of this name.
    Fault(&'static str),
    /// A serial monitor has the port.
    Monitor,
    /// The user may not open the port.
    OtherUser,
}

/// A failure: how it comes about, its exit code, and by when the run ends, in seconds.
struct Failure {
    name: &'static str,
    by: By,
    code: i32,
    seconds: u64,
}

const fn fault(name: &'static str, fault: &'static str, code: i32, seconds: u64) -> Failure {
    Failure {
        name,
        by: By::Fault(fault),
        code,
        seconds,
    }
}

/// In the order of a board's way; those that take long are not one behind the other.
const FAILURES: [Failure; 20] = [
    fault("port-missing", "port-lost@start", 3, 10),
    Failure {
        name: "permission-denied",
        by: By::OtherUser,
        code: 3,
        seconds: 10,
    },
    Failure {
        name: "port-busy",
        by: By::Monitor,
        code: 3,
        seconds: 10,
    },
    fault("no-sync", "no-sync", 3, 15),
    fault("line-noise", "line-noise", 3, 15),
    fault("line-noise", "trickle", 3, 15),
    fault("wrong-chip", "wrong-chip", 3, 10),
    fault("wrong-board", "wrong-board", 3, 10),
    fault("write-failed", "write-failed", 3, 10),
    fault("verify-failed", "verify-failed", 3, 15),
    fault("port-lost", "port-lost", 3, 15),
    fault("boot-panic", "boot-panic", 1, 15),
    fault("boot-loop", "boot-loop", 1, 15),
    fault("old-firmware", "old-firmware", 3, 20),
    fault("no-network", "no-network", 3, 40),
    fault("not-announced", "not-announced", 1, 20),
    fault("hung", "hung", 1, 25),
    fault("refused", "refused", 1, 15),
    fault("not-mcp", "not-mcp", 1, 15),
    fault("rebooted", "rebooted", 1, 15),
];

const BOARDS: usize = 4;

#[test]
fn every_failure_has_its_name_and_the_next_run_is_green() {
    let lab = Lab::new(BOARDS);
    let rows = Mutex::new(vec![String::new(); FAILURES.len()]);
    std::thread::scope(|scope| {
        for board in 0..BOARDS {
            let (lab, rows) = (&lab, &rows);
            scope.spawn(move || {
                for (at, failure) in FAILURES.iter().enumerate().skip(board).step_by(BOARDS) {
                    let row = one(lab, board, failure);
                    print!("{row}");
                    rows.lock().unwrap()[at] = row;
                }
            });
        }
    });
    if std::env::var_os("MCP_HIL_WRITE").is_some() {
        write(&rows.into_inner().unwrap().concat());
    }
}

/// Has it happen on a board, and gives its row.
fn one(lab: &Lab, board: usize, failure: &Failure) -> String {
    let Failure {
        name,
        by,
        code,
        seconds,
    } = failure;
    let (desk, way) = (format!("desk-{board}"), way(*by));
    let logs = lab.path(&format!("logs/{way}"));
    let words = ["--board", &desk, "--force", "--logs", logs.to_str().unwrap()];
    let ran = match by {
        By::Fault(fault) => {
            if *fault == "old-firmware" {
                // so that there is one
                lab.flash_other(board);
            }
            lab.throw(board, &format!("fault {fault}"));
            lab.run(&words)
        }
        By::Monitor => {
            let monitor = monitor(lab, &desk);
            let ran = lab.run(&words);
            drop(monitor);
            ran
        }
        By::OtherUser => lab.run_as_other(board, &words),
    };
    assert_eq!(ran.code, Some(*code), "{way}: {ran:?}");
    let line = line(name, &ran);
    assert!(ran.time < Duration::from_secs(*seconds), "{way}: {ran:?}");
    if *name == "permission-denied" {
        assert!(ran.stdout.contains("ci/99-mcp-hil.rules"), "{ran:?}");
        // without root the port can't be given to the group
        assert!(
            ran.stdout.contains("sudo usermod -aG dialout $USER") || !is_root(),
            "{ran:?}"
        );
    }
    if *name == "boot-panic" {
        // the callers, by function, file and line
        let places = ran
            .stdout
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("at 0x8"));
        let places: Vec<_> = places.collect();
        let has = |function: &str, file: &str| {
            let line = |line: &&str| line.contains(&format!(" {function} at ")) && line.contains(file);
            assert!(places.iter().any(line), "no {function} in {ran:?}");
        };
        has("find", "virt/src/entropy.rs:21");
        has("main", "virt/src/main.rs:");
    }
    let kept = std::fs::read_to_string(logs.join(&desk).join("verdicts.log")).unwrap();
    assert!(kept.contains(&format!("{name}: ")), "{way}: {kept}");
    lab.throw(board, "fault none");
    let next = lab.run(&["--board", &desk]);
    assert_eq!(next.code, Some(0), "after {way}: {next:?}");
    let time = ran.time.as_secs_f64();
    format!(
        "| {way} | `` {} `` | {code} | {time:.1} s |\n",
        line.replace('|', "\\|")
    )
}

fn way(by: By) -> &'static str {
    match by {
        By::Fault(fault) => fault,
        By::Monitor => "a monitor has the port",
        By::OtherUser => "another user",
    }
}

/// The line that says its name.
fn line(name: &str, ran: &Ran) -> String {
    let text = format!("{name}: ");
    let mut lines = ran.stdout.lines().map(str::trim);
    let line = lines.find(|line| line.contains(&text));
    line.unwrap_or_else(|| panic!("no {name} in {ran:?}")).to_owned()
}

/// A serial monitor of somebody who knows of no leases, with the port open.
fn monitor(lab: &Lab, desk: &str) -> Running {
    let mut command = lab.inside(&[env!("CARGO_BIN_EXE_mcp-hil"), "monitor", desk]);
    command
        .env("MCP_HIL_LEASES", lab.path("leases-of-another"))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let monitor = Running(command.spawn().unwrap());
    let port = lab.port(desk).canonicalize().unwrap();
    let has_it = |pid: u32| {
        let open = std::fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        open.filter_map(|fd| std::fs::read_link(fd.path()).ok())
            .any(|path| path == port)
    };
    let started = std::time::Instant::now();
    while !has_it(monitor.0.id()) {
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "the monitor does not open the port"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    monitor
}

/// Writes the table between the marks of the page.
fn write(rows: &str) {
    const BEGIN: &str =
        "<!-- written by MCP_HIL_WRITE=1 cargo test -p mcp-hil --features hil --test loop -->\n";
    const END: &str = "<!-- end -->";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../failures.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the table's mark");
    let (_, after) = rest.split_once(END).expect("the table has an end");
    let mut page =
        format!("{before}{BEGIN}| what was done | line printed | exit | time |\n|---|---|---|---|\n");
    let _ = write!(page, "{rows}{END}{after}");
    std::fs::write(file, page).unwrap();
}
