//! `Mcp-Name`: the name of what a modern request is about, in a header.

use super::modern_headers::{CODE, STATUS, mismatch};
use super::{NOWHERE, set, unset};
use crate::check::{Check, MODERN, Over, check};
use crate::expect::{self, HEADER_MISMATCH};
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_hil_harness::http::Request;
use serde_json::{Value, json};

const NAME: &str = "Mcp-Name";
const TASKS: &str = "io.modelcontextprotocol/tasks";

pub const CHECKS: &[Check] = &[
    check!(
        "http/name-header-missing",
        MODERN,
        missing,
        ["2026-07-28/http/mcp-name-required", STATUS, CODE]
    )
    .over(Over::Http),
    check!(
        "http/name-header-differs",
        MODERN,
        differs,
        ["2026-07-28/http/mcp-name-matches", STATUS, CODE]
    )
    .over(Over::Http),
    check!(
        "http/name-header-encoded",
        MODERN,
        encoded,
        [
            "2026-07-28/http/mcp-name-base64-decoded",
            "2026-07-28/http/mcp-name-sentinel-case",
            STATUS,
            CODE
        ]
    )
    .over(Over::Http),
    check!(
        "http/name-header-characters",
        MODERN,
        characters,
        ["2026-07-28/http/header-invalid-characters"]
    )
    .over(Over::Http),
    check!(
        "http/name-header-elsewhere",
        MODERN,
        elsewhere,
        ["2026-07-28/http/mcp-name-not-needed-elsewhere"]
    )
    .over(Over::Http),
    check!(
        "http/name-header-of-a-task",
        MODERN,
        of_a_task,
        ["2026-07-28/tasks/header-name-taskid", STATUS, CODE]
    )
    .over(Over::Http),
];

/// A tool whose call must be refused, and which would do no harm if it were not: one that may be called, or one that
/// can't run without arguments.
fn a_tool(lab: &Lab) -> Result<Tool, Stop> {
    lab.needs("tools")?;
    let has_required = |tool: &&Tool| {
        let required = tool.input_schema().get("required").and_then(Value::as_array);
        required.is_some_and(|required| !required.is_empty())
    };
    let tools = &lab.offer().tools;
    let tool = tools.iter().find(|tool| lab.may_call(tool));
    tool.or_else(|| tools.iter().find(has_required))
        .cloned()
        .ok_or_else(|| {
            let reason = "no tool can be named without a risk: none only reads, none has a required argument; allow one with --allow-tool";
            Stop::Skip(reason.to_owned())
        })
}

async fn call(lab: &mut Lab, name: &str) -> Result<(Value, Request), Stop> {
    let message = lab.request("tools/call", json!({"name": name, "arguments": {}}));
    let request = lab.post(&message).await?;
    Ok((message, request))
}

async fn missing(lab: &mut Lab) -> Result<(), Stop> {
    let tool = a_tool(lab)?;
    let (message, mut request) = call(lab, &tool.name).await?;
    unset(&mut request, NAME);
    let row = "2026-07-28/http/mcp-name-required";
    mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await
}

async fn differs(lab: &mut Lab) -> Result<(), Stop> {
    let tool = a_tool(lab)?;
    let row = "2026-07-28/http/mcp-name-matches";
    let other = lab
        .offer()
        .tools
        .iter()
        .map(|other| other.name.clone())
        .find(|other| *other != tool.name && other.is_ascii());
    for value in other.into_iter().chain([NOWHERE.to_owned()]) {
        let (message, mut request) = call(lab, &tool.name).await?;
        set(&mut request, NAME, &value);
        mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await?;
    }
    Ok(())
}

async fn encoded(lab: &mut Lab) -> Result<(), Stop> {
    let tool = a_tool(lab)?;
    let row = "2026-07-28/http/mcp-name-base64-decoded";
    let sentinel = |name: &str| format!("=?base64?{}?=", STANDARD.encode(name));
    let (_, mut request) = call(lab, &tool.name).await?;
    set(&mut request, NAME, &sentinel(&tool.name));
    let exchange = lab.deliver(&request).await?;
    lab.note(row, expect::understood(&exchange, &[HEADER_MISMATCH]), &exchange);
    let (message, mut request) = call(lab, &tool.name).await?;
    set(&mut request, NAME, &sentinel(NOWHERE));
    mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await?;
    let (message, mut request) = call(lab, &tool.name).await?;
    let capitals = sentinel(&tool.name).replacen("=?base64?", "=?BASE64?", 1);
    set(&mut request, NAME, &capitals);
    let row = "2026-07-28/http/mcp-name-sentinel-case";
    mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await
}

/// A name in plain UTF-8, the same in header and body: what is wrong is only how it is written. Below MCP, the HTTP server
/// may refuse it too, and then without a message.
async fn characters(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let name = "mcp-hil-caf\u{e9}";
    let (_, mut request) = call(lab, name).await?;
    set(&mut request, NAME, name);
    let exchange = lab.deliver(&request).await?;
    let row = "2026-07-28/http/header-invalid-characters";
    lab.note(row, expect::has_status(&exchange, &[400]), &exchange);
    let Ok(tool) = a_tool(lab) else { return Ok(()) };
    let (_, mut request) = call(lab, &tool.name).await?;
    set(&mut request, NAME, &format!("{}\u{e9}", tool.name));
    let exchange = lab.deliver(&request).await?;
    lab.note(row, expect::has_status(&exchange, &[400]), &exchange);
    Ok(())
}

async fn elsewhere(lab: &mut Lab) -> Result<(), Stop> {
    let method = if lab.offer().has("tools") {
        "tools/list"
    } else {
        lab.harmless()
    };
    let exchange = lab.ask(method, json!({})).await?;
    let row = "2026-07-28/http/mcp-name-not-needed-elsewhere";
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

async fn of_a_task(lab: &mut Lab) -> Result<(), Stop> {
    if lab
        .offer()
        .capabilities()
        .get("extensions")
        .and_then(|extensions| extensions.get(TASKS))
        .is_none()
    {
        return Err(Stop::Skip(format!(
            "the server does not declare the extension {TASKS:?}"
        )));
    }
    let row = "2026-07-28/tasks/header-name-taskid";
    let params = json!({
        "taskId": NOWHERE,
        "_meta": {"io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}}}
    });
    let message = lab.request("tasks/get", params.clone());
    let mut request = lab.post(&message).await?;
    set(&mut request, NAME, NOWHERE);
    let exchange = lab.deliver(&request).await?;
    lab.note(row, expect::understood(&exchange, &[HEADER_MISMATCH]), &exchange);
    for (name, value) in [(NAME, "mcp-hil-elsewhere"), ("Mcp-Method", "tasks/update")] {
        let message = lab.request("tasks/get", params.clone());
        let mut request = lab.post(&message).await?;
        set(&mut request, NAME, NOWHERE);
        set(&mut request, name, value);
        mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await?;
    }
    Ok(())
}
