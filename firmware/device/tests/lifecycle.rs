//! How a client begins, in each era.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod support;

use serde_json::{Value, json};
use support::{ERAS, Legacy, Modern, Post, device, server_info};

const INSTRUCTIONS: &str =
    "Microcontroller board with an LED, sensors and a log. Call device_info to see which board answers.";

fn initialize(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {"roots": {}, "experimental": {"x": {}}, "never_heard_of": 1},
        "clientInfo": {"name": "test", "version": "1", "title": "Test"},
    })
}

#[test]
fn initialize_offers_the_version_asked_for_or_the_newest_legacy_one() {
    for (asked, offered) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-11-25"),
        ("9999-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let post = Legacy
            .request("initialize", initialize(asked))
            .without("MCP-Protocol-Version");
        post.to(&device()).is(
            200,
            Legacy.result(json!({
                "protocolVersion": offered,
                "capabilities": {"tools": {}},
                "serverInfo": server_info(),
                "instructions": INSTRUCTIONS,
            })),
        );
    }
}

#[test]
fn initialize_demands_its_parameters() {
    for (pointer, wrong) in [
        ("/protocolVersion", json!(1)),
        ("/capabilities", json!([])),
        ("/clientInfo", json!("test")),
        ("/clientInfo/name", json!(null)),
        ("/clientInfo/version", json!(1)),
    ] {
        let mut params = initialize("2025-11-25");
        *params.pointer_mut(pointer).unwrap() = wrong;
        Legacy
            .request("initialize", params.clone())
            .to(&device())
            .is_error(200, -32602, json!(1));

        let (parent, name) = pointer.rsplit_once('/').unwrap();
        params
            .pointer_mut(parent)
            .unwrap()
            .as_object_mut()
            .unwrap()
            .remove(name);
        Legacy
            .request("initialize", params)
            .to(&device())
            .is_error(200, -32602, json!(1));
    }
    Legacy
        .post(json!({"jsonrpc": "2.0", "id": 1, "method": "initialize"}))
        .to(&device())
        .is_error(200, -32602, json!(1));
}

#[test]
fn discover_tells_everything_at_once() {
    Modern.request("server/discover", json!({})).to(&device()).is(
        200,
        Modern.result(json!({
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18"],
            "capabilities": {"tools": {}},
            "instructions": INSTRUCTIONS,
            "ttlMs": 60000,
            "cacheScope": "public",
        })),
    );
}

#[test]
fn ping_is_legacy() {
    Legacy
        .request("ping", json!({}))
        .to(&device())
        .is(200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    Modern
        .request("ping", json!({}))
        .to(&device())
        .is_error(404, -32601, json!(1));
}

#[test]
fn a_method_of_the_other_era_is_unknown() {
    Legacy
        .request("server/discover", json!({}))
        .to(&device())
        .is_error(200, -32601, json!(1));
    Modern
        .request("initialize", initialize("2025-11-25"))
        .to(&device())
        .is_error(404, -32601, json!(1));
    for method in ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"] {
        Modern
            .request(method, json!({}))
            .to(&device())
            .is_error(404, -32601, json!(1));
    }
}

#[test]
fn what_is_not_offered_is_unknown() {
    for method in [
        "resources/list",
        "resources/read",
        "prompts/list",
        "prompts/get",
        "completion/complete",
        "tasks/get",
        "tasks/list",
        "subscriptions/listen",
        "rpc.discover",
        "notifications/initialized",
        "",
        "Tools/List",
        "tools/list ",
        "no \"such\" \\ method \u{1F980}\n",
    ] {
        Legacy
            .request(method, json!({}))
            .to(&device())
            .is_error(200, -32601, json!(1));
        if method.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            Modern
                .request(method, json!({}))
                .to(&device())
                .is_error(404, -32601, json!(1));
        }
    }
}

#[test]
fn notifications_are_never_answered() {
    for era in ERAS {
        for method in [
            "notifications/initialized",
            "notifications/cancelled",
            "no/such",
            "tools/call",
            "ping",
        ] {
            era.post(json!({"jsonrpc": "2.0", "method": method}))
                .to(&device())
                .is_empty(202);
            era.post(json!({"jsonrpc": "2.0", "method": method, "params": {"x": [1, null]}}))
                .to(&device())
                .is_empty(202);
        }
    }
    Post::bare(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .to(&device())
        .is_empty(202);
    let unknown =
        Post::bare(r#"{"jsonrpc":"2.0","method":"x"}"#).header("MCP-Protocol-Version", "2024-11-05");
    unknown.to(&device()).is_empty(400);
}

#[test]
fn a_tool_called_by_notification_does_not_run() {
    for era in ERAS {
        let device = device();
        let call = json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "led_set", "arguments": {"on": true}}});
        era.post(call).to(&device).is_empty(202);
        assert!(!device.board().led.get().unwrap().on);
    }
}

#[test]
fn responses_are_taken_in_legacy_only() {
    for response in [
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":"x","error":{"code":-1,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#,
    ] {
        Post::bare(response).to(&device()).is_empty(202);
        Post::bare(response)
            .header("MCP-Protocol-Version", "2025-06-18")
            .to(&device())
            .is_empty(202);
        let modern = Post::bare(response).header("MCP-Protocol-Version", "2026-07-28");
        modern.to(&device()).is_error(400, -32600, json!(null));
    }
}
