//! The tasks extension of 2026-07-28 (`io.modelcontextprotocol/tasks`).

use super::{MAX_POLLS, MIN_IDS, POLL, changed, failing, fault, is_terminal, may_follow, status};
use crate::arguments;
use crate::check::{Check, MODERN, check};
use crate::checks::http::hard_to_guess;
use crate::expect::{self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::client::compose::META_CAPABILITIES;
use serde_json::{Value, json};
use tokio::time::sleep;

/// The request needs a capability that the client did not declare (2026-07-28, basic, "Per-request protocol fields").
const MISSING_CAPABILITY: i64 = -32021;
/// The name of the extension.
const EXTENSION: &str = "io.modelcontextprotocol/tasks";

pub const CHECKS: &[Check] = &[
    check!(
        "tasks/run-modern",
        MODERN,
        run,
        [
            "2026-07-28/tasks/extension-advertised",
            "2026-07-28/tasks/create-flat-fields",
            "2026-07-28/tasks/durable-before-answer",
            "2026-07-28/tasks/get-working",
            "2026-07-28/tasks/get-completed",
            "2026-07-28/tasks/get-result-type-complete",
            "2026-07-28/tasks/result-type-task",
            "2026-07-28/tasks/terminal-final",
            "2026-07-28/tasks/timestamps",
            "2026-07-28/tasks/no-related-task-meta",
            "2026-07-28/tasks/no-request-state",
            "2026-07-28/tasks/no-early-expiry",
        ]
    ),
    check!(
        "tasks/not-declared-modern",
        MODERN,
        not_declared,
        [
            "2026-07-28/tasks/never-to-undeclared-client",
            "2026-07-28/tasks/legacy-capability-is-undeclared",
            "2026-07-28/tasks/required-extension-32021",
        ]
    ),
    check!(
        "tasks/legacy-param",
        MODERN,
        legacy_param,
        ["2026-07-28/tasks/legacy-task-param-ignored"]
    ),
    check!(
        "tasks/failed-modern",
        MODERN,
        failed,
        ["2026-07-28/tasks/is-error-is-completed"]
    ),
    check!("tasks/ids-modern", MODERN, ids, ["2026-07-28/tasks/id-entropy"]),
    check!(
        "tasks/only-calls",
        MODERN,
        only_calls,
        ["2026-07-28/tasks/only-tools-call"]
    )
    .looking_back(),
    check!(
        "tasks/undeclared-methods",
        MODERN,
        undeclared_methods,
        ["2026-07-28/tasks/undeclared-methods-32021"]
    ),
    check!(
        "tasks/unknown-modern",
        MODERN,
        unknown,
        [
            "2026-07-28/tasks/get-unknown-task",
            "2026-07-28/tasks/update-unknown-task",
            "2026-07-28/tasks/error-messages-informative",
        ]
    ),
    check!(
        "tasks/cancel-modern",
        MODERN,
        cancel,
        [
            "2026-07-28/tasks/cancel-ack",
            "2026-07-28/tasks/cancel-terminal",
            "2026-07-28/tasks/get-cancelled",
            "2026-07-28/tasks/terminal-final",
        ]
    ),
    check!(
        "tasks/connection-lost",
        MODERN,
        connection_lost,
        ["2026-07-28/tasks/disconnect-no-effect"]
    ),
    check!(
        "tasks/removed-methods",
        MODERN,
        removed,
        ["2026-07-28/tasks/removed-methods"]
    ),
    check!(
        "tasks/no-legacy-capability",
        MODERN,
        no_legacy_capability,
        ["2026-07-28/tasks/legacy-capability-not-advertised"]
    ),
];

fn is_declared(lab: &Lab) -> bool {
    lab.offer().capabilities()["extensions"][EXTENSION].is_object()
}

fn needs_extension(lab: &Lab) -> Result<(), Stop> {
    if is_declared(lab) {
        Ok(())
    } else {
        Err(Stop::Skip(format!(
            "the server does not declare the extension {EXTENSION:?}"
        )))
    }
}

/// A request of a client with these capabilities.
fn with(lab: &Lab, method: &str, params: Value, capabilities: Value) -> Value {
    let mut request = lab.request(method, params);
    request["params"]["_meta"][META_CAPABILITIES] = capabilities;
    request
}

/// A request of a client that declares the extension.
async fn ask(lab: &mut Lab, method: &str, params: Value) -> Result<Exchange, Stop> {
    let request = with(lab, method, params, json!({"extensions": {EXTENSION: {}}}));
    lab.send(&request).await
}

/// A call of a tool with arguments of its schema.
fn call(lab: &Lab, tool: &Tool) -> Option<Value> {
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false)?;
    Some(json!({"name": tool.name, "arguments": arguments}))
}

