//! Scripts over real sockets: what the edge does with bytes, bodies and time.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use mcp_hil_reference::{Options, Server, serve_http};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

struct Running {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

async fn start() -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = Arc::new(Server::new(Options::default()));
    let task = tokio::spawn(serve_http(listener, server, async {
        stopped.await.unwrap_or(())
    }));
    Running { address, stop, task }
}

impl Running {
    /// Sends bytes on a connection of their own and gives all that comes until the server closes it.
    async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes.as_ref()).await.unwrap();
        read_to_end(&mut stream).await
    }
}

async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    timeout(Duration::from_secs(8), stream.read_to_end(&mut answer))
        .await
        .expect("an answer in time")
        .unwrap();
    String::from_utf8(answer).unwrap()
}

/// A POST with a body, on a connection that ends after it.
fn post(body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn status(answer: &str) -> &str {
    answer
        .strip_prefix("HTTP/1.1 ")
        .unwrap_or_default()
        .get(..3)
        .unwrap_or(answer)
}

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[tokio::test]
async fn a_request_is_answered_with_json_of_the_right_length() {
    let answer = start().await.exchange(post(PING)).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert_eq!(status(head), "200");
    assert_eq!(body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    let head = head.to_ascii_lowercase();
    assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
    assert!(head.contains("\r\ncontent-length: 36"), "{head}");
    assert!(!head.contains("mcp-session-id"), "{head}");
}

#[tokio::test]
async fn a_notification_is_answered_with_nothing() {
    let answer = start()
        .await
        .exchange(post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#))
        .await;
    assert_eq!(status(&answer), "202");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn refusals_have_their_status() {
    let server = start().await;
    for (request, wanted) in [
        (
            "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "405",
        ),
        (
            "HEAD /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "405",
        ),
        (
            "DELETE /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "405",
        ),
        (
            "BREW /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "405",
        ),
        (
            "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "204",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "404",
        ),
        ("POST /mcp HTTP/1.1\r\nConnection: close\r\n\r\n", "400"),
        (
            "POST /mcp HTTP/1.1\r\nHost: a\r\nHost: a\r\nConnection: close\r\n\r\n",
            "400",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
            "403",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n",
            "403",
        ),
        (
            "POST http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "403",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "415",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/html\r\n\
             Connection: close\r\n\r\n",
            "406",
        ),
        (
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            "400",
        ),
        ("garbage\r\n\r\n", "400"),
    ] {
        let answer = server.exchange(request).await;
        assert_eq!(status(&answer), wanted, "{request}{answer}");
        let allow = answer
            .to_ascii_lowercase()
            .contains("\r\nallow: post, options\r\n");
        assert_eq!(allow, matches!(wanted, "405" | "204"), "{request}{answer}");
        assert!(
            !answer.to_ascii_lowercase().contains("access-control"),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_body_may_have_16384_bytes_and_no_more() {
    let server = start().await;
    let padded = |length: usize| format!("{PING}{}", " ".repeat(length - PING.len()));
    assert_eq!(status(&server.exchange(post(&padded(16384))).await), "200");
    // The last is more than the buffers between client and server hold.
    for length in [16385, 1 << 20, 12 << 20] {
        assert_eq!(
            status(&server.exchange(post(&padded(length))).await),
            "413",
            "{length}"
        );
    }
    let chunk = "a".repeat(16385);
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\
         Connection: close\r\n\r\n{:x}\r\n{chunk}\r\n0\r\n\r\n",
        chunk.len()
    );
    assert_eq!(status(&server.exchange(chunked).await), "413");
}

#[tokio::test]
async fn chunks_and_segments_may_split_anything() {
    let server = start().await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"世界"}}}"#;
    let head =
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nCONTENT-TYPE: application/json\r\nconnection: close\r\n";
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for byte in body.bytes() {
        chunked.extend_from_slice(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']);
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let mut split = TcpStream::connect(server.address).await.unwrap();
    split.set_nodelay(true).unwrap();
    for byte in post(body).bytes() {
        split.write_all(&[byte]).await.unwrap();
        tokio::task::yield_now().await;
    }
    for answer in [server.exchange(chunked).await, read_to_end(&mut split).await] {
        assert!(
            answer.ends_with(
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"世界"}]}}"#
            )
        );
    }
}

#[tokio::test]
async fn two_requests_on_one_connection_are_both_answered() {
    let server = start().await;
    let first = post(PING).replace("Connection: close\r\n", "");
    let answer = server.exchange(first + &post(&PING.replace(":1,", ":2,"))).await;
    let (at_1, at_2) = (
        answer.find(r#""id":1,"result""#).unwrap(),
        answer.find(r#""id":2,"result""#).unwrap(),
    );
    assert!(at_1 < at_2);
}

#[tokio::test]
async fn parallel_requests_get_their_own_answers() {
    let server = Arc::new(start().await);
    let ask = |n: usize| {
        let server = Arc::clone(&server);
        async move {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":"id-{n}","method":"tools/call","params":{{"name":"echo","arguments":{{"text":"text-{n}"}}}}}}"#
            );
            let golden = format!(
                r#"{{"jsonrpc":"2.0","id":"id-{n}","result":{{"content":[{{"type":"text","text":"text-{n}"}}]}}}}"#
            );
            let answer = server.exchange(post(&body)).await;
            assert!(answer.ends_with(&golden), "{answer}");
        }
    };
    let tasks: Vec<_> = (0..32).map(|n| tokio::spawn(ask(n))).collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn slow_clients_are_ended_and_stop_nobody() {
    let server = start().await;
    let begin = Instant::now();
    let mut slow_head = TcpStream::connect(server.address).await.unwrap();
    slow_head
        .write_all(b"POST /mcp HTTP/1.1\r\nHost: local")
        .await
        .unwrap();
    let mut slow_body = TcpStream::connect(server.address).await.unwrap();
    slow_body
        .write_all(post(PING).trim_end_matches('}').as_bytes())
        .await
        .unwrap();
    let mut silent = Vec::new();
    for _ in 0..16 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(status(&server.exchange(post(PING)).await), "200");
    assert!(begin.elapsed() < Duration::from_secs(1));

    assert_eq!(status(&read_to_end(&mut slow_body).await), "408");
    read_to_end(&mut slow_head).await;
    read_to_end(&mut silent[0]).await;
    let elapsed = begin.elapsed();
    assert!(
        elapsed > Duration::from_secs(4) && elapsed < Duration::from_secs(8),
        "{elapsed:?}"
    );
}

#[tokio::test]
async fn it_stops_when_told_also_with_connections_open() {
    let server = start().await;
    let mut open = TcpStream::connect(server.address).await.unwrap();
    open.write_all(b"POST /mcp HTTP/1.1\r\n").await.unwrap();
    assert_eq!(status(&server.exchange(post(PING)).await), "200");
    server.stop.send(()).unwrap();
    timeout(Duration::from_secs(4), server.task)
        .await
        .expect("stopped in time")
        .unwrap()
        .unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}
