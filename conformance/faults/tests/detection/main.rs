//! The suite against every fault and every legal variant: a fault turns a check red that names its clause, a variant none.
//!
//! One trial for each fault, revision and transport. With `MCP_HIL_WRITE=1` the results are written to `RESULTS.md`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod bench;
mod board;
mod coverage;
mod table;

use bench::{Broken, Graded};
use board::Board;
use libtest_mimic::{Arguments, Failed, Trial};
use mcp_hil_conformance::checks;
use mcp_hil_conformance::run::GRADED;
use mcp_hil_conformance::verdict::Verdict;
use mcp_hil_faults::{Fault, Transport, faults, variants};
use mcp_hil_harness::revision::Revision;
use mcp_hil_reference::Features;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use table::{Row, Seen};

/// Faults that no check sees, each with the reason: `NAME REVISION: WHY`.
const UNSEEN: &str = include_str!("unseen.txt");

/// Runs of a trial in which the fault changes nothing, before that is its result.
const TRIES: usize = 3;

/// Trials at once for each processor: most of the time they wait.
const WAITING: usize = 8;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(bench::SERVE) {
        return bench::serve(std::env::args().skip(2));
    }
    let arguments = Arguments::from_args();
    let rows = Arc::new(Mutex::new(Vec::new()));
    let mut trials = Vec::new();
    // tried by all checks: these come first, so that nobody waits for the last of them alone
    let mut long = Vec::new();
    let mut announced = Vec::new();
    for fault in faults() {
        if fault.transport == Transport::Mdns {
            let rows = Arc::clone(&rows);
            let name = format!("mdns::http::{}", fault.name);
            announced.push(
                Trial::test(name, move || is_seen(fault, GRADED[0], Transport::Mdns, &rows))
                    .with_kind("mdns"),
            );
            continue;
        }
        for (revision, transport) in ways(fault) {
            let name = format!("{revision}::{transport}::{}", fault.name);
            let rows = Arc::clone(&rows);
            let trial = Trial::test(name, move || is_seen(fault, revision, transport, &rows));
            trials.push(trial.with_kind(fault.area));
        }
    }
    for variant in variants() {
        if variant.transport == Transport::Mdns {
            let name = format!("mdns::http::legal::{}", variant.name);
            announced.push(
                Trial::test(name, move || is_legal(variant, GRADED[0], Transport::Mdns)).with_kind("mdns"),
            );
            continue;
        }
        for (revision, transport) in ways(variant) {
            let name = format!("{revision}::{transport}::legal::{}", variant.name);
            long.push(Trial::test(name, move || is_legal(variant, revision, transport)));
        }
    }
    for revision in GRADED {
        let name = format!("{revision}::coverage");
        trials.push(Trial::test(name, move || coverage::is_covered(revision)));
        for (name, features) in [("plain", Features::default()), ("all-features", Features::all())] {
            let name = format!("{revision}::http::good::{name}");
            long.push(Trial::test(name, move || is_good(revision, features)));
        }
    }
    for board in Board::all() {
        let legal = variants()
            .iter()
            .filter(|variant| variant.transport.includes(Transport::Http));
        for variant in legal.map(Some).chain([None]) {
            let revisions = variant.map_or(&GRADED[..], |variant| variant.revisions);
            for &revision in revisions {
                let what = variant.map_or("good".to_owned(), |variant| format!("legal::{}", variant.name));
                let name = format!("{revision}::{}::{what}", board.name());
                let board = board.clone();
                long.push(Trial::ignorable_test(name, move || {
                    board::is_legal(&board, variant, revision)
                }));
            }
        }
    }
    announced.push(
        Trial::test("mdns::http::good", || {
            no_alarm(&bench::grade_mdns(None, vec!["mdns/".to_owned()])?)
        })
        .with_kind("mdns"),
    );
    assert!(
        trials.len() > 150 && announced.len() > 50,
        "there are no faults to be seen"
    );
    long.append(&mut trials);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = |threads: usize| Arguments {
        test_threads: arguments.test_threads.or(Some(threads)),
        ..arguments.clone()
    };
    let conclusion = libtest_mimic::run(&at_once(WAITING * processors), long);
    // these wait all the time, for a record is multicast once a second
    let on_the_network = libtest_mimic::run(&at_once(announced.len()), announced);
    if std::env::var_os("MCP_HIL_WRITE").is_some() && !arguments.list {
        table::write(&mut rows.lock().unwrap());
    }
    if on_the_network.has_failed() {
        return on_the_network.exit_code();
    }
    conclusion.exit_code()
}

