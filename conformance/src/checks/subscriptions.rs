//! `subscriptions/listen` (2026-07-28, Subscriptions), over HTTP, where each subscription is an answer of its own.

use crate::check::{Check, MODERN, check};
use crate::checks::tasks::begun;
use crate::expect::{self, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::compose::META_CAPABILITIES;
use mcp_hil_harness::client::{Exchange, Watch};
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::time::Duration;

/// How long the acknowledgement may take.
const PROMPT: Duration = Duration::from_secs(2);
/// How long a stream with nothing to tell must at least stay open; and how long the next ones are read on, for what they tell.
const STAYS: Duration = Duration::from_millis(700);
const READ_ON: Duration = Duration::from_millis(200);
/// Subscriptions that are opened and dropped one after the other.
const MANY: usize = 12;
/// The first notification of a subscription.
const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
/// The request needs a capability that the client did not declare.
const MISSING_CAPABILITY: i64 = -32021;

pub const CHECKS: &[Check] = &[
    check!(
        "subscriptions/offered",
        MODERN,
        offered,
        ["2026-07-28/subscriptions/not-offered-404"]
    ),
    check!(
        "subscriptions/acknowledged",
        MODERN,
        acknowledged,
        [
            "2026-07-28/subscriptions/ack-first",
            "2026-07-28/subscriptions/ack-prompt",
            "2026-07-28/subscriptions/ack-filter-subset",
            "2026-07-28/subscriptions/id-equals-request-id",
            "2026-07-28/subscriptions/empty-filter",
            "2026-07-28/subscriptions/stays-open",
            "2026-07-28/subscriptions/only-requested-types",
            "2026-07-28/subscriptions/id-on-every-notification",
            "2026-07-28/subscriptions/close-result-meta",
            "2026-07-28/http/no-request-notifications-on-listen",
        ]
    ),
    check!(
        "subscriptions/no-filter",
        MODERN,
        no_filter,
        ["2026-07-28/subscriptions/filter-required"]
    ),
    check!(
        "subscriptions/others-served",
        MODERN,
        others_served,
        [
            "2026-07-28/subscriptions/other-requests-served",
            "2026-07-28/subscriptions/concurrent"
        ]
    )
    .with_two_connections(),
    check!(
        "subscriptions/closed",
        MODERN,
        closed,
        ["2026-07-28/subscriptions/client-close-frees"]
    ),
    check!(
        "subscriptions/tasks",
        MODERN,
        tasks,
        [
            "2026-07-28/tasks/notify-undeclared",
            "2026-07-28/tasks/notify-ack-taskids"
        ]
    ),
];

/// The notifications of an answer so far, the response left out.
fn told(exchange: &Exchange) -> Vec<Value> {
    exchange
        .replies
        .iter()
        .flat_map(|reply| reply.earlier.clone())
        .collect()
}

/// Opens a subscription and reads its first notification; none where the answer is no open stream.
async fn listen(lab: &mut Lab, request: &Value) -> Result<(Option<Watch>, Exchange), Stop> {
    let request = lab.post(request).await?;
    let (watch, head) = lab.watch(&request).await?;
    let is_stream = head
        .reply()
        .and_then(|reply| reply.header("content-type"))
        .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
    let has_begun = head.message().is_some() || !told(&head).is_empty();
    match watch {
        Some(watch) if is_stream && has_begun => Ok((Some(watch), head)),
        Some(mut watch) if is_stream => {
            let first = lab
                .watch_on(&mut watch, PROMPT, |answer| !answer.events.is_empty())
                .await;
            Ok((Some(watch), first))
        }
        // the body of a refusal may come after its head
        Some(mut watch) if head.fault.is_none() && expect::message(&head).is_err() => {
            let limit = lab.shared.limits.answer;
            let whole = lab.watch_on(&mut watch, limit, |_| false).await;
            Ok((None, whole))
        }
        _ => Ok((None, head)),
    }
}

fn asking(lab: &Lab, notifications: Value) -> Value {
    lab.request("subscriptions/listen", json!({"notifications": notifications}))
}

/// Skips servers that have no subscriptions.
async fn needs(lab: &mut Lab) -> Result<(), Stop> {
    lab.endpoint()?;
    let request = asking(lab, json!({}));
    let (watch, exchange) = listen(lab, &request).await?;
    drop(watch);
    if expect::error(&exchange, &[METHOD_NOT_FOUND]).is_ok() {
        return Err(Stop::Skip("the server has no subscriptions".to_owned()));
    }
    Ok(())
}

/// Whether there is something that a subscription could tell.
fn has_notifications(lab: &Lab) -> bool {
    let of = |kind: &str, what: &str| lab.offer().capabilities()[kind][what] == true;
    ["tools", "prompts", "resources"]
        .into_iter()
        .any(|kind| of(kind, "listChanged"))
        || of("resources", "subscribe")
}

async fn offered(lab: &mut Lab) -> Result<(), Stop> {
    lab.endpoint()?;
    let request = asking(lab, json!({"toolsListChanged": true}));
    let (watch, exchange) = listen(lab, &request).await?;
    let row = "2026-07-28/subscriptions/not-offered-404";
    if watch.is_some() {
        return Ok(());
    }
    let refused =
        expect::error(&exchange, &[METHOD_NOT_FOUND]).and_then(|_| match expect::status(&exchange) {
            Some(404) => Ok(()),
            status => Err(format!(
                "an unknown method with HTTP status {}",
                status.unwrap_or_default()
            )),
        });
    lab.note(row, refused, &exchange);
    if has_notifications(lab) {
        lab.found(
            row,
            "it declares that lists change, and has no subscriptions",
            &[&exchange],
        );
    }
    Ok(())
}

async fn acknowledged(lab: &mut Lab) -> Result<(), Stop> {
    needs(lab).await?;
    let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true});
    for (id, filter, stays) in [
        (json!("s-1"), all, STAYS),
        (json!(42), json!({}), READ_ON),
        (json!(0), json!({"toolsListChanged": true}), READ_ON),
    ] {
        let mut request = asking(lab, filter.clone());
        request["id"] = id.clone();
        let (watch, exchange) = listen(lab, &request).await?;
        let is_empty = filter == json!({});
        let row = if is_empty {
            "2026-07-28/subscriptions/empty-filter"
        } else {
            "2026-07-28/subscriptions/ack-first"
        };
        let Some(mut watch) = watch else {
            if matches!(exchange.fault, Some(Fault::Silent(_) | Fault::Slow { .. })) {
                let what = "subscriptions/listen is not answered in time";
                lab.found("2026-07-28/subscriptions/ack-prompt", what, &[&exchange]);
            }
            lab.found(
                row,
                "subscriptions/listen is not answered with an event stream",
                &[&exchange],
            );
            continue;
        };
        let told = told(&exchange);
        let Some(first) = told.first() else {
            let what = format!("no notification within {} s", PROMPT.as_secs());
            lab.found("2026-07-28/subscriptions/ack-prompt", what.clone(), &[&exchange]);
            lab.found(row, what, &[&exchange]);
            continue;
        };
        if message::method(first) != Some(ACKNOWLEDGED) {
            lab.found(
                row,
                format!("the first message is {}", expect::brief(first)),
                &[&exchange],
            );
            continue;
        }
        let theirs = first.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId");
        if theirs != Some(&id) {
            let what = format!(
                "the subscription {id} is acknowledged as {}",
                theirs.unwrap_or(&Value::Null)
            );
            lab.found(
                "2026-07-28/subscriptions/id-equals-request-id",
                what,
                &[&exchange],
            );
        }
        if theirs.is_none() {
            let what = "the acknowledgement has no subscriptionId";
            lab.found("2026-07-28/subscriptions/ack-first", what, &[&exchange]);
        }
        lab.note(
            "2026-07-28/subscriptions/ack-filter-subset",
            subset(lab, &filter, first),
            &exchange,
        );
        // it may be over already
        let more = if exchange.message().is_some() {
            exchange
        } else {
            lab.watch_on(&mut watch, stays, |answer| answer.closes).await
        };
        let ended = more.reply().is_some_and(|reply| reply.message.is_some());
        if more.fault.is_some() && !ended {
            let what = "the stream ends at once, without a result".to_owned();
            lab.found("2026-07-28/subscriptions/stays-open", what, &[&more]);
        }
        stream(lab, &id, &filter, &more);
    }
    Ok(())
}

