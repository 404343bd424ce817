//! Malformed heads: each gets an answer that says what is wrong, and a close.

use mcp_device_net::http::{BODY_MAX, HEAD_MAX, MAX_HEADERS};

use crate::peer::{Seen, outcome};

/// A request with `lines` after the first, each with its line end.
fn post(lines: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\n{lines}\r\n")
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, status: u16) {
    let bytes = bytes.as_ref();
    let peer = outcome(bytes);
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]);
    assert_eq!(peer.refused(), Some(status), "{text}");
    assert_eq!(peer.bodies().len(), 0, "the device saw {text}");
    assert!(peer.half_closed(), "{text}");
    let answer = String::from_utf8(peer.output).unwrap();
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
}

#[track_caller]
fn served(bytes: impl AsRef<[u8]>) -> Vec<Seen> {
    let peer = outcome(&bytes);
    assert_eq!(
        peer.refused(),
        None,
        "{}",
        String::from_utf8_lossy(bytes.as_ref())
    );
    assert_eq!(
        peer.bodies().len(),
        1,
        "{}",
        String::from_utf8_lossy(bytes.as_ref())
    );
    peer.seen
}

#[test]
fn request_line() {
    for line in [
        "\0\r\n",
        "garbage\r\n",
        "POST\r\n",
        "POST /mcp\r\n",
        "POST  /mcp HTTP/1.1\r\n",
        "POST /mcp  HTTP/1.1\r\n",
        "POST /m cp HTTP/1.1\r\n",
        "P@ST /mcp HTTP/1.1\r\n",
        "PO\0ST /mcp HTTP/1.1\r\n",
        "(POST) /mcp HTTP/1.1\r\n",
        " POST /mcp HTTP/1.1\r\n",
        "POST /mcp HTTPS/1.1\r\n",
        "POST /mcp http/1.1\r\n",
        "POST /mcp HTTP/\r\n",
        "POST /mcp HTTP/1.10\r\n",
        "POST /mcp\0 HTTP/1.1\r\n",
        "POST /mcp#part HTTP/1.1\r\n",
        "POST /m\u{e9}p HTTP/1.1\r\n",
        "POST mcp HTTP/1.1\r\n",
        "POST * HTTP/1.1\r\n",
        "POST 127.0.0.1:80 HTTP/1.1\r\n",
        "POST ftp://127.0.0.1/mcp HTTP/1.1\r\n",
        "POST /mcp HTTP/1.1\r\r\n",
        "\u{16}\u{3}\u{1}\0\u{a5}\u{1}\0\0\u{a1}\u{3}\u{3}", // the hello of TLS
    ] {
        refused(format!("{line}Host: 127.0.0.1\r\n\r\n"), 400);
    }
    for version in ["HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/11"] {
        refused(format!("POST /mcp {version}\r\nHost: 127.0.0.1\r\n\r\n"), 505);
    }
    refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
    refused("CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 501);
}

#[test]
fn header_lines() {
    for lines in [
        "Host: 127.0.0.1\r\nno colon\r\n",
        "Host : 127.0.0.1\r\n",
        " Host: 127.0.0.1\r\n",
        "Host: 127.0.0.1\r\nX-Folded: a\r\n b\r\n",
        "Host: 127.0.0.1\r\nX-Folded: a\r\n\tb\r\n",
        "Host: 127.0.0.1\r\n: nameless\r\n",
        "Host: 127.0.0.1\r\nX Y: z\r\n",
        "Host: 127.0.0.1\r\nX\u{e9}: z\r\n",
        "Host: 127.0.0.1\r\nX: a\0b\r\n",
        "Host: 127.0.0.1\r\nX: a\rb\r\n",
        "Host: 127.0.0.1\r\nX: a\u{7f}b\r\n",
    ] {
        refused(post(lines), 400);
    }
}

#[test]
fn lengths_on_both_sides_of_their_bounds() {
    let headers = |count: usize| {
        let more: String = (1..count).map(|n| format!("X-{n}: y\r\n")).collect();
        post(&format!("Host: 127.0.0.1\r\n{more}"))
    };
    served(headers(30));
    served(headers(MAX_HEADERS));
    refused(headers(MAX_HEADERS + 1), 431);
    refused(headers(200), 431);

    let long = |len: usize| {
        let empty = post("Host: 127.0.0.1\r\nX: \r\n").len();
        post(&format!("Host: 127.0.0.1\r\nX: {}\r\n", "y".repeat(len - empty)))
    };
    assert_eq!(long(HEAD_MAX).len(), HEAD_MAX);
    served(long(HEAD_MAX));
    refused(long(HEAD_MAX + 1), 431);
    refused(long(64 * 1024), 431);
    refused(format!("POST /{} HTTP/1.1\r\n", "m".repeat(HEAD_MAX)), 414);
    refused("P".repeat(10_000), 414);
}

#[test]
fn host() {
    for host in [
        "127.0.0.1",
        "127.0.0.1:18791",
        "10.0.0.7:1",
        "[::1]",
        "[::1]:80",
        "[fe80::1]:65535",
        "[::ffff:1.2.3.4]",
        "localhost",
        "LocalHost:3000",
        "localhost.",
        "localhost:",
        "board.local",
        "BOARD.local:80",
        "board.local.",
    ] {
        served(post(&format!("Host: {host}\r\n")));
    }
    for host in [
        "example.com",
        "localhost.example.com",
        "board.local.example.com",
        "xboard.local",
        "board",
        "127.0.0.1.example.com",
        "127.1",
        "2130706433",
        "0x7f000001",
        "",
        ":80",
        "localhost..",
    ] {
        refused(post(&format!("Host: {host}\r\n")), 403);
    }
    for host in [
        "a b",
        "user@localhost",
        "localhost/",
        "http://localhost",
        "::1",
        "[::1",
        "[::1]x",
        "[::1]80",
        "[]",
        "[fe80::1%eth0]",
        "localhost:x",
        "localhost:-1",
        "localhost:+1",
        "localhost:65536",
        "localhost:80:80",
        "127.0.0.1, 127.0.0.1",
        "b\u{f6}ard.local",
    ] {
        refused(post(&format!("Host: {host}\r\n")), 400);
    }
    refused(post(""), 400);
    refused("POST /mcp HTTP/1.0\r\n\r\n", 400);
    refused(post("Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n"), 400);
    refused(post("host: 127.0.0.1\r\nHOST: evil.example\r\n"), 400);
}

#[test]
fn a_forbidden_host_is_refused_before_the_body_is_read() {
    let mut peer = crate::peer::Peer::new();
    peer.send(post(
        "Host: evil.example\r\nContent-Length: 16000\r\nExpect: 100-continue\r\n",
    ));
    assert_eq!(peer.seen, [Seen::Refused(403), Seen::HalfClosed]);
}

#[test]
fn origin() {
    for (host, origin) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("127.0.0.1:8080", "https://127.0.0.1:8080"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("127.0.0.1:80", "http://127.0.0.1"),
        ("127.0.0.1:443", "https://127.0.0.1"),
        ("localhost", "http://LOCALHOST"),
        ("[::1]:8080", "http://[0:0::1]:8080"),
        ("board.local", "http://board.local"),
    ] {
        served(post(&format!("Host: {host}\r\nOrigin: {origin}\r\n")));
    }
    for (host, origin) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8081"),
        ("127.0.0.1:8080", "http://127.0.0.1"),
        ("127.0.0.1:8080", "http://localhost:8080"),
        ("127.0.0.1:80", "https://127.0.0.1"),
        ("127.0.0.1", "http://evil.example"),
        ("127.0.0.1", "null"),
        ("127.0.0.1", ""),
        ("127.0.0.1", "ftp://127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1", "http://127.0.0.1/"),
        ("127.0.0.1", "http://user@127.0.0.1"),
        ("127.0.0.1", "http://"),
        ("127.0.0.1", "file://"),
        ("127.0.0.1", "chrome-extension://abcdef"),
    ] {
        refused(post(&format!("Host: {host}\r\nOrigin: {origin}\r\n")), 403);
    }
    refused(
        post("Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\nOrigin: http://evil.example\r\n"),
        403,
    );
}

