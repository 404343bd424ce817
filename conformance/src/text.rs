//! Verdicts as text for a terminal: pure.

use crate::verdict::{Finding, Judged, Report, Verdict};
use mcp_hil_harness::fault::seconds;
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{escape_line, exchange_text};
use std::fmt::Write as _;

/// One verdict with what was found; `with_bytes` adds the exchanges.
pub fn judged(judged: &Judged, style: Style, with_bytes: bool) -> String {
    let word = match judged.verdict {
        Verdict::Pass => style.good("pass"),
        Verdict::Fail => style.bad("FAIL"),
        Verdict::Warn => style.bad("warn"),
        Verdict::Skip => style.dim("skip"),
        Verdict::Infrastructure => style.bad("INFRASTRUCTURE"),
    };
    let mut text = format!("{word}  {}", judged.id);
    if let Some(reason) = &judged.reason {
        let _ = write!(text, "  ({})", escape_line(reason));
    }
    text.push('\n');
    for finding in &judged.findings {
        add(&mut text, finding, with_bytes);
    }
    text
}

fn add(text: &mut String, finding: &Finding, with_bytes: bool) {
    let _ = writeln!(text, "  {}", escape_line(&finding.what));
    if let Some(row) = finding.requirement() {
        let _ = writeln!(
            text,
            "  {} {}: {}\n    {}",
            row.level.as_str(),
            row.id,
            row.statement,
            row.source
        );
    }
    for exchange in &finding.exchanges {
        if with_bytes {
            text.push_str(&exchange_text(exchange));
        } else if !exchange.repeat.is_empty() {
            let _ = writeln!(text, "  to repeat: {}", escape_line(&exchange.repeat));
        }
    }
}

/// The last line.
pub fn summary(report: &Report) -> String {
    format!(
        "{} passed, {} failed, {} warnings, {} skipped, {} infrastructure in {} (seed {})\n",
        report.count(Verdict::Pass),
        report.count(Verdict::Fail),
        report.count(Verdict::Warn),
        report.count(Verdict::Skip),
        report.count(Verdict::Infrastructure),
        seconds(&report.time),
        report.seed,
    )
}
