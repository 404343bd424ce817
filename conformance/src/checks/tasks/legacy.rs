//! Tasks of 2025-11-25 (Tasks, experimental).

use super::{MAX_POLLS, MIN_IDS, POLL, changed, failing, fault, is_terminal, may_follow, status};
use crate::arguments;
use crate::check::{Check, LEGACY, Over, check};
use crate::checks::http::hard_to_guess;
use crate::checks::tools::each;
use crate::expect::{self, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::{Client, Exchange, compose};
use mcp_hil_harness::fault::Fault;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// How long a task is asked to be kept, in milliseconds.
const TTL: u64 = 61_000;
/// How long the answer that tells of a new task may take.
const PROMPT: Duration = Duration::from_secs(3);
/// Tasks that are made to look at their list, one after the other; and at their ids and at what is too many.
const LISTED: usize = 6;
const MANY: usize = 18;
/// Looks at a task in a row that a server must bear.
const BURST: usize = 48;
/// `_meta` member that ties a message to its task.
const RELATED: &str = "/_meta/io.modelcontextprotocol~1related-task";

pub const CHECKS: &[Check] = &[
    check!("tasks/support", LEGACY, support, ["2025-11-25/tools/task-support-enum", "2025-11-25/tasks/capability-declared"]),
    check!("tasks/not-declared", LEGACY, not_declared, ["2025-11-25/tasks/undeclared-ignores-task"]),
    check!("tasks/forbidden", LEGACY, forbidden, ["2025-11-25/tasks/forbidden-32601"]),
    check!(
        "tasks/required",
        LEGACY,
        required,
        ["2025-11-25/tasks/required-32601", "2025-11-25/tasks/receiver-requires-augmentation"]
    ),
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
    check!(
        "tasks/cancel",
        LEGACY,
        cancel,
        ["2025-11-25/tasks/cancel", "2025-11-25/tasks/cancel-sticks", "2025-11-25/tasks/cancel-terminal"]
    ),
    check!("tasks/list", LEGACY, list, ["2025-11-25/tasks/list", "2025-11-25/tasks/list-paginated"]),
    check!("tasks/list-identity", LEGACY, list_identity, ["2025-11-25/tasks/list-not-without-identity"]).over(Over::Http),
    check!("tasks/failed", LEGACY, failed, ["2025-11-25/tasks/failed-status"]),
    check!(
        "tasks/many",
        LEGACY,
        many,
        ["2025-11-25/tasks/id-unguessable", "2025-11-25/tasks/limits", "2025-11-25/tasks/rate-limit"]
    ),
    check!("tasks/not-offered", LEGACY, not_offered, ["2025-11-25/tasks/unadvertised-ops"]),
    check!("tasks/extension-not-honoured", LEGACY, extension, ["2025-11-25/tasks/extension-not-honoured"]),
];

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

async fn support(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "2025-11-25/tools/task-support-enum", |tool| {
        match tool
            .get("execution")
            .map(|execution| (execution, execution.get("taskSupport")))
        {
            None => Ok(()),
            Some((execution, None)) if execution.is_object() => Ok(()),
            Some((execution, None)) => Err(format!("its execution is {execution}, no object")),
            Some((_, Some(Value::String(kind))))
                if ["forbidden", "optional", "required"].contains(&kind.as_str()) =>
            {
                Ok(())
            }
            Some((_, Some(other))) => Err(format!("execution.taskSupport is {other}")),
        }
    })?;
    let is_declared = declares(lab, "/tasks/requests/tools/call");
    each(
        lab,
        "2025-11-25/tasks/capability-declared",
        |tool| match task_support(tool).as_str() {
            Some("optional" | "required") if !is_declared => Err(
                "it supports tasks, and the capability \"tasks.requests.tools.call\" is not declared"
                    .to_owned(),
            ),
            _ => Ok(()),
        },
    )
}

/// A result of the call itself, not a task.
fn ordinary(exchange: &Exchange) -> Result<(), String> {
    let result = expect::result(exchange)?;
    match result.get("content") {
        Some(_) => Ok(()),
        None => Err(format!("it is answered with {}", expect::brief(result))),
    }
}

async fn not_declared(lab: &mut Lab) -> Result<(), Stop> {
    if declares(lab, "/tasks/requests/tools/call") {
        return Err(Stop::Skip("the server declares tasks".to_owned()));
    }
    let Some(tool) = lab
        .callable()?
        .into_iter()
        .find(|tool| arguments::valid(tool.input_schema(), 0, false).is_some())
    else {
        return Err(Stop::Skip(
            "no arguments could be made for a tool that may be called".to_owned(),
        ));
    };
    let exchange = start(lab, &tool).await?;
    lab.note(
        "2025-11-25/tasks/undeclared-ignores-task",
        ordinary(&exchange),
        &exchange,
    );
    Ok(())
}

