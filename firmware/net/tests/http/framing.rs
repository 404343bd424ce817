//! Bodies, pipelining and keeping connections open.

use mcp_device_net::http::{BODY_MAX, CHUNK_LINE_MAX, CONNECTION_BYTES, LINGER_MAX, TRAILERS_MAX};

use crate::peer::{Peer, Seen, outcome};

fn chunked(body: &str) -> String {
    format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n{body}")
}

fn sized(body: &str) -> String {
    let length = body.len();
    format!("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {length}\r\n\r\n{body}")
}

#[test]
fn bodies_of_every_kind_of_length() {
    // Around what fits beside the head, and around the largest.
    let inline = CONNECTION_BYTES - sized(&"x".repeat(2000)).len() + 2000;
    for length in [
        0,
        1,
        inline - 1,
        inline,
        inline + 1,
        CONNECTION_BYTES,
        BODY_MAX - 1,
        BODY_MAX,
    ] {
        let body: String = ('a'..='z').cycle().take(length).collect();
        assert_eq!(outcome(sized(&body)).bodies(), [body.as_bytes()], "{length}");
        let one_chunk = chunked(&format!("{length:x}\r\n{body}\r\n0\r\n\r\n"));
        let expected = if length == 0 {
            vec![]
        } else {
            vec![body.as_bytes()]
        };
        if length > 0 {
            assert_eq!(outcome(one_chunk).bodies(), expected, "{length}");
        }
    }
    assert_eq!(outcome(sized(&"x".repeat(BODY_MAX + 1))).refused(), Some(413));
}

#[test]
fn chunks() {
    for (wire, body) in [
        ("0\r\n\r\n", ""),
        ("5\r\nhello\r\n0\r\n\r\n", "hello"),
        ("1\r\nh\r\n4\r\nello\r\n000\r\n\r\n", "hello"),
        ("00000000000000000005\r\nhello\r\n0\r\n\r\n", "hello"),
        (
            "A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n",
            "01234567890123456789",
        ),
        ("5;name=value;flag;q=\"a;b\"\r\nhello\r\n0;last\r\n\r\n", "hello"),
        ("5 ;x\r\nhello\r\n0 \r\n\r\n", "hello"),
        ("5\r\nhello\r\n0\r\nX-Sum: 1\r\nX-Empty:\r\n\r\n", "hello"),
        ("1\r\n\r\r\n1\r\n\n\r\n0\r\n\r\n", "\r\n"),
    ] {
        let peer = outcome(chunked(wire));
        assert_eq!(peer.bodies(), [body.as_bytes()], "{wire:?}");
        assert_eq!(peer.refused(), None, "{wire:?}");
    }
    for wire in [
        "\r\n",
        "-1\r\n",
        "+5\r\nhello\r\n",
        "0x5\r\nhello\r\n",
        "5\nhello\r\n",
        "5\r\nhelloworld\r\n",
        "5\r\nhello\n0\r\n\r\n",
        "5 5\r\nhello\r\n",
        ";x\r\nhello\r\n",
        "g\r\n",
        " 5\r\nhello\r\n",
        "5\r\nhello0\r\n\r\n",
        "5;a\0\r\nhello\r\n",
        "0\r\nno colon\r\n\r\n",
        "0\r\n: nameless\r\n\r\n",
        "0\r\nX : y\r\n\r\n",
        "0\r\nX: a\r\n folded\r\n\r\n",
        "0\r\nX: \0\r\n\r\n",
        "0\r\n\rX",
    ] {
        let peer = outcome(chunked(wire));
        assert_eq!(peer.refused(), Some(400), "{wire:?}");
        assert_eq!(peer.bodies().len(), 0, "{wire:?}");
    }
}

#[test]
fn bounds_of_chunked_bodies() {
    let status = |wire: &str| outcome(chunked(wire)).refused();
    assert_eq!(status(&format!("{:x}\r\n", BODY_MAX + 1)), Some(413));
    assert_eq!(status("ffffffffffffffffffffffff\r\n"), Some(413));
    let exact = format!("{BODY_MAX:x}\r\n{}\r\n", "x".repeat(BODY_MAX));
    assert_eq!(status(&format!("{exact}0\r\n\r\n")), None);
    assert_eq!(status(&format!("{exact}1\r\nx\r\n0\r\n\r\n")), Some(413));
    let single_bytes = "1\r\nx\r\n".repeat(BODY_MAX);
    assert_eq!(
        outcome(chunked(&format!("{single_bytes}0\r\n\r\n"))).bodies(),
        ["x".repeat(BODY_MAX).as_bytes()]
    );

    let extension = |len: usize| format!("0;{}\r\n\r\n", "e".repeat(len - 2));
    assert_eq!(status(&extension(CHUNK_LINE_MAX)), None);
    assert_eq!(status(&extension(CHUNK_LINE_MAX + 1)), Some(400));
    assert_eq!(status(&"0".repeat(CHUNK_LINE_MAX + 1)), Some(400));
    let trailers = |len: usize| format!("0\r\nX:{}\r\n\r\n", "t".repeat(len - 2));
    assert_eq!(status(&trailers(TRAILERS_MAX)), None);
    assert_eq!(status(&trailers(TRAILERS_MAX + 1)), Some(431));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let first = "1".repeat(700);
    let big = "2".repeat(BODY_MAX);
    let wire = [
        sized(&first),
        chunked("3\r\nabc\r\n0\r\nT: x\r\n\r\n"),
        "\r\n".into(), // RFC 9112, 2.2: an empty line before a request is passed over
        sized(&big),
        "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".into(),
        sized("last"),
    ]
    .concat();
    let expected: [&[u8]; 5] = [first.as_bytes(), b"abc", big.as_bytes(), b"", b"last"];
    assert_eq!(outcome(wire).bodies(), expected);
}

#[test]
fn a_bad_request_ends_the_pipeline() {
    let peer = outcome(sized("good") + "bad\r\n\r\n" + &sized("never"));
    assert_eq!(peer.bodies(), [b"good"]);
    assert_eq!(peer.refused(), Some(400));
}

#[test]
fn connections_stay_open_as_http_says() {
    let stays = |version: &str, line: &str| {
        let mut peer = Peer::new();
        peer.send(format!(
            "GET /mcp HTTP/{version}\r\nHost: 127.0.0.1\r\n{line}\r\n"
        ));
        assert_eq!(peer.bodies().len(), 1);
        !peer.half_closed()
    };
    assert!(stays("1.1", ""));
    assert!(stays("1.1", "Connection: keep-alive\r\n"));
    assert!(stays("1.1", "Connection: x-close, close-x\r\n"));
    assert!(!stays("1.1", "Connection: close\r\n"));
    assert!(!stays("1.1", "connection: Keep-Alive, CLOSE\r\n"));
    assert!(!stays("1.1", "Connection: x\r\nConnection: close\r\n"));
    assert!(!stays("1.0", ""));
    assert!(!stays("1.0", "Connection: x\r\n"));
    assert!(stays("1.0", "Connection: Keep-Alive\r\n"));
}

#[test]
fn after_a_refusal_the_rest_is_read_and_dropped_within_a_bound() {
    let mut peer = Peer::new();
    peer.send("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1048576\r\n\r\n");
    assert_eq!(peer.seen, [Seen::Refused(413), Seen::HalfClosed]);
    peer.send(vec![b'x'; LINGER_MAX - 1]);
    assert_eq!(peer.seen.len(), 2, "1 MiB and more is taken without a reset");
    peer.send("x");
    assert_eq!(peer.seen.last(), Some(&Seen::Closed));
}
