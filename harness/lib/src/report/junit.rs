//! For CI: JUnit XML. A failure is a `failure`, trouble with the target an `error`.

use super::style::Style;
use super::{Played, Report, Verdict, text};
use quick_junit::{NonSuccessKind, Report as Junit, SerializeError, TestCase, TestCaseStatus, TestSuite};

/// A report as JUnit XML: one suite, or one for each board with a name; one case a transcript, with the revision as its class.
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

fn suite(report: &Report, results: &[Played]) -> TestSuite {
    let board = results.first().and_then(|played| played.board.as_deref());
    let name = match board {
        Some(board) => format!("{} {board}", report.target),
        None => report.target.clone(),
    };
    let mut suite = TestSuite::new(name);
    suite.set_time(match board {
        Some(_) => results.iter().map(|played| played.time).sum(),
        None => report.time,
    });
    for played in results {
        let failed = |kind, message: &str, detail: String| {
            let mut status = TestCaseStatus::non_success(kind);
            status.set_message(message).set_description(detail);
            status
        };
        let status = match &played.verdict {
            Verdict::Pass => TestCaseStatus::success(),
            Verdict::Skip(reason) => {
                let mut status = TestCaseStatus::skipped();
                status.set_message(reason.as_str());
                status
            }
            Verdict::Infrastructure(reason) => failed(NonSuccessKind::Error, reason, reason.clone()),
            Verdict::Fail(failure) => failed(
                NonSuccessKind::Failure,
                &failure.reason,
                text::line(played, Style::PLAIN),
            ),
        };
        let (class, name) = played.id.split_once('/').unwrap_or(("", &played.id));
        let mut case = TestCase::new(name, status);
        case.set_classname(class).set_time(played.time);
        suite.add_test_case(case);
    }
    suite
}
