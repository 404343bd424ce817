//! Transcripts as tests: one libtest trial for each transcript and target, in a test without libtest's own harness.
//!
//! - Trials are named `TARGET::REVISION/NAME`; those of one target never overlap. `--list` builds and starts nothing.
//! - A target that can't be had is one failed trial, `infrastructure/TARGET`; the trials that need it are ignored, with the
//!   reason, and the run fails.
//! - Each trial leaves a log with every byte in `hil-logs`.
//! - `MCP_HIL_SHUFFLE=SEED` plays in another order, `MCP_HIL_ROUNDS=2` everything twice on the same targets.

mod bench;
mod checks;
mod user;

pub use checks::{Checks, check};
pub use user::{TARGET, main};

use crate::targets::{self, OpenError, Options, Prepared};
use bench::Bench;
use libtest_mimic::{Arguments, Completion, Conclusion};
pub use libtest_mimic::{Failed, Trial};
use mcp_hil_harness::bench::flash;
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{self, Case, Verdict, files};
use mcp_hil_harness::transcript::Transcript;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;

/// Looks at a transcript that has passed on the target of this label, and may fail it all the same.
pub type Check = fn(&str, &Transcript, &Case) -> Result<(), Failed>;

type Preparing = Pin<Box<dyn Future<Output = Result<Prepared, OpenError>>>>;

/// Transcripts, and the targets that they are played on.
pub struct Suite {
    transcripts: Vec<Arc<Transcript>>,
    targets: Vec<Target>,
    trials: Vec<Trial>,
    logs: PathBuf,
    check: Check,
}

/// A target that is not there yet.
struct Target {
    /// First part of its trials' names.
    label: String,
    /// It speaks over standard streams.
    stdio: bool,
    contract: Option<String>,
    prepare: Box<dyn FnOnce() -> Preparing>,
}

impl Target {
    /// Whether it has what the transcript needs; a trial that could only be skipped is not listed.
    fn can_play(&self, transcript: &Transcript) -> bool {
        let transport = if self.stdio { "stdio" } else { "http" };
        transcript
            .needs
            .transport
            .is_none_or(|needed| needed == transport)
            && (!self.stdio || transcript.http_only().is_none())
    }
}

impl Suite {
    /// A suite without targets, whose logs go into `hil-logs` of a folder.
    pub fn new(transcripts: Vec<Transcript>, folder: impl Into<PathBuf>) -> Self {
        Self {
            transcripts: transcripts.into_iter().map(Arc::new).collect(),
            targets: Vec::new(),
            trials: Vec::new(),
            logs: folder.into().join("hil-logs"),
            check: |_, _, _| Ok(()),
        }
    }

    /// Adds a target as the command line names it, under a label. Targets are got ready in this order, so virtual boards
    /// come last: from their network there is no way out.
    #[must_use]
    pub fn target(self, label: &str, name: &str, contract: Option<&str>) -> Self {
        let stdio = name.starts_with("stdio:");
        self.prepared(label, stdio, contract, by_name(name))
    }

    fn prepared(
        mut self,
        label: &str,
        stdio: bool,
        contract: Option<&str>,
        prepare: impl FnOnce() -> Preparing + 'static,
    ) -> Self {
        self.targets.push(Target {
            label: label.to_owned(),
            stdio,
            contract: contract.map(str::to_owned),
            prepare: Box::new(prepare),
        });
        self
    }

    /// Adds a trial of another kind.
    #[must_use]
    pub fn trial(mut self, trial: Trial) -> Self {
        self.trials.push(trial);
        self
    }

    /// Has every transcript that passed looked at.
    #[must_use]
    pub fn check(mut self, check: Check) -> Self {
        self.check = check;
        self
    }

    /// Takes the arguments of a test, runs the trials that they choose, and says how that ended. Must be called before the
    /// process has a second thread.
    pub fn run(self) -> ExitCode {
        if flashes_instead() {
            return ExitCode::SUCCESS;
        }
        let arguments = Arguments::from_args();
        if self.transcripts.is_empty() {
            return complain("there is no transcript to play");
        }
        let bench = Arc::new(Bench::new(&self.targets));
        let trials = trials(&self, &bench);
        let mut trials_and_others = self.trials;
        trials_and_others.extend(trials);
        let trials = trials_and_others;
        if !arguments.list {
            let is_needed = |label: &str| {
                let mut chosen = trials.iter().filter(|trial| !arguments.is_filtered_out(trial));
                chosen.any(|trial| owns(label, trial.name()))
            };
            let needed = self.targets.into_iter().map(|target| {
                let needed = is_needed(&target.label);
                needed.then_some(target)
            });
            if let Err(error) = bench.prepare(needed) {
                return complain(&error.to_string());
            }
        }
        let conclusion = libtest_mimic::run(&arguments, trials);
        let trouble = bench.trouble();
        // boards go before the process does: leaving it runs no destructors
        drop(bench);
        ended(&arguments, &conclusion, trouble)
    }
}

