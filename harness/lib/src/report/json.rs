//! For programs: everything, as JSON (`fixtures/report.schema.json`). Bytes that are not UTF-8 text are given in Base64.

use super::{Case, Clause, Finding, Report, Stage, Verdict};
use crate::client::Exchange;
use crate::fault::Fault;
use crate::shown;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A report as a JSON text with a line feed.
pub fn write(report: &Report) -> String {
    let tally = report.tally();
    let results: Vec<Value> = report.results.iter().map(case).collect();
    let report = json!({
        "format": "mcp-hil-report/1",
        "command": report.command,
        "target": report.target,
        "server": report.server,
        "seed": report.seed,
        "time_ms": millis(report.time),
        "passed": tally.passed,
        "failed": tally.failed,
        "warned": tally.warned,
        "expected": tally.expected,
        "skipped": tally.skipped,
        "infrastructure": tally.infrastructure,
        "stale": report.stale,
        "notes": report.notes,
        "stages": report.stages.iter().map(stage).collect::<Vec<_>>(),
        "results": results,
    });
    shown::json(&report)
}

fn stage((board, stage): &(String, Stage)) -> Value {
    json!({
        "board": board,
        "name": stage.name,
        "time_ms": millis(stage.time),
        "note": stage.note,
        "failed": stage.failed,
    })
}

fn case(case: &Case) -> Value {
    let mut result = json!({
        "id": case.id,
        "title": case.title,
        "about": case.about,
        "clauses": case.clauses,
        "verdict": case.verdict.word(),
        "time_ms": millis(case.time),
    });
    let names = [
        ("board", &case.board),
        ("stage", &case.stage),
        ("expected", &case.expected),
    ];
    for (key, name) in names {
        if let Some(name) = name {
            result[key] = json!(name);
        }
    }
    if let Verdict::Skip(reason) | Verdict::Infrastructure(reason) = &case.verdict {
        result["reason"] = json!(reason);
    }
    result["findings"] = case.verdict.findings().iter().map(finding).collect();
    let exchanges = case.exchanges.iter().map(|(step, one)| {
        let mut exchange = exchange(one);
        exchange["step"] = json!(step);
        exchange
    });
    result["exchanges"] = exchanges.collect();
    result
}

fn finding(finding: &Finding) -> Value {
    let mismatches = finding
        .mismatches
        .iter()
        .map(|m| json!({"pointer": m.pointer, "expected": m.expected, "got": m.got}));
    json!({
        "step": finding.step,
        "clause": finding.clause.as_ref().map(clause),
        "warns": finding.warns,
        "reason": finding.reason,
        "advice": finding.advice,
        "more": finding.more,
        "mismatches": mismatches.collect::<Vec<_>>(),
        "exchanges": finding.exchanges.iter().map(exchange).collect::<Vec<_>>(),
        "console": finding.console,
    })
}

fn clause(clause: &Clause) -> Value {
    json!({"id": clause.id, "level": clause.level, "statement": clause.statement, "source": clause.source})
}

fn exchange(exchange: &Exchange) -> Value {
    json!({
        "sent": bytes(&exchange.sent),
        "received": bytes(&exchange.received),
        "left_out": exchange.left_out,
        "time_ms": millis(exchange.time),
        "fault": exchange.fault.as_ref().map(Fault::to_string),
        "repeat": exchange.repeat,
    })
}

fn bytes(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!({"base64": STANDARD.encode(bytes)}),
    }
}

fn millis(time: std::time::Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
