//! The checks, an area a file. A new one is a function there and a line in its list.

mod caching;
mod cancellation;
mod http;
mod input_required;
mod jsonrpc;
mod lifecycle;
mod logging;
mod mdns;
mod pagination;
mod progress;
mod security;
mod stdio;
mod subscriptions;
mod tasks;
mod tools;

use crate::check::Check;

const AREAS: &[&[&[Check]]] = &[
    jsonrpc::CHECKS,
    lifecycle::CHECKS,
    http::CHECKS,
    tools::CHECKS,
    tasks::CHECKS,
    &[
        pagination::CHECKS,
        caching::CHECKS,
        progress::CHECKS,
        cancellation::CHECKS,
        logging::CHECKS,
        subscriptions::CHECKS,
        input_required::CHECKS,
        security::CHECKS,
        stdio::CHECKS,
    ],
    mdns::CHECKS,
];

/// Every check, in the order of the areas.
pub fn all() -> impl Iterator<Item = &'static Check> {
    AREAS.iter().copied().flatten().copied().flatten()
}

#[cfg(test)]
mod tests {
    use super::all;
    use crate::coverage::{is_visible, judges};
    use crate::requirement;
    use crate::run::GRADED;
    use std::collections::HashSet;

    #[test]
    fn a_clause_that_binds_and_can_be_seen_is_judged_or_says_why_not() {
        let mut open = Vec::new();
        for revision in GRADED {
            let rows = requirement::all().iter().filter(|row| row.applies_to(revision));
            for row in rows.filter(|row| is_visible(row) && row.level.is_binding()) {
                if row.not_judged.is_none() && judges(&row.id, revision).is_empty() {
                    open.push(format!("{} in {revision}", row.id));
                }
            }
        }
        assert!(open.is_empty(), "no check judges:\n{}", open.join("\n"));
    }

    #[test]
    fn a_check_has_a_name_of_its_own_and_names_clauses_of_its_revisions() {
        let mut names = HashSet::new();
        for check in all() {
            assert!(names.insert(check.name), "{} is there twice", check.name);
            for row in check.rows {
                let Some(requirement) = requirement::get(row) else {
                    panic!("{}: no requirement {row}", check.name);
                };
                assert!(
                    check
                        .revisions
                        .iter()
                        .any(|revision| requirement.applies_to(*revision)),
                    "{}: {row} is not of its revisions",
                    check.name
                );
                assert!(
                    requirement.not_judged.is_none(),
                    "{row} is judged by {}, and says why it is not",
                    check.name
                );
            }
            for (row, sentence) in check.quotes {
                assert!(
                    check.rows.contains(row) && !sentence.is_empty(),
                    "{}: quotes {row}",
                    check.name
                );
            }
        }
    }
}
