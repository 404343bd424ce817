//! `mcp-hil diff`.

use crate::run::{File, run};
use crate::server::{mcp, pong};
use serde_json::{Value, json};

/// A server whose `ask` is answered with this.
fn answering(answer: Value) -> String {
    mcp(move |message| match message["method"].as_str() {
        Some("ask") => {
            let mut answer = answer.clone();
            answer["jsonrpc"] = json!("2.0");
            answer["id"] = message["id"].clone();
            answer
        }
        _ => pong(message),
    })
}

fn ask() -> File {
    File::new(
        &json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [
            {"name": "ask", "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "ask"}},
                "expect": {"message": {"$extra": "allow", "jsonrpc": "2.0", "id": 1, "result": {"$optional": {"$extra": "allow", "n": {"$optional": {"$type": "integer"}}}}}}},
        ]}),
    )
}

#[test]
fn the_reference_is_like_itself_and_every_changed_byte_shows() {
    let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    run(&["diff", "reference", &stdio, "--filter", "/led", "--mutate"])
        .ended(0, "2 transcripts alike (16 answers), 0 different, 0 skipped")
        .ended(0, "mutations of one byte: 16 made, 16 seen");
    run(&["diff", "reference", "reference", "--filter", "no such transcript"])
        .ended(4, "nothing was compared");
    run(&["diff", "reference", "nonsense"]).ended(2, "is no target");
    run(&["diff", "virtual", "virtual:2"]).ended(2, "two virtual boards are one target");
}

#[test]
fn only_what_must_differ_is_left_out() {
    let file = ask();
    let diff = |left: Value, right: Value| run(&["diff", &answering(left), &answering(right), file.path()]);
    let error = |code: i64, wording: &str| json!({"error": {"code": code, "message": wording}});
    diff(error(-32602, "bad"), error(-32602, "not good")).ended(0, "1 transcripts alike");
    diff(error(-32602, "bad"), error(-32600, "bad")).ended(1, "-       \"code\": -32602,");
    // the text of a tool's own error is never left out
    let failed =
        |text: &str| json!({"result": {"isError": true, "content": [{"type": "text", "text": text}]}});
    diff(failed("no such job"), failed("no such job!")).ended(1, "+           \"text\": \"no such job!\"");
    let board = |mac: &str, heap: u64, led: bool| json!({"result": {"mac": mac, "name": format!("board-{heap}"), "heap_used": heap, "on": led}});
    diff(
        board("02:00:00:00:00:01", 7, true),
        board("02:00:00:00:00:02", 8, true),
    )
    .ended(0, "1 transcripts alike");
    diff(
        board("02:00:00:00:00:01", 7, true),
        board("02:00:00:00:00:01", 7, false),
    )
    .ended(1, "+       \"on\": false");
    // a matcher covers what it holds for
    diff(json!({"result": {"n": 1}}), json!({"result": {"n": 2}})).ended(0, "1 transcripts alike");
    diff(json!({"result": {"n": 1}}), json!({"result": {"n": "2"}})).ended(1, "+       \"n\": \"2\"");
}
