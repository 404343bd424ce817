//! The checks of the specification as tests: one libtest trial for each check and revision, named by the check's id.

use super::{Preparing, by_name, complain, ended, flashes_instead, user};
use crate::allowed;
use crate::known::Known;
use crate::targets::Prepared;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mcp_hil_conformance::check::Check;
use mcp_hil_conformance::only::Only;
use mcp_hil_conformance::run::{self, Options};
use mcp_hil_conformance::{checks, report as shown};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{self, Case, Detail, Report, Verdict};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

/// Grades the server that a target is (`http://…`, `stdio:COMMAND`, whatever the command line takes), or the one that
/// [`TARGET`](super::TARGET) names in its place. Must be the first thing in `main` of a test with `harness = false`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     mcp_hil::check("http://127.0.0.1:8000/mcp")
/// }
/// ```
pub fn check(target: &str) -> ExitCode {
    Checks::of(target).run()
}

/// The checks, and the server that they are asked of.
///
/// The server is graded once, by the checks whose trials were chosen, and then the trials say what each found. A check that
/// is about something that the server does not offer is ignored, with the reason. A server that can't be had is one failed
/// trial, `infrastructure/TARGET`, and all others are ignored. What is shown of a failure, and more, is in `hil-logs`.
pub struct Checks {
    label: String,
    prepare: Box<dyn FnOnce() -> Preparing>,
    logs: PathBuf,
    options: Options,
    profile: Option<String>,
    baseline: Option<PathBuf>,
    strict: bool,
}

impl Checks {
    /// Those of a target as the command line names it, or of the one that [`TARGET`](super::TARGET) names.
    pub fn of(target: &str) -> Self {
        let target = user::named().unwrap_or_else(|| target.to_owned());
        Self::new(user::label(&target), Box::new(by_name(&target)))
    }

    /// Those of a board that the firmware package of a folder is brought onto, as [`main`](super::main) does it. The folder
    /// is given from that of the package under test.
    pub fn of_firmware(folder: impl AsRef<Path>) -> Self {
        let (label, prepare) = user::boards(&user::package().join(folder), &logs());
        Self::new(label, prepare)
    }

    fn new(label: String, prepare: Box<dyn FnOnce() -> Preparing>) -> Self {
        Self {
            label,
            prepare,
            logs: logs(),
            options: Options::default(),
            profile: None,
            baseline: None,
            strict: false,
        }
    }

    /// Lets a tool be called besides those that say they change nothing.
    #[must_use]
    pub fn allow_tool(mut self, name: impl Into<String>) -> Self {
        self.options.allow_tools.push(name.into());
        self
    }

    /// Takes a file of expected failures, given from the folder of the package under test. One that is listed passes; a
    /// check that is listed and passes fails the trial `baseline`.
    #[must_use]
    pub fn baseline(mut self, file: impl AsRef<Path>) -> Self {
        self.baseline = Some(user::package().join(file));
        self
    }

    /// Expects what is known of a family of servers.
    #[must_use]
    pub fn profile(mut self, name: impl Into<String>) -> Self {
        self.profile = Some(name.into());
        self
    }

    /// Has the server's announcement over mDNS checked as well, on this interface, by name or address.
    #[must_use]
    pub fn mdns(mut self, interface: impl Into<String>) -> Self {
        self.options.interface = Some(interface.into());
        self
    }

    /// Seed of generated arguments; 0 without.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.options.seed = seed;
        self
    }

    /// Lets what only warns fail.
    #[must_use]
    pub const fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// Takes the arguments of a test, grades the server, and says how that ended. Must be called before the process has a
    /// second thread.
    pub fn run(self) -> ExitCode {
        if flashes_instead() {
            return ExitCode::SUCCESS;
        }
        let arguments = Arguments::from_args();
        let known = match Known::read(self.profile.as_deref(), self.baseline.as_deref(), false) {
            Ok(known) => known,
            Err(reason) => return complain(&reason),
        };
        let folder = self.logs.join(&self.label);
        let graded: Arc<OnceLock<Graded>> = Arc::default();
        let (trials, only) = trials(&self, &graded, &arguments);
        let mut trouble = None;
        if !arguments.list && trials.iter().any(|trial| !arguments.is_filtered_out(trial)) {
            let only = match Only::parse(&only) {
                Ok(only) => only,
                Err(error) => return complain(&error.to_string()),
            };
            let options = Options { only, ..self.options };
            let outcome = grade(&self.label, self.prepare, &options).map(|mut report| {
                known.apply(&mut report);
                report
            });
            if let Ok(report) = &outcome
                && let Err(error) = write(&folder, report)
            {
                return complain(&format!("{}: {error}", folder.display()));
            }
            trouble = outcome.as_ref().err().cloned();
            let _ = graded.set(outcome);
        }
        let conclusion = libtest_mimic::run(&arguments, trials);
        if trouble.is_none() && !arguments.list && graded.get().is_some() {
            eprintln!("every finding, with its bytes: {}", folder.join(PAGE).display());
        }
        ended(&arguments, &conclusion, trouble)
    }
}

