//! Log messages.

use super::{recode, remove, result_of};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should, should_not};
use crate::reply::Reply;
use serde_json::{Value, json};

const LOGGING: &[&str] = &["logging"];

pub(super) const FAULTS: &[Fault] = &[
    must(
        "logging-not-declared",
        LEGACY,
        "2025-11-25/logging/capability",
        "logs without having declared it",
    )
    .needs(LOGGING)
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "initialize") {
            remove(&mut result["capabilities"], "logging");
        }
    }),
    must(
        "modern-logging-not-declared",
        MODERN,
        "2026-07-28/logging/capability",
        "logs without having declared it",
    )
    .needs(LOGGING)
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "server/discover") {
            remove(&mut result["capabilities"], "logging");
        }
    }),
    must(
        "log-level-refused",
        LEGACY,
        "2025-11-25/logging/set-level",
        "does not know the level notice",
    )
    .needs(LOGGING)
    .answer(|ask| {
        (ask.is("logging/setLevel") && ask.params()["level"] == "notice")
            .then(|| Reply::error(200, &ask.id(), -32602, "no such level"))
    }),
    must(
        "log-level-echoed",
        LEGACY,
        "2025-11-25/logging/set-level",
        "answers logging/setLevel with the level",
    )
    .needs(LOGGING)
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "logging/setLevel") {
            result["level"] = ask.params()["level"].clone();
        }
    }),
    should(
        "any-log-level",
        LEGACY,
        "2025-11-25/logging/invalid-level",
        "accepts any level",
    )
    .needs(LOGGING)
    .say(|ask, message| {
        if ask.is("logging/setLevel") && message["error"]["code"] == -32602 {
            remove(message, "error");
            message["result"] = json!({});
        }
    }),
    should(
        "modern-any-log-level",
        MODERN,
        "2026-07-28/logging/invalid-level",
        "accepts any logLevel",
    )
    .needs(LOGGING)
    .ask(|ask| {
        if ask.meta("logLevel").as_str() == Some("loud") {
            ask.edit(|message| {
                remove(
                    &mut message["params"]["_meta"],
                    "io.modelcontextprotocol/logLevel",
                )
            });
        }
    }),
    should(
        "log-level-code",
        LEGACY,
        "2025-11-25/logging/invalid-level",
        "answers an unknown level with -32603",
    )
    .needs(LOGGING)
    .say(|ask, message| {
        if ask.is("logging/setLevel") {
            recode(message, -32602, -32603);
        }
    }),
    should_not(
        "logging-adopted",
        MODERN,
        "2026-07-28/logging/deprecated",
        "declares logging",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "server/discover") {
            result["capabilities"]["logging"] = json!({});
        }
    }),
    must(
        "log-level-invented",
        BOTH,
        "both/logging/message-shape",
        "logs at level trace",
    )
    .needs(LOGGING)
    .say(|_, message| {
        if message["method"] == "notifications/message" {
            message["params"]["level"] = json!("trace");
        }
    }),
    must(
        "log-without-data",
        BOTH,
        "both/logging/message-shape",
        "logs without data",
    )
    .needs(LOGGING)
    .say(|_, message| {
        if message["method"] == "notifications/message" {
            remove(&mut message["params"], "data");
        }
    }),
    must_not(
        "log-unasked",
        MODERN,
        "2026-07-28/logging/opt-in-only",
        "logs for requests that did not ask",
    )
    .needs(&["logging", "streams"])
    .says(|ask, message| {
        let unasked =
            ask.is("tools/call") && ask.meta("logLevel").is_null() && message.get("result").is_some();
        if unasked {
            vec![log("info"), message]
        } else {
            vec![message]
        }
    }),
    must(
        "log-below-level",
        MODERN,
        "2026-07-28/logging/at-or-above-level",
        "logs below the level asked for",
    )
    .needs(&["logging", "streams"])
    .says(below),
    should(
        "log-not-filtered",
        LEGACY,
        "2025-11-25/logging/set-level-filters",
        "goes on logging below the level",
    )
    .needs(&["logging", "streams"])
    .says(|ask, message| {
        let called = ask.is("tools/call") && message.get("result").is_some();
        if called {
            vec![log("debug"), message]
        } else {
            vec![message]
        }
    }),
];

fn log(level: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": level, "logger": "x", "data": "x" } })
}

fn below(ask: &Ask, message: Value) -> Vec<Value> {
    let asked = ask.is("tools/call") && ask.meta("logLevel").is_string() && message.get("result").is_some();
    if asked {
        vec![log("debug"), message]
    } else {
        vec![message]
    }
}
