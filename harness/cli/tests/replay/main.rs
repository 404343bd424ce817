//! Plays every golden transcript against every target, one trial for each pair.
//!
//! - Trials are named `TARGET::REVISION/NAME`; those of one target never overlap. `--list` builds and starts nothing.
//! - With the feature `hil` a RISC-V board in QEMU is a target too, `virtual`; then everything runs on its network.
//! - A target that can't be had is one failed trial, `infrastructure/TARGET`; the trials that need it are ignored, with the reason.
//! - What the reference answers is kept in `tests/snapshots`, one file a transcript; the others are compared with it. To renew
//!   them: `INSTA_UPDATE=always cargo test -p mcp-hil --test replay reference::`, then look at the diff.
//! - Each trial leaves a log with every byte in `hil-logs` below the target folder.
//! - `MCP_HIL_SHUFFLE=SEED` plays in another order, `MCP_HIL_ROUNDS=2` everything twice on the same targets.
#![allow(missing_docs)]

mod compare;
mod snapshot;
mod targets;
#[cfg(feature = "hil")]
mod virtual_;

#[cfg(all(feature = "hil", not(target_os = "linux")))]
compile_error!("the feature hil tests on boards in QEMU on a virtual network, which only Linux has");

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{self, Case, Verdict};
use mcp_hil_harness::transcript::{self, Transcript};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use targets::{Bench, KINDS, Kind};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let transcripts = match transcript::embedded() {
        Ok(transcripts) if transcripts.is_empty() => return complain("there is no transcript to play"),
        Ok(transcripts) => transcripts.into_iter().map(Arc::new).collect::<Vec<_>>(),
        Err(error) => return complain(&error.to_string()),
    };
    let bench = Arc::new(Bench::default());
    let trials = trials(&transcripts, &bench);
    let is_needed = |kind: &&Kind| {
        let mut chosen = trials.iter().filter(|trial| !arguments.is_filtered_out(trial));
        chosen.any(|trial| kind.owns(trial.name()))
    };
    if !arguments.list
        && let Err(error) = bench.prepare(KINDS.iter().filter(is_needed))
    {
        return complain(&error.to_string());
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    let trouble = bench.trouble();
    // boards go before the process does: leaving it runs no destructors
    drop(bench);
    if conclusion.has_failed() {
        return ExitCode::FAILURE;
    }
    if let Some(trouble) = trouble {
        return complain(&format!(
            "trials were ignored for want of their target: {trouble}"
        ));
    }
    if !arguments.list && conclusion.num_passed == 0 && conclusion.num_ignored > 0 {
        return complain("every trial was ignored");
    }
    ExitCode::SUCCESS
}

fn complain(problem: &str) -> ExitCode {
    eprintln!("replay: {problem}");
    ExitCode::FAILURE
}

fn trials(transcripts: &[Arc<Transcript>], bench: &Arc<Bench>) -> Vec<Trial> {
    let names: BTreeSet<_> = transcripts
        .iter()
        .map(|transcript| snapshot::name(transcript))
        .collect();
    let mut trials = vec![Trial::test("snapshots/have-transcripts", move || {
        snapshot::none_is_left_over(&names)
    })];
    for kind in KINDS {
        let bench = Arc::clone(bench);
        let name = format!("infrastructure/{}", kind.name);
        trials.push(Trial::test(name, move || {
            bench.with(kind, |_| ()).map_err(Failed::from)
        }));
    }
    for round in 1..=rounds() {
        // by transcript, so that threads find targets that are free
        let mut pairs: Vec<_> = transcripts
            .iter()
            .flat_map(|transcript| KINDS.iter().map(move |kind| (kind, transcript)))
            .filter(|(kind, transcript)| kind.can_play(transcript))
            .collect();
        shuffle(&mut pairs);
        for (kind, transcript) in pairs {
            let (bench, transcript) = (Arc::clone(bench), Arc::clone(transcript));
            let mut name = format!("{}::{}", kind.name, transcript.id());
            if round > 1 {
                name = format!("{name}#{round}");
            }
            trials.push(Trial::ignorable_test(name, move || {
                play(kind, &transcript, &bench)
            }));
        }
    }
    trials
}

fn play(kind: &Kind, transcript: &Transcript, bench: &Bench) -> Result<Completion, Failed> {
    let played = match bench.with(kind, |target| target.play(transcript)) {
        Ok(played) => played,
        // the whole of it is told once, by the infrastructure trial
        Err(trouble) => {
            return Ok(Completion::ignored_with(
                trouble.lines().next().unwrap_or_default(),
            ));
        }
    };
    let log = log(kind, transcript, &played)?;
    match &played.verdict {
        Verdict::Pass => snapshot::check(kind, transcript, &played)?,
        Verdict::Skip(reason) => return Ok(Completion::ignored_with(reason)),
        Verdict::Fail(_) | Verdict::Warn(_) | Verdict::Infrastructure(_) => {
            return Err(format!(
                "{}log: {}",
                report::line(&played, Style::PLAIN, report::Detail::Full),
                log.display()
            )
            .into());
        }
    }
    Ok(Completion::Completed)
}

/// Writes every byte of a trial to a file of its own.
fn log(kind: &Kind, transcript: &Transcript, played: &Case) -> Result<PathBuf, Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("hil-logs")
        .join(kind.name);
    fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{}.log", snapshot::name(transcript)));
    let mut text = report::line(played, Style::PLAIN, report::Detail::Full);
    for (step, exchange) in &played.exchanges {
        text.push_str(&format!("\n{step}\n{}", report::exchange_text(exchange)));
    }
    fs::write(&file, text)?;
    Ok(file)
}

fn rounds() -> usize {
    std::env::var("MCP_HIL_ROUNDS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(1)
}

/// Puts the pairs in an order that depends on `MCP_HIL_SHUFFLE` only (Fisher and Yates, with an LCG).
fn shuffle<T>(pairs: &mut [T]) {
    let Some(mut state) = std::env::var("MCP_HIL_SHUFFLE")
        .ok()
        .and_then(|text| text.parse::<u64>().ok())
    else {
        return;
    };
    for last in (1..pairs.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        pairs.swap(last, usize::try_from(state >> 33).unwrap_or(0) % (last + 1));
    }
}