/// What came on a stream after its acknowledgement: notifications of what was asked for, each with the id of the
/// subscription, and at the end a result with it.
fn stream(lab: &mut Lab, id: &Value, filter: &Value, exchange: &Exchange) {
    const ID: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";
    let kinds = [
        ("notifications/tools/list_changed", "toolsListChanged"),
        ("notifications/prompts/list_changed", "promptsListChanged"),
        ("notifications/resources/list_changed", "resourcesListChanged"),
        ("notifications/resources/updated", "resourceSubscriptions"),
        ("notifications/tasks", "taskIds"),
    ];
    for notification in told(exchange).iter().skip(1) {
        let method = message::method(notification).unwrap_or_default();
        let of = |what: &str| format!("{what}: {}", expect::brief(notification));
        if matches!(method, "notifications/progress" | "notifications/message") {
            let row = "2026-07-28/http/no-request-notifications-on-listen";
            lab.found(
                row,
                of("a subscription carries what belongs to a request"),
                &[exchange],
            );
            continue;
        }
        if notification.pointer(ID) != Some(id) {
            let row = "2026-07-28/subscriptions/id-on-every-notification";
            lab.found(
                row,
                of(&format!("a notification is not of subscription {id}")),
                &[exchange],
            );
        }
        if kinds
            .iter()
            .any(|(name, asked)| *name == method && filter.get(asked).is_none())
        {
            let row = "2026-07-28/subscriptions/only-requested-types";
            lab.found(row, of("nobody asked for it"), &[exchange]);
        }
    }
    let result = exchange.message().and_then(|message| message.get("result"));
    if let Some(result) = result
        && result.pointer("/_meta/io.modelcontextprotocol~1subscriptionId") != Some(id)
    {
        let what = format!("subscription {id} ends with {}", expect::brief(result));
        lab.found("2026-07-28/subscriptions/close-result-meta", what, &[exchange]);
    }
}

