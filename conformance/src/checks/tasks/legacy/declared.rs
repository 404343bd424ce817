//! What a server and its tools say of tasks, and what a server without them does.

use super::{declares, start, task_support, tools};
use crate::arguments;
use crate::check::{Check, LEGACY, check};
use crate::checks::tools::each;
use crate::expect::{self, INVALID_REQUEST, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::{Client, Exchange, compose};
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "tasks/support",
        LEGACY,
        support,
        [
            "2025-11-25/tools/task-support-enum",
            "2025-11-25/tasks/capability-declared"
        ]
    ),
    check!(
        "tasks/not-declared",
        LEGACY,
        not_declared,
        ["2025-11-25/tasks/undeclared-ignores-task"]
    ),
    check!(
        "tasks/forbidden",
        LEGACY,
        forbidden,
        ["2025-11-25/tasks/forbidden-32601"]
    ),
    check!(
        "tasks/required",
        LEGACY,
        required,
        [
            "2025-11-25/tasks/required-32601",
            "2025-11-25/tasks/receiver-requires-augmentation"
        ]
    ),
    check!(
        "tasks/not-offered",
        LEGACY,
        not_offered,
        ["2025-11-25/tasks/unadvertised-ops"]
    ),
    check!(
        "tasks/extension-not-honoured",
        LEGACY,
        extension,
        ["2025-11-25/tasks/extension-not-honoured"]
    ),
];

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

/// A result of the call itself, not a task.
fn ordinary(exchange: &Exchange) -> Result<(), String> {
    let result = expect::result(exchange)?;
    match result.get("content") {
        Some(_) => Ok(()),
        None => Err(format!("it is answered with {}", expect::brief(result))),
    }
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
