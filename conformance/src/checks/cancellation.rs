//! Cancelling: what a server must bear, and, where a tool is slow, what becomes of its call.

use crate::arguments;
use crate::check::{BOTH, Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::http::Piece;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Cancellations in a row that a server must bear.
const LATE: usize = 12;
/// What takes longer can be cancelled while it goes on.
const SLOW: Duration = Duration::from_millis(250);
/// How often it is asked whether there is room again.
const SOON: usize = 4;

pub const CHECKS: &[Check] = &[
    check!(
        "cancellation/ignored",
        BOTH,
        ignored,
        [
            "both/cancellation/unknown-id-ignored",
            "both/cancellation/completed-ignored",
            "both/cancellation/malformed-ignored",
        ]
    ),
    check!(
        "cancellation/late",
        BOTH,
        late,
        ["both/cancellation/race-graceful"]
    ),
    check!(
        "cancellation/stray-over-http",
        MODERN,
        stray,
        ["2026-07-28/cancellation/http-notification-harmless"]
    ),
    check!(
        "cancellation/running-legacy",
        LEGACY,
        running_legacy,
        ["2025-11-25/cancellation/no-response-after"]
    )
    .over(Over::Stdio),
    check!(
        "cancellation/id-of-another-type",
        BOTH,
        other_type,
        ["both/cancellation/id-type-strict"]
    )
    .over(Over::Stdio),
    check!(
        "cancellation/dropped",
        MODERN,
        dropped,
        ["2026-07-28/http/disconnect-frees-slot"]
    )
    .over(Over::Http),
    check!(
        "cancellation/none-by-the-server",
        MODERN,
        none_by_server,
        ["2026-07-28/cancellation/server-only-for-listen"]
    )
    .looking_back(),
];

fn cancelled(params: Value) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
}

/// Sends the notification, and notes it if it is answered or the next request isn't served.
async fn has_no_effect(lab: &mut Lab, row: &'static str, notification: &Value) -> Result<(), Stop> {
    let exchange = lab.send(notification).await?;
    lab.note(row, expect::unanswered(&exchange), &exchange);
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(row, expect::result(&next), &next);
    Ok(())
}

async fn ignored(lab: &mut Lab) -> Result<(), Stop> {
    has_no_effect(
        lab,
        "both/cancellation/unknown-id-ignored",
        &cancelled(json!({"requestId": 999_999})),
    )
    .await?;
    let done = lab.request(lab.harmless(), Value::Null);
    lab.send(&done).await?;
    let finished = cancelled(json!({"requestId": done["id"], "reason": "too late"}));
    has_no_effect(lab, "both/cancellation/completed-ignored", &finished).await?;
    for notification in [
        cancelled(json!({})),
        cancelled(json!({"requestId": {}})),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled"}),
    ] {
        has_no_effect(lab, "both/cancellation/malformed-ignored", &notification).await?;
    }
    Ok(())
}

