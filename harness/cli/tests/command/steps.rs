//! Kinds of step that need a server of a special kind.

use crate::run::{File, Ran, run};
use crate::server::{http, mcp, pong, request, serve};
use serde_json::{Value, json};
use std::io::{BufReader, Write as _};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

fn play(url: &str, step: &Value) -> Ran {
    let transcript = json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [step]});
    let file = File::new(&transcript);
    run(&["replay", url, file.path()])
}

/// Asks for the status until it is done.
fn until(deadline_ms: u64) -> Value {
    json!({
        "name": "wait for the job",
        "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "status"}},
        "until": {"message": {"jsonrpc": "2.0", "id": 1, "result": {"status": "done"}}},
        "deadline_ms": deadline_ms, "every_ms": 20,
    })
}

#[test]
fn until_passes_over_other_answers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let url = mcp(move |message| {
        let status = if counted.fetch_add(1, Ordering::Relaxed) < 3 {
            "working"
        } else {
            "done"
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"status": status}})
    });
    play(&url, &until(10_000)).ended(0, "1 passed");
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn until_ends_at_its_deadline_and_shows_the_last_answer() {
    let url = mcp(|message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"status": "working"}}));
    let started = Instant::now();
    play(&url, &until(300))
        .ended(1, "not answered as expected within 300.0 ms")
        .ended(1, "expected \"done\", got \"working\"");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn until_does_not_pass_over_what_is_not_well_formed() {
    let url = mcp(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": "late", "message": "x"}}),
    );
    play(&url, &until(10_000)).ended(1, "schemas/2025-11-25/error.json");
}

#[test]
fn together_needs_both_to_be_served_at_once() {
    let pair = |id: u64| {
        json!({
            "send": {"message": {"jsonrpc": "2.0", "id": id, "method": "ping"}},
            "expect": {"message": {"jsonrpc": "2.0", "id": id, "result": {}}},
        })
    };
    let step = json!({"name": "two", "together": [pair(1), pair(2)]});
    // each answer waits until the other request is there too
    let waiting = Arc::new(AtomicUsize::new(0));
    let url = mcp(move |message| {
        waiting.fetch_add(1, Ordering::SeqCst);
        while waiting.load(Ordering::SeqCst) < 2 {
            sleep(Duration::from_millis(1));
        }
        pong(message)
    });
    play(&url, &step).ended(0, "1 passed");
    // answers swapped between the connections
    let ids = Arc::new(Mutex::new(Vec::new()));
    let url = mcp(move |message| {
        ids.lock().unwrap().push(message["id"].clone());
        loop {
            let seen = ids.lock().unwrap().clone();
            if let Some(other) = seen.iter().find(|id| seen.len() == 2 && **id != message["id"]) {
                return json!({"jsonrpc": "2.0", "id": other, "result": {}});
            }
            sleep(Duration::from_millis(1));
        }
    });
    play(&url, &step).ended(1, "/id: expected 1, got 2");
}

/// One raw request to a server that keeps the connection or closes it.
fn raw(expect_closed: bool, closes: bool) -> Ran {
    let url = serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let text = match message["method"].as_str() {
                Some("initialize") => http(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                    "protocolVersion": message["params"]["protocolVersion"], "capabilities": {}, "serverInfo": {"name": "t", "version": "1"},
                }})),
                Some("notifications/initialized") => {
                    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
                }
                Some("server/discover") => "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_owned(),
                _ => "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone".to_owned(),
            };
            writer.write_all(text.as_bytes()).unwrap();
            if text.contains("404") && closes {
                return;
            }
        }
    });
    let step = json!({
        "name": "another path",
        "send": {"raw": ["GET /other HTTP/1.1\r\nHost: ${host}\r\n", {"pause_ms": 20}, "\r\n"]},
        "expect": {"status": 404, "body": "gone", "closed": expect_closed},
    });
    play(&url, &step)
}

#[test]
fn closed_is_looked_at_both_ways() {
    raw(true, true).ended(0, "1 passed");
    raw(false, false).ended(0, "1 passed");
    raw(false, true)
        .ended(1, "the server closed the connection, which should stay open")
        .ended(1, "| nc -w 7 127.0.0.1");
}

#[test]
fn an_open_connection_where_a_close_is_due_fails_within_six_seconds() {
    let started = Instant::now();
    raw(true, false).ended(1, "the server left the connection open for 6 s");
    assert!((6..9).contains(&started.elapsed().as_secs()));
}
