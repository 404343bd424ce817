//! Cancelling: what a server must bear. Whether work really stops can't be told from outside without a slow tool.

use crate::check::{BOTH, Check, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::message;
use serde_json::{Value, json};

/// Cancellations in a row that a server must bear.
const LATE: usize = 12;

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
