//! The network on a real kernel. Each test starts this program again as a *scenario*, which enters a network, does
//! something there and reports on its output; the test stays outside and looks on.
//!
//! To see one scenario by hand: `VIRTUAL_BOARD_SCENARIO=wire cargo test -p mcp-hil-virtual-board --test network`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

mod guest;
mod scenario;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Which scenario this process is to be, instead of running the tests.
const SCENARIO: &str = "VIRTUAL_BOARD_SCENARIO";
/// A folder for the scenario's files.
const FOLDER: &str = "VIRTUAL_BOARD_FOLDER";
/// Nothing here takes longer, or it hangs.
const DEADLINE: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    // Before anything that could start a thread.
    if let Ok(name) = std::env::var(SCENARIO) {
        return scenario::run(&name);
    }
    let trials = [
        (
            "enters_a_network_of_its_own",
            enters_a_network_of_its_own as fn() -> Outcome,
        ),
        (
            "a_user_without_the_tap_device_is_told_how_to_get_it",
            told_how_to_get_the_tap,
        ),
        ("a_user_with_the_tap_device_needs_no_root", needs_no_root),
        (
            "a_kernel_that_forbids_namespaces_is_named",
            forbidden_namespaces_are_named,
        ),
        ("a_process_with_threads_is_refused", threads_are_refused),
        ("frames_cross_wire_switch_and_tap", frames_cross),
        ("cables_delay_lose_and_are_cut", cables_impair),
        ("a_capture_has_the_frames", capture_has_the_frames),
        ("a_board_starts_listens_and_ends", board_starts_and_ends),
        ("a_program_runs_inside", program_runs_inside),
        ("nothing_is_left_after_sigkill", || nothing_is_left(Some(9))),
        ("nothing_is_left_after_sigterm", || nothing_is_left(Some(15))),
        ("nothing_is_left_after_sigint", || nothing_is_left(Some(2))),
        ("nothing_is_left_after_the_end", || nothing_is_left(None)),
    ];
    let trials = trials.map(|(name, test)| Trial::ignorable_test(name, move || test().map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit_code()
}

type Outcome = Result<Completion, String>;

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}

const ONLY_ROOT: &str = "must be run as root, to become another user";

/// A scenario that was started.
struct Started {
    child: Child,
    folder: tempfile::TempDir,
}

/// Starts a scenario; `wrapper` is a command that runs it, such as one that becomes another user first.
fn start(name: &str, wrapper: &[&str]) -> Started {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = std::env::current_exe().unwrap();
    let mut words = wrapper.iter().map(Path::new).chain([program.as_path()]);
    let child = Command::new(words.next().unwrap())
        .args(words)
        .env(SCENARIO, name)
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Started { child, folder }
}

impl Started {
    /// Waits for its end, and brings it about at the deadline.
    fn ended(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                return self.child.wait().unwrap();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits for its end; the exit code, what it said, and what it complained about.
    fn finish(mut self) -> (Option<i32>, String, String) {
        self.ended();
        let (mut said, mut complained) = (String::new(), String::new());
        self.child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut complained)
            .unwrap();
        (self.child.wait().unwrap().code(), said, complained)
    }
}

/// Runs a scenario that must succeed.
fn succeeds(name: &str, wrapper: &[&str]) -> Result<String, String> {
    match start(name, wrapper).finish() {
        (Some(0), said, _) => Ok(said),
        (code, said, complained) => Err(format!("ended with {code:?}\n{said}{complained}")),
    }
}

/// Runs a scenario that must fail with this in its error.
fn fails(name: &str, wrapper: &[&str], expected: &[&str]) -> Outcome {
    let (code, said, complained) = start(name, wrapper).finish();
    let complete = expected.iter().all(|text| complained.contains(text));
    if code == Some(1) && complete {
        return Ok(Completion::Completed);
    }
    Err(format!(
        "ended with {code:?}, expected {expected:?} in\n{said}{complained}"
    ))
}

fn done(said: Result<String, String>) -> Outcome {
    said.map(|_| Completion::Completed)
}

fn enters_a_network_of_its_own() -> Outcome {
    let outside = fs::read_to_string("/proc/net/dev").unwrap();
    let said = succeeds("enter", &[])?;
    assert!(said.contains("interfaces: hil0 lo\n"), "{said}");
    assert!(!outside.contains("hil0"));
    assert_eq!(
        interfaces(&outside),
        interfaces(&fs::read_to_string("/proc/net/dev").unwrap())
    );
    Ok(Completion::Completed)
}

/// The names of interfaces in `/proc/net/dev`, sorted.
fn interfaces(table: &str) -> Vec<String> {
    let mut names: Vec<String> = table
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_owned()))
        .collect();
    names.sort();
    names
}

