//! Servers whose very first answer breaks the protocol: verdicts on them with a clause and the bytes, and no trouble of the
//! infrastructure.

use crate::run::{Ran, run};
use crate::server::{request, serve};
use std::io::{BufReader, Write as _};

/// A result of `initialize` and of `server/discover`.
const RESULT: &str = r#"{"jsonrpc":"2.0","id":"mcp-hil-1","result":{"protocolVersion":"2025-11-25","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"t","version":"1"}}}"#;

/// Grades a server that answers everything with these bytes.
fn check(answer: Vec<u8>) -> Ran {
    let url = serve(move |stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while request(&mut reader).is_some() {
            let _ = writer.write_all(&answer);
        }
    });
    run(&["check", &url, "--color", "never", "-v"])
}

/// An answer with a body of this media type.
fn answer(fields: &str, media: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n{fields}\r\n");
    [head.as_bytes(), body].concat()
}

/// A body of JSON.
fn json(body: &[u8]) -> Vec<u8> {
    answer("", "application/json", body)
}

/// The result with a member before the others.
fn with(member: &[u8]) -> Vec<u8> {
    let (begin, rest) = RESULT.split_at(RESULT.find("\"protocolVersion").unwrap());
    json(&[begin.as_bytes(), member, b",", rest.as_bytes()].concat())
}

fn fails(answer: Vec<u8>, why: &str) {
    let ran = check(answer);
    ran.ended(1, why);
    for id in ["2025-11-25/lifecycle/handshake", "2026-07-28/lifecycle/discover"] {
        ran.ended(1, &format!("FAIL  {id}"));
    }
    for clause in [
        "MUST 2025-11-25/lifecycle/base-and-lifecycle-supported",
        "MUST 2026-07-28/discover/implemented",
        "HTTP/1.1 200 OK",
    ] {
        ran.ended(1, clause);
    }
    assert!(!ran.stdout.contains("pass  "), "{}", ran.stdout);
}

#[test]
fn a_body_that_is_no_json_fails() {
    fails(
        json(&[b"\xef\xbb\xbf", RESULT.as_bytes()].concat()),
        "a byte order mark",
    );
    fails(with(b"\"n\":NaN"), "the body is not JSON: expected value");
    fails(with(b"\"s\":\"\xff\xfe\""), "invalid unicode code point");
    fails(with(b"\"s\":\"a\x01b\""), "control character");
    fails(json(&[RESULT.as_bytes(), b"xx"].concat()), "trailing characters");
    fails(json(b""), "the answer has no JSON-RPC message");
}

#[test]
fn an_event_stream_without_the_response_fails() {
    let stream = |data: &str| answer("", "text/event-stream", format!("data: {data}\n\n").as_bytes());
    fails(
        stream(&format!("[{RESULT}]")),
        "the event stream ended without a response",
    );
    fails(
        stream("hello"),
        "an event of the stream is not JSON: expected value at line 1 column 1 in \"hello\"",
    );
    fails(
        stream(r#"{"jsonrpc":"2.0","id":"zz","result":{}}"#),
        "request \"mcp-hil-1\" was answered with id \"zz\"",
    );
}

#[test]
fn an_answer_that_begins_as_http_and_breaks_it_fails() {
    let field = |field: &str| answer(field, "application/json", RESULT.as_bytes());
    fails(field("Content-Length: 3\r\n"), "and Content-Length \"3\"");
    fails(
        field("X-A : b\r\n"),
        "line 4 of the answer's head breaks HTTP/1.1: invalid header name in \"X-A : b\"",
    );
    let mut cut = json(RESULT.as_bytes());
    cut.truncate(cut.len() - 2);
    let url = serve(move |stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        request(&mut reader);
        let _ = writer.write_all(&cut);
    });
    run(&["check", &url]).ended(1, "closed before a whole answer");
}

#[test]
fn what_was_not_chosen_is_not_told_and_the_opening_is() {
    let url = serve(|stream| {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while request(&mut reader).is_some() {
            let _ = writer.write_all(&json(b"{"));
        }
    });
    let ran = run(&["check", &url, "--only", "caching", "-v", "--color", "never"]);
    ran.ended(1, "FAIL  2025-11-25/lifecycle/handshake");
    ran.ended(1, "skip  2026-07-28/caching/");
    assert!(!ran.stdout.contains("/tools/"), "{}", ran.stdout);
}

#[test]
fn a_refusal_is_no_verdict_whatever_else_it_breaks() {
    let refused =
        b"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"a\x1bb\"\r\nContent-Length: 0\r\n\r\n";
    let ran = check(refused.to_vec());
    ran.ended(
        3,
        "line 2 of the answer's head breaks HTTP/1.1: invalid header value",
    );
    ran.ended(3, "try: the server wants to know who asks");
    // a client that says nothing of codings takes all of them (RFC 9110, section 12.5.3)
    let coded = answer(
        "Content-Encoding: gzip\r\n",
        "application/json",
        b"\x1f\x8b\x08\x00",
    );
    check(coded).ended(3, "the body is in a content coding, \"gzip\"");
    check(answer("", "text/html", b"<p>")).ended(3, "try: a web page answers there");
}

#[test]
fn a_banner_before_the_first_message_fails() {
    let reference = format!("{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
    let ran = run(&[
        "check",
        &format!("stdio:sh -c 'echo Welcome; exec {reference}'"),
        "--color",
        "never",
        "-v",
    ]);
    ran.ended(1, "a line is no message: \"Welcome\"");
    ran.ended(1, "MUST NOT both/stdio/stdout-only-messages");
    ran.ended(1, r"check 'stdio:sh -c '\''echo Welcome; exec");
    assert!(!ran.stdout.contains("pass  "), "{}", ran.stdout);
    // what never answers is no server
    run(&[
        "check",
        "stdio:sh -c 'echo Welcome; exec cat >/dev/null'",
        "--deadline-factor",
        "0.1",
    ])
    .ended(3, "no MCP server");
}
