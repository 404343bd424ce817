//! For people with a browser: one page that needs nothing else. It reads without its script, which only filters.

use super::text::printable;
use super::{Case, Cell, Finding, Matrix, Report, State, Verdict, escape as steady};
use crate::client::Exchange;
use crate::fault::seconds;
use std::fmt::Write as _;

const CSS: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Words of cases, the most urgent first.
const WORDS: [&str; 6] = ["fail", "warn", "infrastructure", "expected", "skip", "pass"];

/// A report as an HTML page.
pub fn write(report: &Report) -> String {
    let mut page = String::new();
    let target = escape(&report.target);
    // no source at all: whatever a target says, the page loads nothing and sends nothing
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{} · {target}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n",
        escape(report.command),
    );
    head(&mut page, report);
    boards(&mut page, report);
    if !report.clauses.is_empty() {
        matrix(&mut page, &Matrix::of(report));
    }
    page.push_str("<h2 id=\"cases\">Every case</h2>\n<div class=\"tools\">\n<div class=\"chips\">\n");
    let has_findings = report.results.iter().any(|case| urgent(case.word()));
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
        "</div>\n<input type=\"search\" placeholder=\"Search ids, clauses, bytes, …\" aria-label=\"Search\">\n</div>\n",
    );
    for word in WORDS {
        for case in report.results.iter().filter(|case| case.word() == word) {
            self::case(&mut page, case);
        }
    }
    let _ = write!(
        page,
        "<p id=\"none\" class=\"soft\" hidden>Nothing matches.</p>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

fn urgent(word: &str) -> bool {
    matches!(word, "fail" | "warn" | "infrastructure")
}

fn head(page: &mut String, report: &Report) {
    let tally = report.tally();
    let verdict = match tally {
        _ if tally.failed > 0 => "fails",
        _ if tally.infrastructure > 0 => "could not be judged whole",
        _ if tally.passed + tally.warned + tally.expected == 0 => "was not tried",
        _ if tally.warned > 0 => "passes, with warnings",
        _ => "passes",
    };
    let _ = writeln!(page, "<h1>{} {verdict}</h1>", escape(&report.target));
    let mut facts = vec![format!("mcp-hil {}", escape(report.command))];
    facts.extend(report.server.as_deref().map(escape));
    facts.push(seconds(&report.time));
    facts.extend(report.seed.map(|seed| format!("seed {seed}")));
    let _ = writeln!(page, "<div class=\"soft\">{}</div>", facts.join(" · "));
    let words = [
        (tally.failed, "failed"),
        (tally.warned, "warned"),
        (tally.infrastructure, "could not be tried, as nobody answered"),
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
    if !report.stale.is_empty() {
        page.push_str("<p class=\"finding fail\">The baseline no longer holds:</p>\n<ul>\n");
        for entry in &report.stale {
            let _ = writeln!(page, "<li>{}</li>", escape(entry));
        }
        page.push_str("</ul>\n");
    }
}

/// Boards and stages, where there are some.
fn boards(page: &mut String, report: &Report) {
    let mut places: Vec<(Option<&str>, Option<&str>)> = Vec::new();
    for case in &report.results {
        let place = (case.board.as_deref(), case.stage.as_deref());
        if place != (None, None) && !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() {
        return;
    }
    page.push_str("<h2>Boards</h2>\n<div class=\"scroll\"><table>\n<tr><th>Board</th><th>Stage</th><th>Verdicts</th></tr>\n");
    for (board, stage) in places {
        let here = || {
            report
                .results
                .iter()
                .filter(move |case| (case.board.as_deref(), case.stage.as_deref()) == (board, stage))
        };
        let mut counts = String::new();
        for word in WORDS {
            let count = here().filter(|case| case.word() == word).count();
            if count > 0 {
                let _ = write!(counts, "<b class=\"{word}\">{count} {word}</b> ");
            }
        }
        let name = escape(board.unwrap_or("-"));
        let _ = writeln!(
            page,
            "<tr><td><button data-search=\"{name}\">{name}</button></td><td>{}</td><td class=\"counts\">{counts}</td></tr>",
            escape(stage.unwrap_or("-"))
        );
    }
    page.push_str("</table></div>\n");
}

fn matrix(page: &mut String, matrix: &Matrix) {
    page.push_str("<h2>Clauses by area and revision</h2>\n<div class=\"scroll\"><table>\n<tr><th>Area</th>");
    for revision in &matrix.revisions {
        let _ = write!(page, "<th>{}</th>", escape(revision));
    }
    page.push_str("</tr>\n");
    for (area, cells) in &matrix.areas {
        let area = escape(area);
        let _ = write!(
            page,
            "<tr><td><button data-search=\"{area}\">{area}</button></td>"
        );
        for cell in cells {
            self::cell(page, cell);
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n<div class=\"legend\">");
    for (state, words) in [
        (State::Fail, "broken (MUST)"),
        (State::Warn, "broken (SHOULD, or derived)"),
        (State::Expected, "broken as expected"),
        (State::Pass, "kept"),
        (State::Skip, "not offered"),
        (State::Untried, "not judged"),
    ] {
        let _ = write!(
            page,
            "<span><span class=\"cell\"><i class=\"{}\"></i></span>{words}</span>",
            state.word()
        );
    }
    page.push_str("</div>\n");
}

fn cell(page: &mut String, cell: &Cell) {
    let untold = cell.count(State::Skip) + cell.count(State::Untried);
    if untold == cell.clauses.len() {
        let why = match cell.count(State::Skip) {
            _ if untold == 0 => "–".to_owned(),
            0 => format!("{untold} not judged"),
            _ => format!("{untold} not offered"),
        };
        let _ = write!(page, "<td class=\"counts\">{why}</td>");
        return;
    }
    page.push_str("<td><div class=\"cell\">");
    for state in State::ALL {
        for (id, _) in cell.clauses.iter().filter(|(_, is)| *is == state) {
            let (id, word) = (escape(id), state.word());
            let _ = write!(
                page,
                "<i class=\"{word}\" title=\"{id}: {word}\" data-search=\"{id}\"></i>"
            );
        }
    }
    let mut counts = Vec::new();
    for (state, word) in [
        (State::Fail, "broken"),
        (State::Warn, "warned"),
        (State::Expected, "expected"),
    ] {
        if cell.count(state) > 0 {
            counts.push(format!(
                "<b class=\"{}\">{} {word}</b>",
                state.word(),
                cell.count(state)
            ));
        }
    }
    counts.push(format!(
        "{} of {} kept",
        cell.count(State::Pass),
        cell.clauses.len()
    ));
    let _ = write!(
        page,
        "</div><span class=\"counts\">{}</span></td>",
        counts.join(", ")
    );
}

fn case(page: &mut String, case: &Case) {
    let word = case.word();
    let mut head = format!(
        "<span class=\"word\">{word}</span><span class=\"id\">{}</span>",
        escape(&case.id)
    );
    for place in [&case.board, &case.stage].into_iter().flatten() {
        let _ = write!(head, "<span class=\"soft\">{}</span>", escape(place));
    }
    let gist = match &case.verdict {
        Verdict::Skip(reason) | Verdict::Infrastructure(reason) => reason,
        Verdict::Fail(findings) | Verdict::Warn(findings) => {
            findings.first().map_or(&case.title, |finding| &finding.reason)
        }
        Verdict::Pass => &case.title,
    };
    let gist = match &case.expected {
        Some(why) => format!("{gist} — expected: {why}"),
        None => gist.clone(),
    };
    let _ = write!(head, "<span class=\"gist\">{}</span>", escape(&gist));
    let findings = case.verdict.findings();
    if findings.is_empty() {
        // what the search looks in
        let clauses = escape(&case.clauses.join(" "));
        let _ = writeln!(
            page,
            "<div class=\"case {word}\" data-word=\"{word}\"><div class=\"row\">{head}</div><span hidden>{clauses}</span></div>"
        );
        return;
    }
    let open = if word == "fail" { " open" } else { "" };
    let _ = writeln!(
        page,
        "<details class=\"case {word}\" data-word=\"{word}\"{open}><summary>{head}</summary>"
    );
    if !case.about.is_empty() {
        let _ = writeln!(
            page,
            "<div class=\"finding\"><p>{}</p></div>",
            escape(&case.about)
        );
    }
    for finding in findings {
        self::finding(page, finding);
    }
    page.push_str("</details>\n");
}

fn finding(page: &mut String, finding: &Finding) {
    page.push_str("<div class=\"finding\">\n");
    if let Some(step) = &finding.step {
        let _ = writeln!(page, "<p class=\"soft\">Step: {}</p>", escape(step));
    }
    let _ = writeln!(page, "<p class=\"what\">{}</p>", escape(&finding.reason));
    if !finding.more.is_empty() {
        let _ = writeln!(
            page,
            "<details><summary class=\"soft\">and in {} more places</summary><ul>",
            finding.more.len()
        );
        for more in &finding.more {
            let _ = writeln!(page, "<li>{}</li>", escape(more));
        }
        page.push_str("</ul></details>\n");
    }
    if let Some(clause) = &finding.clause {
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
    if !finding.mismatches.is_empty() {
        page.push_str("<div class=\"scroll\"><table><tr><th>Where</th><th>Right</th><th>Came</th></tr>\n");
        for mismatch in &finding.mismatches {
            let _ = writeln!(
                page,
                "<tr><td><code>{}</code></td><td><code>{}</code></td><td><code>{}</code></td></tr>",
                escape(if mismatch.pointer.is_empty() {
                    "answer"
                } else {
                    &mismatch.pointer
                }),
                escape(&mismatch.expected),
                escape(&mismatch.got)
            );
        }
        page.push_str("</table></div>\n");
    }
    if let Some((expected, got)) = &finding.compared {
        pair(page, ("Right", expected), ("Came", got));
    }
    for exchange in &finding.exchanges {
        self::exchange(page, exchange);
    }
    if !finding.console.is_empty() {
        let lines = printable(finding.console.join("\n").as_bytes());
        let _ = writeln!(page, "<h4>Console meanwhile</h4><pre>{}</pre>", escape(&lines));
    }
    page.push_str("</div>\n");
}

fn exchange(page: &mut String, exchange: &Exchange) {
    let received = match &exchange.fault {
        Some(fault) => format!("Received in {}: {fault}", seconds(&exchange.time)),
        None => format!("Received in {}", seconds(&exchange.time)),
    };
    pair(
        page,
        ("Sent", &printable(&exchange.sent)),
        (&received, &printable(&exchange.received)),
    );
    if !exchange.repeat.is_empty() {
        let _ = writeln!(
            page,
            "<button class=\"copy\">copy</button><h4>To see it again</h4><pre>{}</pre>",
            escape(&exchange.repeat)
        );
    }
}

fn pair(page: &mut String, left: (&str, &str), right: (&str, &str)) {
    page.push_str("<div class=\"both\">");
    for (title, text) in [left, right] {
        let _ = write!(
            page,
            "<div><h4>{}</h4><pre>{}</pre></div>",
            escape(title),
            escape(text)
        );
    }
    page.push_str("</div>\n");
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