/// That only what was asked for and is supported is acknowledged.
fn subset(lab: &Lab, asked: &Value, acknowledgement: &Value) -> Result<(), String> {
    let Some(agreed) = acknowledgement
        .pointer("/params/notifications")
        .and_then(Value::as_object)
    else {
        return Err(format!(
            "the acknowledgement has no filter: {}",
            expect::brief(acknowledgement)
        ));
    };
    let supported = |kind: &str| match kind {
        "toolsListChanged" => lab.offer().has("tools"),
        "promptsListChanged" => lab.offer().has("prompts"),
        "resourcesListChanged" | "resourceSubscriptions" => lab.offer().has("resources"),
        _ => true,
    };
    for (kind, value) in agreed.iter().filter(|(_, value)| **value != Value::Bool(false)) {
        if asked.get(kind).is_none() {
            return Err(format!("{kind} is acknowledged and was not asked for: {value}"));
        }
        if !supported(kind) {
            return Err(format!(
                "{kind} is acknowledged, and the server does not have the capability for it"
            ));
        }
    }
    Ok(())
}

async fn no_filter(lab: &mut Lab) -> Result<(), Stop> {
    needs(lab).await?;
    let request = lab.request("subscriptions/listen", json!({}));
    let (watch, exchange) = listen(lab, &request).await?;
    let row = "2026-07-28/subscriptions/filter-required";
    // an error may come in a stream, too
    let is_served = watch.is_some()
        && exchange
            .message()
            .is_none_or(|answer| answer.get("error").is_none());
    if is_served {
        let what = "subscriptions/listen without a filter is served";
        lab.found(row, what, &[&exchange]);
    } else {
        lab.note(row, expect::error(&exchange, &[INVALID_PARAMS]), &exchange);
    }
    Ok(())
}

async fn others_served(lab: &mut Lab) -> Result<(), Stop> {
    needs(lab).await?;
    let request = asking(lab, json!({}));
    let (watch, _) = listen(lab, &request).await?;
    let other = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(
        "2026-07-28/subscriptions/other-requests-served",
        expect::result(&other),
        &other,
    );
    drop(watch);
    Ok(())
}

async fn closed(lab: &mut Lab) -> Result<(), Stop> {
    needs(lab).await?;
    let row = "2026-07-28/subscriptions/client-close-frees";
    for number in 1..=MANY {
        let request = asking(lab, json!({}));
        let (watch, exchange) = listen(lab, &request).await?;
        if watch.is_none() || told(&exchange).is_empty() {
            lab.found(
                row,
                format!(
                    "after {} subscriptions that were closed no more is to be had",
                    number - 1
                ),
                &[&exchange],
            );
            break;
        }
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(row, expect::result(&next), &next);
    Ok(())
}

async fn tasks(lab: &mut Lab) -> Result<(), Stop> {
    needs(lab).await?;
    let extension = "io.modelcontextprotocol/tasks";
    if !lab.offer().capabilities()["extensions"][extension].is_object() {
        return Err(Stop::Skip(format!(
            "the server does not declare the extension {extension:?}"
        )));
    }
    let mut request = asking(lab, json!({"taskIds": ["no-such-task"]}));
    let (watch, exchange) = listen(lab, &request).await?;
    let row = "2026-07-28/tasks/notify-undeclared";
    match watch {
        Some(_) => lab.found(
            row,
            "a client without the extension may listen for tasks",
            &[&exchange],
        ),
        None => drop(lab.note(row, expect::error(&exchange, &[MISSING_CAPABILITY]), &exchange)),
    }
    request["id"] = json!(lab.fresh_id());
    request["params"]["_meta"][META_CAPABILITIES] = json!({"extensions": {extension: {}}});
    let (watch, exchange) = listen(lab, &request).await?;
    drop(watch);
    if let Some(first) = told(&exchange).first() {
        let agreed = first
            .pointer("/params/notifications/taskIds")
            .and_then(Value::as_array);
        if agreed.is_some_and(|ids| !ids.is_empty()) {
            let what = "a task that is not there is acknowledged";
            lab.found("2026-07-28/tasks/notify-ack-taskids", what, &[&exchange]);
        }
    }
    let task = begun(lab).await?;
    let id = lab.fresh_id();
    request["id"] = json!(id);
    request["params"]["notifications"] = json!({"taskIds": [task["taskId"]]});
    let (watch, exchange) = listen(lab, &request).await?;
    drop(watch);
    if let Some(first) = told(&exchange).first()
        && first.pointer("/params/notifications/taskIds") != Some(&json!([task["taskId"]]))
    {
        let what = format!("task {} is listened to, and not acknowledged", task["taskId"]);
        lab.found("2026-07-28/tasks/notify-ack-taskids", what, &[&exchange]);
    }
    Ok(())
}
