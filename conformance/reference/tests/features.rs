//! Scripts of what features add, over a socket: what a client sends, and what the server says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::{Feature, Options, Server, serve_http};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use support::{initialize, legacy_request, modern_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

const TASKS: &str = "io.modelcontextprotocol/tasks";
const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

struct Lab {
    address: SocketAddr,
    /// Dropped, it stops the server.
    stop: Option<oneshot::Sender<()>>,
}

async fn server<const N: usize>(features: [Feature; N]) -> Lab {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let options = Options {
        features: features.into_iter().collect(),
        ..Options::default()
    };
    let server = Arc::new(Server::new(options));
    tokio::spawn(serve_http(listener, server, async { drop(stopped.await) }));
    Lab {
        address,
        stop: Some(stop),
    }
}

/// What a server said to one request.
struct Heard {
    status: u16,
    head: String,
    body: String,
}

impl Heard {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {:?}", self.body))
    }

    /// The messages of an event stream.
    fn events(&self) -> Vec<Value> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let data = data.filter(|data| !data.is_empty());
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }

    fn event_ids(&self) -> Vec<&str> {
        self.body
            .lines()
            .filter_map(|line| line.strip_prefix("id: "))
            .collect()
    }
}

impl Lab {
    async fn send(&self, method: &str, headers: &[(&str, &str)], message: Option<&Value>) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let body = message.map(Value::to_string).unwrap_or_default();
        let mut head = format!(
            "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n",
            body.len()
        );
        let usual = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Connection", "close"),
        ];
        for (name, value) in usual.iter().chain(headers) {
            head += &format!("{name}: {value}\r\n");
        }
        stream
            .write_all(format!("{head}\r\n{body}").as_bytes())
            .await
            .unwrap();
        stream
    }

    async fn ask(&self, method: &str, headers: &[(&str, &str)], message: Option<&Value>) -> Heard {
        let mut stream = self.send(method, headers, message).await;
        hear(&mut stream, Duration::from_secs(5)).await
    }

    async fn legacy(&self, message: Value) -> Heard {
        self.ask("POST", &[("MCP-Protocol-Version", "2025-11-25")], Some(&message))
            .await
    }

    async fn modern(&self, message: Value) -> Heard {
        self.ask("POST", &as_str(&modern_headers(&message)), Some(&message))
            .await
    }
}

fn modern_headers(message: &Value) -> Vec<(&'static str, String)> {
    let params = &message["params"];
    let name = params["name"].as_str().or(params["taskId"].as_str());
    let mut headers = vec![
        ("MCP-Protocol-Version", "2026-07-28".to_owned()),
        ("Mcp-Method", message["method"].as_str().unwrap().to_owned()),
    ];
    headers.extend(name.map(|name| ("Mcp-Name", name.to_owned())));
    headers
}

