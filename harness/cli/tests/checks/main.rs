//! A user's test that grades a server: what it says of a good one, a broken one and none. This program is both, the user's
//! test and what starts it.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

use libtest_mimic::{Arguments, Trial};
use mcp_hil::suite::{Checks, TARGET};
use mcp_hil_faults::Proxy;
use mcp_hil_reference::{Features, Options, Server, serve_http};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;

/// Set for the user's test: its baseline, or nothing.
const USER: &str = "MCP_HIL_TEST_AS_USER";
/// A port on which nobody listens.
const NOBODY: &str = "http://127.0.0.1:1/mcp";
/// A fault, the check that sees it, and one that has nothing to do with it.
const BROKEN: &str = "2026-07-28/tools/unknown-tool";
const FAULT: &str = "unknown-tool-is-error";
const WHOLE: &str = "2026-07-28/jsonrpc/no-version";

fn main() -> ExitCode {
    match std::env::var(USER) {
        // all that a user writes
        Ok(baseline) if baseline.is_empty() => mcp_hil::check(NOBODY),
        Ok(baseline) => Checks::of(NOBODY).baseline(baseline).run(),
        Err(_) => run(),
    }
}

fn run() -> ExitCode {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let trials = vec![
        trial("the_list_asks_nobody", list),
        trial("a_good_server_passes", good),
        trial("a_broken_server_fails_by_name", broken),
        trial("what_the_baseline_knows_passes", known),
        trial("a_baseline_that_is_not_kept_up_fails", stale),
        trial("a_server_that_is_not_there_is_one_failure", nobody),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// What the user's test said.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    text: String,
}

impl Ran {
    fn says(&self, text: &str) {
        assert!(self.text.contains(text), "no {text:?} in\n{}", self.text);
    }
}

fn user(words: &[&str], target: Option<&str>, baseline: &str) -> Ran {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(words).env(USER, baseline).env_remove(TARGET);
    if let Some(target) = target {
        command.env(TARGET, target);
    }
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    Ran {
        code: output.status.code(),
        text: String::from_utf8(text).unwrap(),
    }
}

/// Serves the reference with a fault before it while `test` runs, which is given its URL.
fn with_fault(name: &str, test: impl FnOnce(&str)) {
    let fault = mcp_hil_faults::find(name).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (address, proxy): (SocketAddr, _) = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream = listener.local_addr().unwrap();
        let server = Arc::new(Server::new(Options {
            features: Features::default(),
            ..Options::default()
        }));
        tokio::spawn(serve_http(listener, server, std::future::pending()));
        let proxy = Proxy::start(upstream, fault).await.unwrap();
        (proxy.address(), proxy)
    });
    test(&format!("http://{address}/mcp"));
    assert!(proxy.changed() > 0, "the fault changed nothing");
}

fn list() {
    let ran = user(&["--list"], None, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for id in ["2025-11-25/tools/unknown-tool", BROKEN, WHOLE, "mdns/browse"] {
        ran.says(&format!("{id}: test\n"));
    }
}

fn good() {
    let ran = user(&[], Some("reference"), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.says("test infrastructure/reference ");
    ran.says("; 0 failed;");
    for (name, word) in [(BROKEN, "ok"), ("2025-11-25/tools/unknown-tool", "ok")] {
        let line = ran
            .text
            .lines()
            .find(|line| line.contains(&format!("test {name} ")));
        assert!(line.is_some_and(|line| line.ends_with(word)), "{line:?}");
    }
    // it has no subscriptions, and says so
    ran.says("ignored (the server has no subscriptions)");
}

fn broken() {
    with_fault(FAULT, |url| {
        let ran = user(&[], Some(url), "");
        assert_eq!(ran.code, Some(1), "{ran:?}");
        ran.says(&format!("---- {BROKEN} ----"));
        ran.says("MUST 2026-07-28/tools/unknown-tool");
        ran.says("every finding, with its bytes: ");
        // a filter asks only what it chooses
        let one = user(&["--exact", WHOLE], Some(url), "");
        assert_eq!(one.code, Some(0), "{one:?}");
        one.says("1 passed; 0 failed;");
    });
}

/// A file that expects the failure of this check.
fn baseline(folder: &Path, check: &str) -> String {
    let file = folder.join("known.toml");
    let text = format!("[[expected]]\nid = {check:?}\nreason = \"the vendor knows\"\n");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn known() {
    let folder = tempfile::tempdir().unwrap();
    with_fault(FAULT, |url| {
        let ran = user(&["--exact", BROKEN], Some(url), &baseline(folder.path(), BROKEN));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.says("1 passed; 0 failed;");
    });
}

fn stale() {
    let folder = tempfile::tempdir().unwrap();
    let ran = user(
        &["--exact", "baseline"],
        Some("reference"),
        &baseline(folder.path(), BROKEN),
    );
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.says(&format!(
        "{BROKEN} passes now, and was expected to fail: the vendor knows"
    ));
}

fn nobody() {
    let ran = user(&[], None, "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    ran.says("---- infrastructure/http---127.0.0.1-1-mcp ----");
    ran.says("0 passed; 1 failed;");
    ran.says("ignored (there is no server to ask)");
}