async fn forbidden(lab: &mut Lab) -> Result<(), Stop> {
    tools(lab).or_else(|stop| {
        if declares(lab, "/tasks/requests/tools/call") {
            Ok(Vec::new())
        } else {
            Err(stop)
        }
    })?;
    let kind = |tool: &Tool| task_support(&tool.listed).as_str().unwrap_or("forbidden") == "forbidden";
    let Some(tool) = lab.callable()?.into_iter().find(kind) else {
        return Err(Stop::Skip(
            "every tool that may be called supports tasks".to_owned(),
        ));
    };
    let exchange = start(lab, &tool).await?;
    lab.note(
        "2025-11-25/tasks/forbidden-32601",
        expect::error(&exchange, &[METHOD_NOT_FOUND]),
        &exchange,
    );
    Ok(())
}

async fn required(lab: &mut Lab) -> Result<(), Stop> {
    let Some(tool) = tools(lab)?
        .into_iter()
        .find(|tool| task_support(&tool.listed) == "required")
    else {
        return Err(Stop::Skip(
            "no tool that may be called requires a task".to_owned(),
        ));
    };
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false);
    let exchange = lab
        .ask("tools/call", json!({"name": tool.name, "arguments": arguments}))
        .await?;
    let refused = expect::error(&exchange, &[METHOD_NOT_FOUND, INVALID_REQUEST]);
    lab.note("2025-11-25/tasks/required-32601", refused, &exchange);
    Ok(())
}

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

async fn cancel(lab: &mut Lab) -> Result<(), Stop> {
    let tools = tools(lab)?;
    if !declares(lab, "/tasks/cancel") {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.cancel\"".to_owned(),
        ));
    }
    for tool in tools.into_iter().take(3) {
        let (task, _) = started(lab, "2025-11-25/tasks/cancel", &tool).await?;
        let params = json!({"taskId": task["taskId"]});
        let exchange = lab.ask("tasks/cancel", params.clone()).await?;
        // a quick tool may have ended before
        let too_late = expect::error(&exchange, &[INVALID_PARAMS]).is_ok();
        if !too_late {
            let cancelled = expect::result(&exchange).and_then(|now| match status(now) {
                "cancelled" => Ok(()),
                other => Err(format!("a cancelled task is {other:?}")),
            });
            lab.note("2025-11-25/tasks/cancel", cancelled, &exchange);
            for _ in 0..3 {
                sleep(POLL).await;
                let looked = get(lab, &task).await?;
                if let Ok(now) = expect::result(&looked)
                    && status(now) != "cancelled"
                {
                    lab.found(
                        "2025-11-25/tasks/cancel-sticks",
                        format!("a cancelled task is {}", now["status"]),
                        &[&exchange, &looked],
                    );
                    break;
                }
            }
        }
        let again = lab.ask("tasks/cancel", params).await?;
        let looked = get(lab, &task).await?;
        if expect::result(&looked).is_ok_and(is_terminal) {
            lab.note(
                "2025-11-25/tasks/cancel-terminal",
                expect::error(&again, &[INVALID_PARAMS]),
                &again,
            );
        }
        if !too_late {
            break;
        }
    }
    Ok(())
}

async fn list(lab: &mut Lab) -> Result<(), Stop> {
    let tool = tools(lab)?.remove(0);
    if !declares(lab, "/tasks/list") {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.list\"".to_owned(),
        ));
    }
    let (task, _) = started(lab, "2025-11-25/tasks/list", &tool).await?;
    let mut made = vec![task["taskId"].clone()];
    while made.len() < LISTED
        && let Ok(task) = task_of(&start(lab, &tool).await?)
    {
        made.push(task["taskId"].clone());
    }
    let mut params = json!({});
    for _ in 0..crate::offer::MAX_PAGES {
        let exchange = lab.ask("tasks/list", params).await?;
        let page = expect::result(&exchange).and_then(|result| match result["tasks"].as_array() {
            Some(tasks) => Ok((tasks.clone(), result.get("nextCursor").cloned())),
            None => Err("the result has no array \"tasks\"".to_owned()),
        });
        let (tasks, next) = lab.must("2025-11-25/tasks/list", page, &exchange)?;
        made.retain(|id| !tasks.iter().any(|listed| listed["taskId"] == *id));
        match next {
            _ if made.is_empty() => return Ok(()),
            Some(cursor) if cursor.is_string() => params = json!({"cursor": cursor}),
            _ => return not_listed(lab, &made, &exchange).await,
        }
    }
    lab.found("2025-11-25/tasks/list", "the list of tasks has no end", &[]);
    Ok(())
}

/// Tasks that are still there must be in the list, on one page or on several.
async fn not_listed(lab: &mut Lab, missing: &[Value], last: &Exchange) -> Result<(), Stop> {
    for id in missing {
        let looked = lab.ask("tasks/get", json!({"taskId": id})).await?;
        if expect::result(&looked).is_ok() {
            for row in ["2025-11-25/tasks/list", "2025-11-25/tasks/list-paginated"] {
                lab.found(
                    row,
                    format!("task {id} is on no page of the list"),
                    &[last, &looked],
                );
            }
            break;
        }
    }
    Ok(())
}

