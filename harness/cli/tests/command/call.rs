//! `mcp-hil tools` and `mcp-hil call`.

use crate::run::run;
use crate::server::{self, exact_request, http};
use serde_json::{Value, json};
use std::io::{BufReader, Write as _};

#[test]
fn tools_are_listed_over_all_pages() {
    let ran = run(&["tools", "reference"]);
    ran.ended(0, "sensor_read   channel ")
        .ended(0, "echo          text [repeat] ");
    // four on a page, 14 in fixtures/contract/tools.json
    assert_eq!(ran.stdout.lines().count(), 1 + 14, "{}", ran.stdout);
    let ran = run(&["tools", "reference", "--json", "--revision", "2025-11-25"]);
    let listed: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(listed["revision"], "2025-11-25");
    let tools: Value =
        serde_json::from_str(include_str!("../../../../fixtures/contract/tools.json")).unwrap();
    let names = |tools: &Value| {
        tools
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect::<Vec<_>>()
    };
    let known = tools.get("tools").unwrap_or(&tools);
    assert_eq!(names(&listed["tools"]), names(known));
}

#[test]
fn a_call_gives_the_text_or_the_whole_result() {
    let ran = run(&["call", "reference", "echo", r#"{"text": "grüße"}"#]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "grüße\n", "")
    );
    let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    for (target, revision) in [
        ("reference", "2025-11-25"),
        (&stdio, "2026-07-28"),
        (&stdio, "2025-06-18"),
    ] {
        let ran = run(&["call", target, "led_get", "--json", "--revision", revision]);
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            result["structuredContent"],
            json!({"on": false, "brightness": 100}),
            "{target} {revision}"
        );
    }
}

#[test]
fn a_call_that_fails_says_why() {
    let ran = run(&["call", "reference", "sensor_read", r#"{"channel": "humidity"}"#]);
    ran.ended(1, "sensor humidity is not fitted on this board")
        .ended(1, "sensor_read: the tool reports an error");
    run(&["call", "reference", "no_such_tool"]).ended(
        1,
        "tools/call: the server answered with error -32602: unknown tool",
    );
    run(&["call", "reference", "echo", "{"]).ended(2, "the arguments are not JSON");
    run(&["call", "reference", "echo", "[]"]).ended(2, "the arguments are a JSON object");
    run(&["call", "http://127.0.0.1:9/mcp", "echo"]).ended(3, "could not reach");
    run(&["tools", "nonsense"]).ended(2, "is no target");
    run(&["tools", "stdio:sh -c 'echo one >&2; echo two >&2; exit 7'"])
        .ended(1, "standard error ends with:\none\ntwo");
}

/// A modern server whose tool tells which headers a call had.
fn mirroring() -> String {
    server::serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((head, message)) = exact_request(&mut reader) {
            let annotated = |kind: &str, name: &str| json!({"type": kind, "x-mcp-header": name});
            let properties = json!({"region": annotated("string", "Region"), "deep": {"type": "object", "properties": {
                "count": annotated("integer", "Count"), "dry": annotated("boolean", "Dry")}}});
            let result = match message["method"].as_str() {
                Some("server/discover") => {
                    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
                }
                Some("tools/list") => json!({"tools": [
                    {"name": "query", "inputSchema": {"type": "object", "properties": properties}},
                    {"name": "broken", "inputSchema": {"type": "object", "properties": {"a": annotated("number", "A")}}},
                ]}),
                Some("tools/call") => {
                    let params = head.iter().filter(|line| line.starts_with("Mcp-Param-"));
                    let text = params.map(|line| line.trim_end()).collect::<Vec<_>>().join("\n");
                    json!({"content": [{"type": "text", "text": text}]})
                }
                _ => Value::Null,
            };
            let id = &message["id"];
            let answer = match result {
                Value::Null => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
                }
                result => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            };
            let _ = writer.write_all(http(&answer).as_bytes());
        }
    })
}

#[test]
fn annotated_arguments_are_mirrored_into_headers() {
    let url = mirroring();
    let call = |arguments: Value| run(&["call", &url, "query", &arguments.to_string()]).stdout;
    // values and their encoding are those of 2026-07-28, basic/transports/streamable-http, "Value Encoding"
    assert_eq!(
        call(json!({"region": "us-west1", "deep": {"count": -7, "dry": true}})),
        "Mcp-Param-Region: us-west1\nMcp-Param-Count: -7\nMcp-Param-Dry: true\n"
    );
    assert_eq!(
        call(json!({"region": "Hello, 世界"})),
        "Mcp-Param-Region: =?base64?SGVsbG8sIOS4lueVjA==?=\n"
    );
    assert_eq!(
        call(json!({"region": " padded "})),
        "Mcp-Param-Region: =?base64?IHBhZGRlZCA=?=\n"
    );
    assert_eq!(call(json!({"region": null})), "\n");
}

#[test]
fn a_tool_with_an_invalid_annotation_is_named_and_not_called() {
    let url = mirroring();
    run(&["tools", &url]).ended(
        0,
        "broken can't be called over HTTP: its inputSchema is invalid at /properties/a/x-mcp-header",
    );
    run(&["call", &url, "broken", r#"{"a": 1}"#])
        .ended(1, "only a string, an integer or a boolean can be mirrored");
    run(&["call", &url, "query", r#"{"deep": {"count": 9007199254740992}}"#]).ended(2, "beyond 2^53 - 1");
}
