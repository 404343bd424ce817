//! The device on RISC-V, in QEMU, where memory is short and networks are bad: what `tests/replay` can't say in transcripts.
//!
//! - `--list` builds and starts nothing. Without a board one trial fails, `infrastructure/virtual`; the others are ignored.
//! - Trials that take minutes are ignored: `cargo test -p mcp-hil --features hil --test rv32 -- --ignored`.
//! - Each trial has boards of its own, and all are on one network. A failure shows the boards' consoles.
#![allow(missing_docs)]

#[cfg(not(target_os = "linux"))]
compile_error!("the feature hil tests on boards in QEMU on a virtual network, which only Linux has");

mod bounds;
mod client;
mod configuration;
mod connections;
mod console;
mod discovery;
mod heap;
mod lab;
mod loss;

use lab::{Lab, Ready};
use libtest_mimic::{Arguments, Completion, Trial};
use std::process::ExitCode;
use std::sync::Arc;

type Test = fn(&Ready) -> Result<(), String>;

const TRIALS: &[(&str, Test)] = &[
    ("bounds/awkward-bodies", bounds::awkward_bodies),
    (
        "configuration/token-and-hostname",
        configuration::token_and_hostname,
    ),
    ("configuration/own-address", configuration::own_address),
    ("configuration/damaged", configuration::damaged),
    ("configuration/restart", configuration::restart),
    (
        "connections/silent-and-half-sent",
        connections::silent_and_half_sent,
    ),
    ("connections/that-never-read", connections::that_never_read),
    ("connections/a-body-of-1-MiB", connections::a_body_of_1_mib),
    ("connections/stretched-deadline", connections::stretched_deadline),
    ("console/of-a-failing-step", console::of_a_failing_step),
    ("discovery/before-and-later", discovery::before_and_later),
    ("discovery/goodbye", discovery::goodbye),
    ("heap/peak-of-1000-requests", heap::peak),
    ("loss/every-transcript", loss::every_transcript),
];

const LONG_TRIALS: &[(&str, Test)] = &[("discovery/killed-is-gone-after-120-s", discovery::killed)];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let lab = Arc::new(Lab::default());
    let mut trials = Vec::new();
    let infrastructure = Arc::clone(&lab);
    trials.push(Trial::test("infrastructure/virtual", move || {
        let ready = infrastructure.ready()?;
        ready.start(lab::INFRASTRUCTURE).map(drop)?;
        Ok(())
    }));
    for (trials_of, is_long) in [(TRIALS, false), (LONG_TRIALS, true)] {
        for (name, test) in trials_of {
            let lab = Arc::clone(&lab);
            let trial = Trial::ignorable_test(*name, move || match lab.ready() {
                Ok(ready) => Ok(test(ready).map(|()| Completion::Completed)?),
                // the whole of it is told once, by the infrastructure trial
                Err(trouble) => Ok(Completion::ignored_with(
                    trouble.lines().next().unwrap_or_default(),
                )),
            });
            trials.push(trial.with_ignored_flag(is_long));
        }
    }
    let is_run = |trial: &Trial| {
        let long = LONG_TRIALS.iter().any(|(name, _)| *name == trial.name());
        !arguments.is_filtered_out(trial) && (!long || arguments.ignored || arguments.include_ignored)
    };
    if !arguments.list && trials.iter().any(is_run) {
        lab.prepare();
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let trouble = lab.trouble().map(str::to_owned);
    // boards go before the process does: leaving it runs no destructors
    drop(lab);
    if conclusion.has_failed() {
        return ExitCode::FAILURE;
    }
    if let Some(trouble) = trouble {
        eprintln!("rv32: trials were ignored for want of a board: {trouble}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
