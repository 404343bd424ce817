//! Scripts of the legacy era over HTTP, without a socket.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::{Options, Server};
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use support::{error, initialize, legacy, legacy_request, post};

fn server() -> Server {
    Server::new(Options::default())
}

fn call(name: &str, arguments: Value) -> Value {
    legacy_request(1, "tools/call", json!({ "name": name, "arguments": arguments }))
}

#[test]
fn initialize_negotiates_a_legacy_version() {
    for (asked, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("9999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ] {
        let (status, answer) = post(&server(), initialize(0, asked).to_string(), &[]);
        let golden = json!({ "jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": given,
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "mcp-hil-device", "title": "MCP HIL device", "version": "0.1.0" },
            "instructions": "Microcontroller board with an LED, sensors and a log. Call device_info to see which board answers.",
        } });
        assert_eq!((status, answer), (200, golden), "{asked}");
    }
}

#[test]
fn initialize_demands_its_parameters() {
    for (member, value) in [
        ("/protocolVersion", json!(20251125)),
        ("/capabilities", json!([])),
        ("/clientInfo", Value::Null),
        ("/clientInfo/name", json!(1)),
        ("/clientInfo/version", Value::Null),
    ] {
        let mut message = initialize(1, "2025-11-25");
        *message["params"].pointer_mut(member).unwrap() = value;
        assert_eq!(
            error(&legacy(&server(), 200, message)),
            (-32602, &json!(1)),
            "{member}"
        );
    }
    assert_eq!(
        error(&legacy(
            &server(),
            200,
            legacy_request(1, "initialize", json!({}))
        ))
        .0,
        -32602
    );
}

#[test]
fn a_client_without_any_header_of_mcp_is_served() {
    let answer = post(
        &server(),
        r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        &[("accept", "")],
    );
    assert_eq!(
        answer,
        (200, json!({ "jsonrpc": "2.0", "id": "a", "result": {} }))
    );
}

#[test]
fn the_version_header_must_name_a_version_of_ours() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for version in ["2025-06-18", "2025-11-25"] {
        assert_eq!(post(&server(), ping, &[("mcp-protocol-version", version)]).0, 200);
    }
    for version in ["2025-03-26", "9999-01-01", "x"] {
        let (status, answer) = post(&server(), ping, &[("mcp-protocol-version", version)]);
        assert_eq!((status, error(&answer)), (400, (-32600, &json!(1))), "{version}");
    }
    let twice = [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    assert_eq!(post(&server(), ping, &twice).0, 400);
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(
        post(&server(), notification, &[("mcp-protocol-version", "9999-01-01")]).0,
        400
    );
}

#[test]
fn message_layer_errors() {
    let server = server();
    for (body, code, id) in [
        (&b"{"[..], -32700, Value::Null),
        (b"", -32700, Value::Null),
        (b"\xef\xbb\xbf{}", -32700, Value::Null),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}",
            -32700,
            Value::Null,
        ),
        (b"[]", -32600, Value::Null),
        (b"null", -32600, Value::Null),
        (
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
            -32600,
            Value::Null,
        ),
        (br#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600, json!(1)),
        (br#"{"id":"x","method":"ping"}"#, -32600, json!("x")),
        (
            br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
            -32600,
            json!(1),
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}"#,
            -32600,
            Value::Null,
        ),
        (
            br#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"a":2}}"#,
            -32600,
            Value::Null,
        ),
    ] {
        let (status, answer) = post(&server, body, &[]);
        let body = String::from_utf8_lossy(body);
        assert_eq!((status, error(&answer)), (400, (code, &id)), "{body}");
    }
    // And none of it harmed the server.
    assert_eq!(
        legacy(&server, 200, legacy_request(2, "ping", json!({})))["result"],
        json!({})
    );
}

#[test]
fn an_unknown_method_is_not_404() {
    for method in [
        "no/such",
        "server/discover",
        "resources/list",
        "logging/setLevel",
        "notifications/initialized",
        "a\"b\n",
    ] {
        let answer = legacy(&server(), 200, legacy_request(5, method, json!({})));
        assert_eq!(error(&answer), (-32601, &json!(5)), "{method}");
    }
}

#[test]
fn notifications_and_responses_get_202_and_nothing_else() {
    for message in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/no_such","params":{"a":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-1,"message":"no"}}"#,
    ] {
        assert_eq!(post(&server(), message, &[]), (202, Value::Null), "{message}");
    }
}

