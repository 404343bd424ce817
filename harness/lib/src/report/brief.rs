//! The first thing that a person sees of a run: what is wrong, in words, on at most 20 lines with `next`.

use super::style::Style;
use super::{Case, Report, Verdict, escape_line};
use crate::fault::seconds;
use std::fmt::Write as _;

/// Findings that are shown. Each takes two lines.
const SHOWN: usize = 5;
/// Characters on a line.
const WIDTH: usize = 118;

/// The verdict in short. `next` are lines that say what to do now; five at most keep it within 20.
pub fn brief(report: &Report, style: Style, next: &[String]) -> String {
    let tally = report.tally();
    let verdict = if tally.failed > 0 || !report.stale.is_empty() {
        style.bad("FAIL")
    } else if tally.infrastructure > 0 || tally.passed + tally.warned + tally.expected == 0 {
        style.dim("NOT JUDGED")
    } else {
        style.good("PASS")
    };
    let server = report.server.as_deref().map(|server| format!(" ({server})"));
    let mut revisions: Vec<&str> = report.results.iter().map(Case::revision).collect();
    revisions.dedup();
    let mut text = format!(
        "{verdict}  {}{} in {}\n",
        escape_line(&report.target),
        line(&server.unwrap_or_default(), 40),
        revisions.join(" and ")
    );
    let mut counts = vec![format!("{} passed", tally.passed)];
    for (count, word) in [
        (tally.failed, "failed"),
        (tally.warned, "warned"),
        (tally.expected, "failed as expected"),
        (tally.skipped, "skipped, as the server does not offer it"),
        (tally.infrastructure, "without a verdict"),
    ] {
        if count > 0 {
            counts.push(format!("{count} {word}"));
        }
    }
    let _ = writeln!(text, "      {}; {}", counts.join(", "), seconds(&report.time));
    let found = report.found();
    if !found.is_empty() {
        text.push('\n');
    }
    // a note has the place of a finding
    let shown = SHOWN - usize::from(!report.notes.is_empty());
    for case in found.iter().take(shown) {
        let word = match case.verdict {
            Verdict::Fail(_) => style.bad("FAIL"),
            _ => style.dim("warn"),
        };
        let Some(finding) = case.verdict.findings().first() else {
            continue;
        };
        let _ = writeln!(
            text,
            "{word}  {}: {}",
            escape_line(&case.id),
            line(&finding.reason, case.id.len() + 8)
        );
        let rule = match &finding.clause {
            Some(clause) => format!("{}: {}", clause.level, clause.statement),
            None => case.title.clone(),
        };
        let _ = writeln!(text, "      {}", line(&rule, 6));
    }
    if found.len() > shown {
        let _ = writeln!(text, "      … and {} more", found.len() - shown);
    }
    if let Some(note) = report.notes.first() {
        let _ = writeln!(text, "\n{}  {}", style.dim("note"), line(note, 6));
    }
    if let Some(case) = report
        .results
        .iter()
        .find(|case| matches!(case.verdict, Verdict::Infrastructure(_)))
    {
        let reason = case.verdict.reason().unwrap_or_default();
        let _ = writeln!(
            text,
            "      {}: {}",
            escape_line(&case.id),
            line(reason, case.id.len() + 8)
        );
    }
    if let Some(entry) = report.stale.first() {
        let _ = writeln!(text, "      baseline: {}", line(entry, 16));
    }
    if !next.is_empty() {
        text.push('\n');
    }
    for line in next {
        let _ = writeln!(text, "{}", escape_line(line));
    }
    text
}

/// Text on what `used` characters leave of a line.
fn line(text: &str, used: usize) -> String {
    let text = escape_line(text);
    let room = WIDTH.saturating_sub(used).max(30);
    if text.chars().count() <= room {
        return text;
    }
    let mut cut: String = text.chars().take(room - 1).collect();
    // at a word, where one ends not far before
    if let Some(space) = cut.rfind(' ').filter(|space| *space > room / 2) {
        cut.truncate(space);
    }
    cut.truncate(cut.trim_end_matches([' ', ',', ':', ';']).len());
    cut.push('…');
    cut
}
