//! Which binding clauses the suite is shown to judge: a check names them, and a fault turns it red.

use crate::unseen;
use libtest_mimic::Failed;
use mcp_hil_conformance::coverage::{is_visible, judges};
use mcp_hil_conformance::requirement::{self, Requirement};
use mcp_hil_faults::faults;
use mcp_hil_harness::revision::Revision;

/// Least share of a revision's rows.
const BAR: f64 = 0.95;

/// The binding clauses of a server in a revision that messages show.
#[derive(Default)]
pub struct Coverage {
    /// With a check that a fault turns red.
    pub shown: Vec<&'static str>,
    /// With a check, and no fault.
    pub without_fault: Vec<&'static str>,
    /// Without a check; each says why, which a test of the checks holds.
    pub not_judged: Vec<&'static Requirement>,
}

impl Coverage {
    pub fn of(revision: Revision) -> Self {
        let mut coverage = Self::default();
        let has_fault = |row: &Requirement| {
            faults().iter().any(|fault| {
                fault.clause == row.id
                    && fault.revisions.contains(&revision)
                    && unseen(fault, revision).is_none()
            })
        };
        for row in requirement::all() {
            if !row.applies_to(revision) || !is_visible(row) || !row.level.is_binding() {
                continue;
            }
            if judges(&row.id, revision).is_empty() {
                coverage.not_judged.push(row);
            } else if has_fault(row) {
                coverage.shown.push(&row.id);
            } else {
                coverage.without_fault.push(&row.id);
            }
        }
        coverage
    }

    pub fn all(&self) -> usize {
        self.shown.len() + self.without_fault.len() + self.not_judged.len()
    }
}

/// Every clause that a check names has a fault, and nearly all are named.
pub fn is_covered(revision: Revision) -> Result<(), Failed> {
    let coverage = Coverage::of(revision);
    if !coverage.without_fault.is_empty() {
        let rows = coverage.without_fault.join("\n");
        return Err(Failed::from(format!(
            "checks name these, and no fault breaks them:\n{rows}"
        )));
    }
    let (shown, all) = (coverage.shown.len(), coverage.all());
    if (shown as f64) < BAR * all as f64 {
        return Err(Failed::from(format!("{shown} of {all} rows")));
    }
    Ok(())
}
