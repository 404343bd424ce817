//! For people with a browser: one page that needs nothing else. What is wrong stands first; the page reads without its
//! script, which only filters.

mod boards;
mod case;
mod matrix;

use super::{Matrix, Report, escape as steady};
use crate::fault::seconds;
use std::fmt::Write as _;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Words of cases, the most urgent first.
const WORDS: [&str; 6] = ["fail", "warn", "infrastructure", "expected", "skip", "pass"];
/// As many failures are opened; of more, a list of what is wrong is the better start.
const OPENED: usize = 3;

/// A report as an HTML page.
pub fn write(report: &Report) -> String {
    let mut page = String::new();
    // no source at all: whatever a target says, the page loads nothing and sends nothing
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{} {} · mcp-hil {}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n",
        escape(name(report)),
        verdict(report).1,
        escape(report.command),
    );
    head(&mut page, report);
    boards::boards(&mut page, report);
    let has_findings = report.results.iter().any(|case| urgent(case.word()));
    let matrix = |page: &mut String| {
        if !report.clauses.is_empty() {
            matrix::matrix(page, &Matrix::of(report));
        }
    };
    if has_findings {
        cases(&mut page, report, has_findings);
        matrix(&mut page);
    } else {
        matrix(&mut page);
        cases(&mut page, report, has_findings);
    }
    let _ = write!(page, "<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    page
}

/// What a page is about: of a file its name, the path stands below.
fn name(report: &Report) -> &str {
    match report.command {
        "run" => report.target.rsplit('/').next().unwrap_or(&report.target),
        _ => &report.target,
    }
}

/// The class of the verdict on all, and its words.
fn verdict(report: &Report) -> (&'static str, &'static str) {
    let tally = report.tally();
    match tally {
        _ if tally.failed > 0 || !report.stale.is_empty() => ("fail", "fails"),
        _ if tally.infrastructure > 0 => ("infrastructure", "could not be judged whole"),
        _ if tally.passed + tally.warned + tally.expected == 0 => ("skip", "was not tried"),
        _ if tally.warned > 0 => ("warn", "passes, with warnings"),
        _ => ("pass", "passes"),
    }
}

fn urgent(word: &str) -> bool {
    matches!(word, "fail" | "warn" | "infrastructure")
}

/// The cases, with what filters them.
fn cases(page: &mut String, report: &Report, has_findings: bool) {
    let title = if has_findings {
        "What is wrong"
    } else {
        "Every case"
    };
    let hint = if has_findings {
        "<p class=\"soft\">Each opens to what would be right, the bytes both ways, and a line that shows it again.</p>\n"
    } else {
        ""
    };
    let _ = writeln!(
        page,
        "<section>\n<h2 id=\"cases\">{title}</h2>\n{hint}<div class=\"tools\">\n<div class=\"chips\">"
    );
    for word in WORDS {
        let count = report.results.iter().filter(|case| case.word() == word).count();
        if count > 0 {
            let pressed = urgent(word) || !has_findings;
            let _ = writeln!(
                page,
                "<button class=\"{word}\" data-word=\"{word}\" aria-pressed=\"{pressed}\"><b>{count}</b>{word}</button>"
            );
        }
    }
    page.push_str(
        "<button id=\"unfold\">open all</button>\n</div>\n\
         <input type=\"search\" placeholder=\"Search ids, clauses, bytes, … (key /)\" aria-label=\"Search\">\n</div>\n",
    );
    let failed = report.tally().failed;
    for word in WORDS {
        for case in report.results.iter().filter(|case| case.word() == word) {
            let is_open = match word {
                "fail" => failed <= OPENED,
                word => word == "infrastructure" && failed == 0,
            };
            case::case(page, case, is_open);
        }
    }
    page.push_str(
        "<p id=\"none\" class=\"soft\" hidden>Nothing matches. <button id=\"all\"></button></p>\n</section>\n",
    );
}

fn head(page: &mut String, report: &Report) {
    let tally = report.tally();
    let (class, words) = verdict(report);
    let name = name(report);
    let _ = writeln!(
        page,
        "<h1>{} <span class=\"{class}\">{words}</span></h1>",
        escape(name)
    );
    let mut facts = vec![format!("mcp-hil {}", escape(report.command))];
    if name != report.target {
        facts.push(escape(&report.target));
    }
    facts.extend(report.server.as_deref().map(escape));
    facts.push(seconds(&report.time));
    facts.extend(report.seed.map(|seed| format!("seed {seed}")));
    let _ = writeln!(page, "<div class=\"soft\">{}</div>", facts.join(" · "));
    let words = [
        (tally.failed, "failed"),
        (tally.warned, "warned"),
        (
            tally.infrastructure,
            "could not be tried for reasons outside of the target",
        ),
        (tally.expected, "failed as expected"),
        (tally.passed, "passed"),
        (tally.skipped, "were skipped, with a reason each"),
    ];
    let words = words.iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = words.map(|(count, word)| format!("{count} {word}")).collect();
    let _ = writeln!(
        page,
        "<p class=\"lead\">Of {} cases {}.</p>",
        report.results.len(),
        words.join(", ")
    );
    page.push_str("<div class=\"bar\" aria-hidden=\"true\">");
    for word in WORDS {
        let count = report.results.iter().filter(|case| case.word() == word).count();
        if count > 0 {
            let _ = write!(
                page,
                "<i class=\"{word}\" style=\"flex:{count}\" title=\"{count} {word}\"></i>"
            );
        }
    }
    page.push_str("</div>\n");
    for note in &report.notes {
        let _ = writeln!(page, "<p>{}</p>", escape(note));
    }
    if !report.stale.is_empty() {
        page.push_str("<p class=\"finding fail\">The baseline no longer holds:</p>\n<ul>\n");
        for entry in &report.stale {
            let _ = writeln!(page, "<li>{}</li>", escape(entry));
        }
        page.push_str("</ul>\n");
    }
}

/// Text from outside, for HTML text and attribute values in double quotes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in steady(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}
