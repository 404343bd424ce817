//! What a run found.

use crate::check::Check;
use crate::requirement::{self, Requirement};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::revision::Revision;
use std::time::Duration;

/// A clause that was broken, with the evidence.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Id of the clause.
    pub row: &'static str,
    /// What the server did.
    pub what: String,
    /// The exchanges that show it.
    pub exchanges: Vec<Exchange>,
    /// Whether it breaks a MUST; else it is a warning.
    pub fails: bool,
}

impl Finding {
    /// The clause.
    pub fn requirement(&self) -> Option<&'static Requirement> {
        requirement::get(self.row)
    }
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Its clauses are kept, as far as it sees.
    Pass,
    /// A MUST is broken.
    Fail,
    /// A SHOULD is broken, or a clause that is only derived.
    Warn,
    /// The server does not offer what it is about.
    Skip,
    /// There was nobody to talk to. Says nothing about the server.
    Infrastructure,
}

/// What became of one check in one revision.
#[derive(Clone, Debug)]
pub struct Judged {
    /// `REVISION/AREA/NAME`.
    pub id: String,
    /// `AREA/NAME`.
    pub name: &'static str,
    /// Ids of the clauses that it judges.
    pub rows: &'static [&'static str],
    /// The revision it was asked in.
    pub revision: Revision,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it was skipped, or could not be asked.
    pub reason: Option<String>,
    /// The clauses that were broken.
    pub findings: Vec<Finding>,
    /// Time it took.
    pub time: Duration,
}

/// A run against one target.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The target, as the user named it.
    pub target: String,
    /// What the server calls itself.
    pub server: Option<String>,
    /// Seed of the generated arguments.
    pub seed: u64,
    /// In the order of the list of checks, revision by revision.
    pub results: Vec<Judged>,
    /// What was left out, in a sentence each.
    pub notes: Vec<String>,
    /// Time of the whole run.
    pub time: Duration,
}

impl Report {
    /// How many have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.results
            .iter()
            .filter(|judged| judged.verdict == verdict)
            .count()
    }
}

/// Whether breaking this clause fails: it binds, and is said by the specification or quoted by the check.
pub(crate) fn fails(check: &Check, row: &str) -> bool {
    requirement::get(row).is_some_and(|requirement| {
        let quoted = check.quotes.iter().any(|(quoted, _)| *quoted == row);
        requirement.level.is_binding() && (quoted || !requirement.is_derived())
    })
}
