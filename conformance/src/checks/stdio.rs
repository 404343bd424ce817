//! Standard streams: one message a line, and nothing else.

use crate::check::{BOTH, Check, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, Wire};
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::http::Piece;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::time::Duration;

const LINES: &str = "both/stdio/newline-delimited";
const ONLY: &str = "both/stdio/stdout-only-messages";
const PIECES: &str = "both/stdio/split-and-coalesced-input";
const BLANK: &str = "both/stdio/crlf-and-blank-lines";
const GARBAGE: &str = "both/stdio/garbage-line-recovers";
const REQUESTS: &str = "2026-07-28/stdio/no-server-requests";
const EXIT: &str = "2026-07-28/stdio/exit-on-eof";
/// Long enough for two writes to be two reads of the server.
const APART: Duration = Duration::from_millis(200);
/// How long a server may take to end.
const END: Duration = Duration::from_secs(3);

pub const CHECKS: &[Check] = &[
    check!("stdio/input-in-pieces", BOTH, pieces, [PIECES]).over(Over::Stdio),
    check!("stdio/garbage", BOTH, garbage, [GARBAGE]).over(Over::Stdio),
    check!("stdio/blank-lines", BOTH, blank, [BLANK]).over(Over::Stdio),
    check!("stdio/end-of-input", MODERN, exit, [EXIT]).over(Over::Stdio),
    check!("stdio/lines", BOTH, lines, [LINES, ONLY])
        .over(Over::Stdio)
        .looking_back(),
    check!("stdio/no-requests", MODERN, requests, [REQUESTS])
        .over(Over::Stdio)
        .looking_back(),
];

/// The request that every server serves, as a line without its end.
fn line(lab: &Lab) -> (Value, Vec<u8>) {
    let message = lab.request(lab.harmless(), Value::Null);
    let line = message.to_string().into_bytes();
    (message["id"].clone(), line)
}

/// That each of these requests has a result, in any order.
fn all_served(exchange: &Exchange, ids: &[Value]) -> Result<(), String> {
    if let Some(fault) = &exchange.fault {
        return Err(format!("not every request was answered: {fault}"));
    }
    for id in ids {
        let answered = exchange
            .replies
            .iter()
            .filter_map(|reply| reply.message.as_ref())
            .any(|answer| answer.get("id") == Some(id) && answer.get("result").is_some());
        if !answered {
            return Err(format!("request {id} has no result"));
        }
    }
    Ok(())
}

/// One message in three writes, then three in one.
async fn pieces(lab: &mut Lab) -> Result<(), Stop> {
    let (id, text) = line(lab);
    let (a, b) = (text.len() / 3, text.len() - 1);
    let split = [
        Piece::Bytes(text[..a].to_vec()),
        Piece::Pause(APART),
        Piece::Bytes(text[a..b].to_vec()),
        Piece::Pause(APART),
        Piece::Bytes([&text[b..], b"\n"].concat()),
    ];
    let exchange = lab.write_raw(&split, 1).await?;
    lab.note(PIECES, all_served(&exchange, &[id]), &exchange);
    let (ids, texts): (Vec<_>, Vec<_>) = (0..3).map(|_| line(lab)).unzip();
    let together = texts
        .iter()
        .flat_map(|text| [text, &b"\n"[..]].concat())
        .collect();
    let exchange = lab.write_raw(&[Piece::Bytes(together)], 3).await?;
    lab.note(PIECES, all_served(&exchange, &ids), &exchange);
    Ok(())
}

/// A line, which may be answered or not, then a request.
async fn after(lab: &mut Lab, row: &'static str, odd: &[u8]) -> Result<(), Stop> {
    let (id, text) = line(lab);
    let bytes = [odd, &text, b"\n"].concat();
    let mut exchange = lab.write_raw(&[Piece::Bytes(bytes)], 1).await?;
    let is_ours = |exchange: &Exchange| {
        exchange
            .message()
            .is_some_and(|answer| answer.get("id") == Some(&id))
    };
    if exchange.fault.is_none() && !is_ours(&exchange) {
        exchange = lab.write_raw(&[], 1).await?;
    }
    lab.note(row, all_served(&exchange, std::slice::from_ref(&id)), &exchange);
    Ok(())
}

async fn garbage(lab: &mut Lab) -> Result<(), Stop> {
    after(lab, GARBAGE, b"hello\n").await
}

/// An empty line, and a line end of two characters.
async fn blank(lab: &mut Lab) -> Result<(), Stop> {
    let (id, text) = line(lab);
    let exchange = lab
        .write_raw(&[Piece::Bytes([&text, &b"\r\n"[..]].concat())], 1)
        .await?;
    lab.note(BLANK, all_served(&exchange, &[id]), &exchange);
    after(lab, BLANK, b"\n").await
}

async fn exit(lab: &mut Lab) -> Result<(), Stop> {
    // once it has answered it is no longer starting
    let exchange = lab.ask(lab.harmless(), Value::Null).await?;
    lab.spoil();
    let ended = match &mut lab.client().await?.wire {
        Wire::Stdio(wire) => wire.ends_within(END).await,
        Wire::Http(_) => return Err(Stop::Found),
    };
    if !ended {
        let what = format!("still runs {} s after the end of its input", END.as_secs());
        lab.found(EXIT, what, &[&exchange]);
    }
    Ok(())
}

/// Looks back: every line was a message.
async fn lines(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if let Some(Fault::NotAMessage(text)) = &exchange.fault {
            let (row, what) = if is_begun_json(text) {
                (LINES, format!("a message goes over a line end: {text:?}"))
            } else {
                (ONLY, format!("a line is no message: {text:?}"))
            };
            lab.found(row, what, &[&exchange]);
            return Ok(());
        }
        let others = exchange
            .replies
            .iter()
            .flat_map(|reply| reply.earlier.iter().chain(&reply.message));
        let bad = others
            .into_iter()
            .find(|message| message.get("jsonrpc") != Some(&json!("2.0")));
        if let Some(bad) = bad {
            let what = format!("a line is no JSON-RPC message: {}", expect::brief(bad));
            lab.found(ONLY, what, &[&exchange]);
            return Ok(());
        }
    }
    Ok(())
}

/// The beginning of an object that ends on another line; the text may be cut.
fn is_begun_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
        && serde_json::from_str::<Value>(text).is_err_and(|error| error.is_eof())
}

async fn requests(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        let earlier = exchange.replies.iter().flat_map(|reply| &reply.earlier);
        let asks = earlier
            .filter(|message| message.get("id").is_some())
            .find_map(message::method);
        if let Some(method) = asks {
            lab.found(REQUESTS, format!("the server asks {method}"), &[&exchange]);
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_harness::client::Reply;

    #[test]
    fn a_message_over_several_lines_is_told_from_a_banner() {
        assert!(is_begun_json("{"));
        assert!(is_begun_json("{\"jsonrpc\": \"2.0\","));
        assert!(!is_begun_json("Server running"));
        assert!(!is_begun_json("[info] started"));
    }

    #[test]
    fn answers_may_come_in_any_order_but_all_must() {
        let reply = |id: i64| Reply {
            message: Some(json!({"jsonrpc": "2.0", "id": id, "result": {}})),
            ..Reply::default()
        };
        let exchange = Exchange {
            replies: vec![reply(2), reply(1)],
            ..Exchange::default()
        };
        assert_eq!(all_served(&exchange, &[json!(1), json!(2)]), Ok(()));
        assert!(all_served(&exchange, &[json!(1), json!(3)]).is_err());
    }
}
