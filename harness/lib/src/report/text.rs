//! For people: one line a transcript, and everything about a failure.

use super::style::Style;
use super::{Failure, Played, Report, Verdict};
use crate::client::Exchange;
use crate::diff;
use crate::fault::seconds;
use std::fmt::Write as _;

/// Bytes of a message that are shown; reports in JSON hold them all.
const SHOWN: usize = 4096;

/// One transcript.
pub fn line(played: &Played, style: Style) -> String {
    let Played {
        title, verdict, time, ..
    } = played;
    let id = match &played.board {
        Some(board) => format!("{board} {}", played.id),
        None => played.id.clone(),
    };
    match verdict {
        Verdict::Pass => format!("{}  {id}  ({})\n", style.good("pass"), seconds(time)),
        Verdict::Skip(reason) => format!("{}  {id}: {reason}\n", style.dim("skip")),
        Verdict::Infrastructure(reason) => format!("{} {id}: {reason}\n", style.bad("infra")),
        Verdict::Fail(failure) => {
            let head = format!("{}  {id}: {title}  ({})\n", style.bad("FAIL"), seconds(time));
            head + &indent(&describe(failure, style))
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
    let mut text = format!("step: {step}\n{reason}\n");
    for mismatch in mismatches {
        let place = if mismatch.pointer.is_empty() {
            "answer"
        } else {
            &mismatch.pointer
        };
        let _ = writeln!(
            text,
            "{place}: expected {}, got {}",
            style.bad(&clip(&mismatch.expected)),
            style.good(&clip(&mismatch.got))
        );
    }
    if let Some((expected, got)) = compared {
        text.push_str(&diff::render(expected, got, style));
    }
    if let Some(exchange) = exchange {
        text.push_str(&self::exchange(exchange));
        let _ = writeln!(
            text,
            "time: {}\nto repeat: {}",
            seconds(&exchange.time),
            exchange.repeat
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

/// The last line.
pub fn summary(report: &Report) -> String {
    let tally = report.tally();
    let mut text = format!(
        "{}: {} passed, {} failed, {} skipped",
        report.target, tally.passed, tally.failed, tally.skipped
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
    clipped
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Bytes as text: what does not print is escaped, line ends of HTTP are line ends.
fn printable(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(SHOWN)];
    let mut text = String::new();
    for chunk in shown.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => text.push('\n'),
                '\r' => {}
                c if c.is_control() => text.extend(c.escape_default()),
                c => text.push(c),
            }
        }
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
