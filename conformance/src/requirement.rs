//! The clauses that this project answers for, as `requirements.jsonl` has them.

use mcp_hil_harness::revision::Revision;
use serde::Deserialize;
use std::collections::HashMap;
use std::sync::LazyLock;

const TEXT: &str = include_str!("../requirements.jsonl");

/// How much a clause asks (RFC 2119).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
pub enum Level {
    /// MUST.
    #[serde(rename = "MUST")]
    Must,
    /// MUST NOT.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// SHOULD.
    #[serde(rename = "SHOULD")]
    Should,
    /// SHOULD NOT.
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    /// MAY.
    #[serde(rename = "MAY")]
    May,
}

impl Level {
    /// The words of RFC 2119.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::ShouldNot => "SHOULD NOT",
            Self::May => "MAY",
        }
    }

    /// MUST or MUST NOT.
    pub const fn is_binding(self) -> bool {
        matches!(self, Self::Must | Self::MustNot)
    }
}

/// Which side a clause binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The server.
    Server,
    /// The client.
    Client,
}

/// What it takes to see whether a clause is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Testable {
    /// Messages are enough.
    BlackBox,
    /// The server's maker must help.
    NeedsCooperation,
    /// It can't be seen.
    NotTestable,
}

/// One clause.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its name, which stays.
    pub id: String,
    /// Dates of the revisions that have it.
    pub revisions: Vec<String>,
    /// Whom it binds.
    pub role: Role,
    /// Part of the protocol.
    pub area: String,
    /// How much it asks.
    pub level: Level,
    /// What it asks, in our words.
    pub statement: String,
    /// Where the specification says so.
    pub source: String,
    /// Whether it can be seen from outside.
    pub testable: Testable,
    /// How.
    pub how: String,
    /// Why no check judges it, though it could be seen from outside.
    #[serde(default)]
    pub not_judged: Option<String>,
}

impl Requirement {
    /// Whether a revision has it.
    pub fn applies_to(&self, revision: Revision) -> bool {
        self.revisions.iter().any(|date| date == revision.as_str())
    }

    /// Whether it is only concluded from the specification.
    pub fn is_derived(&self) -> bool {
        self.source.contains("(derived)")
    }
}

static ALL: LazyLock<Vec<Requirement>> = LazyLock::new(|| {
    TEXT.lines()
        .filter(|line| !line.trim().is_empty())
        // the tests read every line
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
});

static BY_ID: LazyLock<HashMap<&'static str, &'static Requirement>> =
    LazyLock::new(|| ALL.iter().map(|row| (row.id.as_str(), row)).collect());

/// All clauses, in the order of the file.
pub fn all() -> &'static [Requirement] {
    &ALL
}

/// The clause of this name.
pub fn get(id: &str) -> Option<&'static Requirement> {
    BY_ID.get(id).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_clause_with_a_name_of_its_own() {
        for (number, line) in TEXT.lines().enumerate() {
            let read = serde_json::from_str::<Requirement>(line);
            assert!(read.is_ok(), "line {}: {:?}", number + 1, read.err());
        }
        assert_eq!(BY_ID.len(), TEXT.lines().count());
    }
}