fn as_str<'h>(headers: &'h [(&'static str, String)]) -> Vec<(&'static str, &'h str)> {
    headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

/// What comes until the connection ends, or for so long.
async fn hear(stream: &mut TcpStream, most: Duration) -> Heard {
    let mut bytes = Vec::new();
    timeout(most, async {
        while stream.read_buf(&mut bytes).await.unwrap() > 0 {}
    })
    .await
    .ok();
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head in {text:?}"));
    let status = head[9..12].parse().unwrap();
    let chunked = head.contains("transfer-encoding: chunked");
    // The lines of the coding are between the chunks, and none of them looks like a field of an event.
    let body = if chunked {
        body.replace("\r\n", "\n")
    } else {
        body.to_owned()
    };
    Heard {
        status,
        head: head.to_owned(),
        body,
    }
}

fn call(id: i64, name: &str, arguments: Value, meta: Value) -> Value {
    legacy_request(
        id,
        "tools/call",
        json!({ "name": name, "arguments": arguments, "_meta": meta }),
    )
}

/// A modern request of a client with these capabilities.
fn capable(id: i64, method: &str, params: Value, capabilities: Value) -> Value {
    let mut message = modern_request(id, method, params);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    message
}

fn with_tasks(id: i64, method: &str, params: Value) -> Value {
    capable(id, method, params, json!({ "extensions": { TASKS: {} } }))
}

#[tokio::test]
async fn a_session_is_given_demanded_and_ended() {
    let lab = server([Feature::Sessions]).await;
    let begun = lab.ask("POST", &[], Some(&initialize(0, "2025-11-25"))).await;
    let id = begun.header("mcp-session-id").expect("a session id").to_owned();
    assert!(
        begun.status == 200 && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)),
        "{id}"
    );

    let ping = legacy_request(1, "ping", json!({}));
    let session = [("MCP-Session-Id", id.as_str())];
    assert_eq!(lab.ask("POST", &session, Some(&ping)).await.status, 200);
    assert_eq!(lab.ask("POST", &[], Some(&ping)).await.status, 400);
    assert_eq!(
        lab.ask("POST", &[("MCP-Session-Id", "nope")], Some(&ping))
            .await
            .status,
        404
    );
    let note = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(lab.ask("POST", &session, Some(&note)).await.status, 202);
    assert_eq!(
        lab.ask("POST", &[("MCP-Session-Id", "nope")], Some(&note))
            .await
            .status,
        404
    );

    let other = lab.ask("POST", &[], Some(&initialize(0, "2025-11-25"))).await;
    let other = other.header("mcp-session-id").unwrap().to_owned();
    assert_ne!(other, id);
    assert_eq!(lab.ask("DELETE", &[], None).await.status, 400);
    assert_eq!(lab.ask("DELETE", &session, None).await.status, 204);
    assert_eq!(lab.ask("DELETE", &session, None).await.status, 404);
    assert_eq!(lab.ask("POST", &session, Some(&ping)).await.status, 404);
    assert_eq!(
        lab.ask("POST", &[("MCP-Session-Id", &other)], Some(&ping))
            .await
            .status,
        200
    );

    // The modern era has none.
    let modern = lab.modern(modern_request(1, "server/discover", json!({}))).await;
    assert_eq!((modern.status, modern.header("mcp-session-id")), (200, None));
}

#[tokio::test]
async fn a_legacy_stream_is_primed_and_can_be_resumed() {
    let lab = server([Feature::Streams]).await;
    let heard = lab.legacy(legacy_request(1, "ping", json!({}))).await;
    assert_eq!(heard.header("content-type"), Some("text/event-stream"));
    assert_eq!(
        heard.events(),
        [json!({ "jsonrpc": "2.0", "id": 1, "result": {} })]
    );
    let ids: Vec<_> = heard.event_ids().into_iter().map(str::to_owned).collect();
    assert_eq!(ids.len(), 2, "{}", heard.body);

    let version = ("MCP-Protocol-Version", "2025-11-25");
    let rest = lab.ask("GET", &[version, ("Last-Event-ID", &ids[0])], None).await;
    assert_eq!(
        rest.events(),
        [json!({ "jsonrpc": "2.0", "id": 1, "result": {} })]
    );
    let rest = lab.ask("GET", &[version, ("Last-Event-ID", &ids[1])], None).await;
    assert_eq!((rest.status, rest.events().len()), (200, 0));
    assert_eq!(
        lab.ask("GET", &[version, ("Last-Event-ID", "zzz")], None)
            .await
            .status,
        400
    );

    // A client that takes no streams gets none.
    let plain = lab
        .ask(
            "POST",
            &[("Accept", "application/json;q=1, text/event-stream;q=0")],
            None,
        )
        .await;
    assert_ne!(plain.header("content-type"), Some("text/event-stream"));
    // Polling is not streamed, nor is a refusal.
    assert_eq!(
        lab.legacy(json!([])).await.header("content-type"),
        Some("application/json")
    );
}

#[tokio::test]
async fn the_get_stream_is_legacy_and_says_no_response() {
    let lab = server([Feature::Streams]).await;
    let mut stream = lab
        .send("GET", &[("MCP-Protocol-Version", "2025-11-25")], None)
        .await;
    lab.legacy(legacy_request(1, "ping", json!({}))).await;
    let heard = hear(&mut stream, Duration::from_millis(300)).await;
    assert_eq!(
        (heard.status, heard.events().len(), heard.event_ids().len()),
        (200, 0, 1)
    );
    assert_eq!(
        lab.ask("GET", &[("MCP-Protocol-Version", "2026-07-28")], None)
            .await
            .status,
        405
    );
}

#[tokio::test]
async fn a_modern_stream_has_no_ids() {
    let lab = server([Feature::Streams]).await;
    let heard = lab.modern(modern_request(1, "tools/list", json!({}))).await;
    assert_eq!(heard.header("x-accel-buffering"), Some("no"));
    assert_eq!((heard.events().len(), heard.event_ids().len()), (1, 0));
    assert_eq!(heard.events()[0]["result"]["resultType"], "complete");
}

