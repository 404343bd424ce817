//! What a task gives back, and what is asked of one that is not there.

use super::{RELATED, declares, get, started, task_support, tools};
use crate::arguments;
use crate::check::{Check, LEGACY, check};
use crate::checks::tasks::is_terminal;
use crate::expect::{self, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "tasks/result",
        LEGACY,
        result,
        [
            "2025-11-25/tasks/result-blocks",
            "2025-11-25/tasks/result-after-terminal",
            "2025-11-25/tasks/result-related-meta",
            "2025-11-25/tasks/result-is-original",
        ]
    )
    .quoting(&[(
        "2025-11-25/tasks/result-after-terminal",
        "When a receiver receives a `tasks/result` request for a task in a terminal status (`completed`, `failed`, or `cancelled`), it **MUST** return the final result",
    )]),
    check!("tasks/related-in-request", LEGACY, related_in_request, ["2025-11-25/tasks/related-meta-in-request-ignored"]),
    check!(
        "tasks/unknown",
        LEGACY,
        unknown,
        ["2025-11-25/tasks/unknown-id", "2025-11-25/tasks/error-messages-informative"]
    ),
];

async fn result(lab: &mut Lab) -> Result<(), Stop> {
    let tool = tools(lab)?.remove(0);
    let (task, _) = started(lab, "2025-11-25/tasks/result-blocks", &tool).await?;
    let first = lab.ask("tasks/result", json!({"taskId": task["taskId"]})).await?;
    let looked = get(lab, &task).await?;
    if let Ok(now) = expect::result(&looked)
        && !is_terminal(now)
        && first.fault.is_none()
    {
        lab.found(
            "2025-11-25/tasks/result-blocks",
            format!("tasks/result answered, and the task is {}", now["status"]),
            &[&first, &looked],
        );
    }
    lab.must(
        "2025-11-25/tasks/result-blocks",
        expect::message(&first).map(drop),
        &first,
    )?;
    let again = lab.ask("tasks/result", json!({"taskId": task["taskId"]})).await?;
    let outcome = |exchange: &Exchange| -> Result<Value, String> {
        let message = expect::message(exchange)?;
        Ok(message
            .get("result")
            .or_else(|| message.get("error"))
            .cloned()
            .unwrap_or(Value::Null))
    };
    if let Some(second) = lab.note("2025-11-25/tasks/result-after-terminal", outcome(&again), &again)
        && outcome(&first).is_ok_and(|first| first.get("content") != second.get("content"))
    {
        lab.found(
            "2025-11-25/tasks/result-after-terminal",
            "asked again, tasks/result gives something else",
            &[&first, &again],
        );
    }
    original(lab, &tool, &first).await?;
    if let Ok(result) = expect::result(&first) {
        let related = result.pointer(RELATED).and_then(|related| related.get("taskId"));
        if related != Some(&task["taskId"]) {
            let what = format!(
                "the result of task {} carries related-task {}",
                task["taskId"],
                related.unwrap_or(&Value::Null)
            );
            lab.found("2025-11-25/tasks/result-related-meta", what, &[&first]);
        }
    }
    Ok(())
}

/// That the result of a task has content of the kinds that the result of an ordinary call has.
async fn original(lab: &mut Lab, tool: &Tool, of_task: &Exchange) -> Result<(), Stop> {
    if task_support(&tool.listed) == "required" {
        return Ok(());
    }
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false);
    let plain = lab
        .ask("tools/call", json!({"name": tool.name, "arguments": arguments}))
        .await?;
    let kinds = |exchange: &Exchange| {
        let result = expect::result(exchange)
            .ok()
            .filter(|result| result["isError"] != true)?;
        let content = result["content"]
            .as_array()?
            .iter()
            .map(|item| item["type"].clone());
        Some(content.collect::<Vec<_>>())
    };
    if let (Some(one), Some(other)) = (kinds(of_task), kinds(&plain))
        && one != other
    {
        let what = format!("the content of a task's result is {one:?}, that of a call {other:?}");
        lab.found("2025-11-25/tasks/result-is-original", what, &[of_task, &plain]);
    }
    Ok(())
}

async fn related_in_request(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2025-11-25/tasks/related-meta-in-request-ignored";
    let tool = tools(lab)?.remove(0);
    let (task, _) = started(lab, row, &tool).await?;
    let params = json!({"taskId": task["taskId"], "_meta": {"io.modelcontextprotocol/related-task": {"taskId": "another"}}});
    let exchange = lab.ask("tasks/get", params).await?;
    let is_ours = expect::result(&exchange).and_then(|now| {
        if now["taskId"] == task["taskId"] {
            Ok(())
        } else {
            Err(format!("tasks/get gives task {}", now["taskId"]))
        }
    });
    lab.note(row, is_ours, &exchange);
    Ok(())
}

async fn unknown(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tasks")?;
    let mut methods = vec!["tasks/get", "tasks/result"];
    if declares(lab, "/tasks/cancel") {
        methods.push("tasks/cancel");
    }
    for method in methods {
        for id in [json!("no-such-task"), json!(7)] {
            let exchange = lab.ask(method, json!({"taskId": id})).await?;
            lab.note(
                "2025-11-25/tasks/unknown-id",
                expect::error(&exchange, &[INVALID_PARAMS]),
                &exchange,
            );
            let says = exchange
                .message()
                .and_then(|message| message.pointer("/error/message")?.as_str());
            if says.is_some_and(|text| text.trim().is_empty()) {
                lab.found(
                    "2025-11-25/tasks/error-messages-informative",
                    "the error says nothing",
                    &[&exchange],
                );
            }
        }
    }
    Ok(())
}
