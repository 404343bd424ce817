//! Which era a request belongs to, and what a modern one must carry.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod support;

use serde_json::{Value, json};
use support::{Legacy, Modern, Post, device, meta};

const VERSION: &str = "MCP-Protocol-Version";
const LIST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;

/// A modern listing whose `_meta` was changed.
fn with_meta(change: impl FnOnce(&mut Value)) -> Post {
    let mut meta = meta();
    change(&mut meta);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
    Post::bare(message.to_string())
        .header(VERSION, "2026-07-28")
        .header("Mcp-Method", "tools/list")
}

#[track_caller]
fn is_modern(post: Post) {
    let answer = post.to(&device());
    assert_eq!(
        (answer.status, &answer.json()["result"]["resultType"]),
        (200, &json!("complete")),
        "{answer:?}"
    );
}

#[track_caller]
fn is_legacy(post: Post) {
    let answer = post.to(&device());
    assert_eq!(
        (answer.status, &answer.json()["result"]["resultType"]),
        (200, &json!(null)),
        "{answer:?}"
    );
    assert_eq!(answer.json()["result"]["tools"].as_array().unwrap().len(), 4);
}

#[test]
fn a_request_is_legacy_unless_it_says_otherwise() {
    is_legacy(Post::bare(LIST));
    for version in ["2025-06-18", "2025-11-25"] {
        is_legacy(Post::bare(LIST).header("mcp-protocol-version", version));
    }
    is_legacy(Post::bare(LIST).header("Mcp-Session-Id", "x"));
    is_legacy(Legacy.request("tools/list", json!({"_meta": {"progressToken": 1}})));
    // Modern headers alone don't count without the version.
    is_legacy(Post::bare(LIST).header("Mcp-Method", "tools/call"));
}

#[test]
fn a_version_that_is_not_served_is_refused() {
    for version in [
        "2025-03-26",
        "2024-11-05",
        "2027-01-01",
        "",
        "x",
        "2025-11-25 ",
        "2025-11-25, 2025-11-25",
        "\u{e9}",
    ] {
        for body in [
            LIST,
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        ] {
            Post::bare(body)
                .header(VERSION, version)
                .to(&device())
                .is_error(400, -32600, json!(1));
        }
    }
    let twice = Post::bare(LIST).header(VERSION, "2025-11-25");
    is_legacy(twice.clone().header(VERSION, "2025-11-25"));
    twice
        .header(VERSION, "2025-06-18")
        .to(&device())
        .is_error(400, -32600, json!(1));
}

#[test]
fn a_modern_request_is_served() {
    is_modern(with_meta(|_| ()));
    is_modern(with_meta(|meta| {
        drop(
            meta.as_object_mut()
                .unwrap()
                .remove("io.modelcontextprotocol/clientInfo"),
        )
    }));
    is_modern(with_meta(|meta| {
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"extensions": {"com.example/x": {}}})
    }));
    is_modern(with_meta(|meta| {
        meta["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")
    }));
    is_modern(
        with_meta(|_| ())
            .header("Mcp-Name", "ignored")
            .header("Mcp-Param-X", "ignored"),
    );
}

#[test]
fn required_meta_is_demanded_first() {
    for name in [
        "io.modelcontextprotocol/protocolVersion",
        "io.modelcontextprotocol/clientCapabilities",
    ] {
        let missing = with_meta(|meta| drop(meta.as_object_mut().unwrap().remove(name)));
        missing.to(&device()).is_error(400, -32602, json!(1));
        for wrong in [json!(null), json!(1), json!([])] {
            let wrong = with_meta(|meta| meta[name] = wrong);
            wrong.to(&device()).is_error(400, -32602, json!(1));
            // It goes ahead of the headers and of the version.
            wrong
                .without("Mcp-Method")
                .to(&device())
                .is_error(400, -32602, json!(1));
        }
    }
    for params in [json!({}), json!({"_meta": 5}), json!({"_meta": null})] {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "no/such", "params": params});
        Post::bare(message.to_string())
            .header(VERSION, "2026-07-28")
            .to(&device())
            .is_error(400, -32602, json!(1));
    }
    Post::bare(LIST)
        .header(VERSION, "2026-07-28")
        .to(&device())
        .is_error(400, -32602, json!(1));
    Legacy
        .request("tools/list", json!({"_meta": 5}))
        .to(&device())
        .is_error(200, -32602, json!(1));
}

