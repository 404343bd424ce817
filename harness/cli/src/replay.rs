//! `mcp-hil replay`.

use crate::args::Replay;
use crate::exit::Exit;
use crate::output;
use crate::reports::Sinks;
use crate::targets::{self, Options};
use mcp_hil_harness::replay::{CONTRACT, replay};
use mcp_hil_harness::report::{self, Case, Detail, NOT_PLAYED, Verdict};
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::transcript::{self, Transcript};
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

pub async fn run(args: Replay) -> Exit {
    let choice = Choice {
        files: &args.files,
        revisions: &args.revision,
        filter: &args.filter,
    };
    let transcripts = match choose(&choice) {
        Ok(transcripts) if transcripts.is_empty() => {
            return Exit::NothingRan.because("no transcript is chosen by --revision and --filter");
        }
        Ok(transcripts) => transcripts,
        Err(error) => return Exit::Usage.because(&error.to_string()),
    };
    if let Some(named) = &args.contract {
        let needed = transcripts
            .iter()
            .filter_map(|transcript| transcript.needs.contract.as_deref());
        let known: BTreeSet<&str> = needed.chain([CONTRACT]).collect();
        if !known.contains(named.as_str()) {
            let known = Vec::from_iter(known).join(", ");
            return Exit::Usage.because(&format!("--contract {named}: no such contract; known: {known}"));
        }
    }
    let sinks = match Sinks::open(&args.reports) {
        Ok(sinks) => sinks,
        Err(reason) => return Exit::Usage.because(&reason),
    };
    let to_stderr = sinks.take_stdout();
    let options = Options {
        firmware: args.firmware,
        deadline_factor: args.deadline_factor,
        access: args.access.options(),
        #[cfg(target_os = "linux")]
        impair: args.impair,
        #[cfg(target_os = "linux")]
        seed: args.seed,
        #[cfg(target_os = "linux")]
        pcap: args.pcap,
    };
    let mut open = match targets::open(&args.target, &options).await {
        Ok(open) => open,
        Err(error) => return error.exit(),
    };
    if args.contract.is_some() {
        for subject in &mut open.subjects {
            subject.contract.clone_from(&args.contract);
        }
    }
    let style = output::style(args.color, to_stderr);
    let mut unplayed: HashMap<Option<String>, String> = HashMap::new();
    let told = |played: &Case| {
        // what keeps a target from all the rest is told once; the summary counts, and --json has every one
        if let Some(reason) = for_the_rest(&played.verdict)
            && unplayed
                .insert(played.board.clone(), reason.to_owned())
                .as_deref()
                == Some(reason)
        {
            return;
        }
        output::print(to_stderr, &report::line(played, style, Detail::Full));
        if args.verbose {
            for (step, exchange) in &played.exchanges {
                output::print(
                    to_stderr,
                    &format!(
                        "  {}\n{}",
                        report::escape_line(step),
                        report::exchange_text(exchange)
                    ),
                );
            }
        }
    };
    let factor = args.deadline_factor;
    let report = replay(&args.target, &open.subjects, &transcripts, factor, told).await;
    drop(open);
    output::print(to_stderr, &report::summary(&report));
    sinks.finish(&report, false)
}

/// The reason why a transcript was not played, where it holds for all that follow.
fn for_the_rest(verdict: &Verdict) -> Option<&str> {
    match verdict {
        Verdict::Infrastructure(reason) => Some(reason),
        Verdict::Skip(reason) if reason.starts_with(NOT_PLAYED) => Some(reason),
        _ => None,
    }
}

/// Which transcripts to play.
pub struct Choice<'a> {
    /// Files and folders; none: those that are built in.
    pub files: &'a [PathBuf],
    /// Only of these revisions, if there are any.
    pub revisions: &'a [Revision],
    /// Only those with this in `REVISION/NAME`.
    pub filter: &'a str,
}

/// Reads the transcripts that a command line names.
pub fn choose(choice: &Choice<'_>) -> Result<Vec<Transcript>, transcript::TranscriptError> {
    let mut transcripts = if choice.files.is_empty() {
        transcript::embedded()?
    } else {
        transcript::read(choice.files)?
    };
    transcripts.retain(|transcript| {
        (choice.revisions.is_empty() || choice.revisions.contains(&transcript.revision))
            && transcript.id().contains(choice.filter)
    });
    Ok(transcripts)
}
