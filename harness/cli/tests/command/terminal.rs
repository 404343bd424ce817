//! What a server says can't steer the user's terminal.

use crate::run::{File, Ran, run};
use crate::server::{mcp, mcp_text};
use serde_json::json;

/// No control character but the line end is on either output.
fn is_plain(ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        let bad = text.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(bad, None, "{text:?}");
    }
}

#[test]
fn through_a_message() {
    let url = mcp(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"a\u{1b}[2J": "\u{9b}31m\u{7f}\u{1b}]0;x\u{7}"}}),
    );
    let mut transcript = crate::run::ping();
    transcript["title"] = json!("a \u{1b}[5m title");
    let file = File::new(&transcript);
    let ran = run(&["replay", &url, file.path(), "-v"]);
    ran.ended(1, "\\u{1b}[5m title");
    is_plain(&ran);
}

#[test]
fn through_a_body() {
    let url = mcp_text(|_| {
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 7\r\n\r\n\"\u{9b}\u{7f}\u{1b}\""
            .to_owned()
    });
    let file = File::ping();
    let ran = run(&["replay", &url, file.path()]);
    ran.ended(1, "FAIL");
    is_plain(&ran);
}

#[test]
fn through_standard_error() {
    let file = File::ping();
    let ran = run(&[
        "replay",
        "stdio:sh -c \"printf 'no \\033[2Jluck' >&2; exit 7\"",
        file.path(),
    ]);
    ran.ended(1, "standard error ends with: no \\u{1b}[2Jluck");
    is_plain(&ran);
}

#[test]
fn through_json_that_is_printed() {
    let url = mcp(|message| {
        let result = match message["method"].as_str() {
            Some("tools/list") => {
                json!({"tools": [{"name": "a\u{9b}31m", "description": "\u{7f}\u{202e}", "inputSchema": {"type": "object"}}]})
            }
            _ => json!({"content": [{"type": "text", "text": "\u{9b}2J\u{1b}"}]}),
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
    });
    let file = File::ping();
    for words in [
        &["tools", &url, "--json"][..],
        &["call", &url, "a", "{}", "--json"],
        &["snapshot", &url],
    ] {
        let ran = run(words);
        ran.ended(0, "\\u009b");
        is_plain(&ran);
        let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(json.to_string().contains('\u{9b}'));
    }
    let ran = run(&["replay", &url, file.path(), "--json", "-"]);
    ran.ended(1, "\\u009b");
    is_plain(&ran);
}
