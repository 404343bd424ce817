//! For people at a terminal: one line a case, and everything about a finding.

use super::style::Style;
use super::{Case, Finding, Report, Verdict};
use crate::client::Exchange;
use crate::diff;
use crate::fault::seconds;
use crate::shown::is_steering;
use std::fmt::Write as _;

/// Bytes of a message that are shown; reports in JSON hold them all.
const SHOWN: usize = 4096;

/// How much of a finding is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What is wrong, the clause, and a line that repeats it.
    Terse,
    /// The bytes both ways too, and each place.
    Full,
}

/// Text from outside, for a terminal: without control characters but the line end, as a server could steer the terminal
/// by them. They are shown in the notation of Rust, as `\u{1b}`. So are characters that turn the direction of writing.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_steering(c) {
            // escape_default leaves what is no control character
            if c.is_control() {
                escaped.extend(c.escape_default());
            } else {
                escaped.extend(c.escape_unicode());
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The same on one line, where the next line would be read as another entry.
pub fn escape_line(text: &str) -> String {
    escape(text).replace('\n', "\\n")
}

/// One case.
pub fn line(case: &Case, style: Style, detail: Detail) -> String {
    let id = match &case.board {
        Some(board) => escape_line(&format!("{board} {}", case.id)),
        None => escape_line(&case.id),
    };
    let entry = |reason: &str| escape(reason).trim_end().replace('\n', "\n    ");
    let time = seconds(&case.time);
    if let Some(why) = &case.expected {
        return format!("{}  {id}: {}\n", style.dim("known"), entry(why));
    }
    match &case.verdict {
        Verdict::Pass => format!("{}  {id}  ({time})\n", style.good("pass")),
        Verdict::Skip(reason) => format!("{}  {id}: {}\n", style.dim("skip"), entry(reason)),
        Verdict::Infrastructure(reason) => format!("{} {id}: {}\n", style.bad("infra"), entry(reason)),
        Verdict::Fail(findings) => {
            let head = format!("{}  {id}{}  ({time})\n", style.bad("FAIL"), title(case));
            head + &indent(&body(case, findings, style, detail))
        }
        Verdict::Warn(findings) => {
            let head = format!("{}  {id}{}  ({time})\n", style.dim("warn"), title(case));
            head + &indent(&body(case, findings, style, detail))
        }
    }
}

/// The title of a transcript; of a check the clauses below say it.
fn title(case: &Case) -> String {
    if case.about.is_empty() {
        String::new()
    } else {
        format!(": {}", escape_line(&case.title))
    }
}

fn body(case: &Case, findings: &[Finding], style: Style, detail: Detail) -> String {
    let mut text = String::new();
    if !case.about.is_empty() {
        let _ = writeln!(text, "why: {}", escape_line(&case.about));
    }
    for finding in findings {
        add(&mut text, finding, style, detail);
    }
    text
}

fn add(text: &mut String, finding: &Finding, style: Style, detail: Detail) {
    if let Some(step) = &finding.step {
        let _ = writeln!(text, "step: {}", escape_line(step));
    }
    text.push_str(&escape(&finding.reason));
    if finding.count() > 1 {
        let _ = write!(text, " ({} places)", finding.count());
    }
    text.push('\n');
    if detail == Detail::Full {
        for more in &finding.more {
            let _ = writeln!(text, "also: {}", escape_line(more));
        }
    }
    if let Some(clause) = &finding.clause {
        let _ = writeln!(
            text,
            "{} {}: {}\n  {}",
            clause.level,
            clause.id,
            escape_line(&clause.statement),
            escape_line(&clause.source)
        );
    }
    if let Some(advice) = &finding.advice {
        let _ = writeln!(text, "try: {}", escape_line(advice));
    }
    for mismatch in &finding.mismatches {
        let place = if mismatch.pointer.is_empty() {
            "answer"
        } else {
            &mismatch.pointer
        };
        let _ = writeln!(
            text,
            "{}: expected {}, got {}",
            escape_line(place),
            style.bad(&clip(&mismatch.expected)),
            style.good(&clip(&mismatch.got))
        );
    }
    if let Some((expected, got)) = &finding.compared {
        text.push_str(&diff::render(&escape(expected), &escape(got), style));
    }
    for (index, exchange) in finding.exchanges.iter().enumerate() {
        let is_last = index + 1 == finding.exchanges.len();
        if detail == Detail::Full {
            text.push_str(&self::exchange(exchange));
            let _ = writeln!(text, "time: {}", seconds(&exchange.time));
        }
        if !exchange.repeat.is_empty() && (is_last || detail == Detail::Full) {
            let _ = writeln!(text, "to repeat: {}", escape(&exchange.repeat));
        }
    }
    if !finding.console.is_empty() {
        let console = printable(finding.console.join("\n").as_bytes());
        let _ = write!(text, "console:\n{}", indent(&console));
    }
}

/// The bytes both ways.
pub fn exchange(exchange: &Exchange) -> String {
    format!(
        "sent:\n{}received:\n{}",
        indent(&printable(&exchange.sent)),
        indent(&printable_of(&exchange.received, exchange.left_out))
    )
}

/// Why transcripts were skipped, a line for each reason.
pub fn skipped(report: &Report) -> String {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for played in &report.results {
        let Verdict::Skip(reason) = &played.verdict else {
            continue;
        };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    let line = |(reason, count): (&str, usize)| format!("skip  {count}: {}\n", escape_line(reason));
    reasons.into_iter().map(line).collect()
}

/// The last line.
pub fn summary(report: &Report) -> String {
    let tally = report.tally();
    let mut text = format!(
        "{}: {} passed, {} failed",
        escape_line(&report.target),
        tally.passed,
        tally.failed
    );
    if tally.warned > 0 {
        let _ = write!(text, ", {} warned", tally.warned);
    }
    if tally.expected > 0 {
        let _ = write!(text, ", {} failed as expected", tally.expected);
    }
    let _ = write!(text, ", {} skipped", tally.skipped);
    if tally.infrastructure > 0 {
        let _ = write!(text, ", {} not played for want of a target", tally.infrastructure);
    }
    let _ = write!(text, " in {}", seconds(&report.time));
    if let Some(seed) = report.seed {
        let _ = write!(text, " (seed {seed})");
    }
    text.push('\n');
    text
}

fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(300).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    escape(&clipped)
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Bytes as text: what does not print is escaped, line ends of HTTP are line ends.
pub(super) fn printable(bytes: &[u8]) -> String {
    printable_of(bytes, 0)
}

/// The same of bytes after which others were left out.
pub(super) fn printable_of(bytes: &[u8], left_out: usize) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let mut text = String::new();
    for chunk in shown.utf8_chunks() {
        text.push_str(&escape(&chunk.valid().replace('\r', "")));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    if bytes.len() + left_out > shown.len() {
        let _ = write!(text, "\n… {} bytes in all", bytes.len() + left_out);
    }
    if text.is_empty() {
        "nothing".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_can_steer_a_terminal() {
        assert_eq!(
            escape("a\u{1b}[2J\u{9b}m\u{7f}\t\r\n\u{fc}\u{202e}"),
            "a\\u{1b}[2J\\u{9b}m\\u{7f}\\t\\r\n\u{fc}\\u{202e}"
        );
        assert_eq!(escape_line("a\nb"), "a\\nb");
    }
}
