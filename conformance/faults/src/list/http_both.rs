//! HTTP rules that both eras have.

use super::as_stream;
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::Value;

pub(super) const FAULTS: &[Fault] = &[
    must(
        "any-path",
        BOTH,
        "both/http/wrong-path-404",
        "speaks MCP on every path",
    )
    .http()
    .ask(|ask| match ask.memory.get("path") {
        Some(path) => ask.target = path.as_str().unwrap_or_default().to_owned(),
        None => {
            ask.memory.set("path", ask.target.clone());
        }
    }),
    must(
        "unknown-tool-404",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "answers an unknown tool with 404",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.status = 404;
        }
    }),
    must(
        "unknown-tool-500",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "answers an unknown tool with 500",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.status = 500;
        }
    }),
    must(
        "unknown-tool-hangs",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "never answers an unknown tool",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.framing = Framing::Never;
        }
    }),
    must(
        "length-counts-characters",
        BOTH,
        "both/http/answer-length-in-bytes",
        "counts Content-Length in characters",
    )
    .case(29)
    .reply(|_, reply| reply.size_in_characters()),
    must(
        "answer-cut",
        BOTH,
        "both/http/answer-length-in-bytes",
        "hangs up before the end of answers with more than ASCII",
    )
    .case(30)
    .reply(|_, reply| {
        if !reply.body.is_ascii() {
            reply.framing = Framing::Cut(reply.body.len() - 2);
        }
    }),
    must(
        "no-allow",
        BOTH,
        "both/http/allow-with-405",
        "does not say with 405 which methods there are",
    )
    .case(27)
    .any_era()
    .reply(|_, reply| {
        if reply.status == 405 {
            reply.headers.remove("allow");
        }
    }),
    must(
        "split-body-refused",
        BOTH,
        "both/http/body-split",
        "takes a body to be whole with its first segment",
    )
    .http()
    .case(28)
    .answer(|ask| {
        let cut = ask.cuts.first().is_some_and(|cut| *cut > 0);
        cut.then(|| Reply::error(400, &Value::Null, -32700, "not JSON"))
    }),
    must(
        "chunked-body-refused",
        BOTH,
        "both/http/body-chunked",
        "takes chunk sizes for JSON",
    )
    .http()
    .case(28)
    .answer(|ask| {
        ask.chunked
            .then(|| Reply::error(400, &Value::Null, -32700, "not JSON"))
    }),
    must(
        "chunked-body-unanswered",
        BOTH,
        "both/http/body-chunked",
        "never answers a chunked body",
    )
    .http()
    .case(28)
    .answer(|ask| ask.chunked.then(|| Reply::framed(Framing::Never))),
    must(
        "pipelined-lost",
        BOTH,
        "both/http/pipelined-in-order",
        "loses a request that came with the one before it",
    )
    .http()
    .answer(|ask| ask.pipelined.then(|| Reply::framed(Framing::Never))),
    must(
        "expect-refused",
        BOTH,
        "both/http/expect-continue",
        "fails on Expect",
    )
    .http()
    .answer(|ask| {
        ask.headers
            .get("expect")
            .map(|_| Reply::text(500, "text/plain", "error\n"))
    }),
    must(
        "large-body-kills",
        BOTH,
        "both/http/large-body-survived",
        "serves nobody after a large body",
    )
    .http()
    .case(30)
    .answer(|ask| {
        if ask.body.len() > 100 << 10 {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "large-body-500",
        BOTH,
        "both/http/large-body-survived",
        "answers a large body with 500",
    )
    .http()
    .case(30)
    .answer(|ask| (ask.body.len() > 100 << 10).then(|| Reply::text(500, "text/plain", "out of memory\n"))),
    must(
        "bad-length-served",
        BOTH,
        "both/http/bad-content-length-400",
        "answers a bad Content-Length with 200",
    )
    .raw(|bytes| bad_length(bytes).then(|| Reply::result(&1.into(), serde_json::json!({})))),
    must(
        "bad-length-drops",
        BOTH,
        "both/http/bad-content-length-400",
        "drops the connection on a bad Content-Length",
    )
    .raw(|bytes| bad_length(bytes).then(|| Reply::framed(Framing::Drop))),
    must_not(
        "length-and-chunks",
        BOTH,
        "both/http/no-length-with-chunked",
        "sends chunked answers with Content-Length as well",
    )
    .reply(|_, reply| {
        if reply.headers.media_type() == "application/json" {
            reply.framing = Framing::ChunkedAndSized;
        }
    }),
    must(
        "bare-line-feeds",
        BOTH,
        "both/http/head-lines-end-in-crlf",
        "ends the lines of its heads with LF alone",
    )
    .reply(|_, reply| {
        if reply.headers.media_type() == "application/json" {
            reply.framing = Framing::BareLines;
        }
    }),
    should_not(
        "results-with-500",
        BOTH,
        "both/http/result-without-server-error",
        "sends the results of calls with status 500",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code().is_none() && reply.status == 200 {
            reply.status = 500;
        }
    }),
    should(
        "stream-goes-on",
        LEGACY,
        "2025-11-25/http/sse-terminates-after-response",
        "sends a notification after the response of a stream",
    )
    .reply(goes_on),
    should(
        "modern-stream-goes-on",
        MODERN,
        "2026-07-28/http/sse-final-response-ends",
        "sends a notification after the response of a stream",
    )
    .reply(goes_on),
];

/// A stream with a message behind its response.
fn goes_on(ask: &Ask, reply: &mut Reply) {
    as_stream(ask, reply);
    if reply.is_event_stream() {
        let told = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        reply
            .body
            .extend_from_slice(format!("data: {told}\n\n").as_bytes());
    }
}

fn bad_length(bytes: &[u8]) -> bool {
    String::from_utf8_lossy(bytes)
        .to_ascii_lowercase()
        .contains("content-length")
}
