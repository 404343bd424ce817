//! What the proxy changes, and what it leaves alone: a client's bytes, and what comes back.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::Options;
use serde_json::{Value, json};
use std::time::Duration;
use support::{broken, good, hear, legacy, modern, parse, post, say};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

/// Does nothing over HTTP.
const NOTHING: &str = "outlives-input";

#[tokio::test]
async fn what_no_fault_touches_comes_through_byte_by_byte() {
    let proxy = broken(NOTHING).await;
    let direct = good(Options::default()).await;
    let chunked = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n\
                   5\r\n{\"jso\r\n29\r\nnrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}       \r\n0\r\n\r\n";
    for bytes in [
        post(&legacy(1, "ping", json!({})), ""),
        post(&modern("é", "server/discover", json!({})), ""),
        post(&legacy(1, "ping", json!({})), "Origin: http://evil.example\r\n"),
        post(&legacy(1, "ping", json!({})), "Expect: 100-continue\r\n"),
        chunked.to_owned(),
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "BREW /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        "nonsense\r\n\r\n".to_owned(),
        post(&legacy(1, "ping", json!({})), "Content-Length: 1\r\n"),
        post(&legacy(1, "ping", json!({})), "Connection: close\r\n"),
        post(&legacy(1, "ping", json!({})), "").repeat(3),
    ] {
        let dateless = |answer: String| {
            let lines: Vec<_> = answer
                .lines()
                .filter(|line| !line.starts_with("date:"))
                .map(str::to_owned)
                .collect();
            lines.join("\n")
        };
        let (through, straight) = (say(proxy.address(), &bytes).await, say(direct, &bytes).await);
        assert!(!straight.is_empty(), "{bytes}");
        assert_eq!(dateless(through), dateless(straight), "{bytes}");
    }
    assert_eq!(proxy.changed(), 0);
}

#[tokio::test]
async fn a_request_in_pieces_comes_through() {
    let proxy = broken(NOTHING).await;
    let bytes = post(&legacy("größe", "ping", json!({})), "");
    let mut stream = TcpStream::connect(proxy.address()).await.unwrap();
    let cut = bytes.find('ö').unwrap() + 1;
    for (piece, pause) in [
        (&bytes.as_bytes()[..40], 20),
        (&bytes.as_bytes()[40..cut], 600),
        (&bytes.as_bytes()[cut..], 0),
    ] {
        stream.write_all(piece).await.unwrap();
        sleep(Duration::from_millis(pause)).await;
    }
    assert_eq!(
        parse(&hear(&mut stream).await),
        (200, json!({ "jsonrpc": "2.0", "id": "größe", "result": {} }))
    );
}

#[tokio::test]
async fn a_message_is_rewritten() {
    let proxy = broken("id-number-to-string").await;
    let answer = parse(&say(proxy.address(), post(&legacy(7, "ping", json!({})), "")).await);
    assert_eq!(
        answer,
        (200, json!({ "jsonrpc": "2.0", "id": "7", "result": {} }))
    );
    assert_eq!(proxy.changed(), 1);
    // What it is not about stays.
    let answer = parse(&say(proxy.address(), post(&legacy("a", "ping", json!({})), "")).await);
    assert_eq!((answer.1["id"].clone(), proxy.changed()), (json!("a"), 1));
}

#[tokio::test]
async fn a_request_is_rewritten() {
    let proxy = broken("modern-origin-ignored").await;
    let request = post(
        &modern(1, "server/discover", json!({})),
        "Origin: http://evil.example\r\n",
    );
    assert_eq!(parse(&say(proxy.address(), request).await).0, 200);
    // The other era keeps its rule.
    let request = post(&legacy(1, "ping", json!({})), "Origin: http://evil.example\r\n");
    assert_eq!(parse(&say(proxy.address(), request).await).0, 403);
    assert_eq!(proxy.changed(), 1);
}

#[tokio::test]
async fn the_server_is_stood_in_for() {
    let proxy = broken("bad-json-html").await;
    let request =
        post(&Value::Null, "").replace("Content-Length: 4\r\n\r\nnull", "Content-Length: 1\r\n\r\n{");
    let answer = say(proxy.address(), request).await;
    assert!(
        answer.starts_with("HTTP/1.1 500 ") && answer.ends_with("<h1>500 Internal Server Error</h1>"),
        "{answer}"
    );
    assert_eq!(proxy.changed(), 1);
}

#[tokio::test]
async fn bytes_are_broken() {
    let ping = post(&legacy(1, "ping", json!({})), "");
    let proxy = broken("length-too-long").await;
    let answer = say(proxy.address(), &ping).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains(&format!("content-length: {}", body.len() + 1)),
        "{head}"
    );

    let proxy = broken("body-cut").await;
    let answer = say(proxy.address(), &ping).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let promised = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .unwrap();
    assert_eq!(body.len(), promised.parse::<usize>().unwrap() / 2);

    let proxy = broken("get-unanswered").await;
    let answer = say(proxy.address(), "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!((&*answer, proxy.changed()), ("", 1));
}

#[tokio::test]
async fn a_server_that_died_is_dead_on_every_connection() {
    let proxy = broken("bad-json-kills").await;
    let ping = post(&legacy(1, "ping", json!({})), "");
    assert_eq!(parse(&say(proxy.address(), &ping).await).0, 200);
    let bad = ping
        .replace("{\"id\"", "[\"id\"")
        .replace("{\"jsonrpc\"", "[\"jsonrpc\"");
    assert_eq!(say(proxy.address(), bad).await, "");
    assert_eq!(say(proxy.address(), &ping).await, "");
}

#[tokio::test]
async fn json_becomes_a_stream() {
    let proxy = broken("stream-with-comments").await;
    let answer = say(
        proxy.address(),
        post(&modern(1, "server/discover", json!({})), ""),
    )
    .await;
    assert!(answer.contains("content-type: text/event-stream\r\n"), "{answer}");
    assert!(
        answer.contains(": hello\r\n\r\n") && answer.ends_with("0\r\n\r\n"),
        "{answer}"
    );
}

/// Every tool, over pages of one.
#[tokio::test]
async fn pages_of_one_hold_every_tool() {
    let proxy = broken("one-tool-a-page").await;
    let (mut names, mut params) = (Vec::new(), json!({}));
    for _ in 0..40 {
        let page = parse(&say(proxy.address(), post(&legacy(1, "tools/list", params), "")).await).1["result"]
            .clone();
        assert_eq!(page["tools"].as_array().unwrap().len(), 1, "{page}");
        names.push(page["tools"][0]["name"].as_str().unwrap().to_owned());
        match page["nextCursor"].as_str() {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert_eq!(
        (names.len(), &*names[0], &*names[13]),
        (14, "device_info", "job_stop_all")
    );
    let bogus = post(&legacy(1, "tools/list", json!({ "cursor": "1.x" })), "");
    assert_eq!(
        parse(&say(proxy.address(), bogus).await).1["error"]["code"],
        -32602
    );
}