/// Requests and their cancellations back to back: each is answered once or not at all, and the next is served.
async fn late(lab: &mut Lab) -> Result<(), Stop> {
    let row = "both/cancellation/race-graceful";
    for _ in 0..LATE {
        let request = lab.request(lab.harmless(), Value::Null);
        let answered = lab.send(&request).await?;
        let id = request["id"].clone();
        let exchange = lab.send(&cancelled(json!({"requestId": id}))).await?;
        lab.note(row, expect::unanswered(&exchange), &exchange);
        if answered.fault.is_some() || exchange.fault.is_some() {
            break;
        }
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(row, expect::result(&next), &next);
    Ok(())
}

async fn stray(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/cancellation/http-notification-harmless";
    let notification = cancelled(json!({"requestId": "no-such-request"}));
    let request = lab.post(&notification).await?;
    let exchange = lab.deliver(&request).await?;
    let status = match expect::status(&exchange) {
        Some(202 | 400..=499) => Ok(()),
        Some(status) => Err(format!(
            "a stray notifications/cancelled gets HTTP status {status}"
        )),
        None => Err("a stray notifications/cancelled gets no answer".to_owned()),
    };
    lab.note(row, status, &exchange);
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(row, expect::result(&next), &next);
    Ok(())
}

/// A call of the tool that takes the longest of those that may be called, and how long it took; none where all are quick.
async fn slowest(lab: &mut Lab) -> Result<(Value, Duration), Stop> {
    let mut slowest: Option<(Value, Duration)> = None;
    for tool in lab.callable()? {
        let Some(arguments) = arguments::valid(tool.input_schema(), lab.shared.seed, false) else {
            continue;
        };
        let params = json!({"name": tool.name, "arguments": arguments});
        let exchange = lab.ask("tools/call", params.clone()).await?;
        let is_longer = slowest.as_ref().is_none_or(|(_, time)| exchange.time > *time);
        if is_longer && expect::result(&exchange).is_ok() {
            slowest = Some((params, exchange.time));
        }
    }
    slowest.ok_or_else(|| Stop::Skip("no tool that may be called gave a result".to_owned()))
}

/// A call, as a line; the cancellation of a request in the middle of it; and, when it must be over, another request. Gives
/// the answers to both.
async fn cancel_within(
    lab: &mut Lab,
    id: Value,
    cancelled_id: Value,
) -> Result<(Option<Value>, Exchange), Stop> {
    let (params, mut time) = slowest(lab).await?;
    if time >= SLOW {
        // a machine that was busy for a moment makes a quick tool slow, but not twice
        time = time.min(lab.ask("tools/call", params.clone()).await?.time);
    }
    if time < SLOW {
        return Err(Stop::Skip("every tool that may be called is quick".to_owned()));
    }
    let mut request = lab.request("tools/call", params);
    request["id"] = id.clone();
    let next = lab.request(lab.harmless(), Value::Null);
    let line = |message: &Value| Piece::Bytes(format!("{message}\n").into_bytes());
    let pieces = [
        line(&request),
        Piece::Pause(time / 4),
        line(&cancelled(json!({"requestId": cancelled_id}))),
        Piece::Pause(time + time / 2),
        line(&next),
    ];
    // the limit for an answer begins after the pauses
    let mut exchange = lab.write_raw(&pieces, 0).await?;
    let is_next = |exchange: &Exchange| {
        let mut messages = exchange.replies.iter().filter_map(|reply| reply.message.as_ref());
        messages.any(|message| message["id"] == next["id"])
    };
    // the answer to the call may come first
    while !is_next(&exchange) && exchange.fault.is_none() && exchange.replies.len() < 2 {
        let more = lab.write_raw(&[], 1).await?;
        exchange.replies.extend(more.replies);
        exchange.received.extend(more.received);
        exchange.fault = more.fault;
    }
    lab.spoil();
    let answer = exchange
        .replies
        .iter()
        .filter_map(|reply| reply.message.as_ref())
        .find(|message| message["id"] == id)
        .cloned();
    Ok((answer, exchange))
}

async fn running_legacy(lab: &mut Lab) -> Result<(), Stop> {
    let (answer, exchange) = cancel_within(lab, json!("running"), json!("running")).await?;
    if answer.is_some() {
        let what = "a request that was cancelled while it ran is answered";
        lab.found("2025-11-25/cancellation/no-response-after", what, &[&exchange]);
    }
    Ok(())
}

async fn other_type(lab: &mut Lab) -> Result<(), Stop> {
    let (answer, exchange) = cancel_within(lab, json!(730_001), json!("730001")).await?;
    if answer.is_none() {
        let what = "request 730001 is not answered after \"730001\" was cancelled";
        lab.found("both/cancellation/id-type-strict", what, &[&exchange]);
    }
    Ok(())
}

/// Calls whose client leaves; then one that stays is served, if not at once.
async fn dropped(lab: &mut Lab) -> Result<(), Stop> {
    let (params, _) = slowest(lab).await?;
    for _ in 0..LATE {
        let request = lab.request("tools/call", params.clone());
        let bytes = lab.post(&request).await?.to_bytes();
        lab.deliver_raw(&[Piece::Bytes(bytes)], &[], None).await?;
    }
    let mut last = Exchange::default();
    for _ in 0..SOON {
        last = lab.ask("tools/call", params.clone()).await?;
        if expect::result(&last).is_ok() {
            return Ok(());
        }
        sleep(SLOW).await;
    }
    let what = format!(
        "after {LATE} calls whose client left: {}",
        expect::result(&last).err().unwrap_or_default()
    );
    lab.found("2026-07-28/http/disconnect-frees-slot", what, &[&last]);
    Ok(())
}

async fn none_by_server(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if String::from_utf8_lossy(&exchange.sent).contains("subscriptions/listen") {
            continue;
        }
        let told = exchange.replies.iter().flat_map(|reply| &reply.earlier);
        if told
            .into_iter()
            .any(|told| message::method(told) == Some("notifications/cancelled"))
        {
            lab.found(
                "2026-07-28/cancellation/server-only-for-listen",
                "the server cancelled a request",
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}
