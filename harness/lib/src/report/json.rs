//! For programs: everything, as JSON. Bytes that are not UTF-8 text are given in Base64.

use super::{Report, Verdict};
use crate::client::Exchange;
use crate::fault::Fault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A report as a JSON text with a line feed.
pub fn write(report: &Report) -> String {
    let tally = report.tally();
    let results: Vec<Value> = report
        .results
        .iter()
        .map(|played| {
            let mut result = json!({
                "transcript": played.id,
                "title": played.title,
                "about": played.about,
                "verdict": word(&played.verdict),
                "time_ms": millis(played.time),
            });
            if let Some(board) = &played.board {
                result["board"] = json!(board);
            }
            match &played.verdict {
                Verdict::Pass => {}
                Verdict::Skip(reason) | Verdict::Infrastructure(reason) => result["reason"] = json!(reason),
                Verdict::Fail(failure) => {
                    result["step"] = json!(failure.step);
                    result["reason"] = json!(failure.reason);
                    let mismatches = failure.mismatches.iter();
                    result["mismatches"] = mismatches
                        .map(|m| json!({"pointer": m.pointer, "expected": m.expected, "got": m.got}))
                        .collect();
                    if let Some(failed) = &failure.exchange {
                        result["exchange"] = exchange(&failure.step, failed);
                    }
                    result["console"] = json!(failure.console);
                }
            }
            result["exchanges"] = played
                .exchanges
                .iter()
                .map(|(step, one)| exchange(step, one))
                .collect();
            result
        })
        .collect();
    let report = json!({
        "target": report.target,
        "time_ms": millis(report.time),
        "passed": tally.passed,
        "failed": tally.failed,
        "skipped": tally.skipped,
        "infrastructure": tally.infrastructure,
        "results": results,
    });
    format!("{report:#}\n")
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail(_) => "fail",
        Verdict::Skip(_) => "skip",
        Verdict::Infrastructure(_) => "infrastructure",
    }
}

fn exchange(step: &str, exchange: &Exchange) -> Value {
    json!({
        "step": step,
        "sent": bytes(&exchange.sent),
        "received": bytes(&exchange.received),
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
