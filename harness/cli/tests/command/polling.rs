//! A legacy server may close an event stream and be polled for the rest (2025-11-25, Streamable HTTP, "Sending
//! Messages to the Server", 6, and "Resumability and Redelivery").

use crate::run::{File, Ran, run};
use crate::server::{answer, pong, request_with_head, serve};
use serde_json::Value;
use std::io::{BufReader, Write as _};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/// A server whose ping is answered by the given GET, counted from one; gives the Last-Event-IDs and when they came.
fn play(answered_by: usize, factor: &str) -> (Ran, Vec<(String, Instant)>) {
    let (asked, gets) = (
        Arc::<Mutex<Value>>::default(),
        Arc::<Mutex<Vec<(String, Instant)>>>::default(),
    );
    let seen = Arc::clone(&gets);
    let url = serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((head, message)) = request_with_head(&mut reader) {
            let text = if head[0].starts_with("get") {
                let id = head.iter().find_map(|line| line.strip_prefix("last-event-id: "));
                gets.lock()
                    .unwrap()
                    .push((id.unwrap_or_default().trim().to_owned(), Instant::now()));
                let count = gets.lock().unwrap().len();
                if count == answered_by {
                    format!("{HEAD}data: {}\n\n", pong(&asked.lock().unwrap()))
                } else {
                    format!("{HEAD}id: e{count}\ndata:\n\n")
                }
            } else if message["method"] == "ping" {
                *asked.lock().unwrap() = message;
                format!("{HEAD}id: e0\nretry: 100\ndata:\n\n")
            } else {
                answer(&message)
            };
            let _ = writer.write_all(text.as_bytes());
            if text.starts_with(HEAD) {
                return;
            }
        }
    });
    let file = File::ping();
    let ran = run(&["replay", &url, file.path(), "--deadline-factor", factor]);
    let gets = seen.lock().unwrap().clone();
    (ran, gets)
}

#[test]
fn the_rest_is_asked_for_after_the_time_that_the_server_wants() {
    let (ran, gets) = play(2, "1");
    ran.ended(0, "1 passed");
    assert_eq!(
        (gets[0].0.as_str(), gets[1].0.as_str(), gets.len()),
        ("e0", "e1", 2)
    );
    assert!(gets[1].1 - gets[0].1 >= Duration::from_millis(100));
}

#[test]
fn polling_ends_at_the_deadline() {
    let (ran, gets) = play(usize::MAX, "0.1");
    ran.ended(1, "the answer was not whole within 1 s");
    assert!((2..=10).contains(&gets.len()), "{}", gets.len());
}
