//! What a run found, and the writers that show it: pure.
//!
//! A [`Report`] holds what `check`, `replay` and `run` have in common: cases with verdicts, and findings with their
//! evidence. A writer takes one and gives a text; a new format is a new file here. What comes from a target can be
//! hostile: each writer escapes it for its format.

mod brief;
mod clauses;
mod columns;
pub mod files;
mod html;
mod json;
mod junit;
mod markdown;
mod stage;
pub mod style;
mod text;

pub use brief::brief;
pub use clauses::{Cell, Clause, Matrix, State};
pub use columns::columns;
pub use html::write as html;
pub use json::write as json;
pub use junit::write as junit;
pub use markdown::write as markdown;
pub use stage::Stage;
pub use text::{Detail, escape, escape_line, exchange as exchange_text, line, skipped, summary};

use crate::client::Exchange;
use crate::matcher::Mismatch;
use std::time::Duration;

/// A run against one target.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The command that made it: `check`, `replay` or `run`.
    pub command: &'static str,
    /// The target, as the user named it.
    pub target: String,
    /// What the server calls itself, with its version, where it was asked.
    pub server: Option<String>,
    /// Seed of what was made by chance, where something was.
    pub seed: Option<u64>,
    /// The clauses that the run could have judged, for the matrix; empty where it compares with transcripts.
    pub clauses: Vec<Clause>,
    /// The stages that boards went through, each with the board's name, as they ended; of `run` only.
    pub stages: Vec<(String, Stage)>,
    /// One for each case and board, in the order of the boards and then as run.
    pub results: Vec<Case>,
    /// Entries of the baseline that no longer hold.
    pub stale: Vec<String>,
    /// What the run left out, in a sentence each: no verdicts.
    pub notes: Vec<String>,
    /// Time of the whole run.
    pub time: Duration,
}

/// What became of one check or transcript.
#[derive(Clone, Debug)]
pub struct Case {
    /// Name of the board, where the target has boards with names.
    pub board: Option<String>,
    /// The stage of a board's way from image to verdict in which it ended too soon.
    pub stage: Option<String>,
    /// `REVISION/AREA/NAME` of a check, `REVISION/NAME` of a transcript.
    pub id: String,
    /// What it shows, in a line.
    pub title: String,
    /// What it is about, with the clause that it rests on.
    pub about: String,
    /// Ids of the clauses that it judges.
    pub clauses: Vec<String>,
    /// What was found.
    pub verdict: Verdict,
    /// Why a finding is expected: from a baseline. It then counts as passed.
    pub expected: Option<String>,
    /// Every exchange, with the name of its step; of a check only those of its findings are kept.
    pub exchanges: Vec<(String, Exchange)>,
    /// Time it took.
    pub time: Duration,
}

/// What the reason of a skip begins with that holds for all transcripts that follow.
pub const NOT_PLAYED: &str = "not played: ";

/// The finding on a case.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything came as expected.
    Pass,
    /// The target did something else, or broke a MUST.
    Fail(Vec<Finding>),
    /// A SHOULD is broken, or a clause that is only derived.
    Warn(Vec<Finding>),
    /// Not tried: the target does not meet its conditions.
    Skip(String),
    /// Not tried: there was nobody to talk to. Says nothing about the target.
    Infrastructure(String),
}

/// What the target did, with the evidence.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// Name of the step, of a transcript.
    pub step: Option<String>,
    /// The clause that it breaks.
    pub clause: Option<Clause>,
    /// What to do about it, where more is known than the clause says.
    pub advice: Option<String>,
    /// Whether it only warns.
    pub warns: bool,
    /// What is wrong, in a line.
    pub reason: String,
    /// The same in other places: what is wrong there. Their evidence is not repeated.
    pub more: Vec<String>,
    /// Each difference.
    pub mismatches: Vec<Mismatch>,
    /// The message expected and the one that came, for a diff.
    pub compared: Option<(String, String)>,
    /// The exchanges that show it, the last one with what is wrong.
    pub exchanges: Vec<Exchange>,
    /// What stood on the board's console from the time at which the exchange began.
    pub console: Vec<String>,
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: usize,
    /// Failed, and not expected.
    pub failed: usize,
    /// Warned, and not expected.
    pub warned: usize,
    /// Failed or warned, as the baseline says.
    pub expected: usize,
    /// Skipped.
    pub skipped: usize,
    /// Not tried, nobody to talk to.
    pub infrastructure: usize,
}

