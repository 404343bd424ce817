//! What comes back to any POST of a request: looks back at the whole run.

use super::{asked, media_type};
use crate::check::{BOTH, Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, Reply};
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::http::Malformed;
use serde_json::{Value, json};

const TYPE_2025: &str = "2025-11-25/http/response-content-type";
const TYPE_2026: &str = "2026-07-28/http/response-content-type";
const OBJECT_2025: &str = "2025-11-25/http/json-single-object";
const CHUNKED: &str = "both/http/no-length-with-chunked";
const LINES: &str = "both/http/head-lines-end-in-crlf";
const STATUS: &str = "both/http/result-without-server-error";
const LENGTH: &str = "both/http/answer-length-in-bytes";

pub const CHECKS: &[Check] = &[
    check!("http/answer-type-legacy", LEGACY, answer_type, [TYPE_2025])
        .over(Over::Http)
        .looking_back(),
    check!("http/answer-type-modern", MODERN, answer_type, [TYPE_2026])
        .over(Over::Http)
        .looking_back(),
    check!("http/one-object-legacy", LEGACY, one_object, [OBJECT_2025])
        .over(Over::Http)
        .looking_back()
        .quoting(&[(OBJECT_2025, "to return one JSON object")]),
    check!("http/one-object-modern", MODERN, one_object, [TYPE_2026])
        .over(Over::Http)
        .looking_back(),
    check!(
        "http/body-of-two",
        LEGACY,
        body_of_two,
        ["2025-11-25/http/body-single-message"]
    )
    .over(Over::Http),
    check!("http/answer-length", BOTH, answer_length, [LENGTH])
        .over(Over::Http)
        .looking_back(),
    check!("http/answer-head", BOTH, answer_head, [CHUNKED, LINES, STATUS])
        .over(Over::Http)
        .looking_back(),
    check!(
        "http/unknown-tool-status",
        BOTH,
        unknown_tool_status,
        ["both/tools/unknown-tool-http-status"]
    )
    .over(Over::Http),
];

fn is_legacy(lab: &Lab) -> bool {
    lab.era() == mcp_hil_harness::revision::Era::Legacy
}

/// An answer with a message, or one that says success, is JSON or an event stream. A refusal below JSON-RPC may be anything.
async fn answer_type(lab: &mut Lab) -> Result<(), Stop> {
    let row = if is_legacy(lab) { TYPE_2025 } else { TYPE_2026 };
    for exchange in lab.log() {
        let (Some(_), Some(reply)) = (asked(&exchange), exchange.reply()) else {
            continue;
        };
        let speaks = reply
            .message
            .as_ref()
            .is_some_and(|message| message.get("jsonrpc").is_some());
        let succeeds = matches!(reply.status, Some(200..=299));
        let kind = media_type(reply);
        if (speaks || succeeds) && kind != "application/json" && kind != "text/event-stream" {
            let what = format!(
                "a request is answered with status {} and {}",
                reply.status.unwrap_or_default(),
                reply
                    .header("content-type")
                    .map_or("no Content-Type".to_owned(), |kind| format!(
                        "Content-Type {kind:?}"
                    ))
            );
            lab.found(row, what, &[&exchange]);
            break;
        }
    }
    Ok(())
}

async fn one_object(lab: &mut Lab) -> Result<(), Stop> {
    let row = if is_legacy(lab) { OBJECT_2025 } else { TYPE_2026 };
    for exchange in lab.log() {
        let judged = is_framed(&exchange).and_then(|()| holds_one_object(&exchange));
        if let (Some(_), Err(what)) = (asked(&exchange), judged) {
            lab.found(row, what, &[&exchange]);
            break;
        }
    }
    Ok(())
}

/// That an answer that was begun as JSON is whole, and ends where it says.
fn is_framed(exchange: &Exchange) -> Result<(), String> {
    let head = expect::head(exchange);
    let is_json = head.starts_with("http/1.1 200") && head.contains("application/json");
    match &exchange.fault {
        Some(fault @ (Fault::Extra(_) | Fault::Closed { .. } | Fault::Slow { .. })) if is_json => {
            Err(fault.to_string())
        }
        Some(fault @ Fault::Malformed(malformed)) if !matches!(malformed, Malformed::Event(_)) => {
            Err(fault.to_string())
        }
        _ => Ok(()),
    }
}

