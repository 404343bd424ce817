//! Servers that misbehave: each is a failure with a name, within the deadline.

use crate::run::{File, ping, run};
use crate::server::{answer, mcp, mcp_text, pong, request, serve};
use serde_json::{Value, json};
use std::io::{BufReader, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// Plays a ping; the limit for an answer is half a second.
fn play(url: &str) -> crate::run::Ran {
    let file = File::ping();
    run(&["replay", url, file.path(), "--deadline-factor", "0.05"])
}

/// Reads a request and gives the connection to write to.
fn after_request(stream: TcpStream) -> TcpStream {
    let mut reader = BufReader::new(stream);
    request(&mut reader);
    reader.into_inner()
}

#[test]
fn silence() {
    let url = serve(|stream| {
        let _held = after_request(stream);
        sleep(Duration::from_secs(60));
    });
    play(&url).ended(1, "no answer within");
}

#[test]
fn a_close_without_an_answer() {
    let url = serve(|stream| drop(after_request(stream)));
    play(&url).ended(1, "closed before a whole answer: 0 bytes came");
}

#[test]
fn a_close_in_the_middle() {
    let url = serve(|stream| {
        let _ = after_request(stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
    });
    play(&url).ended(1, "closed before a whole answer: 40 bytes came");
}

#[test]
fn garbage() {
    let url = serve(|stream| {
        let _ = after_request(stream).write_all(b"\x00\x01\x02 hello\r\n\r\n");
    });
    play(&url).ended(1, "not HTTP/1.1");
}

#[test]
fn an_answer_that_is_declared_huge() {
    let url = serve(|stream| {
        let _ = after_request(stream).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
    });
    play(&url).ended(1, "more than 8388608 bytes");
}

#[test]
fn an_answer_without_end() {
    let url = serve(|stream| {
        let mut stream = after_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b' '; 65536]).is_ok() {}
    });
    let file = File::ping();
    run(&["replay", &url, file.path()]).ended(1, "more than 8388608 bytes");
}

#[test]
fn a_head_without_end() {
    let url = serve(|stream| {
        let mut stream = after_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {
            sleep(Duration::from_millis(20));
        }
    });
    play(&url).ended(1, "the answer was not whole within");
}

#[test]
fn an_event_stream_without_end() {
    let url = serve(|stream| {
        let mut stream = after_request(stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
        let note = b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n";
        while stream.write_all(note).is_ok() {
            sleep(Duration::from_millis(5));
        }
    });
    play(&url).ended(1, "the answer was not whole within");
}

#[test]
fn pages_without_end() {
    let count = Arc::new(AtomicUsize::new(0));
    let url = mcp(move |message| {
        let next = count.fetch_add(1, Ordering::Relaxed).to_string();
        json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [], "nextCursor": next}})
    });
    let file = File::new(&with_needs(json!({"tools": ["echo"]})));
    run(&["replay", &url, file.path()]).ended(1, "the pages never end: 100 pages");
}

#[test]
fn a_cursor_that_comes_again() {
    let url = mcp(
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [], "nextCursor": ""}}),
    );
    let file = File::new(&with_needs(json!({"tools": ["echo"]})));
    run(&["replay", &url, file.path()]).ended(1, "cursor \"\" came again");
}

fn with_needs(needs: Value) -> Value {
    let mut transcript = ping();
    transcript["needs"] = needs;
    transcript
}

#[test]
fn an_id_of_another_type() {
    let url = mcp(|message| json!({"jsonrpc": "2.0", "id": message["id"].to_string(), "result": {}}));
    let ran = play(&url);
    ran.ended(1, "/id: expected 1, got \"1\"");
    // the evidence: both bytes, a diff, and a line to repeat it
    for text in [
        "-   \"id\": 1,",
        "+   \"id\": \"1\",",
        "POST /mcp HTTP/1.1",
        "to repeat: curl",
    ] {
        assert!(ran.stdout.contains(text), "no {text:?} in\n{}", ran.stdout);
    }
}

#[test]
fn a_length_in_characters() {
    let url = mcp_text(|message| {
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": {"_meta": {"x": "\u{4e16}"}}})
            .to_string();
        format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.chars().count()
        )
    });
    play(&url).ended(1, "2 bytes came after the end of the answer");
}

#[test]
fn a_server_that_stops_answering() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        // discover, two handshakes of the probe and that of the transcript; then nobody listens any more
        for _ in 0..4 {
            let (stream, _) = listener.accept().unwrap();
            let mut writer = stream.try_clone().unwrap();
            let mut reader = BufReader::new(stream);
            while let Some((_, message)) = request(&mut reader) {
                if message["method"] == "ping" {
                    // before the connection: a client that dials again must find nobody, not a queue that is reset
                    drop(listener);
                    return;
                }
                writer.write_all(answer(&message).as_bytes()).unwrap();
            }
        }
    });
    play(&url).ended(1, "the target stopped answering");
}

#[test]
fn a_good_server_passes() {
    play(&mcp(pong)).ended(0, "1 passed, 0 failed, 0 skipped");
}

#[test]
fn a_server_that_closes_after_each_answer_passes() {
    let url = serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        if let Some((_, message)) = request(&mut reader) {
            let _ = writer.write_all(answer(&message).as_bytes());
        }
    });
    play(&url).ended(0, "1 passed");
}

#[test]
fn an_answer_in_an_event_stream_passes() {
    let url = mcp_text(|message| {
        let events = format!(
            ": hello\n\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}}\n\ndata: {}\n\n",
            pong(message)
        );
        format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{events}",
            events.len()
        )
    });
    play(&url).ended(0, "1 passed");
}

#[test]
fn a_command_that_ends_at_once() {
    play("stdio:sh -c 'echo no luck >&2; exit 7'")
        .ended(1, "exit status: 7; standard error ends with: no luck");
}

#[test]
fn a_command_that_floods() {
    play("stdio:yes").ended(1, "a line on standard output is not a message: y");
}

#[test]
fn a_command_that_never_speaks() {
    play("stdio:sleep 60").ended(1, "no answer within");
}
