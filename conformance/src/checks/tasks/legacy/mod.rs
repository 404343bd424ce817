//! Tasks of 2025-11-25 (Tasks, experimental).

pub(super) mod cancel;
pub(super) mod declared;
pub(super) mod list;
pub(super) mod result;
pub(super) mod run;

use crate::arguments;
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use serde_json::{Value, json};

/// How long a task is asked to be kept, in milliseconds.
const TTL: u64 = 61_000;
/// `_meta` member that ties a message to its task.
const RELATED: &str = "/_meta/io.modelcontextprotocol~1related-task";

fn declares(lab: &Lab, pointer: &str) -> bool {
    lab.offer().capabilities().pointer(pointer).is_some()
}

fn task_support(tool: &Value) -> &Value {
    tool.pointer("/execution/taskSupport").unwrap_or(&Value::Null)
}

/// Tools that may be called as tasks, the slow ones can't be told.
fn tools(lab: &Lab) -> Result<Vec<Tool>, Stop> {
    if !declares(lab, "/tasks/requests/tools/call") {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.requests.tools.call\"".to_owned(),
        ));
    }
    let tools: Vec<_> = lab
        .callable()?
        .into_iter()
        .filter(|tool| matches!(task_support(&tool.listed).as_str(), Some("optional" | "required")))
        .filter(|tool| arguments::valid(tool.input_schema(), 0, false).is_some())
        .collect();
    if tools.is_empty() {
        return Err(Stop::Skip("no tool that may be called supports tasks".to_owned()));
    }
    Ok(tools)
}

/// A call as a task.
async fn start(lab: &mut Lab, tool: &Tool) -> Result<Exchange, Stop> {
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false);
    lab.ask(
        "tools/call",
        json!({"name": tool.name, "arguments": arguments, "task": {"ttl": TTL}}),
    )
    .await
}

/// The task of a call that was taken.
async fn started(lab: &mut Lab, row: &'static str, tool: &Tool) -> Result<(Value, Exchange), Stop> {
    let exchange = start(lab, tool).await?;
    Ok((lab.must(row, task_of(&exchange), &exchange)?, exchange))
}

/// The task that an answer tells of.
fn task_of(exchange: &Exchange) -> Result<Value, String> {
    let result = expect::result(exchange)?;
    match result.get("task") {
        Some(task) if result.get("content").is_none() => Ok(task.clone()),
        _ => Err(format!(
            "a call as a task is answered with {}",
            expect::brief(result)
        )),
    }
}

async fn get(lab: &mut Lab, task: &Value) -> Result<Exchange, Stop> {
    lab.ask("tasks/get", json!({"taskId": task["taskId"]})).await
}
