//! Measures how long requests take on one connection that stays open:
//! `cargo run --release --example latency -- http://127.0.0.1:18791/mcp`. Any MCP server over HTTP will do.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

const WARM_UP: usize = 200;
const REQUESTS: usize = 5000;
const PATIENCE: Duration = Duration::from_secs(10);

fn main() -> Result<()> {
    let url = std::env::args()
        .nth(1)
        .context("which URL? for example http://127.0.0.1:18791/mcp")?;
    let (host, path) = url
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .context("not an http URL")?;
    let mut client = Client::connect(host, path)?;
    for (name, message) in [
        ("ping", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
        ("tools/list", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        (
            "tools/call sensor_read",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sensor_read","arguments":{"channel":"temperature"}}}"#,
        ),
    ] {
        let mut times = Vec::with_capacity(REQUESTS);
        for round in 0..WARM_UP + REQUESTS {
            let start = Instant::now();
            client
                .ask(message)
                .with_context(|| format!("{name}, request {round}"))?;
            if round >= WARM_UP {
                times.push(start.elapsed());
            }
        }
        times.sort_unstable();
        let at = |percent: usize| times.get(REQUESTS * percent / 100).copied().unwrap_or_default();
        println!(
            "{name}: p50 {:?}, p95 {:?}, p99 {:?} of {REQUESTS} requests",
            at(50),
            at(95),
            at(99)
        );
    }
    Ok(())
}

struct Client {
    socket: BufReader<TcpStream>,
    head: String,
}

impl Client {
    fn connect(host: &str, path: &str) -> Result<Self> {
        let socket = TcpStream::connect(host).with_context(|| format!("cannot connect to {host}"))?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST /{path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25\r\n"
        );
        Ok(Self {
            socket: BufReader::new(socket),
            head,
        })
    }

    fn ask(&mut self, message: &str) -> Result<()> {
        let request = format!("{}Content-Length: {}\r\n\r\n{message}", self.head, message.len());
        self.socket.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut line = String::new();
        self.socket.read_line(&mut line)?;
        ensure!(line.starts_with("HTTP/1.1 200 "), "answered {line:?}");
        while line != "\r\n" {
            line.clear();
            ensure!(
                self.socket.read_line(&mut line)? > 0,
                "closed in the middle of an answer"
            );
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.socket.read_exact(&mut body)?;
        ensure!(
            body.windows(9).any(|part| part == b"\"result\":"),
            "answered {}",
            String::from_utf8_lossy(&body)
        );
        Ok(())
    }
}
