//! What a request takes of a board's memory besides the two lent buffers. A test binary of its own, with one test,
//! since the allocator counts for the whole process.
#![allow(clippy::unwrap_used, reason = "a panic is a failed test")]
mod support;

use std::pin::pin;

use embassy_futures::block_on;
use mcp_device::{ENDPOINT, MAX_ANSWER, MAX_BODY, Millis, Request};
use peak_alloc::PeakAlloc;
use serde_json::json;
use support::{Legacy, Modern, Post, device};

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Most heap that any request may take, bytes.
const HEAP_PER_REQUEST: usize = 1024;
/// Most that the future of a request may take, bytes, on a 64-bit machine.
const FUTURE: usize = 2048;

fn padded(head: &str, unit: &str, tail: &str) -> Post {
    let count = (MAX_BODY - head.len() - tail.len()) / unit.len();
    Post::bare(format!("{head}{}{tail}", unit.repeat(count.min(2000))))
}

#[test]
fn a_request_takes_little_memory_whatever_it_holds() {
    let echo =
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"#;
    let read = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"led_get","arguments":{"#;
    for (what, post) in [
        ("list", Modern.request("tools/list", json!({}))),
        ("escapes", padded(&format!("{echo}\""), r"\u00e9", "\"}}}")),
        ("long text", padded(&format!("{echo}\"\\n"), "xxxxxxxx", "\"}}}")),
        ("elements", padded(&format!("{echo}["), "0,", "0]}}}")),
        ("members", padded(read, r#""":0,"#, r#""x":0}}}"#)),
        (
            "a long name",
            padded(&format!("{read}\"\\t"), "xxxxxxxx", r#"":0}}}"#),
        ),
        (
            "a long id",
            padded(r#"{"jsonrpc":"2.0","id":"\n"#, "xxxxxxx", r#"","method":"no"}"#),
        ),
        (
            "a long method",
            padded(r#"{"jsonrpc":"2.0","id":1,"method":"\n"#, "xxxxxxxx", r#""}"#),
        ),
        (
            "a long cursor",
            padded(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"\n"#,
                "xxxxxxxx",
                r#""}}"#,
            ),
        ),
        ("nesting", padded(&"[".repeat(32), " ", &"]".repeat(32))),
        ("the log", Legacy.tool("log_tail", json!({"lines": 32}))),
        (
            "too large an answer",
            Legacy.tool("echo", json!({"text": "x".repeat(4096), "repeat": 64})),
        ),
    ] {
        let device = device();
        let headers: Vec<_> = post
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), &value[..]))
            .collect();
        let request = Request {
            method: "POST",
            path: ENDPOINT,
            headers: &headers,
            body: &post.body,
        };
        let mut out = vec![0; MAX_ANSWER];
        let mut run = || {
            let future = device.handle(Millis(1), &request, &mut out);
            let size = size_of_val(&future);
            assert!(size <= FUTURE, "the future has {size} bytes");
            let before = HEAP.current_usage();
            HEAP.reset_peak_usage();
            block_on(pin!(future));
            (
                HEAP.peak_usage().saturating_sub(before),
                HEAP.current_usage().saturating_sub(before),
                size,
            )
        };
        // The test runner's own thread takes memory now and then; what one of several runs did without isn't needed.
        let (taken, left, size) = (0..5).map(|_| run()).min().unwrap();
        println!("{what}: {taken} bytes of heap, {size} bytes of future");
        assert!(taken <= HEAP_PER_REQUEST, "{what} took {taken} bytes");
        assert_eq!(left, 0, "{what} left something behind");
    }
}