/// The task that a result is, be it called something else.
fn task_of(exchange: &Exchange) -> Option<&Value> {
    let is_task = |result: &&Value| {
        let has = |name: &str| result.get(name).is_some_and(Value::is_string);
        result["resultType"] == "task" || has("taskId") && has("status") && result.get("content").is_none()
    };
    expect::result(exchange).ok().filter(is_task)
}

/// Calls the tools that may be called until one is answered with a task: the parameters, the task and the exchange.
async fn start(lab: &mut Lab) -> Result<(Value, Value, Exchange), Stop> {
    for tool in lab.callable()? {
        let Some(params) = call(lab, &tool) else { continue };
        let exchange = ask(lab, "tools/call", params.clone()).await?;
        if let Some(task) = task_of(&exchange).cloned() {
            return Ok((params, task, exchange));
        }
    }
    Err(Stop::Skip("no tool that may be called makes a task".to_owned()))
}

/// A task of a tool that may be called, for what else is about tasks.
///
/// # Errors
/// [`Stop::Skip`] if there is none.
pub async fn begun(lab: &mut Lab) -> Result<Value, Stop> {
    start(lab).await.map(|(_, task, _)| task)
}

async fn run(lab: &mut Lab) -> Result<(), Stop> {
    let (_, task, exchange) = start(lab).await?;
    if !is_declared(lab) {
        let what = format!("it makes tasks, and does not declare the extension {EXTENSION:?}");
        lab.found("2026-07-28/tasks/extension-advertised", what, &[&exchange]);
    }
    if task["resultType"] != "task" {
        let what = format!("a new task has resultType {}", task["resultType"]);
        lab.found("2026-07-28/tasks/result-type-task", what, &[&exchange]);
    }
    lab.must(
        "2026-07-28/tasks/create-flat-fields",
        fault(&task, "ttlMs", "pollIntervalMs"),
        &exchange,
    )?;
    if task.get("requestState").is_some() {
        lab.found(
            "2026-07-28/tasks/no-request-state",
            "the result has a requestState",
            &[&exchange],
        );
    }
    let mut other = lab.another().await?;
    let look = with(
        lab,
        "tasks/get",
        json!({"taskId": task["taskId"]}),
        json!({"extensions": {EXTENSION: {}}}),
    );
    let first = lab.send_as(&mut other, &look).await?;
    other.close().await;
    lab.must(
        "2026-07-28/tasks/durable-before-answer",
        expect::result(&first).map(drop),
        &first,
    )?;
    let mut last = task;
    for _ in 0..MAX_POLLS {
        let exchange = ask(lab, "tasks/get", json!({"taskId": last["taskId"]})).await?;
        let now = lab.must(
            "2026-07-28/tasks/no-early-expiry",
            expect::result(&exchange).cloned(),
            &exchange,
        )?;
        if now["resultType"] != "complete" {
            let row = if now["resultType"] == "task" {
                "2026-07-28/tasks/result-type-task"
            } else {
                "2026-07-28/tasks/get-result-type-complete"
            };
            lab.found(
                row,
                format!("tasks/get has resultType {}", now["resultType"]),
                &[&exchange],
            );
            lab.found(
                "2026-07-28/tasks/get-result-type-complete",
                format!("tasks/get has resultType {}", now["resultType"]),
                &[&exchange],
            );
        }
        if !may_follow(status(&last), status(&now)) {
            let row = if is_terminal(&last) {
                "2026-07-28/tasks/terminal-final"
            } else {
                "2026-07-28/tasks/get-working"
            };
            lab.found(
                row,
                format!("the task was {}, and is {}", last["status"], now["status"]),
                &[&exchange],
            );
        }
        lab.note("2026-07-28/tasks/timestamps", changed(&last, &now), &exchange);
        if status(&now) == "completed" {
            match now.get("result") {
                Some(result) if result.get("content").is_some() => {
                    if result
                        .pointer("/_meta/io.modelcontextprotocol~1related-task")
                        .is_some()
                    {
                        lab.found(
                            "2026-07-28/tasks/no-related-task-meta",
                            "the result carries related-task",
                            &[&exchange],
                        );
                    }
                }
                result => {
                    let what = format!("a completed task has result {}", result.unwrap_or(&Value::Null));
                    lab.found("2026-07-28/tasks/get-completed", what, &[&exchange]);
                }
            }
        }
        let was_over = is_terminal(&last);
        last = now;
        // one more look after the end: it must not change
        if was_over {
            break;
        }
        sleep(POLL).await;
    }
    Ok(())
}

