//! For CI: JUnit XML. A failure is a `failure`, trouble with the target an `error`; a warning passes and is told in
//! the case's output, as JUnit has no word for it.

use super::style::Style;
use super::{Case, Detail, Report, Verdict, text};
use crate::fault::seconds;
use quick_junit::{
    NonSuccessKind, Property, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite,
};

/// A report as JUnit XML: one suite, or one for each board with a name and its stages as properties; a case for each check or transcript, with the
/// revision and area as its class and its clauses as properties.
///
/// # Errors
/// What the XML writer says.
pub fn write(report: &Report) -> Result<String, SerializeError> {
    let mut junit = Junit::new("mcp-hil");
    junit.set_time(report.time);
    for results in report.results.chunk_by(|one, next| one.board == next.board) {
        junit.add_test_suite(suite(report, results));
    }
    junit.to_string()
}

fn suite(report: &Report, results: &[Case]) -> TestSuite {
    let board = results.first().and_then(|case| case.board.as_deref());
    let name = match board {
        Some(board) => format!("{} {board}", report.target),
        None => report.target.clone(),
    };
    let mut suite = TestSuite::new(name);
    suite.set_time(match board {
        Some(_) => results.iter().map(|case| case.time).sum(),
        None => report.time,
    });
    for (of, stage) in &report.stages {
        if Some(of.as_str()) == board {
            let failed = if stage.failed { "FAILED: " } else { "" };
            let text = format!("{} {failed}{}", seconds(&stage.time), stage.note);
            suite.add_property(Property::new(format!("stage {}", stage.name), text.trim_end()));
        }
    }
    for case in results {
        // what has no revision is about the way to the board
        let (class, name) = case.id.rsplit_once('/').unwrap_or((report.command, &case.id));
        let mut test = TestCase::new(name, status(case));
        test.set_classname(class.replace('/', ".")).set_time(case.time);
        for clause in &case.clauses {
            test.add_property(Property::new("clause", clause.as_str()));
        }
        if matches!(case.verdict, Verdict::Warn(_)) && case.expected.is_none() {
            test.set_system_out(text::line(case, Style::PLAIN, Detail::Full));
        }
        suite.add_test_case(test);
    }
    suite
}

fn status(case: &Case) -> TestCaseStatus {
    let skipped = |reason: &str| {
        let mut status = TestCaseStatus::skipped();
        status.set_message(reason);
        status
    };
    let failed = |kind, message: &str, detail: String| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(message).set_description(detail);
        status
    };
    match &case.verdict {
        _ if let Some(reason) = &case.expected => skipped(&format!("expected: {reason}")),
        Verdict::Pass | Verdict::Warn(_) => TestCaseStatus::success(),
        Verdict::Skip(reason) => skipped(reason),
        Verdict::Infrastructure(reason) => failed(NonSuccessKind::Error, reason, reason.clone()),
        Verdict::Fail(findings) => {
            let message = findings.first().map_or("", |finding| finding.reason.as_str());
            let detail = text::line(case, Style::PLAIN, Detail::Full);
            failed(NonSuccessKind::Failure, message, detail)
        }
    }
}
