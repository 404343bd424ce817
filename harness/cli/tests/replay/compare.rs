//! What of an answer must be the same on every run, and on every target.

use mcp_hil_harness::compare::{Answered, mask};
use mcp_hil_harness::transcript::{Captures, Pattern};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Members that differ from run to run or from board to board.
const VARYING: [&str; 13] = [
    "mac",
    "chip",
    "board",
    "build_id",
    "uptime_ms",
    "requests",
    "errors",
    "heap_used",
    "heap_peak",
    "value",
    "nextCursor",
    "job_id",
    "runtime_ms",
];
/// Programs whose log tells how far they came until they were stopped.
const ENDLESS: [&str; 2] = ["spin", "sweep"];
/// What such a log varies.
const LOG: [&str; 3] = ["log_lines", "log_truncated", "recent_log"];

/// The id of a job in the text of a refusal.
#[allow(clippy::unwrap_used, reason = "a panic is a failed test")]
static JOB_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"( job | id ")[0-9a-f]{8}\b(")?"#).unwrap());

/// The same value with what varies replaced by its name, also in JSON inside a text.
pub fn steady(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_board = members.contains_key("mac");
            let is_log = members.len() == 1 && members.contains_key("lines");
            let program = members.get("program").and_then(Value::as_str);
            let is_endless = program.is_some_and(|program| ENDLESS.contains(&program));
            let steadied = members.iter().map(|(name, value)| {
                let varies = VARYING.contains(&name.as_str()) && !value.is_object()
                    || is_board && name == "name"
                    || is_log && name == "lines"
                    || is_endless && LOG.contains(&name.as_str());
                (
                    name.clone(),
                    if varies {
                        format!("<{name}>").into()
                    } else {
                        steady(value)
                    },
                )
            });
            Value::Object(steadied.collect())
        }
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::String(text) if text.starts_with('{') => match serde_json::from_str(text) {
            Ok(inner) => steady(&inner).to_string().into(),
            Err(_) => value.clone(),
        },
        Value::String(text) => JOB_ID.replace_all(text, "$1<job_id>$2").into(),
        other => other.clone(),
    }
}

/// Kept answers without what a transcript lets vary, without the wording of refusals, and without HTTP where there is
/// none.
pub fn comparable(kept: &Value, answers: &[Answered<'_>], http: bool) -> Value {
    let mut kept = kept.clone();
    for (index, entry) in kept.as_array_mut().into_iter().flatten().enumerate() {
        let Some(members) = entry.as_object_mut() else {
            continue;
        };
        if !http {
            members.retain(|name, _| ["step", "message"].contains(&name.as_str()));
        }
        let Some(Answered { expect, .. }) = answers.get(index) else {
            continue;
        };
        if matches!(expect.status, Some(Pattern::Matcher { .. })) {
            // servers may answer so or so: what goes with the status goes with the choice
            members.retain(|name, _| name == "step" || name == "message" && expect.message.is_some());
        }
        if members
            .get("content-type")
            .is_some_and(|kind| kind != "application/json")
        {
            members.shift_remove("content-type");
        }
        if let (Some(message), Some(pattern)) = (members.get_mut("message"), &expect.message) {
            mask(message, pattern, &Captures::default());
        }
        // the text of a refusal is free, and where nothing may come the transcript says so
        members.shift_remove("body");
        if let Some(wording) = entry.pointer_mut("/message/error/message") {
            *wording = "<message>".into();
        }
    }
    kept.sort_all_objects();
    kept
}
