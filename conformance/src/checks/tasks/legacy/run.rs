//! How a task begins, goes on and ends.

use super::{RELATED, TTL, get, start, task_of, task_support, tools};
use crate::check::{Check, LEGACY, check};
use crate::checks::tasks::{MAX_POLLS, POLL, changed, failing, fault, is_terminal, may_follow, status};
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::fault::Fault;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// How long the answer that tells of a new task may take.
const PROMPT: Duration = Duration::from_secs(3);

pub const CHECKS: &[Check] = &[
    check!(
        "tasks/run",
        LEGACY,
        run,
        [
            "2025-11-25/tasks/create-result",
            "2025-11-25/tasks/fields",
            "2025-11-25/tasks/id-string-unique",
            "2025-11-25/tasks/begins-working",
            "2025-11-25/tasks/transitions",
            "2025-11-25/tasks/timestamps",
            "2025-11-25/tasks/ttl-reported",
            "2025-11-25/tasks/poll-interval",
            "2025-11-25/tasks/get",
            "2025-11-25/tasks/no-related-meta-on-get",
            "2025-11-25/tasks/create-prompt",
            "2025-11-25/tasks/get-no-sse",
        ]
    ),
    check!("tasks/failed", LEGACY, failed, ["2025-11-25/tasks/failed-status"]),
];

async fn run(lab: &mut Lab) -> Result<(), Stop> {
    for tool in tools(lab)?.into_iter().take(2) {
        let exchange = start(lab, &tool).await?;
        let is_slow = matches!(exchange.fault, Some(Fault::Slow { .. } | Fault::Silent(_)));
        if is_slow || exchange.time > PROMPT {
            let what = format!(
                "a call as a task is answered after {:.1} s",
                exchange.time.as_secs_f64()
            );
            lab.found("2025-11-25/tasks/create-prompt", what, &[&exchange]);
        }
        let task = lab.must("2025-11-25/tasks/create-result", task_of(&exchange), &exchange)?;
        ids(lab, &tool, &task, &exchange).await?;
        // what is asked for is in milliseconds
        if task["ttl"] == TTL / 1000 {
            let what = format!("{TTL} ms were asked for, and ttl is {}", task["ttl"]);
            lab.found("2025-11-25/tasks/ttl-reported", what, &[&exchange]);
        }
        if status(&task) != "working" {
            lab.found(
                "2025-11-25/tasks/begins-working",
                format!("a new task is {}", task["status"]),
                &[&exchange],
            );
        }
        lab.must(
            "2025-11-25/tasks/fields",
            fault(&task, "ttl", "pollInterval"),
            &exchange,
        )?;
        let mut last = task;
        for _ in 0..MAX_POLLS {
            let exchange = get(lab, &last).await?;
            let kind = exchange.reply().and_then(|reply| reply.header("content-type"));
            if kind.is_some_and(|kind| kind.trim_start().starts_with("text/event-stream")) {
                lab.found(
                    "2025-11-25/tasks/get-no-sse",
                    "tasks/get is answered with an event stream",
                    &[&exchange],
                );
            }
            let now = lab.must(
                "2025-11-25/tasks/get",
                expect::result(&exchange).cloned(),
                &exchange,
            )?;
            if now["taskId"] != last["taskId"] || now.get("status").is_none() {
                lab.found(
                    "2025-11-25/tasks/get",
                    format!("tasks/get gives {}", expect::brief(&now)),
                    &[&exchange],
                );
                break;
            }
            lab.note(
                "2025-11-25/tasks/fields",
                fault(&now, "ttl", "pollInterval"),
                &exchange,
            );
            if now.get("ttl").is_none() {
                lab.found(
                    "2025-11-25/tasks/ttl-reported",
                    "tasks/get gives no ttl",
                    &[&exchange],
                );
            }
            lab.note("2025-11-25/tasks/timestamps", changed(&last, &now), &exchange);
            if !may_follow(status(&last), status(&now)) {
                let what = format!("the task was {}, and is {}", last["status"], now["status"]);
                lab.found("2025-11-25/tasks/transitions", what, &[&exchange]);
            }
            if now.pointer(RELATED).is_some() {
                lab.found(
                    "2025-11-25/tasks/no-related-meta-on-get",
                    "tasks/get carries related-task",
                    &[&exchange],
                );
            }
            let was_over = is_terminal(&last);
            last = now;
            // one more look after the end: it must not change
            if was_over {
                break;
            }
            sleep(POLL).await;
        }
    }
    Ok(())
}

/// The id of a task is a text that no other task has: neither one that was made before, nor one beside it.
async fn ids(lab: &mut Lab, tool: &Tool, task: &Value, exchange: &Exchange) -> Result<(), Stop> {
    let row = "2025-11-25/tasks/id-string-unique";
    if !task["taskId"].is_string() {
        lab.found(
            row,
            format!("the id of a task is {}", task["taskId"]),
            &[exchange],
        );
    }
    let beside = start(lab, tool).await?;
    // there may be room for one task only
    if let Ok(other) = task_of(&beside)
        && other["taskId"] == task["taskId"]
    {
        let what = format!("two tasks have the id {}", task["taskId"]);
        lab.found(row, what, &[exchange, &beside]);
    }
    Ok(())
}

/// A call that fails, as a task.
async fn failed(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2025-11-25/tasks/failed-status";
    let tools: Vec<_> = tools(lab)?
        .into_iter()
        .filter(|tool| task_support(&tool.listed) != "required")
        .collect();
    let Some(mut params) = failing(lab, tools).await?.pop() else {
        return Err(Stop::Skip(
            "no call that fails was found for a tool that supports tasks".to_owned(),
        ));
    };
    params["task"] = json!({"ttl": TTL});
    let exchange = lab.ask("tools/call", params).await?;
    // it may be refused at once
    let Ok(task) = task_of(&exchange) else {
        return Ok(());
    };
    for _ in 0..MAX_POLLS {
        let looked = get(lab, &task).await?;
        let Ok(now) = expect::result(&looked) else { break };
        if status(now) == "failed" {
            break;
        }
        if is_terminal(now) {
            let what = format!("a task whose call has isError is {}", now["status"]);
            lab.found(row, what, &[&looked]);
            break;
        }
        sleep(POLL).await;
    }
    Ok(())
}
