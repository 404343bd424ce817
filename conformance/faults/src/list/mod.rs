//! The faults, an area of the clauses a file, and the legal variants. A new one is an entry in a file's list.

mod base;
mod caching;
mod cancellation;
mod http_both;
mod http_legacy;
mod http_modern;
mod jsonrpc;
mod lifecycle;
mod logging;
mod mdns;
mod mrtr;
mod pagination;
mod progress;
mod schema;
mod security;
mod stdio;
mod subscriptions;
mod tasks_legacy;
mod tasks_modern;
mod tools;
mod variants;

use crate::ask::Ask;
use crate::fault::Fault;
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};
use std::sync::LazyLock;

static FAULTS: LazyLock<Vec<Fault>> = LazyLock::new(|| {
    let areas: [(&str, &[&[Fault]]); 16] = [
        ("jsonrpc", &[jsonrpc::FAULTS, base::FAULTS]),
        ("lifecycle", &[lifecycle::FAULTS]),
        (
            "http",
            &[http_both::FAULTS, http_legacy::FAULTS, http_modern::FAULTS],
        ),
        ("security", &[security::FAULTS]),
        ("tools", &[tools::FAULTS]),
        ("schema", &[schema::FAULTS]),
        ("pagination", &[pagination::FAULTS]),
        ("caching", &[caching::FAULTS]),
        ("progress", &[progress::FAULTS]),
        ("cancellation", &[cancellation::FAULTS]),
        ("logging", &[logging::FAULTS]),
        ("tasks", &[tasks_legacy::FAULTS, tasks_modern::FAULTS]),
        ("subscriptions", &[subscriptions::FAULTS]),
        ("mrtr", &[mrtr::FAULTS]),
        ("stdio", &[stdio::FAULTS]),
        ("mdns", mdns::FAULTS),
    ];
    let in_area = |(area, lists): (&'static str, &[&[Fault]])| {
        let faults: Vec<_> = lists
            .iter()
            .flat_map(|list| list.iter())
            .map(|fault| Fault { area, ..*fault })
            .collect();
        faults
    };
    areas.into_iter().flat_map(in_area).collect()
});

/// Every fault.
pub fn faults() -> &'static [Fault] {
    &FAULTS
}

static VARIANTS: LazyLock<Vec<Fault>> = LazyLock::new(|| [variants::VARIANTS, mdns::VARIANTS].concat());

/// Unusual but legal: nothing may fail on them.
pub fn variants() -> &'static [Fault] {
    &VARIANTS
}

/// The fault or variant of this name.
pub fn find(name: &str) -> Option<&'static Fault> {
    faults().iter().chain(variants()).find(|fault| fault.name == name)
}

/// A success in place of a refusal; as much of a result as any method has.
fn served(ask: &Ask) -> Reply {
    served_as(&ask.id())
}

fn served_as(id: &Value) -> Reply {
    Reply::result(
        id,
        json!({ "tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" }),
    )
}

/// The result of a request with this method; none for other messages.
fn result_of<'m>(ask: &Ask, message: &'m mut Value, rpc: &str) -> Option<&'m mut Value> {
    if ask.is(rpc) { result(message) } else { None }
}

fn result(message: &mut Value) -> Option<&mut Value> {
    message.get_mut("result").filter(|result| result.is_object())
}

/// The result of a successful call.
fn call<'m>(ask: &Ask, message: &'m mut Value) -> Option<&'m mut Value> {
    result_of(ask, message, "tools/call")
        .filter(|result| result.get("content").is_some() && result["isError"] != true)
}

/// Each tool of a page.
fn tools(ask: &Ask, message: &mut Value, change: impl FnMut(&mut Value)) {
    if let Some(Value::Array(tools)) =
        result_of(ask, message, "tools/list").and_then(|list| list.get_mut("tools"))
    {
        tools.iter_mut().for_each(change);
    }
}

/// The first tool of a page.
fn first_tool(ask: &Ask, message: &mut Value, change: impl FnOnce(&mut Value)) {
    let mut change = Some(change);
    tools(ask, message, |tool| {
        if let Some(change) = change.take() {
            change(tool);
        }
    });
}

/// Sends a JSON answer as an event stream, where the client takes one.
fn as_stream(ask: &Ask, reply: &mut Reply) {
    let takes = ask
        .headers
        .get("accept")
        .is_some_and(|accept| accept.contains("text/event-stream"));
    if takes && ask.is_request() && reply.status == 200 && reply.headers.media_type() == "application/json" {
        let text = String::from_utf8_lossy(&reply.body);
        reply.body = format!("event: message\ndata: {text}\n\n").into_bytes();
        reply.headers.set("content-type", "text/event-stream");
        reply.headers.set("x-accel-buffering", "no");
        reply.framing = Framing::Chunked(4096);
    }
}

/// Lets `echo` take only texts of a certain form.
fn with_pattern(ask: &Ask, message: &mut Value) {
    tools(ask, message, |tool| {
        if tool["name"] == "echo" {
            tool["inputSchema"]["properties"]["text"]["pattern"] = json!("^[A-Z]{3}-[0-9]{4}$");
        }
    });
}

/// Puts another code in the place of one.
fn recode(message: &mut Value, from: i64, to: impl Into<Value>) {
    if message["error"]["code"] == from {
        message["error"]["code"] = to.into();
    }
}

/// Takes a member out of an object.
fn remove(value: &mut Value, name: &str) {
    if let Some(members) = value.as_object_mut() {
        members.remove(name);
    }
}

/// Changes a member of an object where it is there.
fn change(value: &mut Value, name: &str, change: impl FnOnce(&mut Value)) {
    if let Some(member) = value.get_mut(name) {
        change(member);
    }
}

/// Every string in a value.
fn strings(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| strings(item, change)),
        Value::Object(members) => members.values_mut().for_each(|member| strings(member, change)),
        _ => {}
    }
}

/// A key of `_meta` under the prefix of the protocol.
fn key(name: &str) -> String {
    format!("io.modelcontextprotocol/{name}")
}

/// An interim result, which asks for input.
fn interim(message: &mut Value, change: impl FnOnce(&mut Value)) {
    if let Some(result) = result(message).filter(|result| result["resultType"] == "input_required") {
        change(result);
    }
}

/// Puts in what a modern request must have in `_meta` and has not.
fn complete_meta(ask: &mut Ask) {
    ask.edit(|message| {
        let fits = |value: &Value| value.is_object() || value.is_null();
        if !message.is_object() || !fits(&message["params"]) || !fits(&message["params"]["_meta"]) {
            return;
        }
        let meta = &mut message["params"]["_meta"];
        if !meta[key("protocolVersion")].is_string() {
            meta[key("protocolVersion")] = json!("2026-07-28");
        }
        if !meta[key("clientCapabilities")].is_object() {
            meta[key("clientCapabilities")] = json!({});
        }
    });
}
