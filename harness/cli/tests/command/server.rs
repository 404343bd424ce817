//! A small legacy MCP server whose answers a test chooses.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Serves each connection on a thread of its own until the test ends; gives the URL.
pub fn serve(handle: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let handle = handle.clone();
            thread::spawn(move || handle(stream));
        }
    });
    url
}

/// Reads a request's method and message; none at the end of the connection.
pub fn request(stream: &mut BufReader<TcpStream>) -> Option<(String, Value)> {
    let (head, message) = request_with_head(stream)?;
    let method = head[0].split(' ').next().unwrap_or_default().to_owned();
    Some((method, message))
}

/// Reads a request's lines, in small letters, and message; none at the end of the connection.
pub fn request_with_head(stream: &mut impl BufRead) -> Option<(Vec<String>, Value)> {
    let (head, message) = exact_request(stream)?;
    Some((
        head.iter().map(|line| line.to_ascii_lowercase()).collect(),
        message,
    ))
}

/// The same in the letters in which it came.
pub fn exact_request(stream: &mut impl BufRead) -> Option<(Vec<String>, Value)> {
    let mut head: Vec<String> = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        head.push(line);
    }
    let length = head
        .iter()
        .find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some((head, serde_json::from_slice(&body).unwrap_or_default()))
}

/// A server that answers each message with what the function gives, and `initialize` and notifications rightly.
pub fn mcp(answer: impl Fn(&Value) -> Value + Send + Sync + Clone + 'static) -> String {
    serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let id = message["id"].clone();
            let text = match message["method"].as_str() {
                _ if id.is_null() => "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
                Some("initialize") => http(&json!({"jsonrpc": "2.0", "id": id, "result": {
                    "protocolVersion": message["params"]["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "test", "version": "1"},
                }})),
                Some("server/discover") => http(
                    &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
                ),
                _ => http(&answer(&message)),
            };
            if writer.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    })
}

/// An answer in HTTP.
pub fn http(message: &Value) -> String {
    let body = message.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// A right answer to a ping.
pub fn pong(message: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "result": {}})
}

/// A server whose answers to pings are written as they stand.
pub fn mcp_text(text: impl Fn(&Value) -> String + Send + Sync + Clone + 'static) -> String {
    serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let text = if message["method"] == "ping" {
                text(&message)
            } else {
                answer(&message)
            };
            let _ = writer.write_all(text.as_bytes());
        }
    })
}

/// Right answers to a handshake.
pub fn answer(message: &Value) -> String {
    match message["method"].as_str() {
        Some("initialize") => http(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {
            "protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {"name": "t", "version": "1"},
        }})),
        Some("server/discover") => {
            http(&json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no"}}))
        }
        Some("notifications/initialized") => "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned(),
        _ => http(&pong(message)),
    }
}
