//! Scripts of the modern era over HTTP, without a socket.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::{Options, Server};
use serde_json::{Value, json};
use support::{error, initialize, legacy, legacy_request, modern, modern_request, modern_with, post};

const META: &str = "io.modelcontextprotocol";

fn server() -> Server {
    Server::new(Options::default())
}

fn server_meta() -> Value {
    json!({ "io.modelcontextprotocol/serverInfo":
        { "name": "mcp-hil-device", "title": "MCP HIL device", "version": "0.1.0" } })
}

fn echo(text: &str) -> Value {
    modern_request(
        1,
        "tools/call",
        json!({ "name": "echo", "arguments": { "text": text } }),
    )
}

#[test]
fn discover_tells_what_the_server_is() {
    assert_eq!(
        modern(&server(), 200, modern_request(1, "server/discover", json!({}))),
        json!({ "jsonrpc": "2.0", "id": 1, "result": {
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18"],
            "capabilities": { "tools": {} },
            "instructions": "Microcontroller board with an LED, sensors and a log. Call device_info to see which board answers.",
            "ttlMs": 60000,
            "cacheScope": "public",
            "_meta": server_meta(),
        } })
    );
}

#[test]
fn every_result_says_that_it_is_complete_and_whose() {
    let answer = modern(&server(), 200, echo("hi"));
    let golden = json!({
        "resultType": "complete",
        "content": [{ "type": "text", "text": "hi" }],
        "_meta": server_meta(),
    });
    assert_eq!(answer["result"], golden);

    let page = modern(&server(), 200, modern_request(1, "tools/list", json!({})))["result"].clone();
    assert_eq!(page["tools"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&page["ttlMs"], &page["cacheScope"]),
        (&json!(60000), &json!("public"))
    );
    assert_eq!(
        (&page["resultType"], &page["_meta"]),
        (&json!("complete"), &server_meta())
    );
    let next = modern_request(2, "tools/list", json!({ "cursor": page["nextCursor"] }));
    assert_eq!(
        modern(&server(), 200, next)["result"]["tools"][0]["name"],
        "sensor_read"
    );

    let failed = modern_request(1, "tools/call", json!({ "name": "echo" }));
    let failed = modern(&server(), 200, failed)["result"].clone();
    assert_eq!(
        (&failed["isError"], &failed["resultType"]),
        (&json!(true), &json!("complete"))
    );
}

#[test]
fn an_answer_that_is_too_large_is_still_a_modern_result() {
    let call = json!({ "name": "echo", "arguments": { "text": "a".repeat(4096), "repeat": 4 } });
    let result = modern(&server(), 200, modern_request(1, "tools/call", call))["result"].clone();
    let text = "answer too large: the limit is 16384 bytes; ask for less";
    let golden = json!({
        "resultType": "complete", "_meta": server_meta(),
        "content": [{ "type": "text", "text": text }], "isError": true,
    });
    assert_eq!(result, golden);
}

#[test]
fn what_meta_must_have() {
    for (member, value) in [
        ("protocolVersion", Value::Null),
        ("protocolVersion", json!(5)),
        ("clientCapabilities", Value::Null),
        ("clientCapabilities", json!([])),
    ] {
        let mut message = modern_request(3, "tools/list", json!({}));
        message["params"]["_meta"][format!("{META}/{member}")] = value.clone();
        assert_eq!(
            error(&modern(&server(), 400, message)),
            (-32602, &json!(3)),
            "{member} {value}"
        );
    }
    // Only the header says that it is modern.
    let bare = legacy_request(3, "tools/list", json!({}));
    assert_eq!(error(&modern(&server(), 400, bare)), (-32602, &json!(3)));
    // It comes ahead of the headers' own fault.
    let bare = legacy_request(3, "tools/list", json!({}));
    assert_eq!(
        error(&modern_with(&server(), 400, bare, &[("mcp-method", "")])).0,
        -32602
    );
    // The client need not say who it is.
    let mut message = modern_request(3, "tools/list", json!({}));
    message["params"]["_meta"]
        .as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientInfo");
    modern(&server(), 200, message);
}

