//! Where the results of a run go: the same options and files for every command that has a report.

use crate::exit::Exit;
use crate::output::Sink;
use mcp_hil_harness::report::{self, Case, Finding, Report, Verdict};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Files to write reports to.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Reports")]
pub(crate) struct Reports {
    /// Write everything as JSON, - for standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write JUnit XML, - for standard output
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write Markdown, as for $GITHUB_STEP_SUMMARY, - for standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write one HTML page with everything, - for standard output
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Format {
    Json,
    Junit,
    Markdown,
    Html,
}

/// Files that are open, before the run, so that a bad path costs no run.
pub struct Sinks {
    sinks: Vec<(Format, Sink)>,
    to_stderr: bool,
}

impl Sinks {
    /// Opens the files.
    ///
    /// # Errors
    /// What can't be used.
    pub fn open(reports: &Reports) -> Result<Self, String> {
        let named = [
            ("--json", Format::Json, &reports.json),
            ("--junit", Format::Junit, &reports.junit),
            ("--markdown", Format::Markdown, &reports.markdown),
            ("--html", Format::Html, &reports.html),
        ];
        let named: Vec<_> = named
            .into_iter()
            .filter_map(|(option, format, path)| Some((option, format, path.as_deref()?)))
            .collect();
        let mut sinks = Vec::new();
        for (index, (option, format, path)) in named.iter().enumerate() {
            for (other, _, earlier) in &named[..index] {
                if is_stdout(path) && is_stdout(earlier) {
                    return Err(format!("{other} and {option} can't both go to standard output"));
                }
                if is_same_file(path, earlier) {
                    return Err(format!("{other} and {option} can't both go to the same file"));
                }
            }
            sinks.push((*format, Sink::open(path)?));
        }
        Ok(Self {
            sinks,
            to_stderr: named.iter().any(|(_, _, path)| is_stdout(path)),
        })
    }

    /// Whether a report takes standard output, so that the text for people goes to standard error.
    pub const fn take_stdout(&self) -> bool {
        self.to_stderr
    }

    /// Writes the reports, and gives the run's exit code; with `strict` a warning fails.
    pub fn finish(self, report: &Report, strict: bool) -> Exit {
        match self.write(report) {
            Ok(()) => exit(report, strict),
            Err(error) => Exit::Infrastructure.because(&format!("a report could not be written: {error}")),
        }
    }

    /// Says why there is nothing to report, in the reports as well: a pipeline that collects them finds the reason there.
    pub fn unjudged(self, command: &'static str, target: &str, exit: Exit, reason: &str) -> Exit {
        let verdict = match exit {
            Exit::Infrastructure => Verdict::Infrastructure(reason.to_owned()),
            Exit::NothingRan => Verdict::Skip(reason.to_owned()),
            Exit::Failed => Verdict::Fail(vec![Finding {
                reason: reason.to_owned(),
                ..Finding::default()
            }]),
            _ => return exit.because(reason),
        };
        let case = Case {
            board: None,
            stage: None,
            id: "target".to_owned(),
            title: "there is a target to talk to".to_owned(),
            about: String::new(),
            clauses: Vec::new(),
            verdict,
            expected: None,
            exchanges: Vec::new(),
            time: Duration::ZERO,
        };
        let report = Report {
            command,
            target: target.to_owned(),
            results: vec![case],
            ..Report::default()
        };
        match self.write(&report) {
            Ok(()) => exit.because(reason),
            Err(error) => {
                Exit::Infrastructure.because(&format!("{reason}\na report could not be written: {error}"))
            }
        }
    }

    fn write(self, report: &Report) -> io::Result<()> {
        for (format, sink) in self.sinks {
            let text = match format {
                Format::Json => report::json(report),
                Format::Junit => report::junit(report).map_err(io::Error::other)?,
                Format::Markdown => report::markdown(report),
                Format::Html => report::html(report),
            };
            sink.write(&text)?;
        }
        Ok(())
    }
}

/// A failure counts more than trouble with the target, and trouble more than a pass.
fn exit(report: &Report, strict: bool) -> Exit {
    let tally = report.tally();
    if tally.failed > 0 || strict && tally.warned > 0 || !report.stale.is_empty() {
        Exit::Failed
    } else if tally.infrastructure > 0 {
        Exit::Infrastructure
    } else if tally.passed + tally.warned + tally.expected > 0 {
        Exit::Passed
    } else {
        Exit::NothingRan
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Whether two paths lead to one regular file, or name one that is not there yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other && one.is_file(),
        _ => !is_stdout(one) && one == other,
    }
}
