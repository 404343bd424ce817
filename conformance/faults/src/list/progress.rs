//! Progress notifications.

use crate::fault::{BOTH, Fault, must};
use crate::reply::Reply;
use serde_json::{Value, json};

const PROGRESS: &[&str] = &["progress"];

pub(super) const FAULTS: &[Fault] = &[
    must(
        "progress-token-number-refused",
        BOTH,
        "both/progress/token-types",
        "refuses a progress token that is a number",
    )
    .answer(|ask| {
        ask.params()["_meta"]["progressToken"]
            .is_number()
            .then(|| Reply::error(200, &ask.id(), -32602, "bad progressToken"))
    }),
    must(
        "progress-token-text-refused",
        BOTH,
        "both/progress/token-types",
        "refuses a progress token that is a text",
    )
    .answer(|ask| {
        ask.params()["_meta"]["progressToken"]
            .is_string()
            .then(|| Reply::error(200, &ask.id(), -32602, "bad progressToken"))
    }),
    must(
        "progress-token-to-text",
        BOTH,
        "both/progress/token-echo",
        "turns progress tokens into texts",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if let Some(token) = message["params"]["progressToken"].as_i64() {
            message["params"]["progressToken"] = json!(token.to_string());
        }
    }),
    must(
        "progress-token-invented",
        BOTH,
        "both/progress/token-echo",
        "reports progress under a token of its own",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if message["method"] == "notifications/progress" {
            message["params"]["progressToken"] = json!("progress-1");
        }
    }),
    must(
        "progress-unasked",
        BOTH,
        "both/progress/no-token-no-progress",
        "reports progress that nobody asked for",
    )
    .needs(&["progress", "streams"])
    .says(|ask, message| {
        let notification = progress(&json!(0), 1.0);
        let unasked = ask.is("tools/call") && ask.params()["_meta"]["progressToken"].is_null();
        if unasked && message.get("result").is_some() {
            vec![notification, message]
        } else {
            vec![message]
        }
    }),
    must(
        "progress-falls",
        BOTH,
        "both/progress/increasing",
        "counts progress down",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if message["method"] == "notifications/progress" {
            let value = message["params"]["progress"].as_f64().unwrap_or_default();
            message["params"]["progress"] = json!(1000.0 - value);
        }
    }),
    must(
        "progress-stands",
        BOTH,
        "both/progress/increasing",
        "reports the same progress again and again",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if message["method"] == "notifications/progress" {
            message["params"]["progress"] = json!(1);
        }
    }),
    must(
        "progress-text",
        BOTH,
        "both/progress/numbers",
        "gives progress as a text",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if message["method"] == "notifications/progress" {
            message["params"]["progress"] = json!(format!("{}", message["params"]["progress"]));
        }
    }),
    must(
        "progress-total-text",
        BOTH,
        "both/progress/numbers",
        "gives the total as a text",
    )
    .needs(PROGRESS)
    .say(|_, message| {
        if message["method"] == "notifications/progress" {
            message["params"]["total"] = json!("all");
        }
    }),
    must(
        "progress-after-result",
        BOTH,
        "both/progress/stops-at-completion",
        "goes on reporting progress after the result",
    )
    .needs(PROGRESS)
    .says(|ask, message| {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let late = !token.is_null() && ask.is("tools/call") && message.get("result").is_some();
        if late {
            vec![message, progress(&token, 1e6)]
        } else {
            vec![message]
        }
    }),
];

fn progress(token: &Value, value: f64) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": token, "progress": value } })
}
