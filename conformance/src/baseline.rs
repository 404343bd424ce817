//! What is known to be broken: expected failures from a file, and named sets of them for known families. Pure.
//!
//! An entry names a check (`2026-07-28/tools/unknown-tool`, or without the revision for both) or a clause. What it
//! names may fail or warn; that it passes instead is told, as a list that is not kept up hides the next regression.

use crate::check::Check;
use crate::only::{did_you_mean, nearest};
use crate::{checks, requirement};
use mcp_hil_harness::report::{Case, Report, Verdict};
use serde::Deserialize;
use std::fmt::Write as _;

/// A list of expected failures.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// What it is for, in a line.
    #[serde(default)]
    pub about: String,
    /// Where the entries are from. What was only read in source code is told when it passes, and fails no run.
    #[serde(default)]
    pub seen: Seen,
    /// The entries.
    #[serde(default)]
    pub expected: Vec<Entry>,
}

/// Where a list is from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Seen {
    /// A run on the server or board itself.
    #[default]
    OnBoard,
    /// Its source code; no board was run.
    InSource,
}

/// One expected failure.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Id of a check, with or without its revision, or of a clause.
    pub id: String,
    /// Why it is expected.
    pub reason: String,
    /// The last day on which it is, as `2027-01-31`.
    #[serde(default)]
    pub until: Option<String>,
}

/// Why a list can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// It is no TOML of this form.
    #[error("{0}")]
    Format(#[from] Box<toml::de::Error>),
    /// An entry names nothing.
    #[error("{id:?} is no check and no clause{}; `mcp-hil check --list` shows those that are", did_you_mean(.nearest))]
    Unknown {
        /// What stands there.
        id: String,
        /// The check or clause that is written most alike, if any is.
        nearest: Option<String>,
    },
    /// A date can't be read.
    #[error("{id}: until = {until:?} is no date like 2027-01-31")]
    Date {
        /// Id of the entry.
        id: String,
        /// What stands there.
        until: String,
    },
    /// An entry gives no reason.
    #[error("{0}: give a reason")]
    Reason(String),
}

/// Names of the profiles, with their texts.
const PROFILES: [(&str, &str); 1] = [("esp-claw", include_str!("../profiles/esp-claw.toml"))];

/// Names of the profiles.
pub fn profiles() -> impl Iterator<Item = &'static str> {
    PROFILES.into_iter().map(|(name, _)| name)
}

/// The profile of this name.
///
/// # Errors
/// [`BaselineError`], which the tests rule out.
pub fn profile(name: &str) -> Option<Result<Baseline, BaselineError>> {
    let (_, text) = PROFILES.into_iter().find(|(known, _)| *known == name)?;
    Some(Baseline::parse(text))
}

impl Baseline {
    /// Reads a list.
    ///
    /// # Errors
    /// [`BaselineError`].
    pub fn parse(text: &str) -> Result<Self, BaselineError> {
        let list: Self = toml::from_str(text).map_err(Box::new)?;
        for entry in &list.expected {
            let names_check = checks::all().any(|check| {
                let ids = check.revisions.iter().map(|revision| check.id(*revision));
                check.name == entry.id || ids.into_iter().any(|id| id == entry.id)
            });
            if !names_check && requirement::get(&entry.id).is_none() {
                return Err(BaselineError::Unknown {
                    id: entry.id.clone(),
                    nearest: nearest_to(&entry.id),
                });
            }
            if entry.reason.trim().is_empty() {
                return Err(BaselineError::Reason(entry.id.clone()));
            }
            if let Some(until) = entry.until.as_ref().filter(|until| !is_date(until)) {
                return Err(BaselineError::Date {
                    id: entry.id.clone(),
                    until: until.clone(),
                });
            }
        }
        Ok(list)
    }

