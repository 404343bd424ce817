//! Scripts over stdio: a line each way.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::Options;
use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, error, initialize, legacy_request, modern_request};
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

fn start() -> Client {
    Client::start(Options::default(), 64, Duration::from_secs(5))
}

#[tokio::test]
async fn legacy_begins_with_a_handshake() {
    let mut client = start();
    // Too early, `ping` apart.
    let early = client.ask(legacy_request(1, "tools/list", json!({}))).await;
    assert_eq!(error(&early), (-32600, &json!(1)));
    assert_eq!(
        client.ask(legacy_request(2, "ping", json!({}))).await["result"],
        json!({})
    );
    // A handshake that fails opens nothing.
    assert_eq!(
        error(&client.ask(legacy_request(3, "initialize", json!({}))).await).0,
        -32602
    );
    assert_eq!(
        error(&client.ask(legacy_request(4, "tools/list", json!({}))).await).0,
        -32600
    );

    let answer = client.ask(initialize(5, "2025-06-18")).await;
    assert_eq!(answer["result"]["protocolVersion"], "2025-06-18");
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let page = client.ask(legacy_request(6, "tools/list", json!({}))).await;
    assert_eq!(
        (&page["id"], page["result"]["tools"].as_array().map(Vec::len)),
        (&json!(6), Some(4))
    );
    assert_eq!(
        error(&client.ask(legacy_request(7, "no/such", json!({}))).await),
        (-32601, &json!(7))
    );
    client.end().await;
}

#[tokio::test]
async fn modern_needs_no_handshake_and_no_headers() {
    let mut client = start();
    let discovered = client.ask(modern_request(1, "server/discover", json!({}))).await;
    assert_eq!(
        discovered["result"]["supportedVersions"],
        json!(["2026-07-28", "2025-11-25", "2025-06-18"])
    );
    let call = json!({ "name": "echo", "arguments": { "text": "世界\n" } });
    let answer = client.ask(modern_request(2, "tools/call", call)).await;
    assert_eq!(
        answer["result"]["content"],
        json!([{ "type": "text", "text": "世界\n" }])
    );
    assert_eq!(answer["result"]["resultType"], "complete");
    for method in ["initialize", "ping"] {
        assert_eq!(
            error(&client.ask(modern_request(3, method, json!({}))).await),
            (-32601, &json!(3))
        );
    }
    let mut other = modern_request(4, "tools/list", json!({}));
    other["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    let answer = client.ask(other).await;
    assert_eq!(
        (error(&answer), &answer["error"]["data"]["requested"]),
        ((-32022, &json!(4)), &json!("2027-01-01"))
    );
    let mut bare = modern_request(5, "tools/list", json!({}));
    bare["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
    assert_eq!(error(&client.ask(bare).await), (-32602, &json!(5)));
    client.end().await;
}

#[tokio::test]
async fn each_message_says_its_own_era() {
    let mut client = start();
    client.ask(initialize(1, "2025-11-25")).await;
    let modern = client.ask(modern_request(2, "tools/list", json!({}))).await;
    assert_eq!(modern["result"]["resultType"], "complete");
    let legacy = client.ask(legacy_request(3, "tools/list", json!({}))).await;
    assert_eq!(legacy["result"].get("resultType"), None);
    client.end().await;
}

#[tokio::test]
async fn a_bad_line_is_answered_and_the_next_one_served() {
    let mut client = start();
    for (line, code) in [
        (&b"{"[..], -32700),
        (b"", -32700),
        (b"\"\xff\"", -32700),
        (b"[]", -32600),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
    ] {
        client.send(line).await;
        assert_eq!(
            error(&client.answer().await),
            (code, &Value::Null),
            "{}",
            String::from_utf8_lossy(line)
        );
    }
    let padded = |length: usize| format!("{:length$}", r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    client.send(padded(16384)).await;
    assert_eq!(client.answer().await["result"], json!({}));
    client.send(padded(16385)).await;
    assert_eq!(error(&client.answer().await), (-32600, &Value::Null));
    // A line may end in CR LF.
    client
        .send("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\r")
        .await;
    assert_eq!(
        client.answer().await,
        json!({ "jsonrpc": "2.0", "id": 2, "result": {} })
    );
    client.end().await;
}

#[tokio::test]
async fn requests_in_one_go_are_all_answered_and_the_last_line_needs_no_end() {
    let mut client = start();
    let lines: Vec<_> = (1..=20)
        .map(|id| legacy_request(id, "ping", json!({})).to_string())
        .collect();
    let Client {
        mut input,
        mut output,
        task,
        ..
    } = {
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
            .await;
        client
    };
    let text = lines.join("\n");
    let writer = tokio::spawn(async move {
        input.write_all(text.as_bytes()).await.unwrap();
        input.shutdown().await.unwrap();
    });
    let mut ids = Vec::new();
    while let Some(line) = timeout(Duration::from_secs(5), output.next_line())
        .await
        .unwrap()
        .unwrap()
    {
        ids.push(
            serde_json::from_str::<Value>(&line).unwrap()["id"]
                .as_i64()
                .unwrap(),
        );
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    writer.await.unwrap();
    task.await.unwrap().unwrap();
}