#[tokio::test]
async fn progress_comes_under_its_token_and_only_with_one() {
    let lab = server([Feature::Progress]).await;
    let count = json!({ "to": 3, "step_ms": 1 });
    for token in [json!("p"), json!(7)] {
        let heard = lab
            .legacy(call(
                1,
                "slow_count",
                count.clone(),
                json!({ "progressToken": token }),
            ))
            .await;
        let events = heard.events();
        let told: Vec<_> = events[..3]
            .iter()
            .map(|event| event["params"]["progress"].clone())
            .collect();
        assert_eq!(told, [json!(1), json!(2), json!(3)]);
        assert!(
            events[..3]
                .iter()
                .all(|event| event["params"]["progressToken"] == token),
            "{events:?}"
        );
        assert_eq!(events[3]["result"]["content"][0]["text"], "counted to 3");
    }
    // Nothing to say ahead of the answer, so no stream.
    let heard = lab.legacy(call(1, "slow_count", count, json!({}))).await;
    assert_eq!(heard.json()["result"]["content"][0]["text"], "counted to 3");
    let bad = lab
        .legacy(call(1, "slow_count", json!({}), json!({ "progressToken": {} })))
        .await;
    assert_eq!(bad.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn a_cancelled_request_of_a_session_gets_no_response() {
    let lab = server([Feature::Progress, Feature::Sessions, Feature::Streams]).await;
    let begun = lab.ask("POST", &[], Some(&initialize(0, "2025-11-25"))).await;
    let id = begun.header("mcp-session-id").unwrap().to_owned();
    let session = [("MCP-Session-Id", id.as_str())];
    let slow = call(
        9,
        "slow_count",
        json!({ "to": 20, "step_ms": 250 }),
        json!({ "progressToken": 1 }),
    );
    let mut stream = lab.send("POST", &session, Some(&slow)).await;
    sleep(Duration::from_millis(400)).await;
    let cancel = |id: Value| json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    // An id of another type is another id.
    assert_eq!(
        lab.ask("POST", &session, Some(&cancel(json!("9")))).await.status,
        202
    );
    sleep(Duration::from_millis(300)).await;
    assert_eq!(
        lab.ask("POST", &session, Some(&cancel(json!(9)))).await.status,
        202
    );
    let events = hear(&mut stream, Duration::from_secs(2)).await.events();
    assert!(
        events.len() >= 2 && events.iter().all(|event| event.get("id").is_none()),
        "{events:?}"
    );
}

#[tokio::test]
async fn logs_come_at_and_above_the_level() {
    let lab = server([Feature::Logging]).await;
    let count = json!({ "to": 2, "step_ms": 1, "fail": true });
    let levels = |heard: Heard| -> Vec<String> {
        let events = heard.events();
        let levels = events
            .iter()
            .filter_map(|event| event["params"]["level"].as_str());
        levels.map(str::to_owned).collect()
    };
    // Legacy: info until the client says otherwise.
    assert_eq!(
        levels(lab.legacy(call(1, "slow_count", count.clone(), json!({}))).await),
        ["info", "error"]
    );
    for level in [
        "debug",
        "info",
        "notice",
        "warning",
        "error",
        "critical",
        "alert",
        "emergency",
    ] {
        let set = lab
            .legacy(legacy_request(2, "logging/setLevel", json!({ "level": level })))
            .await;
        assert_eq!(set.json()["result"], json!({}), "{level}");
    }
    assert_eq!(
        lab.legacy(legacy_request(2, "logging/setLevel", json!({ "level": "error" })))
            .await
            .status,
        200
    );
    assert_eq!(
        levels(lab.legacy(call(1, "slow_count", count.clone(), json!({}))).await),
        ["error"]
    );
    let loud = lab
        .legacy(legacy_request(2, "logging/setLevel", json!({ "level": "loud" })))
        .await;
    assert_eq!(loud.json()["error"]["code"], -32602);

    // Modern: nothing unless the request asks.
    let mut modern = modern_request(
        1,
        "tools/call",
        json!({ "name": "slow_count", "arguments": count }),
    );
    assert_eq!(lab.modern(modern.clone()).await.json()["result"]["isError"], true);
    modern["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    assert_eq!(
        levels(lab.modern(modern.clone()).await),
        ["info", "debug", "debug", "error"]
    );
    modern["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
    assert_eq!(lab.modern(modern).await.json()["error"]["code"], -32602);
}

#[tokio::test]
async fn a_legacy_task_is_made_waited_for_and_cancelled() {
    let lab = server([Feature::Tasks]).await;
    let augmented = |arguments: Value| {
        let params = json!({ "name": "slow_count", "arguments": arguments, "task": { "ttl": 5000 } });
        legacy_request(1, "tools/call", params)
    };
    let task = lab
        .legacy(augmented(json!({ "to": 2, "step_ms": 50 })))
        .await
        .json()["result"]["task"]
        .clone();
    assert_eq!((&task["status"], &task["ttl"]), (&json!("working"), &json!(5000)));
    let id = json!({ "taskId": task["taskId"] });
    let result = lab
        .legacy(legacy_request(2, "tasks/result", id.clone()))
        .await
        .json()["result"]
        .clone();
    assert_eq!(result["content"][0]["text"], "counted to 2");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/related-task"], id);
    let done = lab
        .legacy(legacy_request(3, "tasks/get", id.clone()))
        .await
        .json()["result"]
        .clone();
    assert_eq!(
        (&done["status"], &done["createdAt"]),
        (&json!("completed"), &task["createdAt"])
    );
    let late = lab.legacy(legacy_request(4, "tasks/cancel", id)).await.json();
    assert_eq!(late["error"]["code"], -32602);

    let task = lab
        .legacy(augmented(json!({ "to": 20, "step_ms": 250 })))
        .await
        .json()["result"]["task"]
        .clone();
    let id = json!({ "taskId": task["taskId"] });
    let cancelled = lab
        .legacy(legacy_request(5, "tasks/cancel", id.clone()))
        .await
        .json()["result"]
        .clone();
    assert_eq!(
        (&cancelled["status"], &cancelled["taskId"]),
        (&json!("cancelled"), &task["taskId"])
    );
    let still = lab.legacy(legacy_request(6, "tasks/get", id)).await.json();
    assert_eq!(still["result"]["status"], "cancelled");

    let failed = lab
        .legacy(augmented(json!({ "to": 1, "step_ms": 0, "fail": true })))
        .await
        .json();
    let id = json!({ "taskId": failed["result"]["task"]["taskId"] });
    let why = lab
        .legacy(legacy_request(7, "tasks/result", id.clone()))
        .await
        .json()["result"]
        .clone();
    assert_eq!(why["isError"], true);
    let failed = lab.legacy(legacy_request(8, "tasks/get", id)).await.json()["result"].clone();
    assert_eq!(
        (&failed["status"], failed["statusMessage"].is_string()),
        (&json!("failed"), true)
    );

    let unknown = legacy_request(9, "tasks/get", json!({ "taskId": "nope" }));
    assert_eq!(lab.legacy(unknown).await.json()["error"]["code"], -32602);
    // Without sessions nobody can be told whose tasks are listed.
    let list = lab
        .legacy(legacy_request(9, "tasks/list", json!({})))
        .await
        .json();
    assert_eq!(list["error"]["code"], -32601);
    let required = call(9, "long_count", json!({}), json!({}));
    assert_eq!(lab.legacy(required).await.json()["error"]["code"], -32601);
    let forbidden = json!({ "name": "echo", "arguments": { "text": "x" }, "task": {} });
    let forbidden = legacy_request(9, "tools/call", forbidden);
    assert_eq!(lab.legacy(forbidden).await.json()["error"]["code"], -32601);
}

#[tokio::test]
async fn a_modern_task_is_made_for_who_knows_tasks() {
    let lab = server([Feature::Tasks]).await;
    let count = json!({ "name": "slow_count", "arguments": { "to": 2, "step_ms": 50 } });
    let plain = lab
        .modern(modern_request(1, "tools/call", count.clone()))
        .await
        .json();
    assert_eq!(plain["result"]["content"][0]["text"], "counted to 2");
    let made = lab.modern(with_tasks(2, "tools/call", count)).await.json()["result"].clone();
    assert_eq!(
        (&made["resultType"], &made["status"]),
        (&json!("task"), &json!("working"))
    );
    assert!(
        made["ttlMs"].is_u64() && made["ttl"].is_null() && made["content"].is_null(),
        "{made}"
    );
    let id = json!({ "taskId": made["taskId"] });
    let get = || with_tasks(3, "tasks/get", id.clone());
    let working = lab.modern(get()).await.json()["result"].clone();
    assert_eq!(
        (&working["resultType"], &working["status"]),
        (&json!("complete"), &json!("working"))
    );
    sleep(Duration::from_millis(300)).await;
    let done = lab.modern(get()).await.json()["result"].clone();
    assert_eq!(
        (&done["status"], &done["result"]["content"][0]["text"]),
        (&json!("completed"), &json!("counted to 2"))
    );
    // Acknowledged, and nothing changes.
    let cancelled = lab.modern(with_tasks(4, "tasks/cancel", id.clone())).await.json()["result"].clone();
    assert_eq!(
        (&cancelled["resultType"], cancelled.get("taskId")),
        (&json!("complete"), None)
    );
    assert_eq!(lab.modern(get()).await.json()["result"]["status"], "completed");

    let undeclared = lab.modern(modern_request(5, "tasks/get", id.clone())).await;
    assert_eq!(
        (undeclared.status, &undeclared.json()["error"]["code"]),
        (400, &json!(-32021))
    );
    let required = &undeclared.json()["error"]["data"]["requiredCapabilities"];
    assert_eq!(*required, json!({ "extensions": { TASKS: {} } }));
    let only = modern_request(6, "tools/call", json!({ "name": "long_count", "arguments": {} }));
    assert_eq!(lab.modern(only).await.json()["error"]["code"], -32021);
    let misnamed = with_tasks(7, "tasks/get", id);
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tasks/get"),
        ("Mcp-Name", "x"),
    ];
    assert_eq!(
        lab.ask("POST", &headers, Some(&misnamed)).await.json()["error"]["code"],
        -32020
    );
    for method in ["tasks/result", "tasks/list"] {
        let gone = lab.modern(with_tasks(8, method, json!({ "taskId": "x" }))).await;
        assert_eq!(
            (gone.status, &gone.json()["error"]["code"]),
            (404, &json!(-32601)),
            "{method}"
        );
    }
    let failed = json!({ "name": "slow_count", "arguments": { "to": 1, "step_ms": 0, "fail": true } });
    let failed = lab.modern(with_tasks(9, "tools/call", failed)).await.json()["result"].clone();
    sleep(Duration::from_millis(200)).await;
    let failed = lab
        .modern(with_tasks(9, "tasks/get", json!({ "taskId": failed["taskId"] })))
        .await
        .json();
    assert_eq!(
        (
            &failed["result"]["status"],
            &failed["result"]["result"]["isError"]
        ),
        (&json!("completed"), &json!(true))
    );
}

#[tokio::test]
async fn a_subscription_is_acknowledged_told_of_tasks_and_ended_with_the_server() {
    let mut lab = server([Feature::Subscriptions, Feature::Tasks]).await;
    let count = json!({ "name": "slow_count", "arguments": { "to": 2, "step_ms": 100 } });
    let task = lab.modern(with_tasks(1, "tools/call", count)).await.json()["result"]["taskId"].clone();
    let asked = json!({ "notifications": {
        "toolsListChanged": true, "promptsListChanged": true, "taskIds": [task, "nope"],
    } });
    let listen = with_tasks(42, "subscriptions/listen", asked);
    let mut stream = lab
        .send("POST", &as_str(&modern_headers(&listen)), Some(&listen))
        .await;
    sleep(Duration::from_millis(600)).await;
    // Other requests are served meanwhile.
    assert_eq!(
        lab.modern(modern_request(2, "server/discover", json!({})))
            .await
            .status,
        200
    );
    drop(lab.stop.take());
    let events = hear(&mut stream, Duration::from_secs(3)).await.events();
    assert_eq!(events[0]["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        events[0]["params"]["notifications"],
        json!({ "toolsListChanged": true, "taskIds": [task] })
    );
    assert_eq!(
        (&events[1]["method"], &events[1]["params"]["status"]),
        (&json!("notifications/tasks"), &json!("completed"))
    );
    assert_eq!(
        events[1]["params"]["result"]["content"][0]["text"],
        "counted to 2"
    );
    assert!(
        events[..2]
            .iter()
            .all(|event| event["params"]["_meta"][SUBSCRIPTION] == 42),
        "{events:?}"
    );
    let last = events.last().unwrap();
    assert_eq!(
        (&last["id"], &last["result"]["resultType"]),
        (&json!(42), &json!("complete"))
    );
    assert_eq!(last["result"]["_meta"][SUBSCRIPTION], 42);
}

#[tokio::test]
async fn a_subscription_needs_a_filter_and_tasks_a_declaration() {
    let lab = server([Feature::Subscriptions, Feature::Tasks]).await;
    let bare = lab
        .modern(modern_request(1, "subscriptions/listen", json!({})))
        .await
        .json();
    assert_eq!(bare["error"]["code"], -32602);
    let undeclared = modern_request(
        1,
        "subscriptions/listen",
        json!({ "notifications": { "taskIds": ["x"] } }),
    );
    assert_eq!(lab.modern(undeclared).await.json()["error"]["code"], -32021);
    let off = server([]).await;
    let unknown = modern_request(1, "subscriptions/listen", json!({ "notifications": {} }));
    assert_eq!(off.modern(unknown).await.status, 404);
}

#[tokio::test]
async fn a_name_is_asked_for_and_greeted() {
    let lab = server([Feature::InputRequired]).await;
    let forms = json!({ "elicitation": {} });
    let ask = |params: Value, capabilities: &Value| capable(1, "tools/call", params, capabilities.clone());
    let first = lab
        .modern(ask(json!({ "name": "ask_name" }), &forms))
        .await
        .json()["result"]
        .clone();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["name"]["method"], "elicitation/create");
    assert!(first.get("ttlMs").is_none(), "{first}");

    let state = first["requestState"].as_str().unwrap();
    let answer = json!({ "name": { "action": "accept", "content": { "name": "Ada" } }, "extra": {} });
    let retry = json!({ "name": "ask_name", "inputResponses": answer, "requestState": state });
    let done = lab.modern(ask(retry.clone(), &forms)).await.json()["result"].clone();
    assert_eq!(
        (&done["resultType"], &done["content"][0]["text"]),
        (&json!("complete"), &json!("Hello, Ada."))
    );

    // What was left out is asked for again; what was altered is refused; what nobody asked for does nothing.
    let again = lab
        .modern(ask(json!({ "name": "ask_name", "requestState": state }), &forms))
        .await
        .json();
    assert_eq!(again["result"]["resultType"], "input_required");
    let unasked = lab
        .modern(ask(
            json!({ "name": "ask_name", "inputResponses": answer }),
            &forms,
        ))
        .await
        .json();
    assert_eq!(unasked["result"]["resultType"], "input_required");
    let mut forged = retry.clone();
    forged["requestState"] = json!(format!("9{state}"));
    assert_eq!(
        lab.modern(ask(forged, &forms)).await.json()["error"]["code"],
        -32602
    );
    let mut declined = retry;
    declined["inputResponses"] = json!({ "name": { "action": "decline" } });
    assert_eq!(
        lab.modern(ask(declined, &forms)).await.json()["result"]["isError"],
        true
    );

    // A client that has no forms is told so, and a legacy one doesn't see the tool.
    for capabilities in [json!({}), json!({ "elicitation": { "url": {} } })] {
        let heard = lab
            .modern(ask(json!({ "name": "ask_name" }), &capabilities))
            .await;
        assert_eq!(
            (heard.status, &heard.json()["error"]["code"]),
            (400, &json!(-32021))
        );
    }
    let legacy = lab.legacy(call(1, "ask_name", json!({}), json!({}))).await.json();
    assert_eq!(legacy["error"]["code"], -32602);
}

#[tokio::test]
async fn what_is_off_is_neither_declared_nor_served() {
    let lab = server([]).await;
    let began = lab.legacy(initialize(1, "2025-11-25")).await;
    assert_eq!(began.json()["result"]["capabilities"], json!({ "tools": {} }));
    assert_eq!(began.header("mcp-session-id"), None);
    for (method, params) in [
        ("logging/setLevel", json!({ "level": "info" })),
        ("tasks/get", json!({ "taskId": "x" })),
        ("tasks/list", json!({})),
    ] {
        let heard = lab.legacy(legacy_request(2, method, params)).await;
        assert_eq!(heard.json()["error"]["code"], -32601, "{method}");
    }
    assert_eq!(lab.ask("GET", &[], None).await.status, 405);
    assert_eq!(lab.ask("DELETE", &[], None).await.status, 405);
}