#[test]
fn the_headers_must_repeat_the_body() {
    for changes in [
        &[("mcp-protocol-version", "")][..],
        &[("mcp-protocol-version", "2025-11-25")],
        &[("mcp-method", "")],
        &[("mcp-method", "tools/list")],
        &[("mcp-method", "TOOLS/CALL")],
        &[("mcp-method", "tools/call"), ("mcp-method", "tools/call")],
        &[("mcp-name", "")],
        &[("mcp-name", "led_get")],
        &[("mcp-name", "=?base64?*?=")],
        &[("mcp-name", "=?base64?bGVkX2dldA==?=")],
        &[("mcp-name", "écho")],
    ] {
        let answer = modern_with(&server(), 400, echo("hi"), changes);
        assert_eq!(error(&answer), (-32020, &json!(1)), "{changes:?}");
    }
    // `echo` in Base64.
    modern_with(&server(), 200, echo("hi"), &[("mcp-name", "=?base64?ZWNobw==?=")]);
    // A name is only asked for where the method has one.
    modern_with(
        &server(),
        200,
        modern_request(1, "tools/list", json!({})),
        &[("mcp-name", "x")],
    );
}

#[test]
fn another_version_is_told_which_there_are() {
    for version in ["2027-01-01", "DRAFT-2026-v1", "2025-11-25", ""] {
        let mut message = modern_request(4, "no/such", json!({}));
        message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(version);
        // An empty value stands for a missing header in these scripts: then the header is at fault.
        let (code, data) = if version.is_empty() {
            (-32020, Value::Null)
        } else {
            (
                -32022,
                json!({ "supported": ["2026-07-28", "2025-11-25", "2025-06-18"], "requested": version }),
            )
        };
        let answer = modern_with(&server(), 400, message, &[("mcp-protocol-version", version)]);
        assert_eq!(
            (error(&answer), &answer["error"]["data"]),
            ((code, &json!(4)), &data),
            "{version}"
        );
    }
    // The header's fault comes ahead of the version's.
    let mut message = modern_request(4, "tools/list", json!({}));
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2027-01-01");
    assert_eq!(error(&modern(&server(), 400, message)).0, -32020);
}

#[test]
fn what_legacy_had_is_unknown_with_404() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/list",
        "tasks/list",
        "notifications/cancelled",
        "x",
    ] {
        let answer = modern(&server(), 404, modern_request(6, method, json!({})));
        assert_eq!(error(&answer), (-32601, &json!(6)), "{method}");
    }
    let mut message = initialize(7, "2025-11-25");
    message["params"]["_meta"] = modern_request(0, "", json!({}))["params"]["_meta"].clone();
    assert_eq!(error(&modern(&server(), 404, message)), (-32601, &json!(7)));
}

#[test]
fn bad_parameters_come_with_200() {
    for (method, params) in [
        ("tools/call", json!({ "name": "no_such_tool" })),
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", json!({})),
        ("tools/call", json!({ "name": "led_get", "arguments": 1 })),
        ("tools/list", json!({ "cursor": "bogus" })),
        ("tools/list", json!({ "cursor": 4 })),
    ] {
        let answer = modern(&server(), 200, modern_request(1, method, params.clone()));
        assert_eq!(error(&answer), (-32602, &json!(1)), "{method} {params}");
    }
}

#[test]
fn message_layer_errors_come_with_400() {
    let headers = [("mcp-protocol-version", "2026-07-28")];
    for (body, code) in [
        ("{", -32700),
        ("[]", -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#, -32600),
    ] {
        let (status, answer) = post(&server(), body, &headers);
        assert_eq!((status, error(&answer)), (400, (code, &Value::Null)), "{body}");
    }
}

#[test]
fn a_notification_is_accepted_and_a_response_is_not() {
    let headers = [("mcp-protocol-version", "2026-07-28")];
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    assert_eq!(post(&server(), notification, &headers), (202, Value::Null));
    let (status, answer) = post(&server(), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, &headers);
    assert_eq!((status, error(&answer)), (400, (-32600, &Value::Null)));
}

#[test]
fn sessions_are_ignored_and_none_is_minted() {
    let answer = modern_with(
        &server(),
        200,
        echo("hi"),
        &[("mcp-session-id", "old"), ("last-event-id", "9")],
    );
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
}

#[test]
fn both_eras_live_on_one_server() {
    let server = server();
    let set = json!({ "name": "led_set", "arguments": { "on": true, "brightness": 42 } });
    modern(&server, 200, modern_request(1, "tools/call", set));
    let get = legacy_request(2, "tools/call", json!({ "name": "led_get" }));
    let golden = json!({
        "content": [{ "type": "text", "text": r#"{"on":true,"brightness":42}"# }],
        "structuredContent": { "on": true, "brightness": 42 },
    });
    assert_eq!(legacy(&server, 200, get)["result"], golden);
}