/// The revisions and transports that a fault is tried in: over HTTP where it can be, else over stdio.
fn ways(fault: &'static Fault) -> Vec<(Revision, Transport)> {
    let transport = if fault.transport.includes(Transport::Http) {
        Transport::Http
    } else {
        Transport::Stdio
    };
    fault
        .revisions
        .iter()
        .map(|revision| (*revision, transport))
        .collect()
}

/// Why a fault can't be seen, if it is on the list.
fn unseen(fault: &Fault, revision: Revision) -> Option<&'static str> {
    let head = format!("{} {revision}: ", fault.name);
    UNSEEN.lines().find_map(|line| line.strip_prefix(&head))
}

fn is_seen(
    fault: &'static Fault,
    revision: Revision,
    transport: Transport,
    rows: &Mutex<Vec<Row>>,
) -> Result<(), Failed> {
    let judges: Vec<_> = checks::all()
        .filter(|check| check.revisions.contains(&revision) && check.rows.contains(&fault.clause))
        .collect();
    // what looks back needs something to look at
    let only = if judges.iter().any(|check| check.looks_back) {
        Vec::new()
    } else {
        judges.iter().map(|check| check.id(revision)).collect()
    };
    let graded = if judges.is_empty() {
        None
    } else {
        Some(grade(fault, revision, transport, only)?)
    };
    let red = graded.as_ref().and_then(|graded| graded.red(fault.clause));
    let changed = graded.as_ref().map_or(1, |graded| graded.changed);
    let why = unseen(fault, revision);
    let seen = match (&red, why) {
        (Some(check), _) => Seen::By(check.clone()),
        (None, Some(why)) => Seen::Not(why.to_owned()),
        (None, None) => Seen::Not(String::new()),
    };
    // what is asked of the network has no revision
    let revisions = if transport == Transport::Mdns {
        fault.revisions
    } else {
        &[revision]
    };
    for revision in revisions {
        let (revision, seen) = (*revision, seen.clone());
        rows.lock().unwrap().push(Row {
            fault,
            revision,
            transport,
            seen,
        });
    }
    if changed == 0 {
        return Err(Failed::from("the fault changed nothing"));
    }
    match (red, why) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (Some(check), Some(_)) => Err(Failed::from(format!("{check} sees it: take it off unseen.txt"))),
        (None, None) if judges.is_empty() => Err(Failed::from(format!("no check judges {}", fault.clause))),
        (None, None) => {
            let names: Vec<_> = judges.iter().map(|check| check.name).collect();
            let others = graded.map(|graded| graded.summary()).unwrap_or_default();
            Err(Failed::from(format!(
                "none of {} sees that {} is broken\n{others}",
                names.join(", "),
                fault.clause
            )))
        }
    }
}

/// A run in which the fault had something to act on: where a busy machine joins what was sent apart, it has not.
fn grade(
    fault: &'static Fault,
    revision: Revision,
    transport: Transport,
    only: Vec<String>,
) -> Result<Graded, Failed> {
    let once = || match transport {
        Transport::Mdns => bench::grade_mdns(Some(fault), only.clone()),
        _ => bench::grade(Broken { fault, transport }, revision, only.clone()),
    };
    let mut graded = once()?;
    for _ in 1..TRIES {
        if graded.changed > 0 {
            break;
        }
        graded = once()?;
    }
    Ok(graded)
}

fn is_legal(variant: &'static Fault, revision: Revision, transport: Transport) -> Result<(), Failed> {
    let only = if transport == Transport::Mdns {
        vec!["mdns/".to_owned()]
    } else {
        Vec::new()
    };
    let graded = grade(variant, revision, transport, only)?;
    if graded.changed == 0 {
        return Err(Failed::from("the variant changed nothing"));
    }
    no_alarm(&graded)
}

/// The good server, before any fault.
fn is_good(revision: Revision, features: Features) -> Result<(), Failed> {
    no_alarm(&bench::grade_good(revision, features)?)
}

fn no_alarm(graded: &Graded) -> Result<(), Failed> {
    let alarm = |verdict| matches!(verdict, Verdict::Fail | Verdict::Infrastructure);
    if graded.report.results.iter().any(|judged| alarm(judged.verdict))
        || graded.report.count(Verdict::Pass) == 0
    {
        return Err(Failed::from(graded.summary()));
    }
    Ok(())
}
