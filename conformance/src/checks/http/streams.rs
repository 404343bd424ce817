//! Answers that are event streams: looks back at the whole run.

use super::{asked, is_event_stream, sent_header};
use crate::check::{Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::http::{self, Malformed, Piece};
use mcp_hil_harness::message;
use mcp_hil_harness::revision::Era;
use mcp_hil_harness::sse;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

const FRAMING_2025: &str = "2025-11-25/http/sse-valid-framing";
const FRAMING_2026: &str = "2026-07-28/http/sse-valid-framing";
const INCLUDED: &str = "2025-11-25/http/sse-response-included";
const ENDS_2025: &str = "2025-11-25/http/sse-terminates-after-response";
const ENDS_2026: &str = "2026-07-28/http/sse-final-response-ends";
const ONE: &str = "jsonrpc-2.0/one-response";
const UNIQUE: &str = "2025-11-25/http/event-id-unique";
const ACCEL: &str = "2026-07-28/http/sse-x-accel-buffering";
const NO_IDS: &str = "2026-07-28/http/sse-no-event-ids";
/// How long a stream may stay open after its response.
const END: Duration = Duration::from_secs(2);

pub const CHECKS: &[Check] = &[
    check!("http/stream-framing-legacy", LEGACY, framing, [FRAMING_2025])
        .over(Over::Http)
        .looking_back()
        .quoting(&[(
            FRAMING_2025,
            "return `Content-Type: text/event-stream`, to initiate an SSE stream",
        )]),
    check!("http/stream-framing-modern", MODERN, framing, [FRAMING_2026])
        .over(Over::Http)
        .looking_back()
        .quoting(&[(
            FRAMING_2026,
            "`Content-Type: text/event-stream` (an SSE response stream)",
        )]),
    check!("http/stream-response", LEGACY, included, [INCLUDED])
        .over(Over::Http)
        .looking_back(),
    check!("http/stream-end-legacy", LEGACY, ends, [ENDS_2025, ONE])
        .over(Over::Http)
        .looking_back(),
    check!("http/stream-end-modern", MODERN, ends, [ENDS_2026, ONE])
        .over(Over::Http)
        .looking_back(),
    check!("http/event-ids-legacy", LEGACY, unique, [UNIQUE])
        .over(Over::Http)
        .looking_back(),
    check!("http/stream-headers", MODERN, headers, [ACCEL, NO_IDS])
        .over(Over::Http)
        .looking_back(),
];

/// The exchanges of the run whose first answer is an event stream.
fn streams(lab: &Lab) -> Result<Vec<Rc<Exchange>>, Stop> {
    let mut streams = lab.log();
    streams.retain(|exchange| {
        let broken = matches!(exchange.fault, Some(Fault::Malformed(Malformed::Event(_))));
        broken || exchange.reply().is_some_and(is_event_stream)
    });
    if streams.is_empty() {
        return Err(Stop::Skip("no answer of the run was an event stream".to_owned()));
    }
    Ok(streams)
}

async fn framing(lab: &mut Lab) -> Result<(), Stop> {
    let row = match lab.era() {
        Era::Legacy => FRAMING_2025,
        Era::Modern => FRAMING_2026,
    };
    for exchange in streams(lab)? {
        let judged = match (&exchange.fault, exchange.reply()) {
            (Some(fault @ Fault::Malformed(Malformed::Event(_))), _) => Err(fault.to_string()),
            (_, Some(reply)) => is_event_text(&reply.body),
            _ => Ok(()),
        };
        if let Err(what) = judged {
            lab.found(row, what, &[&exchange]);
            break;
        }
    }
    Ok(())
}

/// UTF-8, one JSON object in each event that has data, and an empty line after the last. The text may be cut after any
/// event.
fn is_event_text(body: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(body).map_err(|error| format!("the stream is not UTF-8: {error}"))?;
    let mut parser = sse::Parser::default();
    for event in parser.feed(body) {
        if event.kind != "message" || event.data.is_empty() {
            continue;
        }
        match serde_json::from_str::<Value>(&event.data) {
            Ok(value) if value.is_object() => {}
            Ok(value) => return Err(format!("an event holds {value}, not one message")),
            Err(error) => return Err(format!("an event holds no JSON: {error}: {:?}", event.data)),
        }
    }
    let is_message = |line: &&str| line.starts_with('{') && serde_json::from_str::<Value>(line).is_ok();
    if let Some(line) = text.lines().find(is_message) {
        return Err(format!("a message has no field name before it: {line:?}"));
    }
    let last = text.lines().next_back().unwrap_or_default();
    let whole = last
        .strip_prefix("data:")
        .is_some_and(|data| serde_json::from_str::<Value>(data).is_ok());
    if whole && text.ends_with(last) {
        return Err("the last event has no line end".to_owned());
    }
    if whole && !text.trim_end_matches(' ').ends_with("\n\n") && !text.ends_with("\r\n\r\n") {
        return Err("the last event has no empty line after it".to_owned());
    }
    Ok(())
}

async fn included(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in streams(lab)? {
        let has_none = exchange.reply().is_some_and(|reply| reply.message.is_none());
        if asked_first(&exchange).is_some() && has_none && stream_ended(&exchange) {
            lab.found(
                INCLUDED,
                "the event stream ended without a response",
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

/// The request of an exchange, be it that the rest of its answer was asked for by GET.
fn asked_first(exchange: &Exchange) -> Option<Value> {
    let sent = &exchange.sent;
    let get = sent.windows(5).position(|window| window == b"GET /");
    let first = Exchange {
        sent: sent[..get.unwrap_or(sent.len())].to_vec(),
        ..Exchange::default()
    };
    asked(&first)
}

/// Whether the server ended the stream, and all that it was asked for when it was resumed. A tool may work for longer than
/// we wait.
fn stream_ended(exchange: &Exchange) -> bool {
    let is_call =
        asked_first(exchange).is_some_and(|request| message::method(&request) == Some("tools/call"));
    let ended = exchange.received.windows(5).any(|window| window == b"0\r\n\r\n");
    exchange.fault.is_none() || (ended && !is_call)
}

/// Asks once more for what was answered with a stream, and waits for its end.
async fn ends(lab: &mut Lab) -> Result<(), Stop> {
    let row = match lab.era() {
        Era::Legacy => ENDS_2025,
        Era::Modern => ENDS_2026,
    };
    let repeatable = |message: &Value| {
        let method = message::method(message).unwrap_or_default();
        // the first opens a session, the second stays open
        !matches!(method, "initialize" | "subscriptions/listen")
    };
    let Some(mut message) = streams(lab)?
        .iter()
        .filter(|exchange| {
            exchange
                .message()
                .is_some_and(|answer| answer.get("result").is_some())
        })
        .find_map(|exchange| asked(exchange).filter(repeatable))
    else {
        return Err(Stop::Skip(
            "no answer that can be asked for again was an event stream".to_owned(),
        ));
    };
    message["id"] = json!(lab.fresh_id());
    let request = lab.post(&message).await?;
    let (exchange, closed) = lab
        .deliver_raw(&[Piece::Bytes(request.to_bytes())], &["POST"], Some(END))
        .await?;
    let is_stream = exchange.reply().is_some_and(is_event_stream);
    let ended = closed == Some(true) || exchange.received.ends_with(b"0\r\n\r\n");
    if is_stream && exchange.message().is_some() && !ended {
        let what = format!("the stream is still open {} s after the response", END.as_secs());
        lab.found(row, what, &[&exchange]);
    }
    let messages = http::messages(&exchange.received);
    let mut later = messages
        .iter()
        .skip_while(|message| !message::is_response(message))
        .skip(1);
    if let Some(again) = later.clone().find(|message| message::is_response(message)) {
        let what = format!(
            "after the response the stream holds another: {}",
            expect::brief(again)
        );
        lab.found(ONE, what, &[&exchange]);
    } else if let Some(told) = later.next() {
        let what = format!("the stream goes on after the response: {}", expect::brief(told));
        lab.found(row, what, &[&exchange]);
    }
    Ok(())
}

/// Values of the `id` fields of a stream, in order.
fn ids(exchange: &Exchange) -> Vec<String> {
    let body = exchange
        .reply()
        .map(|reply| String::from_utf8_lossy(&reply.body).into_owned())
        .unwrap_or_default();
    body.lines()
        .filter_map(|line| line.strip_prefix("id:"))
        .map(|id| id.strip_prefix(' ').unwrap_or(id).to_owned())
        .filter(|id| !id.is_empty())
        .collect()
}

async fn unique(lab: &mut Lab) -> Result<(), Stop> {
    let mut seen: HashMap<(Option<String>, String), usize> = HashMap::new();
    let streams = streams(lab)?;
    for (index, exchange) in streams.iter().enumerate() {
        // what is asked for again may come again
        if String::from_utf8_lossy(&exchange.sent)
            .to_ascii_lowercase()
            .contains("last-event-id:")
        {
            continue;
        }
        let opened = exchange
            .reply()
            .and_then(|reply| reply.header("mcp-session-id"))
            .map(str::to_owned);
        let session = sent_header(exchange, "mcp-session-id").or(opened);
        for id in ids(exchange) {
            // the pieces of a stream that is listened to are one stream
            let first = *seen.entry((session.clone(), id.clone())).or_insert(index);
            if first != index && streams[first].sent != exchange.sent && !exchange.sent.is_empty() {
                let what = format!("the event id {id:?} comes on two streams");
                lab.found(UNIQUE, what, &[&streams[first], exchange]);
                return Ok(());
            }
        }
    }
    Ok(())
}

async fn headers(lab: &mut Lab) -> Result<(), Stop> {
    let (mut accel, mut id) = (None, None);
    for exchange in streams(lab)?
        .into_iter()
        .filter(|exchange| expect::is_modern(exchange))
    {
        let header = exchange
            .reply()
            .and_then(|reply| reply.header("x-accel-buffering"));
        if !header.is_some_and(|value| value.trim().eq_ignore_ascii_case("no")) {
            accel.get_or_insert_with(|| Rc::clone(&exchange));
        }
        if !ids(&exchange).is_empty() {
            id.get_or_insert(exchange);
        }
    }
    if let Some(exchange) = accel {
        lab.found(ACCEL, "a stream has no X-Accel-Buffering: no", &[&exchange]);
    }
    if let Some(exchange) = id {
        lab.found(NO_IDS, "a stream has event ids", &[&exchange]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_text_is_utf8_with_a_message_an_event() {
        let good = "id: 1\ndata: \n\n: ping\n\nevent: message\r\ndata: {\"id\":1}\r\n\r\n";
        assert_eq!(is_event_text(good.as_bytes()), Ok(()));
        assert_eq!(is_event_text(b"data: {\"a\":\ndata: 1}\n\n"), Ok(()));
        for bad in [
            &b"data: {\"a\":\"\xff\"}\n\n"[..],
            b"data: [{\"id\":1}]\n\n",
            b"data: {\"id\":1}{\"id\":2}\n\n",
            b"data: {\"id\":1}",
            b"data: {\"id\":1}\n",
            b"{\"id\":1}\n\n",
        ] {
            assert!(is_event_text(bad).is_err(), "{:?}", String::from_utf8_lossy(bad));
        }
    }
}