    /// Marks what is expected in a report, and gives the entries that no longer hold: what they name passes, or fails and
    /// their last day is over. `today` is a date as `2027-01-31`. Only those of a list that was seen on a board are the
    /// report's stale ones.
    pub fn apply(&self, report: &mut Report, today: &str) -> Vec<String> {
        let valid = |entry: &&Entry| entry.until.as_deref().is_none_or(|until| today <= until);
        let (entries, over): (Vec<&Entry>, Vec<&Entry>) = self.expected.iter().partition(valid);
        for case in &mut report.results {
            let covering = |clause: Option<&str>| {
                let covers = |entry: &&&Entry| names(entry, case) || clause == Some(entry.id.as_str());
                entries.iter().find(covers).map(|entry| entry.reason.clone())
            };
            let reasons: Option<Vec<String>> = case
                .verdict
                .findings()
                .iter()
                .map(|finding| covering(finding.clause.as_ref().map(|clause| clause.id.as_str())))
                .collect();
            if let Some(mut reasons) = reasons.filter(|reasons| !reasons.is_empty()) {
                reasons.dedup();
                case.expected = Some(reasons.join("; "));
            }
        }
        let gone = entries.iter().filter(|entry| is_gone(entry, report));
        let gone = gone.map(|entry| {
            format!(
                "{} passes now, and was expected to fail: {}",
                entry.id, entry.reason
            )
        });
        let fails = |entry: &&&Entry| {
            report.results.iter().any(|case| {
                matches!(case.verdict, Verdict::Fail(_)) && case.expected.is_none() && shows(entry, case)
            })
        };
        let over = over.iter().filter(fails).map(|entry| {
            format!(
                "{} fails, and was expected to until {} only: {}",
                entry.id,
                entry.until.as_deref().unwrap_or_default(),
                entry.reason
            )
        });
        let gone: Vec<String> = gone.chain(over).collect();
        if self.seen == Seen::OnBoard {
            report.stale.extend(gone.iter().cloned());
        }
        gone
    }
}

/// The id of a check or clause that is written most like one that names nothing.
fn nearest_to(id: &str) -> Option<String> {
    let of_check = |check: &Check| {
        let ids = check.revisions.iter().map(|revision| check.id(*revision));
        ids.chain([check.name.to_owned()]).collect::<Vec<_>>()
    };
    let clauses = requirement::all().iter().map(|clause| clause.id.clone());
    let known: Vec<String> = checks::all().flat_map(of_check).chain(clauses).collect();
    nearest(id, known.iter().map(String::as_str))
}

/// Whether an entry names a case.
fn names(entry: &Entry, case: &Case) -> bool {
    entry.id == case.id || entry.id == case.name()
}

/// Whether what an entry names shows in a case.
fn shows(entry: &Entry, case: &Case) -> bool {
    let findings = case.verdict.findings();
    if names(entry, case) {
        return !findings.is_empty();
    }
    let mut clauses = findings.iter().filter_map(|finding| finding.clause.as_ref());
    clauses.any(|clause| clause.id == entry.id)
}

/// The cases of a report in which what an entry names was tried.
fn tried<'a>(entry: &'a Entry, report: &'a Report) -> impl Iterator<Item = &'a Case> {
    report
        .results
        .iter()
        .filter(|case| names(entry, case) || case.clauses.contains(&entry.id))
        .filter(|case| !matches!(case.verdict, Verdict::Skip(_) | Verdict::Infrastructure(_)))
}

/// Whether what an entry names was tried and nowhere shows.
fn is_gone(entry: &Entry, report: &Report) -> bool {
    let mut tried = tried(entry, report).peekable();
    tried.peek().is_some() && !tried.any(|case| shows(entry, case))
}