#[test]
fn headers_agree_with_the_body() {
    let good = with_meta(|_| ());
    for name in [VERSION, "Mcp-Method"] {
        let without = good.clone().without(name);
        without.to(&device()).is_error(400, -32020, json!(1));
        for value in [
            "",
            "2025-11-25",
            "2027-01-01",
            "tools/call",
            "Tools/List",
            "tools/list\u{e9}",
        ] {
            without
                .clone()
                .header(name, value)
                .to(&device())
                .is_error(400, -32020, json!(1));
        }
        let copy = good
            .headers
            .iter()
            .find(|(other, _)| other == name)
            .unwrap()
            .1
            .clone();
        is_modern(good.clone().header(&name.to_lowercase(), copy));
        good.clone()
            .header(name, "other")
            .to(&device())
            .is_error(400, -32020, json!(1));
    }
}

#[test]
fn the_tool_is_named_in_a_header_too() {
    let good = Modern.tool("led_get", json!({}));
    is_modern(good.clone());
    let without = good.without("Mcp-Name");
    without.to(&device()).is_error(400, -32020, json!(1));
    for name in ["led_get", "=?base64?bGVkX2dldA==?="] {
        is_modern(without.clone().header("mcp-name", name));
    }
    for name in [
        "",
        "led_set",
        "LED_GET",
        "led_get\u{e9}",
        "=?BASE64?bGVkX2dldA==?=",
        "=?base64?bGVkX3NldA==?=",
        "=?base64?bGVkX2dldA?=",
        "=?base64?!?=",
        "=?base64??=",
        "=?base64?/w==?=",
        "=?base64?=",
    ] {
        without
            .clone()
            .header("Mcp-Name", name)
            .to(&device())
            .is_error(400, -32020, json!(1));
    }
    // A name that no header can carry goes as Base64; that there is no such tool is the next thing to say.
    let sensor = Modern.tool("ä", json!({})).without("Mcp-Name");
    sensor
        .clone()
        .header("Mcp-Name", "=?base64?w6Q=?=")
        .to(&device())
        .is_error(200, -32602, json!(1));
    sensor
        .header("Mcp-Name", "ä")
        .to(&device())
        .is_error(400, -32020, json!(1));
}

#[test]
fn a_mismatch_goes_ahead_of_an_unknown_version() {
    let unknown = with_meta(|meta| meta["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01"));
    unknown.to(&device()).is_error(400, -32020, json!(1));
    let agreed = unknown.without(VERSION).header(VERSION, "2027-01-01");
    agreed
        .clone()
        .without("Mcp-Method")
        .to(&device())
        .is_error(400, -32020, json!(1));

    let answer = agreed.to(&device());
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32022))
    );
    assert_eq!(
        answer.json()["error"]["data"],
        json!({"supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": "2027-01-01"})
    );
}

#[test]
fn an_unknown_version_is_told_for_any_method_and_runs_nothing() {
    let device = device();
    for method in ["tools/call", "server/discover", "no/such", "initialize"] {
        let mut meta = meta();
        meta["io.modelcontextprotocol/protocolVersion"] = json!("1900-01-01");
        let params = json!({"name": "led_set", "arguments": {"on": true}, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": "v", "method": method, "params": params});
        let post = Post::bare(message.to_string())
            .header(VERSION, "1900-01-01")
            .header("Mcp-Method", method);
        let answer = post.header("Mcp-Name", "led_set").to(&device);
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!(-32022)),
            "{method}"
        );
        assert_eq!(answer.json()["id"], json!("v"));
    }
    assert!(!device.board().led.get().unwrap().on);
}

#[test]
fn a_legacy_version_in_meta_is_answered_as_modern() {
    let post = with_meta(|meta| meta["io.modelcontextprotocol/protocolVersion"] = json!("2025-11-25"));
    let answer = post.without(VERSION).header(VERSION, "2025-11-25").to(&device());
    assert_eq!(
        (answer.status, &answer.json()["error"]["code"]),
        (400, &json!(-32022))
    );
}

#[test]
fn eras_mix_freely_on_one_device() {
    let device = device();
    for _ in 0..2 {
        Legacy
            .tool("led_set", json!({"on": true, "brightness": 5}))
            .to(&device);
        Modern
            .tool("led_get", json!({}))
            .to(&device)
            .is(200, Modern.structured(r#"{"on":true,"brightness":5}"#));
        Legacy
            .tool("led_get", json!({}))
            .to(&device)
            .is(200, Legacy.structured(r#"{"on":true,"brightness":5}"#));
    }
}