/// The names on each page.
fn pages(server: &Server) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut params = json!({});
    loop {
        let answer = legacy(server, 200, legacy_request(1, "tools/list", params));
        let tools = answer["result"]["tools"].as_array().unwrap();
        pages.push(
            tools
                .iter()
                .map(|tool| tool["name"].as_str().unwrap().to_owned())
                .collect(),
        );
        assert!(pages.len() < 20, "pages without end");
        match answer["result"].get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor.as_str().unwrap() }),
            None => return pages,
        }
    }
}

#[test]
fn fourteen_tools_come_in_pages_of_four() {
    let server = server();
    let golden = [
        &["device_info", "device_stats", "echo", "sensor_list"][..],
        &["sensor_read", "led_set", "led_get", "uptime"],
        &["log_tail", "job_start", "job_get", "job_list"],
        &["job_stop", "job_stop_all"],
    ];
    assert_eq!(pages(&server), golden);
    assert_eq!(pages(&server), golden);
}

#[test]
fn the_page_size_is_a_switch() {
    let sizes = |page_size| {
        let page_size = NonZeroUsize::new(page_size).unwrap();
        let server = Server::new(Options {
            page_size,
            ..Options::default()
        });
        pages(&server).iter().map(Vec::len).collect::<Vec<_>>()
    };
    assert_eq!(sizes(1), [1; 14]);
    assert_eq!(sizes(3), [3, 3, 3, 3, 2]);
    assert_eq!(sizes(7), [7, 7]);
    assert_eq!(sizes(usize::MAX), [14]);
}

#[test]
fn any_other_cursor_is_refused() {
    for cursor in [
        json!("bogus"),
        json!(""),
        json!(4),
        json!(null),
        json!({}),
        json!("4"),
    ] {
        let answer = legacy(
            &server(),
            200,
            legacy_request(1, "tools/list", json!({ "cursor": cursor })),
        );
        assert_eq!(error(&answer), (-32602, &json!(1)), "{cursor}");
    }
}

#[test]
fn a_definition_is_shown_whole() {
    let answer = legacy(&server(), 200, legacy_request(1, "tools/list", json!({})));
    assert_eq!(
        answer["result"]["tools"][2],
        json!({
            "name": "echo",
            "title": "Echo",
            "description": "Gives back the text it was given, unchanged, to test the connection. The text may be any Unicode and at most 4096 characters long. With repeat the text comes back that many times in a row; an answer larger than the board's buffer is refused.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "text": { "type": "string", "maxLength": 4096, "description": "Text to give back, at most 4096 characters." },
                    "repeat": { "type": "integer", "minimum": 1, "maximum": 64, "default": 1, "description": "How many times the text comes back." }
                },
                "required": ["text"],
                "additionalProperties": false
            },
            "annotations": { "readOnlyHint": true, "idempotentHint": true, "openWorldHint": false }
        })
    );
}

#[test]
fn a_malformed_call_is_an_error_and_no_result() {
    for params in [
        json!({}),
        json!({ "name": 5 }),
        json!({ "name": "no_such_tool" }),
        json!({ "name": "Echo", "arguments": { "text": "" } }),
        json!({ "name": "led_get", "arguments": null }),
        json!({ "name": "led_get", "arguments": [] }),
    ] {
        let answer = legacy(&server(), 200, legacy_request(1, "tools/call", params.clone()));
        assert_eq!(error(&answer), (-32602, &json!(1)), "{params}");
    }
}