const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// In a mount namespace of its own, with a TAP device of the given mode in place of the machine's, as nobody.
fn with_tap_device(mode: &str) -> [String; 5] {
    let script = format!(
        "mount -t tmpfs none /mnt && mknod /mnt/tun c 10 200 && chmod {mode} /mnt/tun && \
         mount --bind /mnt/tun /dev/net/tun && exec {} \"$@\"",
        AS_NOBODY.join(" ")
    );
    ["unshare", "--mount", "sh", "-c", &script].map(str::to_owned)
}

fn run_with_tap_device(mode: &str, test: impl FnOnce(&[&str]) -> Outcome) -> Outcome {
    if !is_root() {
        return Ok(Completion::ignored_with(ONLY_ROOT));
    }
    let wrapper = with_tap_device(mode);
    let mut wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
    wrapper.push("sh");
    test(&wrapper)
}

fn told_how_to_get_the_tap() -> Outcome {
    run_with_tap_device("0600", |wrapper| {
        fails(
            "enter",
            wrapper,
            &[
                "cannot open /dev/net/tun",
                "Permission denied",
                "chmod 0666 /dev/net/tun",
            ],
        )
    })
}

fn needs_no_root() -> Outcome {
    run_with_tap_device("0666", |wrapper| {
        let said = succeeds("enter", wrapper)?;
        assert!(said.contains("interfaces: hil0 lo\n"), "{said}");
        done(succeeds("wire", wrapper))
    })
}

fn forbidden_namespaces_are_named() -> Outcome {
    // A user namespace has limits of its own, so the machine's stay as they are.
    let script = "echo 0 > /proc/sys/user/max_user_namespaces && \
                  exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", script, "sh"];
    fails(
        "enter",
        &wrapper,
        &[
            "cannot make a user and network namespace",
            "user.max_user_namespaces above 0",
        ],
    )
}

fn threads_are_refused() -> Outcome {
    fails(
        "threads",
        &[],
        &["the process already has 2 threads", "first thing in main"],
    )
}

fn frames_cross() -> Outcome {
    done(succeeds("wire", &[]))
}

fn cables_impair() -> Outcome {
    done(succeeds("cables", &[]))
}

fn capture_has_the_frames() -> Outcome {
    done(succeeds("capture", &[]))
}

fn board_starts_and_ends() -> Outcome {
    done(succeeds("board", &[]))
}

fn program_runs_inside() -> Outcome {
    let said = succeeds("inside", &[])?;
    assert!(said.contains("from inside: hil0\n"), "{said}");
    Ok(Completion::Completed)
}

/// Two boards and a program inside with a child in the background. However the process ends, they all end.
fn nothing_is_left(signal: Option<i32>) -> Outcome {
    // whoever runs the tests may have signals ignored, as nohup does; the process has not
    let mut started = start(
        if signal.is_some() { "stay" } else { "leave" },
        &["env", "--default-signal=HUP,INT,TERM"],
    );
    let mut lines = BufReader::new(started.child.stdout.take().unwrap()).lines();
    let mut value = |key: &str| -> Result<String, String> {
        let line = lines.next().ok_or("the scenario ended early")?.unwrap();
        let (found, value) = line.split_once(' ').ok_or(format!("what is {line:?}"))?;
        assert_eq!(found, key);
        Ok(value.to_owned())
    };
    let namespace = value("namespace")?;
    let relay = value("relay")?;
    let boards = value("boards")?;
    if signal.is_some() {
        let inhabitants = inhabitants(&namespace);
        // This process, two boards, and unshare, sh, sh, sleep, sleep.
        assert!(inhabitants.len() >= 8, "{inhabitants:?}");
        TcpStream::connect(&relay).unwrap();
        let boards: Vec<&str> = boards.split(' ').collect();
        assert!(
            boards
                .iter()
                .all(|board| inhabitants.iter().any(|one| one == board)),
            "{boards:?} {inhabitants:?}"
        );
    }
    if let Some(signal) = signal {
        let killed = Command::new("kill")
            .args(["-s", &signal.to_string(), &started.child.id().to_string()])
            .status()
            .unwrap();
        assert!(killed.success());
        assert_eq!(started.ended().signal(), Some(signal));
    } else {
        assert_eq!(started.ended().code(), Some(0));
    }
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let left = inhabitants(&namespace);
        if left.is_empty() {
            break;
        }
        if Instant::now() > deadline {
            let names = left
                .iter()
                .map(|one| fs::read_to_string(format!("/proc/{one}/cmdline")).unwrap_or_default());
            return Err(format!("still there: {left:?} {:?}", names.collect::<Vec<_>>()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(TcpStream::connect(&relay).is_err(), "the relay still listens");
    let files: Vec<_> = fs::read_dir(started.folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(files, ["guest.elf"], "only what the scenario made itself");
    Ok(Completion::Completed)
}

/// The processes in a network namespace, by their ids.
fn inhabitants(namespace: &str) -> Vec<String> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let link = fs::read_link(process.path().join("ns/net"));
        if link.is_ok_and(|link| link.as_os_str() == namespace) {
            found.push(process.file_name().into_string().unwrap());
        }
    }
    found
}
