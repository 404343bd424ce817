//! Which clauses the checks judge: pure.

use crate::checks;
use crate::requirement::{self, Requirement, Role, Testable};
use crate::run::GRADED;
use mcp_hil_harness::revision::Revision;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Names of the checks that judge a clause in a revision.
pub fn judges(row: &str, revision: Revision) -> Vec<&'static str> {
    checks::all()
        .filter(|check| check.revisions.contains(&revision) && check.rows.contains(&row))
        .map(|check| check.name)
        .collect()
}

/// Whether messages to a server show if it keeps the clause.
pub fn is_visible(requirement: &Requirement) -> bool {
    requirement.role == Role::Server && requirement.testable == Testable::BlackBox
}

/// Judged and all visible clauses of a server, by revision, area and whether they bind.
pub fn table() -> String {
    let mut counts: BTreeMap<(Revision, &str), [usize; 4]> = BTreeMap::new();
    for (revision, row) in GRADED
        .into_iter()
        .flat_map(|revision| requirement::all().iter().map(move |row| (revision, row)))
    {
        if !is_visible(row) || !row.applies_to(revision) {
            continue;
        }
        let column = if row.level.is_binding() { 0 } else { 2 };
        let is_judged = !judges(&row.id, revision).is_empty();
        for area in [row.area.as_str(), "all"] {
            let count = counts.entry((revision, area)).or_default();
            count[column] += usize::from(is_judged);
            count[column + 1] += 1;
        }
    }
    let mut text = format!(
        "{:<12}{:<16}{:>16}{:>16}\n",
        "REVISION", "AREA", "MUST, MUST NOT", "SHOULD, MAY"
    );
    for ((revision, area), [judged, all, judged_weak, all_weak]) in counts {
        let _ = writeln!(
            text,
            "{revision:<12}{area:<16}{:>16}{:>16}",
            format!("{judged} of {all}"),
            format!("{judged_weak} of {all_weak}")
        );
    }
    text
}

/// Every clause with the checks that judge it, or why none does.
pub fn list() -> String {
    let mut text = String::new();
    for row in requirement::all() {
        let checks: BTreeSet<_> = GRADED
            .into_iter()
            .flat_map(|revision| judges(&row.id, revision))
            .collect();
        let by = match (&row.not_judged, checks.is_empty()) {
            (Some(reason), _) => format!("not judged: {reason}"),
            (None, false) => Vec::from_iter(checks).join(", "),
            (None, true) if is_visible(row) => "no check yet".to_owned(),
            (None, true) if row.role == Role::Client => "binds clients".to_owned(),
            (None, true) => "can't be seen from outside".to_owned(),
        };
        let _ = writeln!(
            text,
            "{}  {}  [{}]\n  {}\n  {by}",
            row.id,
            row.level.as_str(),
            row.revisions.join(", "),
            row.statement
        );
    }
    text
}