/// A list of tasks for clients that nothing tells apart.
async fn list_identity(lab: &mut Lab) -> Result<(), Stop> {
    let knows_clients = lab.offer().session || lab.endpoint()?.access.has_credentials();
    if !declares(lab, "/tasks/list") || knows_clients {
        return Err(Stop::Skip(
            "the server lists no tasks, or can tell clients apart".to_owned(),
        ));
    }
    if let Some(exchange) = lab.offer().opened.first().cloned() {
        lab.found(
            "2025-11-25/tasks/list-not-without-identity",
            "it declares tasks.list, and neither a session nor a credential tells clients apart",
            &[&exchange],
        );
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

/// More tasks than a small server holds, then more looks at one than anybody needs: it may refuse, and must live.
async fn many(lab: &mut Lab) -> Result<(), Stop> {
    let tool = tools(lab)?.remove(0);
    let (mut made, mut last) = (Vec::new(), None);
    for _ in 0..MANY {
        let exchange = start(lab, &tool).await?;
        made.extend(task_of(&exchange).ok().map(|task| task["taskId"].clone()));
        let is_gone = exchange.fault.is_some();
        last = Some(exchange);
        if is_gone {
            break;
        }
    }
    let (Some(last), Some(first)) = (last, made.first().cloned()) else {
        return Err(Stop::Skip("no task could be made".to_owned()));
    };
    if let Err(what) = expect::message(&last) {
        lab.found(
            "2025-11-25/tasks/limits",
            format!("after {MANY} tasks at most: {what}"),
            &[&last],
        );
        return Ok(());
    }
    let ids: Vec<String> = made
        .iter()
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    // too few tell nothing
    if ids.len() >= MIN_IDS
        && let Err(what) = hard_to_guess(&ids[..MIN_IDS])
    {
        lab.found(
            "2025-11-25/tasks/id-unguessable",
            format!("ids of tasks: {what}"),
            &[&last],
        );
    }
    for _ in 0..BURST {
        let looked = lab.ask("tasks/get", json!({"taskId": first})).await?;
        if looked.fault.is_some() {
            break;
        }
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note("2025-11-25/tasks/rate-limit", expect::result(&next), &next);
    for id in made {
        lab.ask("tasks/cancel", json!({"taskId": id})).await?;
    }
    Ok(())
}

async fn not_offered(lab: &mut Lab) -> Result<(), Stop> {
    let mut asked = false;
    for (method, params) in [
        ("tasks/list", json!({})),
        ("tasks/cancel", json!({"taskId": "no-such-task"})),
    ] {
        if !declares(lab, &format!("/{method}")) {
            asked = true;
            let exchange = lab.ask(method, params).await?;
            lab.note(
                "2025-11-25/tasks/unadvertised-ops",
                expect::error(&exchange, &[METHOD_NOT_FOUND]),
                &exchange,
            );
        }
    }
    if asked {
        Ok(())
    } else {
        Err(Stop::Skip(
            "the server declares tasks.list and tasks.cancel".to_owned(),
        ))
    }
}

/// A handshake that declares the extension of the modern era.
async fn extension(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2025-11-25/tasks/extension-not-honoured";
    let Some(tool) = lab.callable()?.into_iter().find(|tool| {
        task_support(&tool.listed) != "required" && arguments::valid(tool.input_schema(), 0, false).is_some()
    }) else {
        return Err(Stop::Skip(
            "no arguments could be made for a tool that may be called".to_owned(),
        ));
    };
    let mut client = lab.stranger()?;
    let exchange = handshake(
        lab,
        &mut client,
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}}),
    )
    .await?;
    if expect::result(&exchange).is_err() {
        client.close().await;
        return Err(Stop::Skip(
            "a handshake with extensions is refused, which another check judges".to_owned(),
        ));
    }
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false);
    let request = lab.request("tools/call", json!({"name": tool.name, "arguments": arguments}));
    let exchange = lab.send_as(&mut client, &request).await?;
    client.close().await;
    lab.note(row, ordinary(&exchange), &exchange);
    Ok(())
}

/// Opens a conversation with capabilities of our choice.
async fn handshake(lab: &mut Lab, client: &mut Client, capabilities: Value) -> Result<Exchange, Stop> {
    let params = json!({
        "protocolVersion": lab.revision().as_str(),
        "capabilities": capabilities,
        "clientInfo": compose::client_info(),
    });
    let request = lab.request("initialize", params);
    let exchange = lab.send_as(client, &request).await?;
    client.note_sessions(&exchange);
    let session = exchange
        .reply()
        .and_then(|reply| reply.header("mcp-session-id"))
        .map(str::to_owned);
    client.dress.handshake_done(session);
    lab.send_as(
        client,
        &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    )
    .await?;
    Ok(exchange)
}
