//! A case: a line, and behind it all that shows what is wrong.

use super::escape;
use crate::client::Exchange;
use crate::diff;
use crate::fault::seconds;
use crate::report::style::Style;
use crate::report::text::{printable, printable_of};
use crate::report::{Case, Clause, Finding, Verdict};
use std::fmt::Write as _;

/// Adds a case, opened or not.
pub(super) fn case(page: &mut String, case: &Case, is_open: bool) {
    let word = case.word();
    let anchor = match &case.board {
        Some(board) => escape(&format!("{board}/{}", case.id)),
        None => escape(&case.id),
    };
    let mut head = format!(
        "<span class=\"word\">{word}</span><span class=\"id\">{}</span>",
        escape(&case.id)
    );
    if let Some(board) = &case.board {
        let _ = write!(head, "<span class=\"board\">{}</span>", escape(board));
    }
    if let Some(stage) = &case.stage {
        let _ = write!(head, "<span class=\"soft\">in the stage {}</span>", escape(stage));
    }
    // what nobody could try has its evidence in lines below the first
    let (gist, evidence) = match &case.verdict {
        Verdict::Infrastructure(reason) => reason.split_once('\n').unwrap_or((reason, "")),
        Verdict::Skip(reason) => (reason.as_str(), ""),
        Verdict::Fail(findings) | Verdict::Warn(findings) => {
            let reason = findings.first().map_or(&case.title, |finding| &finding.reason);
            (reason.as_str(), "")
        }
        Verdict::Pass => (case.title.as_str(), ""),
    };
    let _ = write!(head, "<span class=\"gist\">{}", escape(gist));
    if let Some(why) = &case.expected {
        let _ = write!(head, " — expected: {}", escape(why));
    }
    head.push_str("</span>");
    let findings = case.verdict.findings();
    if findings.is_empty() && evidence.is_empty() {
        // what the search looks in
        let clauses = escape(&case.clauses.join(" "));
        let _ = writeln!(
            page,
            "<div class=\"case {word}\" data-word=\"{word}\" id=\"{anchor}\"><div class=\"row\">{head}</div><span hidden>{clauses}</span></div>"
        );
        return;
    }
    let open = if is_open { " open" } else { "" };
    let _ = writeln!(
        page,
        "<details class=\"case {word}\" data-word=\"{word}\" id=\"{anchor}\"{open}><summary>{head}</summary>"
    );
    if !case.about.is_empty() {
        let _ = writeln!(
            page,
            "<div class=\"finding\"><p>{}</p></div>",
            escape(&case.about)
        );
    }
    if !evidence.is_empty() {
        let _ = writeln!(
            page,
            "<div class=\"finding\"><p class=\"what\">{}</p><pre>{}</pre></div>",
            escape(gist),
            escape(evidence)
        );
    }
    for finding in findings {
        self::finding(page, finding);
    }
    page.push_str("</details>\n");
}

/// What is wrong, what would be right, what to do, and then the evidence.
fn finding(page: &mut String, finding: &Finding) {
    page.push_str("<div class=\"finding\">\n");
    if let Some(step) = &finding.step {
        let _ = writeln!(page, "<p class=\"soft\">Step: {}</p>", escape(step));
    }
    let _ = writeln!(page, "<p class=\"what\">{}</p>", escape(&finding.reason));
    if !finding.more.is_empty() {
        let places = if finding.more.len() == 1 {
            "place"
        } else {
            "places"
        };
        let _ = writeln!(
            page,
            "<details class=\"more\"><summary>and in {} more {places}</summary><ul>",
            finding.more.len()
        );
        for more in &finding.more {
            let _ = writeln!(page, "<li>{}</li>", escape(more));
        }
        page.push_str("</ul></details>\n");
    }
    if let Some(clause) = &finding.clause {
        self::clause(page, clause);
    }
    if let Some(advice) = &finding.advice {
        let _ = writeln!(
            page,
            "<p class=\"advice\"><b>What to do:</b> {}</p>",
            escape(advice)
        );
    }
    mismatches(page, finding);
    if let Some((expected, got)) = &finding.compared {
        compared(page, expected, got);
    }
    if let Some((last, before)) = finding.exchanges.split_last() {
        exchange(page, last);
        if !before.is_empty() {
            let _ = writeln!(
                page,
                "<details class=\"more\"><summary>what was said before ({})</summary>",
                before.len()
            );
            for one in before {
                exchange(page, one);
            }
            page.push_str("</details>\n");
        }
    }
    if !finding.console.is_empty() {
        let lines = printable(finding.console.join("\n").as_bytes());
        let _ = writeln!(
            page,
            "<h4>The board’s console meanwhile</h4><pre>{}</pre>",
            escape(&lines)
        );
    }
    page.push_str("</div>\n");
}

