//! Clauses and what became of them: pure.

use super::{Case, Report, Verdict};
use std::collections::BTreeMap;

/// A clause of the specification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clause {
    /// Its name, which stays.
    pub id: String,
    /// Part of the protocol.
    pub area: String,
    /// `MUST`, `SHOULD`, ….
    pub level: String,
    /// What it asks, in words.
    pub statement: String,
    /// Where the specification says so.
    pub source: String,
    /// How it is seen.
    pub how: String,
    /// Dates of the revisions that have it.
    pub revisions: Vec<String>,
}

/// What became of a clause in a revision. The order is that of precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing judged it.
    Untried,
    /// All that judges it was skipped, or there was nobody to talk to.
    Skip,
    /// Kept, as far as it was seen.
    Pass,
    /// Broken, as a baseline expects.
    Expected,
    /// Broken, with a warning.
    Warn,
    /// Broken.
    Fail,
}

impl State {
    /// All, the worst first.
    pub const ALL: [Self; 6] = [
        Self::Fail,
        Self::Warn,
        Self::Expected,
        Self::Pass,
        Self::Skip,
        Self::Untried,
    ];

    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Untried => "untried",
            Self::Skip => "skip",
            Self::Pass => "pass",
            Self::Expected => "expected",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// The clauses of one area in one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Each clause with what became of it, in the order of the clauses.
    pub clauses: Vec<(String, State)>,
}

impl Cell {
    /// How many clauses are in a state.
    pub fn count(&self, state: State) -> usize {
        self.clauses.iter().filter(|(_, is)| *is == state).count()
    }
}

/// Clauses by area and revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// The revisions that were graded, in order.
    pub revisions: Vec<String>,
    /// Areas in the order of the clauses, each with a cell for each revision.
    pub areas: Vec<(String, Vec<Cell>)>,
}

impl Matrix {
    /// Of a report's clauses and cases.
    pub fn of(report: &Report) -> Self {
        let mut revisions: Vec<String> = report
            .results
            .iter()
            .map(|case| case.revision().to_owned())
            .collect();
        revisions.sort();
        revisions.dedup();
        let states = states(&report.results);
        let mut matrix = Self {
            areas: Vec::new(),
            revisions,
        };
        for clause in &report.clauses {
            let index = match matrix.areas.iter().position(|(area, _)| *area == clause.area) {
                Some(index) => index,
                None => {
                    let cells = vec![Cell::default(); matrix.revisions.len()];
                    matrix.areas.push((clause.area.clone(), cells));
                    matrix.areas.len() - 1
                }
            };
            let (_, cells) = &mut matrix.areas[index];
            for (revision, cell) in matrix.revisions.iter().zip(cells) {
                if clause.revisions.contains(revision) {
                    let key = (revision.as_str(), clause.id.as_str());
                    let state = states.get(&key).copied().unwrap_or(State::Untried);
                    cell.clauses.push((clause.id.clone(), state));
                }
            }
        }
        matrix
    }
}

fn states(cases: &[Case]) -> BTreeMap<(&str, &str), State> {
    let mut states = BTreeMap::new();
    for case in cases {
        let mut note = |id, state: State| {
            let known = states.entry((case.revision(), id)).or_insert(state);
            *known = state.max(*known);
        };
        let tried = match case.verdict {
            Verdict::Skip(_) | Verdict::Infrastructure(_) => State::Skip,
            _ => State::Pass,
        };
        for id in &case.clauses {
            note(id.as_str(), tried);
        }
        for clause in case
            .verdict
            .findings()
            .iter()
            .filter_map(|finding| finding.clause.as_ref())
        {
            let state = match case.verdict {
                _ if case.expected.is_some() => State::Expected,
                // beside a broken MUST a broken SHOULD still only warns
                Verdict::Fail(_) if clause.level.starts_with("MUST") => State::Fail,
                _ => State::Warn,
            };
            note(clause.id.as_str(), state);
        }
    }
    states
}