/// The call that made a task, from clients that did not ask for one.
async fn not_declared(lab: &mut Lab) -> Result<(), Stop> {
    let (params, _, _) = start(lab).await?;
    let tried = params["name"].clone();
    let no_task = |exchange: &Exchange| match expect::message(exchange) {
        Ok(message) if message.pointer("/result/resultType") == Some(&json!("task")) => {
            Err("it is answered with a task".to_owned())
        }
        Ok(_) => Ok(()),
        Err(reason) => Err(reason),
    };
    let plain = lab.ask("tools/call", params.clone()).await?;
    lab.note(
        "2026-07-28/tasks/never-to-undeclared-client",
        no_task(&plain),
        &plain,
    );
    let request = with(
        lab,
        "tools/call",
        params,
        json!({"tasks": {"requests": {"tools": {"call": {}}}}}),
    );
    let exchange = lab.send(&request).await?;
    lab.note(
        "2026-07-28/tasks/legacy-capability-is-undeclared",
        no_task(&exchange),
        &exchange,
    );
    for tool in lab.callable()? {
        let Some(params) = call(lab, &tool) else { continue };
        // what was called just now need not be called again
        let plain = if params["name"] == tried {
            plain.clone()
        } else {
            lab.ask("tools/call", params.clone()).await?
        };
        required(lab, params, &plain).await?;
    }
    Ok(())
}

/// Whether a tool is served to those who know tasks, and refused to others, who sent `plain`.
async fn required(lab: &mut Lab, params: Value, plain: &Exchange) -> Result<(), Stop> {
    // errors of other kinds say that the call went wrong
    let is_refused = expect::error(plain, &[METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS]).is_ok();
    if is_refused && task_of(&ask(lab, "tools/call", params).await?).is_some() {
        let right = expect::error(plain, &[MISSING_CAPABILITY]).map(drop);
        lab.note("2026-07-28/tasks/required-extension-32021", right, plain);
    }
    Ok(())
}

/// What 2025-11-25 asked for a task with says nothing in this revision.
async fn legacy_param(lab: &mut Lab) -> Result<(), Stop> {
    let tools = lab.callable()?;
    let Some(params) = tools.iter().find_map(|tool| call(lab, tool)) else {
        return Err(Stop::Skip(
            "no arguments could be made for a tool that may be called".to_owned(),
        ));
    };
    let plain = lab.ask("tools/call", params.clone()).await?;
    let mut with_task = params;
    with_task["task"] = json!({"ttl": 1});
    let exchange = lab.ask("tools/call", with_task).await?;
    let same = match (expect::result(&plain), expect::result(&exchange)) {
        (Ok(_), Err(what)) => Err(format!("with params.task: {what}")),
        (Ok(one), Ok(other)) if one["resultType"] != other["resultType"] => {
            Err(format!("with params.task: {}", expect::brief(other)))
        }
        _ => Ok(()),
    };
    lab.note("2026-07-28/tasks/legacy-task-param-ignored", same, &exchange);
    Ok(())
}