fn holds_one_object(exchange: &Exchange) -> Result<(), String> {
    let Some(reply) = exchange
        .reply()
        .filter(|reply| media_type(reply) == "application/json")
    else {
        return Ok(());
    };
    match (&reply.message, &reply.unreadable) {
        (Some(message), _) if message.is_object() => Ok(()),
        (Some(message), _) => Err(format!("the body is no JSON object: {}", expect::brief(message))),
        (None, Some(why)) => Err(why.clone()),
        // a refusal below JSON-RPC may be empty
        (None, None) if !matches!(reply.status, Some(200..=299)) => Ok(()),
        // taken for a notification, whose answer has no body; that it is none is judged elsewhere
        (None, None) if exchange.reply().is_some_and(|reply| reply.status == Some(202)) => Ok(()),
        (None, None) => Err("the body is empty".to_owned()),
    }
}

/// The framing of an answer agrees with its body.
async fn answer_length(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if asked(&exchange).is_none() {
            continue;
        }
        let what = match &exchange.fault {
            Some(fault @ (Fault::Extra(_) | Fault::Malformed(_)))
                if !matches!(fault, Fault::Malformed(Malformed::Event(_))) =>
            {
                fault.to_string()
            }
            Some(fault @ (Fault::Slow { .. } | Fault::Closed { .. }))
                if body_is_whole(&exchange.received) =>
            {
                format!("{fault}, though the JSON of its body is whole: its length says more")
            }
            Some(fault @ Fault::Closed { .. }) if is_begun_by_length(&exchange.received) => {
                format!("{fault}: Content-Length says more")
            }
            None if exchange.reply().is_some_and(is_cut_by_length) => {
                "the body ends in the middle of its JSON: Content-Length says less".to_owned()
            }
            _ => continue,
        };
        lab.found(LENGTH, what, &[&exchange]);
        break;
    }
    Ok(())
}

/// Whether what came has a head with `Content-Length`, and the beginning of a JSON object.
fn is_begun_by_length(received: &[u8]) -> bool {
    let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
        return false;
    };
    let head = String::from_utf8_lossy(&received[..end]).to_ascii_lowercase();
    head.contains("\r\ncontent-length:") && received[end + 4..].starts_with(b"{")
}

/// Whether the JSON of a body goes on where `Content-Length` ends it.
fn is_cut_by_length(reply: &Reply) -> bool {
    media_type(reply) == "application/json"
        && reply.header("content-length").is_some()
        && !reply.body.is_empty()
        && serde_json::from_slice::<Value>(&reply.body).is_err_and(|error| error.is_eof())
}

/// Whether what came has a head, and after it one whole JSON value.
fn body_is_whole(received: &[u8]) -> bool {
    let end = received.windows(4).position(|window| window == b"\r\n\r\n");
    end.is_some_and(|end| serde_json::from_slice::<Value>(&received[end + 4..]).is_ok())
}

/// How the heads of answers are written, and that their status agrees with what they carry.
async fn answer_head(lab: &mut Lab) -> Result<(), Stop> {
    first(lab, CHUNKED, has_two_lengths);
    first(lab, LINES, has_bare_line_feed);
    first(lab, STATUS, fails_with_a_result);
    Ok(())
}

/// Notes the first exchange of the run in which something is wrong.
fn first(lab: &mut Lab, row: &'static str, judge: impl Fn(&Exchange) -> Option<String>) {
    for exchange in lab.log() {
        if let Some(what) = judge(&exchange) {
            lab.found(row, what, &[&exchange]);
            return;
        }
    }
}