impl Finding {
    /// One of a transcript's step that a line explains.
    pub fn plain(step: &str, reason: String, exchange: Option<Exchange>) -> Self {
        Self {
            step: Some(step.to_owned()),
            reason,
            exchanges: exchange.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Rewrites every text that came from the target. The exchanges hold no secret to begin with.
    pub fn redact(&mut self, rewrite: impl Fn(&str) -> String) {
        let texts = self.mismatches.iter_mut().flat_map(|mismatch| {
            let Mismatch {
                pointer,
                expected,
                got,
            } = mismatch;
            [pointer, expected, got]
        });
        let compared = self
            .compared
            .iter_mut()
            .flat_map(|(expected, got)| [expected, got]);
        let lines = self
            .console
            .iter_mut()
            .chain(&mut self.more)
            .chain(&mut self.advice)
            .chain([&mut self.reason]);
        for text in texts.chain(compared).chain(lines) {
            *text = rewrite(text);
        }
    }

    /// In how many places it was found.
    pub fn count(&self) -> usize {
        1 + self.more.len()
    }
}

impl Verdict {
    /// Its word, the same in every format.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail(_) => "fail",
            Self::Warn(_) => "warn",
            Self::Skip(_) => "skip",
            Self::Infrastructure(_) => "infrastructure",
        }
    }

    /// What was found.
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Fail(findings) | Self::Warn(findings) => findings,
            _ => &[],
        }
    }

    /// Why nothing was tried.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Skip(reason) | Self::Infrastructure(reason) => Some(reason),
            _ => None,
        }
    }
}

impl Case {
    /// The revision, the first part of its id.
    pub fn revision(&self) -> &str {
        self.id.split_once('/').map_or("", |(revision, _)| revision)
    }

    /// The id without the revision.
    pub fn name(&self) -> &str {
        self.id.split_once('/').map_or(&self.id, |(_, name)| name)
    }

    /// `fail`, `warn`, `pass`, `skip`, `infrastructure`; `expected` where a baseline says so.
    pub const fn word(&self) -> &'static str {
        if self.expected.is_some() {
            "expected"
        } else {
            self.verdict.word()
        }
    }
}

impl Report {
    /// The boards that have results, in their order; none for a target that is no board with a name.
    pub fn boards(&self) -> Vec<Option<&str>> {
        let mut boards = Vec::new();
        for played in &self.results {
            let board = played.board.as_deref();
            if !boards.contains(&board) {
                boards.push(board);
            }
        }
        boards
    }

    /// Counts the verdicts.
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for case in &self.results {
            *match case.verdict {
                _ if case.expected.is_some() => &mut tally.expected,
                Verdict::Pass => &mut tally.passed,
                Verdict::Fail(_) => &mut tally.failed,
                Verdict::Warn(_) => &mut tally.warned,
                Verdict::Skip(_) => &mut tally.skipped,
                Verdict::Infrastructure(_) => &mut tally.infrastructure,
            } += 1;
        }
        tally
    }

    /// The cases with findings that no baseline expects, failures before warnings.
    pub fn found(&self) -> Vec<&Case> {
        let open = |case: &&Case| case.expected.is_none();
        let failed = |case: &&Case| matches!(case.verdict, Verdict::Fail(_));
        let warned = |case: &&Case| matches!(case.verdict, Verdict::Warn(_));
        let cases = || self.results.iter().filter(open);
        cases().filter(failed).chain(cases().filter(warned)).collect()
    }
}