/// A call that fails, as a task.
async fn failed(lab: &mut Lab) -> Result<(), Stop> {
    needs_extension(lab)?;
    let tools = lab.callable()?;
    let mut task = None;
    for params in failing(lab, tools).await? {
        let exchange = ask(lab, "tools/call", params).await?;
        task = task_of(&exchange).cloned();
        if task.is_some() {
            break;
        }
    }
    let Some(task) = task else {
        return Err(Stop::Skip(
            "no call that fails and makes a task was found".to_owned(),
        ));
    };
    for _ in 0..MAX_POLLS {
        let looked = ask(lab, "tasks/get", json!({"taskId": task["taskId"]})).await?;
        let Ok(now) = expect::result(&looked) else { break };
        if status(now) == "failed" {
            let what = "a task whose call has isError is failed";
            lab.found("2026-07-28/tasks/is-error-is-completed", what, &[&looked]);
        }
        if is_terminal(now) {
            break;
        }
        sleep(POLL).await;
    }
    Ok(())
}

async fn ids(lab: &mut Lab) -> Result<(), Stop> {
    let (params, task, mut last) = start(lab).await?;
    let mut made = vec![task["taskId"].clone()];
    while made.len() < MIN_IDS {
        last = ask(lab, "tools/call", params.clone()).await?;
        match task_of(&last) {
            Some(task) => made.push(task["taskId"].clone()),
            None => {
                return Err(Stop::Skip(format!(
                    "no more than {} tasks could be made",
                    made.len()
                )));
            }
        }
    }
    let ids: Vec<String> = made
        .iter()
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    if let Err(what) = hard_to_guess(&ids) {
        lab.found(
            "2026-07-28/tasks/id-entropy",
            format!("ids of tasks: {what}"),
            &[&last],
        );
    }
    Ok(())
}

