//! An answer with a message says what it is (2025-11-25, Streamable HTTP, "Sending Messages to the Server", 5).

use crate::run::{File, run};
use crate::server::{answer, mcp_text, pong, request, serve};
use std::io::{BufReader, Write as _};

/// A server that answers a ping rightly but for the media type.
fn play(content_type: &'static str) -> crate::run::Ran {
    let url = mcp_text(move |message| {
        let body = pong(message).to_string();
        format!(
            "HTTP/1.1 200 OK\r\n{content_type}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    });
    let file = File::ping();
    run(&["replay", &url, file.path(), "--deadline-factor", "0.1"])
}

#[test]
fn another_media_type_fails() {
    play("Content-Type: text/html\r\n").ended(
        1,
        "header content-type: expected application/json or text/event-stream, got \"text/html\"",
    );
}

#[test]
fn no_media_type_fails() {
    play("").ended(
        1,
        "header content-type: expected application/json or text/event-stream, got nothing",
    );
}

#[test]
fn the_handshake_is_looked_at_too() {
    let url = serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let mut text = answer(&message);
            if message["method"] == "initialize" {
                text = text.replace("application/json", "text/plain");
            }
            let _ = writer.write_all(text.as_bytes());
        }
    });
    let file = File::ping();
    run(&["replay", &url, file.path(), "--deadline-factor", "0.1"]).ended(1, "got \"text/plain\"");
}

#[test]
fn a_parameter_and_letter_case_make_no_difference() {
    play("Content-Type: Application/JSON; charset=utf-8\r\n").ended(0, "1 passed");
}