#[test]
fn target_forms() {
    let path = |line: &str| match &served(format!("{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))[0] {
        Seen::Request { path, .. } => path.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(path("POST /mcp"), "/mcp");
    assert_eq!(path("POST /mcp?a=/b?c"), "/mcp");
    assert_eq!(path("POST /?"), "/");
    assert_eq!(path("POST /%6dcp"), "/%6dcp");
    assert_eq!(path("OPTIONS *"), "*");
    assert_eq!(path("POST http://127.0.0.1/mcp"), "/mcp");
    assert_eq!(path("POST HTTP://board.local:80/mcp?x"), "/mcp");
    assert_eq!(path("POST http://127.0.0.1"), "/");
    assert_eq!(path("POST http://127.0.0.1?x"), "/");
    refused(
        "POST http://evil.example/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        403,
    );
    refused(
        "POST http://127.0.0.1/mcp HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        403,
    );
    refused("POST http:///mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403);
}

#[test]
fn the_request_reaches_the_device_as_sent() {
    let seen = served(
        "m-search /mcp HTTP/1.1\r\nhOsT:127.0.0.1\r\nX-Odd:  \t a b \t\r\nX-Odd:\r\nX-Raw: \u{e9}\r\n\r\n",
    );
    let headers: [(&str, &[u8]); 4] = [
        ("hOsT", b"127.0.0.1"),
        ("X-Odd", b"a b"),
        ("X-Odd", b""),
        ("X-Raw", "\u{e9}".as_bytes()),
    ];
    let headers = headers
        .iter()
        .map(|(n, v)| ((*n).to_owned(), v.to_vec()))
        .collect();
    let request = Seen::Request {
        method: "m-search".into(),
        path: "/mcp".into(),
        headers,
        body: vec![],
    };
    assert_eq!(seen, [request, Seen::HalfClosed, Seen::Closed]);
}

#[test]
fn framing_headers() {
    let with = |line: &str| post(&format!("Host: 127.0.0.1\r\n{line}\r\n"));
    for value in [
        "-1", "+1", "1.0", "1 1", "0x10", "", "1,1", "1, 1", "one", "\u{661}", "9\u{b2}",
    ] {
        refused(with(&format!("Content-Length: {value}")), 400);
    }
    refused(with("Content-Length: 1\r\nContent-Length: 1") + "x", 400);
    refused(with("Content-Length: 1\r\nContent-Length: 2") + "x", 400);
    refused(
        with("Content-Length: 1\r\nTransfer-Encoding: chunked") + "1\r\nx\r\n0\r\n\r\n",
        400,
    );
    refused(with("Transfer-Encoding: chunked, chunked"), 400);
    refused(
        with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        400,
    );
    refused(with("Transfer-Encoding:"), 400);
    refused(
        "POST /mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
    );
    for coding in [
        "gzip",
        "identity",
        "gzip, chunked",
        "chunked;q=1",
        "xchunked",
        "chunked\u{b}",
    ] {
        refused(
            with(&format!("Transfer-Encoding: {coding}")),
            if coding.ends_with('\u{b}') { 400 } else { 501 },
        );
    }
    refused(with(&format!("Content-Length: {}", BODY_MAX + 1)), 413);
    refused(with("Content-Length: 4294967296"), 413);
    refused(with("Content-Length: 18446744073709551616"), 413);
    refused(with(&format!("Content-Length: {}", "9".repeat(500))), 413);
    served(with("Content-Length: 0"));
    served(with("content-length:0001") + "x");
    served(with("transfer-ENCODING: Chunked") + "0\r\n\r\n");
    served(with("Transfer-Encoding: ,chunked,") + "0\r\n\r\n");
}

#[test]
fn expect() {
    let with = |line: &str| post(&format!("Host: 127.0.0.1\r\n{line}\r\n"));
    let first = |bytes: String| served(bytes)[0].clone();
    assert_eq!(
        first(with("Content-Length: 2\r\nExpect: 100-continue") + "{}"),
        Seen::Continue
    );
    assert_eq!(
        first(with("Transfer-Encoding: chunked\r\nexpect: 100-Continue") + "0\r\n\r\n"),
        Seen::Continue
    );
    // Nothing to wait for.
    assert!(matches!(
        first(with("Expect: 100-continue")),
        Seen::Request { .. }
    ));
    // RFC 9110, 10.1.1: an HTTP/1.0 client can't mean it.
    let old = "POST /mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n{}";
    assert!(matches!(first(old.into()), Seen::Request { .. }));
    refused(with("Content-Length: 2\r\nExpect: 200-maybe") + "{}", 417);
    refused(with("Content-Length: 2\r\nExpect: 100-continue, x=y") + "{}", 417);
    // The final answer comes in place of 100.
    let peer = outcome(with(&format!(
        "Content-Length: {}\r\nExpect: 100-continue",
        BODY_MAX + 1
    )));
    assert_eq!(peer.seen[0], Seen::Refused(413));
}

#[test]
fn a_request_that_ends_too_early_is_told_so() {
    let whole = post("Host: 127.0.0.1\r\nContent-Length: 4\r\n") + "body";
    for len in 1..whole.len() {
        refused(&whole[..len], 400);
    }
    served(whole);
    assert_eq!(
        outcome("").seen,
        [Seen::HalfClosed, Seen::Closed],
        "silence is answered with silence"
    );
}

#[test]
fn a_refused_head_request_gets_no_body() {
    let answer = String::from_utf8(outcome("HEAD /mcp HTTP/1.1\r\n\r\n").output).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\n"),
        "{answer}"
    );
    let answer = String::from_utf8(outcome("GET /mcp HTTP/1.1\r\n\r\n").output).unwrap();
    assert!(
        answer.ends_with("\r\n\r\nthe Host header is missing\n"),
        "{answer}"
    );
    assert!(answer.contains("\r\ncontent-length: 27\r\n"), "{answer}");
}