async fn only_calls(lab: &mut Lab) -> Result<(), Stop> {
    for method in ["tools/list", "server/discover"] {
        ask(lab, method, json!({})).await?;
    }
    for exchange in lab.log() {
        let sent = String::from_utf8_lossy(&exchange.sent);
        let is_task = expect::result(&exchange).is_ok_and(|result| result["resultType"] == "task");
        if is_task && !sent.contains(r#""method":"tools/call""#) && !sent.contains(r#""method":"tasks/"#) {
            lab.found(
                "2026-07-28/tasks/only-tools-call",
                "a request that is no tools/call is answered with a task",
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

async fn undeclared_methods(lab: &mut Lab) -> Result<(), Stop> {
    needs_extension(lab)?;
    for (method, params) in [
        ("tasks/get", json!({"taskId": "no-such-task"})),
        (
            "tasks/update",
            json!({"taskId": "no-such-task", "inputResponses": {}}),
        ),
        ("tasks/cancel", json!({"taskId": "no-such-task"})),
    ] {
        let exchange = lab.ask(method, params).await?;
        lab.note(
            "2026-07-28/tasks/undeclared-methods-32021",
            expect::error(&exchange, &[MISSING_CAPABILITY]),
            &exchange,
        );
    }
    Ok(())
}

async fn unknown(lab: &mut Lab) -> Result<(), Stop> {
    needs_extension(lab)?;
    for (method, params, row) in [
        (
            "tasks/get",
            json!({"taskId": "no-such-task"}),
            "2026-07-28/tasks/get-unknown-task",
        ),
        (
            "tasks/update",
            json!({"taskId": "no-such-task", "inputResponses": {}}),
            "2026-07-28/tasks/update-unknown-task",
        ),
        (
            "tasks/cancel",
            json!({"taskId": "no-such-task"}),
            "2026-07-28/tasks/update-unknown-task",
        ),
    ] {
        let exchange = ask(lab, method, params).await?;
        lab.note(row, expect::error(&exchange, &[INVALID_PARAMS]), &exchange);
        let says = exchange
            .message()
            .and_then(|message| message.pointer("/error/message")?.as_str());
        if says.is_some_and(|text| text.trim().is_empty()) {
            lab.found(
                "2026-07-28/tasks/error-messages-informative",
                "the error says nothing",
                &[&exchange],
            );
        }
    }
    Ok(())
}

async fn cancel(lab: &mut Lab) -> Result<(), Stop> {
    needs_extension(lab)?;
    let (_, task, _) = start(lab).await?;
    let id = json!({"taskId": task["taskId"]});
    let acknowledged = |exchange: &Exchange| {
        let result = expect::result(exchange)?;
        match ["taskId", "status", "ttlMs"]
            .into_iter()
            .find(|name| result.get(name).is_some())
        {
            Some(name) => Err(format!("tasks/cancel is answered with a {name}")),
            None if result["resultType"] != "complete" => {
                Err(format!("tasks/cancel has resultType {}", result["resultType"]))
            }
            None => Ok(()),
        }
    };
    let exchange = ask(lab, "tasks/cancel", id.clone()).await?;
    lab.note("2026-07-28/tasks/cancel-ack", acknowledged(&exchange), &exchange);
    let mut last = Value::Null;
    for _ in 0..MAX_POLLS {
        let exchange = ask(lab, "tasks/get", id.clone()).await?;
        last = expect::result(&exchange).cloned().unwrap_or(Value::Null);
        if !last.is_null() && !may_follow("working", status(&last)) {
            let what = format!("a task that was cancelled is {}", last["status"]);
            lab.found("2026-07-28/tasks/get-cancelled", what, &[&exchange]);
            break;
        }
        if is_terminal(&last) || last.is_null() {
            break;
        }
        sleep(POLL).await;
    }
    if !is_terminal(&last) {
        // it may go on to its end: cancelling asks, it does not force
        return Ok(());
    }
    let again = ask(lab, "tasks/cancel", id.clone()).await?;
    lab.note("2026-07-28/tasks/cancel-terminal", acknowledged(&again), &again);
    let looked = ask(lab, "tasks/get", id).await?;
    if let Ok(now) = expect::result(&looked)
        && now["status"] != last["status"]
    {
        for row in [
            "2026-07-28/tasks/cancel-terminal",
            "2026-07-28/tasks/terminal-final",
        ] {
            let what = format!("the task was {}, and is {}", last["status"], now["status"]);
            lab.found(row, what, &[&looked]);
        }
    }
    Ok(())
}

/// The connection on which a task was made goes away; the task stays.
async fn connection_lost(lab: &mut Lab) -> Result<(), Stop> {
    lab.endpoint()?;
    let (_, task, _) = start(lab).await?;
    lab.hang_up();
    let mut other = lab.another().await?;
    let look = with(
        lab,
        "tasks/get",
        json!({"taskId": task["taskId"]}),
        json!({"extensions": {EXTENSION: {}}}),
    );
    let exchange = lab.send_as(&mut other, &look).await?;
    other.close().await;
    let goes_on = expect::result(&exchange).and_then(|now| match status(now) {
        "cancelled" => Err("the task was cancelled with the connection".to_owned()),
        _ => Ok(()),
    });
    lab.note("2026-07-28/tasks/disconnect-no-effect", goes_on, &exchange);
    Ok(())
}

async fn removed(lab: &mut Lab) -> Result<(), Stop> {
    for (method, params) in [
        ("tasks/result", json!({"taskId": "no-such-task"})),
        ("tasks/list", json!({})),
    ] {
        let exchange = ask(lab, method, params).await?;
        lab.note(
            "2026-07-28/tasks/removed-methods",
            expect::error(&exchange, &[METHOD_NOT_FOUND]),
            &exchange,
        );
    }
    Ok(())
}

async fn no_legacy_capability(lab: &mut Lab) -> Result<(), Stop> {
    if lab.offer().has("tasks")
        && let Some(exchange) = lab.offer().opened.first().cloned()
    {
        lab.found(
            "2026-07-28/tasks/legacy-capability-not-advertised",
            "it declares the capability \"tasks\" of the older revision",
            &[&exchange],
        );
    }
    Ok(())
}