/// What a run of trials comes to: it needs one that passed, and what its trials needed.
fn ended(arguments: &Arguments, conclusion: &Conclusion, trouble: Option<String>) -> ExitCode {
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

/// Gets ready what the command line would name so.
fn by_name(name: &str) -> impl FnOnce() -> Preparing + use<> {
    let name = name.to_owned();
    let options = Options {
        deadline_factor: 1.0,
        ..Options::default()
    };
    move || Box::pin(async move { targets::prepare(&name, &options).await }) as Preparing
}

/// Boards are flashed by a child process of this very program, as the command does it. True: this was one.
fn flashes_instead() -> bool {
    let is_child = std::env::args().nth(1).as_deref() == Some(flash::CHILD);
    if is_child {
        flash::child::serve();
    }
    is_child
}

fn complain(problem: &str) -> ExitCode {
    eprintln!("mcp-hil: {problem}");
    ExitCode::FAILURE
}

/// Whether a trial is played on the target of this label.
fn owns(label: &str, trial: &str) -> bool {
    trial.strip_prefix("infrastructure/") == Some(label)
        || trial
            .strip_prefix(label)
            .is_some_and(|rest| rest.starts_with("::"))
}

/// What each trial has.
struct Ground {
    bench: Arc<Bench>,
    logs: PathBuf,
    check: Check,
}

fn trials(suite: &Suite, bench: &Arc<Bench>) -> Vec<Trial> {
    let ground = Arc::new(Ground {
        bench: Arc::clone(bench),
        logs: suite.logs.clone(),
        check: suite.check,
    });
    let mut trials = Vec::new();
    for (place, target) in suite.targets.iter().enumerate() {
        let bench = Arc::clone(bench);
        let name = format!("infrastructure/{}", target.label);
        trials.push(Trial::test(name, move || {
            bench.with(place, |_| ()).map_err(Failed::from)
        }));
    }
    for round in 1..=from_environment("MCP_HIL_ROUNDS").unwrap_or(1) {
        // by transcript, so that threads find targets that are free
        let mut pairs: Vec<_> = suite
            .transcripts
            .iter()
            .flat_map(|transcript| suite.targets.iter().enumerate().map(move |at| (at, transcript)))
            .filter(|((_, target), transcript)| target.can_play(transcript))
            .collect();
        shuffle(&mut pairs);
        for ((place, target), transcript) in pairs {
            let (ground, transcript, label) =
                (Arc::clone(&ground), Arc::clone(transcript), target.label.clone());
            let mut name = format!("{label}::{}", transcript.id());
            if round > 1 {
                name = format!("{name}#{round}");
            }
            trials.push(Trial::ignorable_test(name, move || {
                play(place, &label, &transcript, &ground)
            }));
        }
    }
    trials
}

/// Plays a transcript on each board of a target.
fn play(place: usize, label: &str, transcript: &Transcript, ground: &Ground) -> Result<Completion, Failed> {
    let results = match ground.bench.with(place, |boards| boards.play(transcript)) {
        Ok(results) => results,
        // the whole of it is told once, by the infrastructure trial
        Err(trouble) => {
            return Ok(Completion::ignored_with(
                trouble.lines().next().unwrap_or_default(),
            ));
        }
    };
    let mut skipped = None;
    for played in &results {
        let mut folder = ground.logs.join(label);
        if results.len() > 1 {
            folder.extend(&played.board);
        }
        let log = files::write_one(&folder, played)?;
        match &played.verdict {
            Verdict::Pass => (ground.check)(label, transcript, played)?,
            Verdict::Skip(reason) => skipped = Some(reason),
            Verdict::Fail(_) | Verdict::Warn(_) | Verdict::Infrastructure(_) => {
                return Err(format!(
                    "{}log: {}",
                    report::line(played, Style::PLAIN, report::Detail::Full),
                    log.display()
                )
                .into());
            }
        }
    }
    Ok(match skipped {
        Some(reason) => Completion::ignored_with(reason),
        None => Completion::Completed,
    })
}

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

/// Puts the pairs in an order that depends on `MCP_HIL_SHUFFLE` only (Fisher and Yates, with an LCG).
fn shuffle<T>(pairs: &mut [T]) {
    let Some(mut state) = from_environment::<u64>("MCP_HIL_SHUFFLE") else {
        return;
    };
    for last in (1..pairs.len()).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        pairs.swap(last, usize::try_from(state >> 33).unwrap_or(0) % (last + 1));
    }
}
