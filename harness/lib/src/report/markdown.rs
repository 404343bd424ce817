//! For a job's summary page, as `$GITHUB_STEP_SUMMARY` takes it: the tally, a line a board, each finding in short, the
//! matrix.

use super::{Case, Matrix, Report, State, Verdict, escape_line};
use crate::fault::seconds;
use std::fmt::Write as _;

/// Cases that are shown; a summary page has a limit of its own.
const SHOWN: usize = 50;

/// A report as GitHub-flavoured Markdown.
pub fn write(report: &Report) -> String {
    let tally = report.tally();
    let mark = if tally.failed > 0 || !report.stale.is_empty() {
        "❌"
    } else if tally.infrastructure > 0 || tally.passed + tally.warned + tally.expected == 0 {
        "⚠️"
    } else {
        "✅"
    };
    let mut text = format!(
        "## {mark} mcp-hil {}: {}\n\n",
        report.command,
        code(&report.target)
    );
    text.push_str("| passed | failed | warned | expected | skipped | not tried | time |\n|---|---|---|---|---|---|---|\n");
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        tally.passed,
        tally.failed,
        tally.warned,
        tally.expected,
        tally.skipped,
        tally.infrastructure,
        seconds(&report.time)
    );
    boards(&mut text, report);
    for entry in &report.stale {
        let _ = writeln!(text, "- ❌ baseline: {}", code(entry));
    }
    for note in &report.notes {
        let _ = writeln!(text, "- {}", html(note));
    }
    if !report.stale.is_empty() || !report.notes.is_empty() {
        text.push('\n');
    }
    let untried = |case: &&Case| matches!(case.verdict, Verdict::Infrastructure(_));
    if let Some(case) = report.results.iter().find(untried) {
        let reason = case.verdict.reason().unwrap_or_default();
        let _ = writeln!(
            text,
            "<details open><summary>not tried: {}</summary>\n\n{}\n\n</details>\n",
            html(reason.lines().next().unwrap_or_default()),
            fence("", reason)
        );
    }
    let found = report.found();
    for case in found.iter().take(SHOWN) {
        self::case(&mut text, case);
    }
    if found.len() > SHOWN {
        let _ = writeln!(text, "… and {} more.\n", found.len() - SHOWN);
    }
    if !report.clauses.is_empty() {
        matrix(&mut text, &Matrix::of(report));
    }
    text
}

/// A line for each board with a name: its verdicts, and its way with the time of each stage.
fn boards(text: &mut String, report: &Report) {
    let names: Vec<&str> = report.boards().into_iter().flatten().collect();
    if names.is_empty() {
        return;
    }
    text.push_str("| board | verdict | passed | failed | skipped | way |\n|---|---|---|---|---|---|\n");
    for board in names {
        let of_board = |case: &&Case| case.board.as_deref() == Some(board);
        let here = Report {
            results: report.results.iter().filter(of_board).cloned().collect(),
            ..Report::default()
        };
        let tally = here.tally();
        let verdict = match tally {
            _ if tally.failed > 0 => "❌ fail",
            _ if tally.infrastructure > 0 => "⚠️ not tried",
            _ if tally.passed + tally.warned + tally.expected == 0 => "⚠️ nothing ran",
            _ => "✅ pass",
        };
        let stages = report.stages.iter().filter(|(of, _)| of == board);
        let way = stages.map(|(_, stage)| {
            let time = seconds(&stage.time);
            if stage.failed {
                format!("**{} {time}: {}**", stage.name, html(&stage.note))
            } else {
                format!("{} {time}", stage.name)
            }
        });
        let _ = writeln!(
            text,
            "| {} | {verdict} | {} | {} | {} | {} |",
            code(board),
            tally.passed + tally.warned + tally.expected,
            tally.failed,
            tally.skipped,
            Vec::from_iter(way).join(" → ")
        );
    }
    text.push('\n');
}

fn case(text: &mut String, case: &Case) {
    let board = case.board.as_deref().map(|board| format!(" on {}", code(board)));
    let gist = case.verdict.findings().first().map(|finding| {
        let step = finding
            .step
            .as_deref()
            .map(|step| format!("step {}: ", html(step)));
        format!("{}{}", step.unwrap_or_default(), html(&clip(&finding.reason)))
    });
    let _ = writeln!(
        text,
        "<details><summary>{} <code>{}</code>{}: {}</summary>\n",
        case.word(),
        html(&case.id),
        board.unwrap_or_default(),
        gist.unwrap_or_default()
    );
    for finding in case.verdict.findings() {
        let _ = writeln!(text, "{}", code(&finding.reason));
        if let Some(clause) = &finding.clause {
            let _ = writeln!(
                text,
                "\n**{}** {}\n\n*{}*",
                clause.level,
                html(&clause.statement),
                html(&clause.source)
            );
        }
        if let Some(advice) = &finding.advice {
            let _ = writeln!(text, "\nWhat to do: {}", html(advice));
        }
        if !finding.console.is_empty() {
            let _ = writeln!(text, "\nConsole:\n\n{}", fence("", &finding.console.join("\n")));
        }
        if let Some(exchange) = finding
            .exchanges
            .last()
            .filter(|exchange| !exchange.repeat.is_empty())
        {
            let _ = writeln!(text, "\n{}\n", fence("sh", &exchange.repeat));
        }
    }
    text.push_str("\n</details>\n\n");
}

fn matrix(text: &mut String, matrix: &Matrix) {
    let _ = writeln!(text, "\n| area | {} |", matrix.revisions.join(" | "));
    let _ = writeln!(text, "|---|{}", "---|".repeat(matrix.revisions.len()));
    for (area, cells) in &matrix.areas {
        let cells = cells.iter().map(|cell| {
            let mut words = vec![format!(
                "{} of {} kept",
                cell.count(State::Pass),
                cell.clauses.len()
            )];
            for (state, word) in [
                (State::Fail, "broken"),
                (State::Warn, "warned"),
                (State::Expected, "expected"),
            ] {
                if cell.count(state) > 0 {
                    words.push(format!("**{} {word}**", cell.count(state)));
                }
            }
            words.join(", ")
        });
        let _ = writeln!(text, "| {area} | {} |", Vec::from_iter(cells).join(" | "));
    }
}

/// As much as a line takes.
fn clip(text: &str) -> String {
    let mut clipped: String = text.chars().take(160).collect();
    if clipped.len() < text.len() {
        clipped.push('…');
    }
    clipped
}

/// Text from outside as HTML, which Markdown lets through, on one line; what Markdown itself would read is spelt out.
fn html(text: &str) -> String {
    let mut escaped = String::new();
    for c in escape_line(text).chars() {
        match c {
            '&' | '<' | '>' | '"' | '\'' | '`' | '*' | '_' | '[' | ']' | '|' | '\\' | '~' | '#' | '!'
            | '@' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Text from outside as code.
fn code(text: &str) -> String {
    format!("<code>{}</code>", html(text))
}

/// Text from outside as a block of code, in a fence longer than any in it.
fn fence(language: &str, text: &str) -> String {
    let text = super::escape(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}")
}
