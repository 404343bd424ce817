//! What a run found, and the writers that show it.

pub mod files;
mod json;
mod junit;
pub mod style;
mod text;

pub use json::write as json;
pub use junit::write as junit;
pub use text::{escape, escape_line, exchange as exchange_text, line, skipped, summary};

use crate::client::Exchange;
use crate::matcher::Mismatch;
use std::time::Duration;

/// A run against one target.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The target, as the user named it.
    pub target: String,
    /// One for each transcript and board, in the order of the boards and then as played.
    pub results: Vec<Played>,
    /// Time of the whole run.
    pub time: Duration,
}

/// What became of one transcript.
#[derive(Clone, Debug)]
pub struct Played {
    /// Name of the board, where the target has boards with names.
    pub board: Option<String>,
    /// `REVISION/NAME`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What it is about, with the clause that it rests on.
    pub about: String,
    /// What was found.
    pub verdict: Verdict,
    /// Every exchange, with the name of its step.
    pub exchanges: Vec<(String, Exchange)>,
    /// Time it took.
    pub time: Duration,
}

/// What the reason of a skip begins with that holds for all transcripts that follow.
pub const NOT_PLAYED: &str = "not played: ";

/// The finding on a transcript.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Everything came as expected.
    Pass,
    /// The target did something else.
    Fail(Box<Failure>),
    /// Not played: the target does not meet its conditions.
    Skip(String),
    /// Not played: there was nobody to talk to. Says nothing about the target.
    Infrastructure(String),
}

/// What the target did, with the evidence.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Name of the step.
    pub step: String,
    /// What is wrong, in a line.
    pub reason: String,
    /// Each difference.
    pub mismatches: Vec<Mismatch>,
    /// The message expected and the one that came, for a diff.
    pub compared: Option<(String, String)>,
    /// The exchange, if there was one.
    pub exchange: Option<Exchange>,
    /// What stood on the board's console from the time at which the exchange began.
    pub console: Vec<String>,
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Passed.
    pub passed: usize,
    /// Failed.
    pub failed: usize,
    /// Skipped.
    pub skipped: usize,
    /// Not played, nobody to talk to.
    pub infrastructure: usize,
}

impl Failure {
    /// One that a line explains.
    pub fn plain(step: &str, reason: String, exchange: Option<Exchange>) -> Self {
        Self {
            step: step.to_owned(),
            reason,
            mismatches: Vec::new(),
            compared: None,
            exchange,
            console: Vec::new(),
        }
    }

    /// Rewrites every text that came from the target. The exchange holds no secret to begin with.
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
        let lines = self.console.iter_mut().chain([&mut self.reason]);
        for text in texts.chain(compared).chain(lines) {
            *text = rewrite(text);
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
        for played in &self.results {
            *match played.verdict {
                Verdict::Pass => &mut tally.passed,
                Verdict::Fail(_) => &mut tally.failed,
                Verdict::Skip(_) => &mut tally.skipped,
                Verdict::Infrastructure(_) => &mut tally.infrastructure,
            } += 1;
        }
        tally
    }
}
