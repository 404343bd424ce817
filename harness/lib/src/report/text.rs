//! For people: one line a transcript, and everything about a failure.

use super::style::Style;
use super::{Failure, Played, Report, Verdict};
use crate::client::Exchange;
use crate::diff;
use crate::fault::seconds;
use std::fmt::Write as _;

/// Bytes of a message that are shown; reports in JSON hold them all.
const SHOWN: usize = 4096;

/// Text from outside, for a terminal: without control characters but the line end, as a server could steer the terminal
/// by them. They are shown in the notation of Rust, as `\u{1b}`.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            escaped.extend(c.escape_default());
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

/// One transcript.
pub fn line(played: &Played, style: Style) -> String {
    let Played {
        title,
        about,
        verdict,
        time,
        ..
    } = played;
    let id = match &played.board {
        Some(board) => escape_line(&format!("{board} {}", played.id)),
        None => escape_line(&played.id),
    };
    let entry = |reason: &str| escape(reason).trim_end().replace('\n', "\n    ");
    match verdict {
        Verdict::Pass => format!("{}  {id}  ({})\n", style.good("pass"), seconds(time)),
        Verdict::Skip(reason) => format!("{}  {id}: {}\n", style.dim("skip"), entry(reason)),
        Verdict::Infrastructure(reason) => format!("{} {id}: {}\n", style.bad("infra"), entry(reason)),
        Verdict::Fail(failure) => {
            let (mark, title, time) = (style.bad("FAIL"), escape_line(title), seconds(time));
            let head = format!("{mark}  {id}: {title}  ({time})\n");
            let why = format!("why: {}\n", escape_line(about));
            head + &indent(&(why + &describe(failure, style)))
        }
    }
}

fn describe(failure: &Failure, style: Style) -> String {
    let Failure {
        step,
        reason,
        mismatches,
        compared,
        exchange,
        console,
    } = failure;
    let mut text = format!("step: {}\n{}\n", escape_line(step), escape(reason));
    for mismatch in mismatches {
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
    if let Some((expected, got)) = compared {
        text.push_str(&diff::render(&escape(expected), &escape(got), style));
    }
    if let Some(exchange) = exchange {
        text.push_str(&self::exchange(exchange));
        let _ = writeln!(
            text,
            "time: {}\nto repeat: {}",
            seconds(&exchange.time),
            escape(&exchange.repeat)
        );
    }
    if !console.is_empty() {
        let _ = write!(
            text,
            "console:\n{}",
            indent(&printable(console.join("\n").as_bytes()))
        );
    }
    text
}

/// The bytes both ways.
pub fn exchange(exchange: &Exchange) -> String {
    format!(
        "sent:\n{}received:\n{}",
        indent(&printable(&exchange.sent)),
        indent(&printable(&exchange.received))
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
        "{}: {} passed, {} failed, {} skipped",
        escape_line(&report.target),
        tally.passed,
        tally.failed,
        tally.skipped
    );
    if tally.infrastructure > 0 {
        let _ = write!(text, ", {} not played for want of a target", tally.infrastructure);
    }
    let _ = writeln!(text, " in {}", seconds(&report.time));
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
fn printable(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let mut text = String::new();
    for chunk in shown.utf8_chunks() {
        text.push_str(&escape(&chunk.valid().replace('\r', "")));
        text.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    if bytes.len() > SHOWN {
        let _ = write!(text, "\n… {} bytes in all", bytes.len());
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
            escape("a\u{1b}[2J\u{9b}m\u{7f}\t\r\n\u{fc}"),
            "a\\u{1b}[2J\\u{9b}m\\u{7f}\\t\\r\n\u{fc}"
        );
        assert_eq!(escape_line("a\nb"), "a\\nb");
    }
}