/// What was found, or why there was nobody to ask.
type Graded = Result<Report, String>;

/// The page that shows all of it.
const PAGE: &str = "check.html";

fn logs() -> PathBuf {
    user::logs(&user::package()).join("hil-logs")
}

/// All trials, and the ids of the checks that those need which the arguments choose.
fn trials(of: &Checks, graded: &Arc<OnceLock<Graded>>, arguments: &Arguments) -> (Vec<Trial>, Vec<String>) {
    let (mut trials, mut only) = (Vec::new(), Vec::new());
    let mut add = |name: String, ids: Vec<String>, judge: Judge| {
        let graded = Arc::clone(graded);
        let trial = Trial::ignorable_test(name, move || match graded.get() {
            Some(graded) => judge(graded),
            None => Err(Failed::from("nothing was graded")),
        });
        if !arguments.is_filtered_out(&trial) {
            only.extend(ids);
        }
        trials.push(trial);
    };
    let infrastructure = |graded: &Graded| match graded {
        Ok(_) => Ok(Completion::Completed),
        Err(reason) => Err(Failed::from(reason)),
    };
    // needs no more than that the server is found: any check will do
    let any = checks::all().next().map(ids).unwrap_or_default();
    add(
        format!("infrastructure/{}", of.label),
        any,
        Box::new(infrastructure),
    );
    let strict = of.strict;
    for check in checks::all() {
        if check.is_once() {
            let name = check.name;
            let judge = move |graded: &Graded| verdict(graded, strict, |case| case.name() == name);
            add(name.to_owned(), ids(check), Box::new(judge));
            continue;
        }
        for id in ids(check) {
            let asked = id.clone();
            let judge = move |graded: &Graded| verdict(graded, strict, |case| case.id == asked);
            add(id.clone(), vec![id], Box::new(judge));
        }
    }
    if of.baseline.is_some() {
        let every = checks::all().flat_map(ids).collect();
        add("baseline".to_owned(), every, Box::new(stale));
    }
    (trials, only)
}

type Judge = Box<dyn FnOnce(&Graded) -> Result<Completion, Failed> + Send>;

/// The ids of a check in all revisions that it is asked in.
fn ids(check: &Check) -> Vec<String> {
    check
        .revisions
        .iter()
        .map(|revision| check.id(*revision))
        .collect()
}

/// What became of the check that this picks.
fn verdict(graded: &Graded, strict: bool, is_it: impl Fn(&Case) -> bool) -> Result<Completion, Failed> {
    let Ok(report) = graded else {
        return Ok(Completion::ignored_with("there is no server to ask"));
    };
    let Some(case) = report.results.iter().find(|case| is_it(case)) else {
        return Ok(Completion::ignored_with(
            "the server does not speak this revision",
        ));
    };
    match &case.verdict {
        Verdict::Skip(reason) => Ok(Completion::ignored_with(reason)),
        Verdict::Fail(_) | Verdict::Infrastructure(_) | Verdict::Warn(_)
            if case.expected.is_none() && (strict || !matches!(case.verdict, Verdict::Warn(_))) =>
        {
            Err(report::line(case, Style::PLAIN, Detail::Terse).into())
        }
        _ => Ok(Completion::Completed),
    }
}

/// Whether the baseline is kept up.
fn stale(graded: &Graded) -> Result<Completion, Failed> {
    match graded {
        Ok(report) if report.stale.is_empty() => Ok(Completion::Completed),
        Ok(report) => Err(report.stale.join("\n").into()),
        Err(_) => Ok(Completion::ignored_with("there is no server to ask")),
    }
}

/// Starts the server, grades it and ends it.
fn grade(name: &str, prepare: Box<dyn FnOnce() -> Preparing>, options: &Options) -> Graded {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let graded = runtime.block_on(async {
        let prepared: Prepared = prepare().await.map_err(|error| error.to_string())?;
        let open = prepared.start().await.map_err(|error| error.to_string())?;
        let [subject] = open.subjects.as_slice() else {
            let number = open.subjects.len();
            return Err(format!(
                "one server is graded at a time, and these are {number}: name one board in {}",
                super::TARGET
            ));
        };
        let limits = Limits::scaled(options.deadline_factor);
        let wrong = allowed::wrong(&subject.target, limits, &options.revisions, &options.allow_tools);
        if let Some(reason) = wrong.await {
            return Err(reason);
        }
        let graded = run::run(name, &subject.target, options, |_| {}).await;
        graded
            .map(|graded| shown::report(&graded))
            .map_err(|error| error.to_string())
    });
    // a task that still reads a pipe must not keep the process
    runtime.shutdown_background();
    graded
}

fn write(folder: &Path, report: &Report) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join(PAGE), report::html(report))?;
    std::fs::write(folder.join("check.json"), report::json(report))
}
