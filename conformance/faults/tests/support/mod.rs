//! A good server, a fault before it, and a client that says bytes.
#![allow(dead_code, reason = "each test binary uses its part")]

use mcp_hil_faults::{Proxy, find};
use mcp_hil_reference::{Options, Server, serve_http};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Starts the reference server.
pub async fn good(options: Options) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve_http(
        listener,
        Arc::new(Server::new(options)),
        std::future::pending(),
    ));
    address
}

/// The reference server behind a fault.
pub async fn broken(name: &str) -> Proxy {
    let fault = find(name).unwrap_or_else(|| panic!("no fault {name}"));
    Proxy::start(good(Options::default()).await, fault).await.unwrap()
}

pub fn legacy(id: impl Into<Value>, method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params })
}

pub fn modern(id: impl Into<Value>, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    legacy(id, method, params)
}

/// A POST of a message with the headers that belong to it, and others.
pub fn post(message: &Value, headers: &str) -> String {
    let body = message.to_string();
    let own = if message["params"]["_meta"].is_object() {
        let name = message["params"]["name"]
            .as_str()
            .map(|name| format!("Mcp-Name: {name}\r\n"));
        let method = message["method"].as_str().unwrap_or_default();
        format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{}",
            name.unwrap_or_default()
        )
    } else {
        String::new()
    };
    format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{own}{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends bytes, and reads until the answer has come or the connection ends.
pub async fn say(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    hear(&mut stream).await
}

/// What comes until 300 ms are silent or the connection ends.
pub async fn hear(stream: &mut TcpStream) -> String {
    let mut heard = Vec::new();
    while let Ok(Ok(1..)) = timeout(Duration::from_millis(300), stream.read_buf(&mut heard)).await {}
    String::from_utf8_lossy(&heard).into_owned()
}

/// Status and JSON of an answer.
pub fn parse(answer: &str) -> (u16, Value) {
    let status = answer
        .get(9..12)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_default())
}
