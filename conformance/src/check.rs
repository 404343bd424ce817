//! What a check is.

use crate::lab::{Lab, Stop};
use mcp_hil_harness::revision::Revision;
use std::pin::Pin;

/// What goes on inside a check.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<(), Stop>> + 'a>>;

/// The transports that a check is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Both.
    Any,
    /// Streamable HTTP.
    Http,
    /// Standard streams.
    Stdio,
}

/// A question to a server, and the clauses that its answers are held against.
#[derive(Clone, Copy)]
pub struct Check {
    /// `AREA/NAME`, which stays.
    pub name: &'static str,
    /// The revisions it is asked in.
    pub revisions: &'static [Revision],
    /// The transports it is asked over.
    pub over: Over,
    /// Ids of the clauses that it judges.
    pub rows: &'static [&'static str],
    /// For rows that are only derived: the row and the normative sentence it rests on, which lets it fail and not just
    /// warn.
    pub quotes: &'static [(&'static str, &'static str)],
    /// Connections that it holds at once.
    pub connections: u8,
    /// Whether it looks back at everything that was said in the run, and so runs after all others.
    pub looks_back: bool,
    /// The question.
    pub run: for<'a> fn(&'a mut Lab) -> Running<'a>,
}

impl Check {
    /// `REVISION/AREA/NAME`.
    pub fn id(&self, revision: Revision) -> String {
        format!("{revision}/{}", self.name)
    }

    /// The part of the protocol.
    pub fn area(&self) -> &'static str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// Whether it asks the network, which has no revision, and so is asked once in a run.
    pub fn is_once(&self) -> bool {
        self.area() == "mdns"
    }

    /// Asked over this transport only.
    #[must_use]
    pub const fn over(mut self, over: Over) -> Self {
        self.over = over;
        self
    }

    /// Holds two connections at once.
    #[must_use]
    pub const fn with_two_connections(mut self) -> Self {
        self.connections = 2;
        self
    }

    /// Looks back at everything that was said in the run ([`Lab::log`]).
    #[must_use]
    pub const fn looking_back(mut self) -> Self {
        self.looks_back = true;
        self
    }

    /// Quotes the sentences that its derived rows rest on.
    #[must_use]
    pub const fn quoting(mut self, quotes: &'static [(&'static str, &'static str)]) -> Self {
        self.quotes = quotes;
        self
    }
}

/// The legacy revision that is graded.
pub const LEGACY: &[Revision] = &[Revision::R2025_11_25];
/// The modern revision that is graded.
pub const MODERN: &[Revision] = &[Revision::R2026_07_28];
/// Both.
pub const BOTH: &[Revision] = &[Revision::R2025_11_25, Revision::R2026_07_28];

/// A check in a list: `check!("area/name", BOTH, function, ["row", …])`.
macro_rules! check {
    ($name:literal, $revisions:expr, $run:path, [$($row:expr),+ $(,)?]) => {
        $crate::check::Check {
            name: $name,
            revisions: $revisions,
            over: $crate::check::Over::Any,
            rows: &[$($row),+],
            quotes: &[],
            connections: 1,
            looks_back: false,
            run: |lab| Box::pin($run(lab)),
        }
    };
}
pub(crate) use check;
