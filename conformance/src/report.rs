//! Verdicts as the report that all commands share: pure.

use crate::advice::advice;
use crate::coverage::is_visible;
use crate::requirement::{self, Requirement};
use crate::verdict::{Finding, Judged, Report, Verdict};
use mcp_hil_harness::report;

/// A run's report.
pub fn report(report: &Report) -> report::Report {
    report::Report {
        command: "check",
        target: report.target.clone(),
        server: report.server.clone(),
        seed: Some(report.seed),
        clauses: requirement::all()
            .iter()
            .filter(|requirement| is_visible(requirement))
            .map(clause)
            .collect(),
        stages: Vec::new(),
        results: report.results.iter().map(case).collect(),
        stale: Vec::new(),
        notes: report.notes.clone(),
        time: report.time,
    }
}

/// A check's case.
pub fn case(judged: &Judged) -> report::Case {
    let reason = || judged.reason.clone().unwrap_or_default();
    let title = judged.rows.first().and_then(|row| requirement::get(row));
    report::Case {
        board: None,
        stage: None,
        id: judged.id.clone(),
        title: title.map(|row| row.statement.clone()).unwrap_or_default(),
        about: String::new(),
        clauses: judged.rows.iter().map(|&row| row.to_owned()).collect(),
        verdict: match judged.verdict {
            Verdict::Pass => report::Verdict::Pass,
            Verdict::Fail => report::Verdict::Fail(advised(judged)),
            Verdict::Warn => report::Verdict::Warn(advised(judged)),
            Verdict::Skip => report::Verdict::Skip(reason()),
            Verdict::Infrastructure => report::Verdict::Infrastructure(reason()),
        },
        expected: None,
        exchanges: Vec::new(),
        time: judged.time,
    }
}

/// The findings of a check, the first with what to change.
fn advised(judged: &Judged) -> Vec<report::Finding> {
    let mut findings = findings(&judged.findings);
    if let Some(first) = findings.first_mut() {
        first.advice = advice(judged.name);
    }
    findings
}

/// A clause of a check is shown once, with the evidence of the first place; failures come before warnings.
fn findings(findings: &[Finding]) -> Vec<report::Finding> {
    let mut shown: Vec<(&str, report::Finding)> = Vec::new();
    for finding in findings {
        if let Some((_, first)) = shown
            .iter_mut()
            .find(|(row, first)| *row == finding.row && first.warns != finding.fails)
        {
            first.more.push(finding.what.clone());
            continue;
        }
        let new = report::Finding {
            clause: finding.requirement().map(clause),
            warns: !finding.fails,
            reason: finding.what.clone(),
            exchanges: finding.exchanges.clone(),
            ..report::Finding::default()
        };
        shown.push((finding.row, new));
    }
    shown.sort_by_key(|(_, finding)| finding.warns);
    shown.into_iter().map(|(_, finding)| finding).collect()
}

fn clause(requirement: &Requirement) -> report::Clause {
    report::Clause {
        id: requirement.id.clone(),
        area: requirement.area.clone(),
        level: requirement.level.as_str().to_owned(),
        statement: requirement.statement.clone(),
        source: requirement.source.clone(),
        how: requirement.how.clone(),
        revisions: requirement.revisions.clone(),
    }
}