fn has_two_lengths(exchange: &Exchange) -> Option<String> {
    let has = |reply: &&Reply| {
        reply.header("transfer-encoding").is_some() && reply.header("content-length").is_some()
    };
    let reply = exchange.replies.iter().find(has)?;
    let length = reply.header("content-length").unwrap_or_default();
    Some(format!(
        "an answer has Transfer-Encoding, and Content-Length {length}"
    ))
}

/// A line feed without a carriage return before it, up to the empty line after the first head.
fn has_bare_line_feed(exchange: &Exchange) -> Option<String> {
    let received = &exchange.received;
    if !received.starts_with(b"HTTP/1.") {
        return None;
    }
    let mut line = 0;
    for end in (0..received.len()).filter(|at| received[*at] == b'\n') {
        let text = &received[line..end];
        let Some(text) = text.strip_suffix(b"\r") else {
            let text = String::from_utf8_lossy(text);
            return Some(format!("a line of the head ends in LF alone: {text:?}"));
        };
        if text.is_empty() {
            return None;
        }
        line = end + 1;
    }
    None
}

fn fails_with_a_result(exchange: &Exchange) -> Option<String> {
    let fails = |reply: &&Reply| {
        let has_result = reply
            .message
            .as_ref()
            .is_some_and(|message| message.get("result").is_some());
        has_result && reply.status.is_some_and(|status| status >= 500)
    };
    let status = exchange.replies.iter().find(fails)?.status?;
    Some(format!("a result comes with HTTP status {status}"))
}

/// A body of two messages, in an array and one after the other.
async fn body_of_two(lab: &mut Lab) -> Result<(), Stop> {
    let one = lab.request(lab.harmless(), Value::Null);
    let other = lab.request(lab.harmless(), Value::Null);
    for body in [json!([one, other]).to_string(), format!("{one}\n{other}")] {
        let exchange = lab.send_instead(&one, body.as_bytes()).await?;
        let row = "2025-11-25/http/body-single-message";
        lab.note(row, expect::refused(&exchange), &exchange);
    }
    Ok(())
}

async fn unknown_tool_status(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let exchange = lab
        .ask(
            "tools/call",
            json!({"name": "mcp-hil-no-such-tool", "arguments": {}}),
        )
        .await?;
    // that it is refused is judged with the tools
    let judged = expect::message(&exchange).and_then(|_| expect::has_status(&exchange, &[200, 400]));
    lab.note("both/tools/unknown-tool-http-status", judged, &exchange);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_reply(message: Option<Value>, unreadable: Option<&str>) -> Exchange {
        Exchange {
            replies: vec![Reply {
                status: Some(200),
                headers: vec![("content-type".into(), "Application/JSON; charset=utf-8".into())],
                message,
                unreadable: unreadable.map(str::to_owned),
                ..Reply::default()
            }],
            ..Exchange::default()
        }
    }

    #[test]
    fn a_json_body_is_one_object() {
        assert_eq!(
            holds_one_object(&json_reply(Some(json!({"id": 1, "result": {}})), None)),
            Ok(())
        );
        assert!(holds_one_object(&json_reply(Some(json!([{"id": 1}])), None)).is_err());
        assert!(holds_one_object(&json_reply(None, Some("trailing characters"))).is_err());
        assert!(holds_one_object(&json_reply(None, None)).is_err());
    }

    #[test]
    fn a_length_over_the_body_shows_as_whole_json_that_is_waited_on() {
        assert!(body_is_whole(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"id\":1}"
        ));
        assert!(!body_is_whole(
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{\"id\":"
        ));
    }

    fn received(bytes: &[u8]) -> Exchange {
        Exchange {
            received: bytes.to_vec(),
            ..Exchange::default()
        }
    }

    #[test]
    fn line_feeds_of_the_head_alone_are_looked_at() {
        let good = received(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n{\n}\n");
        assert_eq!(has_bare_line_feed(&good), None);
        for bad in [
            &b"HTTP/1.1 200 OK\nA: b\n\n{}"[..],
            b"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\nA: b\r\n\n{}",
        ] {
            assert!(has_bare_line_feed(&received(bad)).is_some());
        }
    }
}