/// A list of everything that a report found. Reasons and dates of entries that `before` has are kept, and so are entries
/// that the report did not try.
pub fn update(report: &Report, before: &Baseline) -> String {
    let mut text = String::from(
        "# Failures that are known. An entry names a check or a clause; `until` is the last day on which it counts.\n\
         # A listed check that passes fails the run: take it out then.\n",
    );
    for case in &report.results {
        let findings = case.verdict.findings();
        if findings.is_empty() {
            continue;
        }
        let known = before.expected.iter();
        // an entry that names the check says more of it than one that names a clause
        let known = (known.clone().find(|entry| names(entry, case)))
            .or_else(|| known.clone().find(|entry| shows(entry, case)));
        let found = Entry {
            id: case.id.clone(),
            reason: findings[0].reason.clone(),
            until: None,
        };
        add(&mut text, &found.id, known.unwrap_or(&found));
    }
    for entry in &before.expected {
        if tried(entry, report).next().is_none() {
            add(&mut text, &entry.id, entry);
        }
    }
    text
}

/// Adds an entry under an id.
fn add(text: &mut String, id: &str, entry: &Entry) {
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let (id, reason) = (quoted(id), quoted(&entry.reason));
    let _ = write!(text, "\n[[expected]]\nid = {id}\nreason = {reason}\n");
    if let Some(until) = &entry.until {
        let _ = writeln!(text, "until = {}", quoted(until));
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let number = |part: &str, length: usize, most: u32| {
        part.len() == length
            && part
                .parse::<u32>()
                .is_ok_and(|number| (1..=most).contains(&number))
    };
    matches!(parts[..], [year, month, day] if number(year, 4, 9999) && number(month, 2, 12) && number(day, 2, 31))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_harness::report::{Clause, Finding};

    const CHECK: &str = "2025-11-25/jsonrpc/no-version";
    const CLAUSE: &str = "jsonrpc-2.0/request-without-version-rejected";

    fn report(verdict: fn(Vec<Finding>) -> Verdict) -> Report {
        let clause = Clause {
            id: CLAUSE.to_owned(),
            ..Clause::default()
        };
        let finding = Finding {
            clause: Some(clause),
            reason: "served".to_owned(),
            ..Finding::default()
        };
        let case = Case {
            board: None,
            stage: None,
            id: CHECK.to_owned(),
            title: String::new(),
            about: String::new(),
            clauses: vec![CLAUSE.to_owned()],
            verdict: verdict(vec![finding]),
            expected: None,
            exchanges: Vec::new(),
            time: std::time::Duration::ZERO,
        };
        Report {
            results: vec![case],
            ..Report::default()
        }
    }

    fn list(entry: &str) -> Baseline {
        Baseline::parse(&format!("[[expected]]\nreason = \"known\"\n{entry}")).unwrap()
    }

    #[test]
    fn a_listed_failure_passes_by_its_check_or_clause() {
        for id in [CHECK, "jsonrpc/no-version", CLAUSE] {
            let mut report = report(Verdict::Fail);
            list(&format!("id = {id:?}")).apply(&mut report, "2026-01-01");
            let tally = report.tally();
            assert_eq!((tally.failed, tally.expected), (0, 1), "{id}");
            assert!(report.stale.is_empty());
        }
    }

    #[test]
    fn another_entry_does_not_help() {
        let mut report = report(Verdict::Fail);
        list("id = \"2026-07-28/jsonrpc/no-version\"").apply(&mut report, "2026-01-01");
        assert_eq!(report.tally().failed, 1);
    }

    #[test]
    fn what_is_listed_and_passes_is_stale() {
        for id in [CHECK, CLAUSE] {
            let mut report = report(|_| Verdict::Pass);
            list(&format!("id = {id:?}")).apply(&mut report, "2026-01-01");
            assert_eq!(report.stale.len(), 1, "{id}");
        }
        // nothing is known of what was not tried
        let mut report = report(|_| Verdict::Skip("not offered".to_owned()));
        list(&format!("id = {CHECK:?}")).apply(&mut report, "2026-01-01");
        assert!(report.stale.is_empty());
    }

    #[test]
    fn an_entry_counts_to_the_end_of_its_last_day() {
        let entry = format!("id = {CHECK:?}\nuntil = \"2026-06-30\"");
        for (today, failed) in [("2026-06-30", 0), ("2026-07-01", 1)] {
            let mut report = report(Verdict::Fail);
            list(&entry).apply(&mut report, today);
            assert_eq!(report.tally().failed, failed, "{today}");
        }
        let mut fails = report(Verdict::Fail);
        list(&entry).apply(&mut fails, "2026-07-01");
        assert_eq!(
            fails.stale,
            [format!(
                "{CHECK} fails, and was expected to until 2026-06-30 only: known"
            )]
        );
        let mut passes = report(|_| Verdict::Pass);
        list(&entry).apply(&mut passes, "2026-07-01");
        assert!(passes.stale.is_empty());
    }

    #[test]
    fn a_list_that_names_nothing_is_refused() {
        let read = |entry: &str| {
            Baseline::parse(&format!("[[expected]]\n{entry}")).map_err(|error| error.to_string())
        };
        assert!(
            read("id = \"no/such\"\nreason = \"x\"")
                .unwrap_err()
                .contains("\"no/such\" is no check")
        );
        let misspelt = read("id = \"2025-11-25/tools/unknown-tol\"\nreason = \"x\"").unwrap_err();
        assert!(
            misspelt.contains("did you mean \"2025-11-25/tools/unknown-tool\"?"),
            "{misspelt}"
        );
        assert!(
            read(&format!("id = {CHECK:?}\nreason = \" \""))
                .unwrap_err()
                .contains("give a reason")
        );
        let date = format!("id = {CHECK:?}\nreason = \"x\"\nuntil = \"soon\"");
        assert!(read(&date).unwrap_err().contains("\"soon\" is no date"));
        assert!(
            read(&format!(
                "id = {CHECK:?}\nreason = \"x\"\nuntill = \"2026-06-30\""
            ))
            .is_err()
        );
    }

    #[test]
    fn what_is_written_is_read_and_expects_what_was_found() {
        let mut found = report(Verdict::Fail);
        let Verdict::Fail(findings) = &mut found.results[0].verdict else {
            unreachable!()
        };
        findings[0].reason = "quotes \" and\nlines".to_owned();
        let before = list(&format!("id = {CHECK:?}\nuntil = \"2026-06-30\""));
        let again = Baseline::parse(&update(&found, &before)).unwrap();
        assert_eq!(again.expected, before.expected);
        let first = Baseline::parse(&update(&found, &Baseline::default())).unwrap();
        assert_eq!(first.expected[0].reason, "quotes \" and\nlines");
        first.apply(&mut found, "2026-01-01");
        assert_eq!(found.tally().expected, 1);
    }

    #[test]
    fn what_was_not_tried_stays_in_the_list() {
        let other = "[[expected]]\nid = \"tools/unknown-tool\"\nreason = \"later\"\nuntil = \"2026-12-31\"\n";
        let before = Baseline::parse(other).unwrap();
        let again = Baseline::parse(&update(&report(Verdict::Fail), &before)).unwrap();
        assert_eq!(again.expected.len(), 2);
        assert_eq!(again.expected[1], before.expected[0]);
        // and what passes now is taken out
        let passes = report(|_| Verdict::Pass);
        let again = Baseline::parse(&update(&passes, &list(&format!("id = {CHECK:?}")))).unwrap();
        assert_eq!(again.expected, []);
    }

    #[test]
    fn a_reason_that_was_given_for_a_clause_is_kept() {
        let before = list(&format!("id = {CLAUSE:?}"));
        let again = Baseline::parse(&update(&report(Verdict::Fail), &before)).unwrap();
        assert_eq!(
            (again.expected[0].id.as_str(), again.expected[0].reason.as_str()),
            (CHECK, "known")
        );
    }

    #[test]
    fn every_profile_is_read() {
        for name in profiles() {
            assert!(
                profile(name).is_some_and(|read| read.is_ok()),
                "{name}: {:?}",
                profile(name)
            );
        }
    }
}
