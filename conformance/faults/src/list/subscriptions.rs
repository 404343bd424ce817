//! Subscriptions (2026-07-28).

use super::key;
use crate::ask::Ask;
use crate::fault::{Fault, MODERN, must, must_not, should};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};
use std::time::Duration;

const NEEDS: &[&str] = &["subscriptions"];
const TASKS: &[&str] = &["subscriptions", "tasks"];

pub(super) const FAULTS: &[Fault] = &[
    must(
        "no-acknowledgement",
        MODERN,
        "2026-07-28/subscriptions/ack-first",
        "opens subscriptions without acknowledging them",
    )
    .needs(NEEDS)
    .says(|_, message| {
        if acknowledges(&message) {
            Vec::new()
        } else {
            vec![message]
        }
    }),
    must(
        "change-before-acknowledgement",
        MODERN,
        "2026-07-28/subscriptions/ack-first",
        "notifies before it acknowledges",
    )
    .needs(NEEDS)
    .says(|ask, message| {
        let early = changed("tools", &ask.id());
        if acknowledges(&message) {
            vec![early, message]
        } else {
            vec![message]
        }
    }),
    must(
        "acknowledgement-without-id",
        MODERN,
        "2026-07-28/subscriptions/ack-first",
        "acknowledges without subscriptionId",
    )
    .needs(NEEDS)
    .say(|_, message| {
        if acknowledges(message) {
            super::remove(&mut message["params"], "_meta");
        }
    }),
    should(
        "acknowledgement-slow",
        MODERN,
        "2026-07-28/subscriptions/ack-prompt",
        "takes its time to acknowledge",
    )
    .needs(NEEDS)
    .reply(|ask, reply| {
        if ask.is("subscriptions/listen") && reply.is_event_stream() {
            reply.delay = Duration::from_secs(4);
        }
    }),
    must(
        "acknowledges-all",
        MODERN,
        "2026-07-28/subscriptions/ack-filter-subset",
        "acknowledges whatever was asked for",
    )
    .needs(NEEDS)
    .say(|ask, message| {
        if acknowledges(message) {
            message["params"]["notifications"] = ask.params()["notifications"].clone();
        }
    }),
    must(
        "acknowledges-more",
        MODERN,
        "2026-07-28/subscriptions/ack-filter-subset",
        "acknowledges what was not asked for",
    )
    .needs(NEEDS)
    .say(|_, message| {
        if acknowledges(message) {
            message["params"]["notifications"] =
                json!({ "toolsListChanged": true, "promptsListChanged": true });
        }
    }),
    must(
        "subscription-id-text",
        MODERN,
        "2026-07-28/subscriptions/id-equals-request-id",
        "turns subscription ids into texts",
    )
    .needs(NEEDS)
    .say(|_, message| {
        let id = message["params"]["_meta"][key("subscriptionId")].clone();
        if id.is_number() {
            message["params"]["_meta"][key("subscriptionId")] = json!(id.to_string());
        }
    }),
    must(
        "subscription-id-own",
        MODERN,
        "2026-07-28/subscriptions/id-equals-request-id",
        "invents subscription ids",
    )
    .needs(NEEDS)
    .say(|_, message| {
        if acknowledges(message) {
            message["params"]["_meta"][key("subscriptionId")] = json!("subscription-1");
        }
    }),
    must(
        "empty-filter-refused",
        MODERN,
        "2026-07-28/subscriptions/empty-filter",
        "refuses an empty filter",
    )
    .needs(NEEDS)
    .answer(|ask| {
        (ask.is("subscriptions/listen") && ask.params()["notifications"] == json!({}))
            .then(|| Reply::error(200, &ask.id(), -32602, "nothing to listen to"))
    }),
    must(
        "filter-not-demanded",
        MODERN,
        "2026-07-28/subscriptions/filter-required",
        "opens subscriptions without a filter",
    )
    .needs(NEEDS)
    .ask(|ask| {
        if ask.is("subscriptions/listen")
            && ask.params().is_object()
            && ask.params().get("notifications").is_none()
        {
            ask.edit(|message| message["params"]["notifications"] = json!({}));
        }
    }),
    must(
        "subscription-cut",
        MODERN,
        "2026-07-28/subscriptions/stays-open",
        "hangs up after the acknowledgement",
    )
    .needs(NEEDS)
    .reply(|ask, reply| {
        if ask.is("subscriptions/listen") && reply.is_event_stream() {
            reply.framing = Framing::Cut(1);
        }
    }),
    must(
        "subscription-blocks",
        MODERN,
        "2026-07-28/subscriptions/other-requests-served",
        "serves nothing else while a subscription is open",
    )
    .http()
    .needs(NEEDS)
    .answer(|ask| {
        (ask.concurrent > 0 && !ask.is("subscriptions/listen"))
            .then(|| Reply::error(503, &ask.id(), -32603, "busy"))
    }),
    must(
        "subscriptions-run-out",
        MODERN,
        "2026-07-28/subscriptions/client-close-frees",
        "has room for four subscriptions in its life",
    )
    .http()
    .needs(NEEDS)
    .answer(|ask| {
        let full = ask.is("subscriptions/listen") && ask.memory.count("subscriptions") > 4;
        full.then(|| Reply::error(503, &ask.id(), -32603, "no room"))
    }),
    must(
        "listen-unserved",
        MODERN,
        "2026-07-28/subscriptions/not-offered-404",
        "never answers subscriptions/listen it does not offer",
    )
    .http()
    .answer(|ask| {
        ask.is("subscriptions/listen")
            .then(|| Reply::framed(Framing::Never))
    }),
    must(
        "listen-as-result",
        MODERN,
        "2026-07-28/subscriptions/not-offered-404",
        "answers subscriptions/listen it does not offer with a result",
    )
    .answer(|ask| ask.is("subscriptions/listen").then(|| super::served(ask))),
    must(
        "notify-to-undeclared",
        MODERN,
        "2026-07-28/tasks/notify-undeclared",
        "lets anyone listen to tasks",
    )
    .needs(TASKS)
    .ask(|ask| {
        if ask.is("subscriptions/listen") && ask.params()["notifications"]["taskIds"].is_array() {
            declare_tasks(ask);
        }
    }),
    must(
        "task-ids-not-acknowledged",
        MODERN,
        "2026-07-28/tasks/notify-ack-taskids",
        "does not say which tasks it listens to",
    )
    .needs(TASKS)
    .say(|_, message| {
        if acknowledges(message) {
            super::remove(&mut message["params"]["notifications"], "taskIds");
        }
    }),
    must(
        "unknown-task-acknowledged",
        MODERN,
        "2026-07-28/tasks/notify-ack-taskids",
        "acknowledges tasks there are not",
    )
    .needs(TASKS)
    .say(|ask, message| {
        if acknowledges(message) && ask.params()["notifications"]["taskIds"].is_array() {
            message["params"]["notifications"]["taskIds"] = ask.params()["notifications"]["taskIds"].clone();
        }
    }),
    must_not(
        "unasked-type",
        MODERN,
        "2026-07-28/subscriptions/only-requested-types",
        "notifies of prompts nobody asked for",
    )
    .needs(NEEDS)
    .says(|ask, message| {
        let unasked = changed("prompts", &ask.id());
        if acknowledges(&message) {
            vec![message, unasked]
        } else {
            vec![message]
        }
    }),
    must(
        "notification-without-subscription",
        MODERN,
        "2026-07-28/subscriptions/id-on-every-notification",
        "notifies without subscriptionId",
    )
    .needs(NEEDS)
    .says(|ask, message| {
        let mut bare = changed("tools", &ask.id());
        super::remove(&mut bare, "params");
        if acknowledges(&message) {
            vec![message, bare]
        } else {
            vec![message]
        }
    }),
    must_not(
        "progress-on-subscription",
        MODERN,
        "2026-07-28/http/no-request-notifications-on-listen",
        "reports progress on a subscription",
    )
    .needs(NEEDS)
    .says(|ask, message| {
        let progress = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": 1, "progress": 1, "_meta": { (key("subscriptionId")): ask.id() } },
        });
        if acknowledges(&message) {
            vec![message, progress]
        } else {
            vec![message]
        }
    }),
    must(
        "listen-hints",
        MODERN,
        "2026-07-28/subscriptions/close-result-meta",
        "ends a subscription without saying which",
    )
    .needs(NEEDS)
    .says(|ask, message| {
        let end = json!({ "jsonrpc": "2.0", "id": ask.id(), "result": { "resultType": "complete" } });
        if acknowledges(&message) {
            vec![message, end]
        } else {
            vec![message]
        }
    }),
];

fn acknowledges(message: &Value) -> bool {
    message["method"] == "notifications/subscriptions/acknowledged"
}

fn changed(what: &str, id: &Value) -> Value {
    json!({
        "jsonrpc": "2.0", "method": format!("notifications/{what}/list_changed"),
        "params": { "_meta": { (key("subscriptionId")): id } },
    })
}

/// Says that the client knows tasks.
pub(super) fn declare_tasks(ask: &mut Ask) {
    ask.edit(|message| {
        let capabilities = &mut message["params"]["_meta"][key("clientCapabilities")];
        if capabilities.is_object() {
            capabilities["extensions"][key("tasks")] = json!({});
        }
    });
}
