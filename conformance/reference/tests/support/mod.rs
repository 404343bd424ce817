//! Both sides of a script: what a client sends, and how an answer reads.
#![allow(dead_code, unused_imports, reason = "each test binary uses its part")]

mod client;

pub use client::Client;

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue, Request, Response};
use mcp_hil_reference::Server;
use serde_json::{Value, json};
use std::sync::LazyLock;
use tokio::runtime::{Builder, Runtime};

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().unwrap());

/// A header that is put in place of the usual one; an empty value leaves it out.
pub type Change<'a> = (&'static str, &'a str);

/// POSTs a body as a legacy client does.
pub fn post(server: &Server, body: impl Into<Bytes>, changes: &[Change]) -> (u16, Value) {
    let response = RUNTIME.block_on(server.answer(&request(body.into(), changes)));
    (response.status().as_u16(), parse(&response))
}

/// POSTs a legacy message, which must be answered with this status.
pub fn legacy(server: &Server, status: u16, message: Value) -> Value {
    let (got, answer) = post(
        server,
        message.to_string(),
        &[("mcp-protocol-version", "2025-11-25")],
    );
    assert_eq!(got, status, "{message} -> {answer}");
    answer
}

/// POSTs a modern message with the headers that belong to it.
pub fn modern(server: &Server, status: u16, message: Value) -> Value {
    modern_with(server, status, message, &[])
}

pub fn modern_with(server: &Server, status: u16, message: Value, changes: &[Change]) -> Value {
    let method = message["method"].as_str().unwrap_or_default().to_owned();
    let name = message["params"]["name"].as_str().unwrap_or_default().to_owned();
    let mut headers = vec![
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", &*method),
        ("mcp-name", &*name),
    ];
    headers.retain(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    headers.extend(changes);
    let (got, answer) = post(server, message.to_string(), &headers);
    assert_eq!(got, status, "{message} -> {answer}");
    answer
}

/// A modern request: `params` with the `_meta` that every request has.
pub fn modern_request(id: i64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "script", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub fn legacy_request(id: i64, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

pub fn initialize(id: i64, version: &str) -> Value {
    let client = json!({ "name": "script", "version": "1" });
    legacy_request(
        id,
        "initialize",
        json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client }),
    )
}

/// The code of an error answer and its id.
pub fn error(answer: &Value) -> (i64, &Value) {
    assert_eq!(answer["jsonrpc"], "2.0", "{answer}");
    assert!(
        answer["error"]["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{answer}"
    );
    (
        answer["error"]["code"].as_i64().expect("an integer code"),
        &answer["id"],
    )
}

fn request(body: Bytes, changes: &[Change]) -> Request<Bytes> {
    let mut request = Request::new(body);
    *request.method_mut() = "POST".parse().unwrap();
    *request.uri_mut() = "/mcp".parse().unwrap();
    let usual = [
        ("host", "127.0.0.1:8000"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ];
    let usual = usual
        .into_iter()
        .filter(|(name, _)| !changes.iter().any(|(changed, _)| changed == name));
    for (name, value) in usual
        .chain(changes.iter().copied())
        .filter(|(_, value)| !value.is_empty())
    {
        let value = HeaderValue::from_str(value).unwrap();
        request.headers_mut().append(HeaderName::from_static(name), value);
    }
    request
}

fn parse(response: &Response<Bytes>) -> Value {
    let json = response
        .headers()
        .get("content-type")
        .is_some_and(|value| value == "application/json");
    if json {
        serde_json::from_slice(response.body()).unwrap()
    } else {
        Value::Null
    }
}
