//! Lines both ways, with a fault between.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_faults::{find, relay};
use mcp_hil_reference::{Options, Server, serve_stdio};
use serde_json::json;
use std::time::Duration;
use support::modern;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::time::timeout;

/// What a server behind this fault says to this input, and how often the fault changed something.
async fn play(name: &'static str, input: String) -> (String, u64) {
    // A pipe each way and side: the end of one is its writer's drop.
    let pipe = || duplex(1 << 20);
    let ((mut said, client_in), (client_out, mut heard)) = (pipe(), pipe());
    let ((to_server, server_in), (server_out, from_server)) = (pipe(), pipe());
    tokio::spawn(async move { serve_stdio(server_in, server_out, &Server::new(Options::default())).await });
    let relayed = tokio::spawn(relay(
        find(name).unwrap(),
        client_in,
        client_out,
        to_server,
        from_server,
    ));
    said.write_all(input.as_bytes()).await.unwrap();
    drop(said);
    let mut text = String::new();
    timeout(Duration::from_secs(5), heard.read_to_string(&mut text))
        .await
        .expect("an end in time")
        .unwrap();
    (text, relayed.await.unwrap().unwrap())
}

#[tokio::test]
async fn a_message_is_rewritten() {
    let (text, changed) = play(
        "no-result-type",
        format!("{}\n", modern(1, "server/discover", json!({}))),
    )
    .await;
    assert!(
        text.contains("supportedVersions") && !text.contains("resultType"),
        "{text}"
    );
    assert_eq!(changed, 1);
}

#[tokio::test]
async fn a_banner_comes_before_the_first_message() {
    let discover = modern(1, "server/discover", json!({}));
    let (text, changed) = play("banner", format!("{discover}\n{discover}\n")).await;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!((lines.len(), lines[0], changed), (3, "MCP server ready", 1));
}

#[tokio::test]
async fn all_but_the_first_line_of_a_read_are_lost() {
    let discover = |id: i64| modern(id, "server/discover", json!({}));
    let (text, changed) = play("second-line-lost", format!("{}\n{}\n", discover(1), discover(2))).await;
    assert_eq!((text.lines().count(), changed), (1, 1));
    assert!(text.contains(r#""id":1"#), "{text}");
}
