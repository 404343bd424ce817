//! Tasks: the experimental form of 2025-11-25 and the extension of 2026-07-28.

mod legacy;
mod modern;

pub use modern::begun;

use crate::arguments;
use crate::check::Check;
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use serde_json::{Value, json};
use std::time::Duration;

pub const CHECKS: &[&[Check]] = &[
    legacy::declared::CHECKS,
    legacy::run::CHECKS,
    legacy::result::CHECKS,
    legacy::cancel::CHECKS,
    legacy::list::CHECKS,
    modern::CHECKS,
];

/// States that don't change any more.
const TERMINAL: [&str; 3] = ["completed", "failed", "cancelled"];
/// Most polls of a task, and the pause between two: a task that takes longer is left alone.
const MAX_POLLS: usize = 25;
/// Pause between two polls.
const POLL: Duration = Duration::from_millis(200);

/// Ids of tasks that are compared.
const MIN_IDS: usize = 4;
/// Argument sets that are tried to find a call that fails.
const MAX_TRIES: usize = 8;

/// Calls that the schemas of these tools allow and that end with `isError`, one a tool at most.
async fn failing(lab: &mut Lab, tools: Vec<Tool>) -> Result<Vec<Value>, Stop> {
    let mut found = Vec::new();
    for tool in tools {
        // what has a default is left to it, but for switches, which are turned
        let Some(base) = arguments::valid(tool.input_schema(), lab.shared.seed, false) else {
            continue;
        };
        for arguments in turned(tool.input_schema(), &base).into_iter().take(MAX_TRIES) {
            let params = json!({"name": tool.name, "arguments": arguments});
            let exchange = lab.ask("tools/call", params.clone()).await?;
            if expect::result(&exchange).is_ok_and(|result| result["isError"] == true) {
                found.push(params);
                break;
            }
        }
    }
    Ok(found)
}

/// The arguments with each switch of the schema on, which is where a call fails if anywhere, then as they are.
fn turned(schema: &Value, base: &Value) -> Vec<Value> {
    let switches = schema["properties"].as_object().into_iter().flatten();
    let on = switches
        .filter(|(_, property)| property["type"] == "boolean")
        .map(|(name, _)| {
            let mut arguments = base.clone();
            arguments[name] = json!(true);
            arguments
        });
    on.chain([base.clone()]).collect()
}

/// The state of a task.
fn status(task: &Value) -> &str {
    task["status"].as_str().unwrap_or_default()
}

/// Whether a task ended.
fn is_terminal(task: &Value) -> bool {
    TERMINAL.contains(&status(task))
}

/// Whether one state may follow the other (both revisions; the same state is no change).
fn may_follow(before: &str, after: &str) -> bool {
    before == after
        || (!TERMINAL.contains(&before)
            && matches!(
                after,
                "working" | "input_required" | "completed" | "failed" | "cancelled"
            ))
}

/// Whether a text is a date with a time and an offset (RFC 3339, 5.6).
fn is_time(value: &Value) -> bool {
    let Some(text) = value.as_str() else { return false };
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let digits = |text: &str, parts: &[usize], by: char| {
        let found: Vec<&str> = text.split(by).collect();
        found.len() == parts.len()
            && found
                .iter()
                .zip(parts)
                .all(|(part, length)| part.len() == *length && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let clock_end = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, offset) = time.split_at(clock_end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let offset = matches!(offset, "Z" | "z") || offset.len() == 6 && digits(&offset[1..], &[2, 2], ':');
    digits(date, &[4, 2, 2], '-')
        && digits(clock, &[2, 2, 2], ':')
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
        && offset
}

/// What is wrong with the members of a task. `ttl` and `interval` are the names of this revision.
fn fault(task: &Value, ttl: &str, interval: &str) -> Result<(), String> {
    let wrong = |name: &str| {
        Err(format!(
            "the task's {name} is {}",
            task.get(name).unwrap_or(&Value::Null)
        ))
    };
    if task["taskId"].as_str().is_none_or(str::is_empty) {
        return wrong("taskId");
    }
    if !may_follow("working", status(task)) {
        return wrong("status");
    }
    if let Some(name) = ["createdAt", "lastUpdatedAt"]
        .into_iter()
        .find(|name| !task[*name].is_string())
    {
        return wrong(name);
    }
    if !task.get(ttl).is_some_and(|ttl| ttl.is_null() || ttl.is_number()) {
        return wrong(ttl);
    }
    if task.get(interval).is_some_and(|interval| !interval.is_number()) {
        return wrong(interval);
    }
    if task
        .get("statusMessage")
        .is_some_and(|message| !message.is_string())
    {
        return wrong("statusMessage");
    }
    Ok(())
}

/// What is wrong between two looks at one task.
fn changed(before: &Value, after: &Value) -> Result<(), String> {
    if !is_time(&after["createdAt"]) || !is_time(&after["lastUpdatedAt"]) {
        return Err(format!(
            "createdAt is {}, lastUpdatedAt {}",
            after["createdAt"], after["lastUpdatedAt"]
        ));
    }
    if before["createdAt"] != after["createdAt"] {
        return Err(format!(
            "createdAt was {}, and is {}",
            before["createdAt"], after["createdAt"]
        ));
    }
    // texts of one form and offset can be compared
    let (one, other) = (&before["lastUpdatedAt"], &after["lastUpdatedAt"]);
    match (one.as_str(), other.as_str()) {
        (Some(one), Some(other))
            if one.len() == other.len() && one.ends_with('Z') && other.ends_with('Z') && other < one =>
        {
            Err(format!("lastUpdatedAt was {one}, and is {other}"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_date_and_an_offset() {
        for good in [
            "2026-01-02T03:04:05Z",
            "1970-01-01T00:00:01.250Z",
            "2026-01-02T03:04:05+02:00",
        ] {
            assert!(is_time(&json!(good)), "{good}");
        }
        for bad in [
            json!("2026-01-02"),
            json!("12:00"),
            json!(17),
            json!("2026-01-02T03:04:05"),
            json!("2026-01-02T3:4:5Z"),
        ] {
            assert!(!is_time(&bad), "{bad}");
        }
    }

    #[test]
    fn nothing_follows_the_end() {
        assert!(may_follow("working", "completed") && may_follow("input_required", "working"));
        assert!(!may_follow("completed", "working") && !may_follow("cancelled", "completed"));
        assert!(!may_follow("working", "queued"));
    }

    #[test]
    fn a_task_has_its_members() {
        let task =
            json!({"taskId": "t", "status": "working", "createdAt": "x", "lastUpdatedAt": "x", "ttl": null});
        assert_eq!(fault(&task, "ttl", "pollInterval"), Ok(()));
        assert!(fault(&task, "ttlMs", "pollIntervalMs").is_err());
    }
}
