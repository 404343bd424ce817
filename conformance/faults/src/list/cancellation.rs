//! Cancelled requests.

use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    should(
        "unknown-cancellation-refused",
        BOTH,
        "both/cancellation/unknown-id-ignored",
        "answers a cancellation of an unknown request with an error",
    )
    .answer(|ask| {
        let unknown =
            ask.is("notifications/cancelled") && !ask.params()["requestId"].is_null() && !known(ask);
        note(ask);
        unknown.then(|| Reply::error(200, &ask.params()["requestId"], -32602, "no such request"))
    }),
    should(
        "unknown-cancellation-kills",
        BOTH,
        "both/cancellation/unknown-id-ignored",
        "serves nobody after a cancellation of an unknown request",
    )
    .answer(|ask| {
        let unknown =
            ask.is("notifications/cancelled") && !ask.params()["requestId"].is_null() && !known(ask);
        note(ask);
        dies(ask, unknown)
    }),
    should(
        "late-cancellation-kills",
        BOTH,
        "both/cancellation/completed-ignored",
        "serves nobody after a cancellation of a finished request",
    )
    .answer(|ask| {
        let late = ask.is("notifications/cancelled") && known(ask);
        note(ask);
        dies(ask, late)
    }),
    should(
        "malformed-cancellation-kills",
        BOTH,
        "both/cancellation/malformed-ignored",
        "serves nobody after a cancellation of nothing",
    )
    .answer(|ask| {
        let id = ask.params()["requestId"].clone();
        dies(
            ask,
            ask.is("notifications/cancelled") && !id.is_string() && !id.is_number(),
        )
    }),
    must(
        "cancellation-answered-twice",
        BOTH,
        "both/cancellation/race-graceful",
        "answers a cancellation with an error for the cancelled request",
    )
    .answer(|ask| {
        (ask.is("notifications/cancelled") && !ask.params()["requestId"].is_null())
            .then(|| Reply::error(200, &ask.params()["requestId"], -32603, "cancelled"))
    }),
    must(
        "cancellations-use-up",
        BOTH,
        "both/cancellation/race-graceful",
        "serves nobody after ten cancellations",
    )
    .answer(|ask| {
        dies(
            ask,
            ask.is("notifications/cancelled") && ask.memory.count("cancellations") > 9,
        )
    }),
    must_not(
        "server-cancels",
        MODERN,
        "2026-07-28/cancellation/server-only-for-listen",
        "cancels a call of the client",
    )
    .needs(&["streams"])
    .says(|ask, message| {
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": ask.id() },
        });
        if ask.is("tools/call") && message.get("result").is_some() {
            vec![cancelled, message]
        } else {
            vec![message]
        }
    }),
    must(
        "cancellation-500",
        MODERN,
        "2026-07-28/cancellation/http-notification-harmless",
        "answers notifications/cancelled with 500",
    )
    .http()
    .answer(|ask| ask.is("notifications/cancelled").then(|| Reply::empty(500))),
    must(
        "cancellation-by-notification-kills",
        MODERN,
        "2026-07-28/cancellation/http-notification-harmless",
        "serves nobody after notifications/cancelled",
    )
    .http()
    .answer(|ask| dies(ask, ask.is("notifications/cancelled"))),
    must_not(
        "task-ends-with-connection",
        MODERN,
        "2026-07-28/tasks/disconnect-no-effect",
        "forgets a task on another connection",
    )
    .http()
    .needs(&["tasks"])
    .answer(|ask| {
        (ask.is("tasks/get") && ask.earlier == 0)
            .then(|| Reply::error(200, &ask.id(), -32602, "no such task"))
    }),
    should(
        "slots-run-out",
        MODERN,
        "2026-07-28/http/disconnect-frees-slot",
        "serves ten slow calls in its life",
    )
    .http()
    .needs(&["progress"])
    .answer(|ask| {
        let slow = ask.tool() == "slow_count" && ask.memory.count("slow") > 10;
        slow.then(|| Reply::error(503, &ask.id(), -32603, "busy"))
    }),
    should(
        "cancelled-answered",
        LEGACY,
        "2025-11-25/cancellation/no-response-after",
        "answers a cancelled request all the same",
    )
    .stdio()
    .needs(&["progress"])
    .answer(|ask| {
        ask.is("notifications/cancelled")
            .then(|| Reply::framed(Framing::Never))
    }),
    must(
        "cancelled-by-other-type",
        BOTH,
        "both/cancellation/id-type-strict",
        "takes the id \"1\" for 1 in a cancellation",
    )
    .stdio()
    .needs(&["progress"])
    .ask(|ask| {
        if let Some(number) = ask.params()["requestId"]
            .as_str()
            .and_then(|id| id.parse::<i64>().ok())
        {
            ask.edit(|message| message["params"]["requestId"] = json!(number));
        }
    }),
];

/// Remembers the ids of requests.
fn note(ask: &Ask) {
    if ask.is_request() {
        ask.memory.set(&ask.id().to_string(), true);
    }
}

/// Whether the request that is to be cancelled was seen.
fn known(ask: &Ask) -> bool {
    ask.memory.get(&ask.params()["requestId"].to_string()) == Some(Value::Bool(true))
}

fn dies(ask: &Ask, now: bool) -> Option<Reply> {
    if now {
        ask.memory.set("dead", true);
    }
    ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
}