fn clause(page: &mut String, clause: &Clause) {
    let _ = writeln!(
        page,
        "<div class=\"clause\"><p><b>{}</b> {}</p><p class=\"soft\"><code>{}</code> · {}</p><p class=\"soft\">How it is seen: {}</p></div>",
        escape(&clause.level),
        escape(&clause.statement),
        escape(&clause.id),
        source(&clause.source),
        escape(&clause.how)
    );
}

fn mismatches(page: &mut String, finding: &Finding) {
    if finding.mismatches.is_empty() {
        return;
    }
    page.push_str("<div class=\"scroll\"><table><tr><th>Where</th><th>Right</th><th>Came</th></tr>\n");
    for mismatch in &finding.mismatches {
        let place = if mismatch.pointer.is_empty() {
            "answer"
        } else {
            &mismatch.pointer
        };
        let _ = writeln!(
            page,
            "<tr><td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td></tr>",
            escape(place),
            escape(&mismatch.expected),
            escape(&mismatch.got)
        );
    }
    page.push_str("</table></div>\n");
}

/// The message expected and the one that came, line by line.
fn compared(page: &mut String, expected: &str, got: &str) {
    page.push_str("<h4>Right (−) and what came (+)</h4><pre>");
    let diff = diff::render(expected, got, Style::PLAIN);
    // the first two lines are its legend
    for line in diff.lines().skip(2) {
        let _ = match line.as_bytes().first() {
            Some(b'-') => writeln!(page, "<span class=\"right\">{}</span>", escape(line)),
            Some(b'+') => writeln!(page, "<span class=\"came\">{}</span>", escape(line)),
            _ => writeln!(page, "{}", escape(line)),
        };
    }
    page.push_str("</pre>\n");
}

fn exchange(page: &mut String, exchange: &Exchange) {
    let received = match &exchange.fault {
        Some(fault) => format!("Received in {}: {fault}", seconds(&exchange.time)),
        None => format!("Received in {}", seconds(&exchange.time)),
    };
    page.push_str("<div class=\"both\">");
    for (title, bytes, left_out) in [
        ("Sent", &exchange.sent, 0),
        (received.as_str(), &exchange.received, exchange.left_out),
    ] {
        let _ = write!(
            page,
            "<div><h4>{}</h4><pre>{}</pre></div>",
            escape(title),
            escape(&printable_of(bytes, left_out))
        );
    }
    page.push_str("</div>\n");
    if !exchange.repeat.is_empty() {
        let _ = writeln!(
            page,
            "<button class=\"copy\">copy</button><h4>To see it again, in a shell</h4><pre>{}</pre>",
            escape(&exchange.repeat)
        );
    }
}

/// Where a clause stands, with links to the pages of the specification.
fn source(source: &str) -> String {
    let linked = source.split(" ; ").map(|place| {
        let path = place.split([' ', '#']).next().unwrap_or_default();
        match path
            .strip_prefix("docs/specification/")
            .and_then(|path| path.strip_suffix(".mdx"))
        {
            Some(page) => format!(
                "<a rel=\"noreferrer\" href=\"https://modelcontextprotocol.io/specification/{}\">{}</a>",
                escape(page.strip_suffix("/index").unwrap_or(page)),
                escape(place.trim_start_matches("docs/specification/"))
            ),
            None => escape(place),
        }
    });
    Vec::from_iter(linked).join(" · ")
}
