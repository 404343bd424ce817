//! Notifications, which are never answered.

use crate::check::{BOTH, Check, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/notification-not-answered",
        BOTH,
        not_answered,
        [
            "jsonrpc-2.0/notification-never-answered",
            "jsonrpc-2.0/unknown-notification-harmless"
        ]
    ),
    check!(
        "jsonrpc/notifications-have-no-id",
        BOTH,
        have_no_id,
        ["both/base/notifications-have-no-id"]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-message",
        BOTH,
        well_formed,
        ["both/base/told-messages-well-formed"]
    )
    .looking_back(),
];

async fn not_answered(lab: &mut Lab) -> Result<(), Stop> {
    let notifications = [
        json!({"jsonrpc": "2.0", "method": "notifications/does-not-exist"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {"bad": true}}}),
        json!({"jsonrpc": "2.0", "method": lab.harmless()}),
    ];
    for notification in notifications {
        let exchange = lab.send_bytes(notification.to_string().as_bytes(), false).await?;
        // who breaks off answers nothing; what becomes of the next request shows the harm
        if exchange.fault.is_none() {
            lab.note(
                "jsonrpc-2.0/notification-never-answered",
                expect::unanswered(&exchange),
                &exchange,
            );
        }
        let next = lab.ask(lab.harmless(), Value::Null).await?;
        let serves =
            expect::result(&next).map_err(|reason| format!("the request after a notification: {reason}"));
        lab.note("jsonrpc-2.0/unknown-notification-harmless", serves, &next);
    }
    Ok(())
}

/// What a server says besides answers.
fn told(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    exchange.replies.iter().flat_map(|reply| &reply.earlier)
}

async fn have_no_id(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        let with_id = |told: &&Value| {
            message::method(told).is_some_and(|method| method.starts_with("notifications/"))
                && told.get("id").is_some()
        };
        if let Some(bad) = told(&exchange).find(with_id) {
            lab.found(
                "both/base/notifications-have-no-id",
                format!("it sent {}", expect::brief(bad)),
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

/// What is wrong with a message that is no response.
fn fault(told: &Value) -> Option<String> {
    let version = told.get("jsonrpc").unwrap_or(&Value::Null);
    if version != "2.0" {
        return Some(format!("its jsonrpc is {version}"));
    }
    if message::method(told).is_none() {
        return Some("it has no text as method, and is no response".to_owned());
    }
    match told.get("params") {
        None | Some(Value::Object(_)) => None,
        Some(params) => Some(format!("its params are {}, no object", expect::brief(params))),
    }
}

async fn well_formed(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if let Some((bad, what)) = told(&exchange).find_map(|told| Some((told, fault(told)?))) {
            lab.found(
                "both/base/told-messages-well-formed",
                format!("it sent {}: {what}", expect::brief(bad)),
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_response_is_a_request_or_a_notification() {
        let told = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}});
        assert_eq!(fault(&told), None);
        assert_eq!(fault(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})), None);
        for bad in [
            json!({"method": "ping"}),
            json!({"jsonrpc": "1.0", "method": "ping"}),
            json!({"jsonrpc": "2.0", "method": 5}),
            json!({"jsonrpc": "2.0"}),
            json!({"jsonrpc": "2.0", "method": "ping", "params": null}),
        ] {
            assert!(fault(&bad).is_some(), "{bad}");
        }
    }
}
