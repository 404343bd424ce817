//! HTTP/1.1 below MCP: how bodies are cut, and how long they say that they are.

use crate::check::{BOTH, Check, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::http::{Piece, Request};
use serde_json::{Value, json};
use std::time::Duration;

/// Long enough for two writes to be two reads of the server.
const APART: Duration = Duration::from_millis(60);
/// Size of a body that no small server needs, in bytes.
const LARGE: usize = 256 << 10;

pub const CHECKS: &[Check] = &[
    check!("http/body-split", BOTH, split, ["both/http/body-split"]).over(Over::Http),
    check!("http/body-chunked", BOTH, chunked, ["both/http/body-chunked"]).over(Over::Http),
    check!(
        "http/pipelined",
        BOTH,
        pipelined,
        ["both/http/pipelined-in-order"]
    )
    .over(Over::Http),
    check!(
        "http/expect-continue",
        BOTH,
        expect_continue,
        ["both/http/expect-continue"]
    )
    .over(Over::Http),
    check!("http/large-body", BOTH, large, ["both/http/large-body-survived"]).over(Over::Http),
    check!(
        "http/bad-length",
        BOTH,
        bad_length,
        ["both/http/bad-content-length-400"]
    )
    .over(Over::Http),
];

/// The request that every server serves, with an id of several bytes a character.
async fn harmless(lab: &mut Lab) -> Result<(Value, Request), Stop> {
    let mut message = lab.request(lab.harmless(), Value::Null);
    message["id"] = json!(format!("{}-\u{fc}\u{4e16}\u{1f600}", lab.fresh_id()));
    let request = lab.post(&message).await?;
    Ok((message, request))
}

/// A result with the id of the request.
fn serves(exchange: &Exchange, message: &Value) -> Result<(), String> {
    expect::result(exchange)?;
    let id = exchange.message().and_then(|answer| answer.get("id"));
    if id == message.get("id") {
        Ok(())
    } else {
        Err(format!(
            "answered with id {}, not {}",
            id.unwrap_or(&Value::Null),
            message["id"]
        ))
    }
}

/// In the head, between head and body, and within a character.
async fn split(lab: &mut Lab) -> Result<(), Stop> {
    let (message, request) = harmless(lab).await?;
    let bytes = request.to_bytes();
    let head = bytes.len() - request.body.len();
    let character = bytes.iter().rposition(|byte| *byte == 0x9f).unwrap_or(head + 1);
    let (mut pieces, mut from) = (Vec::new(), 0);
    for cut in [head / 2, head, character, bytes.len()] {
        if from > 0 {
            pieces.push(Piece::Pause(APART));
        }
        pieces.push(Piece::Bytes(bytes[from..cut].to_vec()));
        from = cut;
    }
    let (exchange, _) = lab.deliver_raw(&pieces, &["POST"], None).await?;
    lab.note("both/http/body-split", serves(&exchange, &message), &exchange);
    Ok(())
}

/// A server may ask for a length instead (RFC 9110, 15.5.12).
async fn chunked(lab: &mut Lab) -> Result<(), Stop> {
    let (message, mut request) = harmless(lab).await?;
    request.chunked = vec![1, 16, 40];
    let exchange = lab.deliver(&request).await?;
    if expect::status(&exchange) != Some(411) {
        lab.note("both/http/body-chunked", serves(&exchange, &message), &exchange);
    }
    Ok(())
}

/// The second may be left unanswered only where the server says that it closes after the first.
async fn pipelined(lab: &mut Lab) -> Result<(), Stop> {
    let (first, one) = harmless(lab).await?;
    let (second, other) = harmless(lab).await?;
    let both = [one.to_bytes(), other.to_bytes()].concat();
    let (mut exchange, _) = lab
        .deliver_raw(&[Piece::Bytes(both)], &["POST", "POST"], None)
        .await?;
    let row = "both/http/pipelined-in-order";
    let closes = exchange.replies.first().is_some_and(|reply| {
        let connection = reply.header("connection").unwrap_or_default();
        connection.to_ascii_lowercase().contains("close") || super::is_event_stream(reply)
    });
    let evidence = exchange.clone();
    if closes {
        exchange.fault = None;
    } else if exchange.fault.is_some() {
        let judged = serves(&exchange, &first);
        lab.note(row, judged, &evidence);
        return Ok(());
    }
    for (reply, message) in exchange.replies.clone().into_iter().zip([&first, &second]) {
        exchange.replies = vec![reply];
        lab.note(row, serves(&exchange, message), &evidence);
    }
    if evidence.replies.is_empty() {
        lab.note(row, serves(&exchange, &first), &evidence);
    }
    Ok(())
}

/// The body comes a little later, asked for or not: a client does not wait for ever.
async fn expect_continue(lab: &mut Lab) -> Result<(), Stop> {
    let (message, mut request) = harmless(lab).await?;
    request
        .headers
        .push(("Expect".to_owned(), "100-continue".to_owned()));
    let bytes = request.to_bytes();
    let head = bytes.len() - request.body.len();
    let pieces = [
        Piece::Bytes(bytes[..head].to_vec()),
        Piece::Pause(APART),
        Piece::Bytes(bytes[head..].to_vec()),
    ];
    let (exchange, _) = lab.deliver_raw(&pieces, &["POST"], None).await?;
    if expect::status(&exchange) != Some(417) {
        lab.note(
            "both/http/expect-continue",
            serves(&exchange, &message),
            &exchange,
        );
    }
    Ok(())
}

/// Served, refused, or cut off; and after it the server is there.
async fn large(lab: &mut Lab) -> Result<(), Stop> {
    let row = "both/http/large-body-survived";
    let mut message = lab.request(lab.harmless(), json!({}));
    message["params"]["_meta"]["com.example/mcp-hil"] = json!("x".repeat(LARGE));
    let request = lab.post(&message).await?;
    let exchange = lab.deliver(&request).await?;
    let hangs = matches!(
        exchange.fault,
        Some(mcp_hil_harness::fault::Fault::Silent(_) | mcp_hil_harness::fault::Fault::Slow { .. })
    );
    if hangs {
        lab.note(row, expect::message(&exchange), &exchange);
    } else if let Some(status @ 500..) = expect::status(&exchange) {
        let what = format!("a body of {LARGE} bytes gets HTTP status {status}");
        lab.found(row, what, &[&exchange]);
    }
    let after = lab.ask(lab.harmless(), Value::Null).await?;
    let judged = expect::result(&after)
        .map(|_| ())
        .map_err(|what| format!("after a body of {LARGE} bytes: {what}"));
    lab.note(row, judged, &after);
    Ok(())
}

/// Lengths that are none, and two that differ.
async fn bad_length(lab: &mut Lab) -> Result<(), Stop> {
    let row = "both/http/bad-content-length-400";
    for lengths in [&["-1"][..], &["abc"], &["5", "6"]] {
        let (_, mut request) = harmless(lab).await?;
        for length in lengths {
            request
                .headers
                .push(("Content-Length".to_owned(), (*length).to_owned()));
        }
        let (exchange, _) = lab
            .deliver_raw(&[Piece::Bytes(request.to_bytes())], &["POST"], None)
            .await?;
        // bytes of a body that has no length may come for the next request: refused as well
        let answered = exchange.replies.first().and_then(|reply| reply.status);
        let judged = match answered {
            Some(400) => Ok(()),
            Some(status) => Err(format!("Content-Length {lengths:?} gets HTTP status {status}")),
            None => Err(format!(
                "Content-Length {lengths:?} gets no answer: {}",
                exchange
                    .fault
                    .as_ref()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )),
        };
        lab.note(row, judged, &exchange);
    }
    let after = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(row, expect::result(&after), &after);
    Ok(())
}
