//! What a POST gets that asks for no answer.

use super::{NOWHERE, set};
use crate::check::{Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::json;

const ACCEPTED: &str = "2025-11-25/http/notification-202-empty";
const REFUSED: &str = "2025-11-25/http/notification-refused-4xx";
const MODERN_ROW: &str = "2026-07-28/http/notification-202-or-error";

pub const CHECKS: &[Check] = &[
    check!("http/notification-legacy", LEGACY, accepted, [ACCEPTED]).over(Over::Http),
    check!("http/notification-refused", LEGACY, refused, [REFUSED]).over(Over::Http),
    check!("http/notification-modern", MODERN, modern, [MODERN_ROW]).over(Over::Http),
    check!(
        "http/response-refused",
        MODERN,
        response_refused,
        ["2026-07-28/http/client-response-refused"]
    )
    .over(Over::Http),
];

/// 202 without a body, or a refusal of 4xx.
fn is_acknowledged(exchange: &Exchange) -> Result<(), String> {
    if let Some(fault) = &exchange.fault {
        return Err(format!("no HTTP answer: {fault}"));
    }
    let reply = exchange.reply();
    let status = reply.and_then(|reply| reply.status);
    match (status, reply.map_or(0, |reply| reply.body.len())) {
        (Some(202), 0) | (Some(400..=499), _) => Ok(()),
        (Some(202), bytes) => Err(format!("202 has a body of {bytes} bytes")),
        (Some(status), _) => Err(format!(
            "HTTP status {status}, where 202 or a refusal of 4xx is due"
        )),
        (None, _) => Err("no HTTP answer".to_owned()),
    }
}

/// The acknowledgement of the handshake's notification, of a notification that nobody knows, and of a response to nothing.
async fn accepted(lab: &mut Lab) -> Result<(), Stop> {
    let opened = lab.offer().opened.clone();
    for exchange in &opened {
        let sent = expect::sent_message(exchange);
        if sent.as_ref().and_then(message::method) == Some("notifications/initialized") {
            lab.note(ACCEPTED, is_acknowledged(exchange), exchange);
        }
    }
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/x-mcp-hil"}),
        json!({"jsonrpc": "2.0", "id": NOWHERE, "result": {}}),
    ] {
        let exchange = lab.send(&message).await?;
        lab.note(ACCEPTED, is_acknowledged(&exchange), &exchange);
    }
    Ok(())
}

/// Whatever the notification says, the server can't accept it with a version header that no server has; nor, where there
/// are sessions, with a session that nobody opened.
async fn refused(lab: &mut Lab) -> Result<(), Stop> {
    let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let mut spoilt = vec![("MCP-Protocol-Version", "1999-01-01")];
    if lab.offer().session {
        spoilt.push(("Mcp-Session-Id", NOWHERE));
    }
    for (name, value) in spoilt {
        let mut request = lab.post(&notification).await?;
        set(&mut request, name, value);
        let exchange = lab.deliver(&request).await?;
        let judged = match exchange.reply().and_then(|reply| reply.status) {
            Some(400..=499) => Ok(()),
            Some(status) => Err(format!(
                "a notification with {name}: {value} is answered with HTTP status {status}"
            )),
            None => is_acknowledged(&exchange),
        };
        lab.note(REFUSED, judged, &exchange);
    }
    Ok(())
}

async fn modern(lab: &mut Lab) -> Result<(), Stop> {
    let message = json!({"jsonrpc": "2.0", "method": "notifications/x-mcp-hil"});
    let exchange = lab.send(&message).await?;
    lab.note(MODERN_ROW, is_acknowledged(&exchange), &exchange);
    Ok(())
}

async fn response_refused(lab: &mut Lab) -> Result<(), Stop> {
    let message = json!({"jsonrpc": "2.0", "id": NOWHERE, "result": {"resultType": "complete"}});
    let exchange = lab.send(&message).await?;
    let judged = match (&exchange.fault, expect::status(&exchange)) {
        (None, Some(400..=499)) => Ok(()),
        (None, Some(status)) => Err(format!("a response is taken with HTTP status {status}")),
        _ => is_acknowledged(&exchange),
    };
    lab.note("2026-07-28/http/client-response-refused", judged, &exchange);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_harness::client::Reply;

    #[test]
    fn an_acknowledgement_is_202_and_nothing_or_4xx() {
        let with = |status: Option<u16>, body: &str| Exchange {
            replies: vec![Reply {
                status,
                body: body.into(),
                ..Reply::default()
            }],
            ..Exchange::default()
        };
        assert_eq!(is_acknowledged(&with(Some(202), "")), Ok(()));
        assert_eq!(is_acknowledged(&with(Some(400), "no")), Ok(()));
        for (status, body) in [
            (Some(202), "null"),
            (Some(200), ""),
            (Some(204), ""),
            (Some(301), ""),
            (Some(500), ""),
            (None, ""),
        ] {
            assert!(
                is_acknowledged(&with(status, body)).is_err(),
                "{status:?} {body:?}"
            );
        }
        assert!(is_acknowledged(&Exchange::default()).is_err());
    }
}
