//! What commands that play transcripts share: which are played, and where the results go.

use crate::args::{Playing, Selection};
use crate::exit::Exit;
use crate::output;
use crate::reports::Sinks;
use mcp_hil_harness::replay::CONTRACT;
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{self, Case, Detail, NOT_PLAYED, Report, Verdict};
use mcp_hil_harness::transcript::{self, Transcript};
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

/// Transcripts that were chosen, and outputs that are open.
pub struct Chosen {
    /// In the order in which they are played.
    pub transcripts: Vec<Transcript>,
    sinks: Sinks,
    to_stderr: bool,
    style: Style,
    verbose: bool,
    /// What keeps each board from all the rest, as far as it was told.
    unplayed: RefCell<HashMap<Option<String>, String>>,
}

impl Chosen {
    /// From the command line.
    ///
    /// # Errors
    /// What can't be used, told already.
    pub fn new(args: &Playing, files: &[PathBuf]) -> Result<Self, Exit> {
        let transcripts =
            choose(files, &args.selection).map_err(|error| Exit::Usage.because(&error.to_string()))?;
        if transcripts.is_empty() {
            return Err(Exit::NothingRan.because("no transcript is chosen by --revision and --filter"));
        }
        if let Some(named) = &args.contract {
            let needed = transcripts
                .iter()
                .filter_map(|transcript| transcript.needs.contract.as_deref());
            let known: BTreeSet<&str> = needed.chain([CONTRACT]).collect();
            if !known.contains(named.as_str()) {
                let known = Vec::from_iter(known).join(", ");
                return Err(
                    Exit::Usage.because(&format!("--contract {named}: no such contract; known: {known}"))
                );
            }
        }
        let sinks = Sinks::open(&args.reports).map_err(|reason| Exit::Usage.because(&reason))?;
        let to_stderr = sinks.take_stdout();
        Ok(Self {
            transcripts,
            sinks,
            to_stderr,
            style: output::style(args.color, to_stderr),
            verbose: args.verbose,
            unplayed: RefCell::default(),
        })
    }

    /// Prints a text where the results go that people read.
    pub fn print(&self, text: &str) {
        output::print(self.to_stderr, text);
    }

    /// Prints a result. What keeps a board from all the rest is told once; the summary counts, and --json has every one.
    pub fn tell(&self, played: &Case) {
        if let Some(reason) = for_the_rest(&played.verdict) {
            let before = self
                .unplayed
                .borrow_mut()
                .insert(played.board.clone(), reason.to_owned());
            if before.as_deref() == Some(reason) {
                return;
            }
        }
        self.print(&report::line(played, self.style, Detail::Full));
        if self.verbose {
            for (step, exchange) in &played.exchanges {
                self.print(&format!(
                    "  {}\n{}",
                    report::escape_line(step),
                    report::exchange_text(exchange)
                ));
            }
        }
    }

    /// Says why nothing could be played, in the reports as well.
    pub fn unjudged(self, command: &'static str, target: &str, exit: Exit, reason: &str) -> Exit {
        self.sinks.unjudged(command, target, exit, reason)
    }

    /// Prints the summary, writes the reports and gives the exit code.
    pub fn finish(self, report: &Report) -> Exit {
        self.print(&report::summary(report));
        self.sinks.finish(report, false)
    }
}

/// The reason why a transcript was not played, where it holds for all that follow.
fn for_the_rest(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Infrastructure(reason) => Some(reason),
        Verdict::Skip(reason) if reason.starts_with(NOT_PLAYED) => Some(reason),
        _ => None,
    }
}

/// Reads these files and folders, or without any what is built in, and leaves out what is not chosen.
pub(crate) fn choose(
    files: &[PathBuf],
    selection: &Selection,
) -> Result<Vec<Transcript>, transcript::TranscriptError> {
    let mut transcripts = if files.is_empty() {
        transcript::embedded()?
    } else {
        transcript::read(files)?
    };
    transcripts.retain(|transcript| {
        (selection.revision.is_empty() || selection.revision.contains(&transcript.revision))
            && transcript.id().contains(&selection.filter)
    });
    Ok(transcripts)
}