#[test]
fn a_bad_argument_is_told_where_and_why() {
    let long = "ä".repeat(4097);
    for (tool, arguments, text) in [
        ("echo", json!({}), r#": required property "text" is missing"#),
        (
            "echo",
            json!({ "text": 5 }),
            "/text: expected string, got integer",
        ),
        (
            "echo",
            json!({ "text": null }),
            "/text: expected string, got null",
        ),
        (
            "echo",
            json!({ "text": long }),
            "/text: longer than 4096 characters",
        ),
        (
            "echo",
            json!({ "text": "a", "repeat": 0 }),
            "/repeat: less than 1",
        ),
        (
            "echo",
            json!({ "text": "a", "repeat": 65 }),
            "/repeat: greater than 64",
        ),
        (
            "echo",
            json!({ "text": "a", "repeat": 1.5 }),
            "/repeat: expected integer, got number",
        ),
        (
            "echo",
            json!({ "text": "a", "repeat": "2" }),
            "/repeat: expected integer, got string",
        ),
        (
            "echo",
            json!({ "text": "a", "x\"": 1 }),
            r#": unexpected property "x\"""#,
        ),
        // `required` comes before the members.
        (
            "echo",
            json!({ "x": 1 }),
            r#": required property "text" is missing"#,
        ),
        (
            "sensor_read",
            json!({ "channel": "pressure" }),
            r#"/channel: expected one of "temperature", "supply_voltage", "humidity""#,
        ),
        (
            "sensor_read",
            json!({ "channel": ["temperature"] }),
            "/channel: expected string, got array",
        ),
        (
            "led_set",
            json!({ "on": 1 }),
            "/on: expected boolean, got integer",
        ),
        (
            "led_set",
            json!({ "on": true, "brightness": 101 }),
            "/brightness: greater than 100",
        ),
        (
            "led_set",
            json!({ "on": true, "brightness": {} }),
            "/brightness: expected integer, got object",
        ),
        ("led_get", json!({ "a": 1 }), r#": unexpected property "a""#),
        ("log_tail", json!({ "lines": 33 }), "/lines: greater than 32"),
        (
            "job_start",
            json!({ "program": "no_such" }),
            r#"/program: expected one of "count", "blink", "sweep", "fail", "spin""#,
        ),
        (
            "job_start",
            json!({ "program": "count", "args": { "steps": 0 } }),
            "/args/steps: less than 1",
        ),
        (
            "job_start",
            json!({ "program": "count", "args": { "x": 0 } }),
            r#"/args: unexpected property "x""#,
        ),
    ] {
        let answer = legacy(&server(), 200, call(tool, arguments.clone()));
        let golden = json!({
            "content": [{ "type": "text", "text": format!("invalid arguments: {text}") }],
            "isError": true,
        });
        assert_eq!(answer["result"], golden, "{tool} {arguments}");
    }
}

#[test]
fn the_first_fault_in_the_order_sent_is_told() {
    let told = |arguments: &str| {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{arguments}}}}}"#
        );
        post(&server(), body, &[]).1["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(
        told(r#"{"text":1,"repeat":0}"#),
        "invalid arguments: /text: expected string, got integer"
    );
    assert_eq!(
        told(r#"{"repeat":0,"text":1}"#),
        "invalid arguments: /repeat: less than 1"
    );
    assert_eq!(
        told(r#"{"z":0,"text":1}"#),
        "invalid arguments: : unexpected property \"z\""
    );
    assert_eq!(told(r#"{"text":"ab","repeat":2.0}"#), "abab");
    assert_eq!(
        told(r#"{"text":"ab","repeat":1e999}"#),
        "invalid arguments: /repeat: greater than 64"
    );
}

#[test]
fn the_tools_do_what_they_say() {
    let server = server();
    let result = |name: &str, arguments: Value| legacy(&server, 200, call(name, arguments))["result"].clone();
    let structured = |text: &str| {
        let value: Value = serde_json::from_str(text).unwrap();
        json!({ "content": [{ "type": "text", "text": text }], "structuredContent": value })
    };

    assert_eq!(
        result("device_info", json!({})),
        structured(
            r#"{"name":"reference","board":"reference","chip":"host","mac":"02:00:00:00:00:01","firmware":"0.1.0","build_id":""}"#
        )
    );
    assert_eq!(
        result("led_get", json!({})),
        structured(r#"{"on":false,"brightness":100}"#)
    );
    assert_eq!(
        result("led_set", json!({ "on": true, "brightness": 7 })),
        structured(r#"{"on":true,"brightness":7}"#)
    );
    assert_eq!(
        result("led_set", json!({ "on": false })),
        structured(r#"{"on":false,"brightness":7}"#)
    );
    assert_eq!(
        result("led_get", json!({})),
        structured(r#"{"on":false,"brightness":7}"#)
    );
    assert_eq!(
        result("sensor_list", json!({})),
        structured(
            r#"{"channels":[{"channel":"temperature","unit":"celsius","fitted":true},{"channel":"supply_voltage","unit":"volt","fitted":true},{"channel":"humidity","unit":"percent","fitted":false}]}"#
        )
    );
    assert_eq!(
        result("sensor_read", json!({ "channel": "supply_voltage" })),
        structured(r#"{"channel":"supply_voltage","value":3.3,"unit":"volt"}"#)
    );
    let text = "sensor humidity is not fitted on this board; sensor_list tells which are";
    assert_eq!(
        result("sensor_read", json!({ "channel": "humidity" })),
        json!({ "content": [{ "type": "text", "text": text }], "isError": true })
    );
    let log = result("log_tail", json!({}));
    let lines = log["structuredContent"]["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].as_str().unwrap().contains("started"), "{log}");
    assert!(lines[2].as_str().unwrap().ends_with("led off"), "{log}");
    assert_eq!(
        result("log_tail", json!({ "lines": 1 }))["structuredContent"]["lines"],
        json!([lines[2]])
    );

    // Nine calls so far and no error; then one error.
    let stats = result("device_stats", json!({}))["structuredContent"].clone();
    assert_eq!(
        (&stats["requests"], &stats["errors"]),
        (&json!(10), &json!(0)),
        "{stats}"
    );
    assert_eq!(result("no_such_tool", json!({})), Value::Null);
    let stats = result("device_stats", json!({}))["structuredContent"].clone();
    assert_eq!(
        (&stats["requests"], &stats["errors"]),
        (&json!(12), &json!(1)),
        "{stats}"
    );
}

#[test]
fn echo_gives_back_any_unicode() {
    for text in [
        "",
        "Grüße, 世界 🌍",
        "\u{0}\u{1f}\u{7f}\u{2028}\"\\",
        "e\u{301}",
        "\u{10ffff}",
    ] {
        let answer = legacy(&server(), 200, call("echo", json!({ "text": text })));
        assert_eq!(
            answer["result"],
            json!({ "content": [{ "type": "text", "text": text }] })
        );
    }
    let text = "ä".repeat(4096);
    let answer = legacy(&server(), 200, call("echo", json!({ "text": text })));
    assert_eq!(answer["result"]["content"][0]["text"], text);
}

#[test]
fn an_answer_may_have_16384_bytes_and_no_more() {
    // Around the text stand 78 bytes: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}
    let frame = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}"#.len();
    let text_of = |bytes: usize| "a".repeat(bytes);
    // 4 times a text, then 16384 - frame must divide by 4; the rest goes into the id's length.
    let rest = (16384 - frame) % 4;
    let fits = text_of((16384 - frame) / 4);
    let ask = |id: &str| {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": { "name": "echo", "arguments": { "text": fits, "repeat": 4 } } });
        legacy(&server(), 200, message)["result"].clone()
    };
    // An id of n characters adds n + 1 bytes to that of `1`: two quotes more, one digit less.
    let just = "x".repeat(rest.checked_sub(1).unwrap());
    assert_eq!(ask(&just)["content"][0]["text"], fits.repeat(4));
    let text = "answer too large: the limit is 16384 bytes; ask for less";
    let golden = json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    assert_eq!(ask(&format!("{just}x")), golden);
}

#[test]
fn an_answer_that_is_not_of_a_tool_may_be_too_large_by_its_id() {
    let server = server();
    let id = "i".repeat(15_000);
    let ask = |method: &str| {
        legacy(
            &server,
            200,
            json!({ "jsonrpc": "2.0", "id": id, "method": method }),
        )
    };
    assert_eq!(error(&ask("tools/list")), (-32603, &json!(id)));
    assert_eq!(ask("ping")["result"], json!({}));
    let stats = legacy(&server, 200, call("device_stats", json!({})))["result"]["structuredContent"].clone();
    assert_eq!(
        (&stats["requests"], &stats["errors"]),
        (&json!(2), &json!(1)),
        "{stats}"
    );
}

#[test]
fn an_error_stays_the_same_however_long_its_cause() {
    // Escaped twice in an error's text, a quote has four bytes for the two it was sent with.
    let long = "\"".repeat(7000);
    assert_eq!(
        error(&legacy(&server(), 200, legacy_request(1, &long, json!({})))),
        (-32601, &json!(1))
    );
    assert_eq!(
        error(&legacy(&server(), 200, call(&long, json!({})))),
        (-32602, &json!(1))
    );
    let (status, answer) = post(
        &server(),
        format!(r#"{{"{}":1,"{0}":2}}"#, "\\\"".repeat(3000)),
        &[],
    );
    assert_eq!((status, error(&answer)), (400, (-32600, &Value::Null)));
    assert!(answer.to_string().len() < 1000, "{answer}");
}
