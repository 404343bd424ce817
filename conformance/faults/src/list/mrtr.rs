//! Input that a request turns out to need (2026-07-28).

use super::{interim, key, remove};
use crate::fault::{Fault, MODERN, must, must_not};
use serde_json::{Value, json};

const NEEDS: &[&str] = &["input-required"];

pub(super) const FAULTS: &[Fault] = &[
    must_not(
        "list-needs-input",
        MODERN,
        "2026-07-28/mrtr/only-supported-methods",
        "asks for input to list tools",
    )
    .say(|ask, message| {
        if let Some(list) = super::result_of(ask, message, "tools/list") {
            list["resultType"] = json!("input_required");
            list["requestState"] = json!("x");
        }
    }),
    must_not(
        "discover-needs-input",
        MODERN,
        "2026-07-28/mrtr/only-supported-methods",
        "asks for input to be discovered",
    )
    .say(|ask, message| {
        if let Some(list) = super::result_of(ask, message, "server/discover") {
            list["resultType"] = json!("input_required");
            list["requestState"] = json!("x");
        }
    }),
    must(
        "input-result-complete",
        MODERN,
        "2026-07-28/mrtr/result-type",
        "calls an interim result complete",
    )
    .needs(NEEDS)
    .say(|_, message| {
        interim(message, |result| result["resultType"] = json!("complete"));
    }),
    must(
        "input-without-requests",
        MODERN,
        "2026-07-28/mrtr/requests-or-state",
        "asks for input without saying which",
    )
    .needs(NEEDS)
    .say(|_, message| {
        interim(message, |result| {
            remove(result, "inputRequests");
            remove(result, "requestState");
        });
    }),
    must(
        "input-kind-invented",
        MODERN,
        "2026-07-28/mrtr/input-request-kinds",
        "asks for input by a method there is not",
    )
    .needs(NEEDS)
    .say(|_, message| {
        interim(message, |result| {
            each(result, |request| request["method"] = json!("input/text"))
        })
    }),
    must_not(
        "input-undeclared",
        MODERN,
        "2026-07-28/mrtr/respects-capabilities",
        "asks clients for what they can't give",
    )
    .needs(NEEDS)
    .ask(|ask| {
        if ask.is("tools/call") && ask.meta("clientCapabilities").is_object() {
            ask.edit(|message| {
                message["params"]["_meta"][key("clientCapabilities")]["elicitation"] = json!({})
            });
        }
    }),
    must(
        "elicitation-nested",
        MODERN,
        "2026-07-28/mrtr/elicit-form-flat",
        "asks for nested input",
    )
    .needs(NEEDS)
    .say(|_, message| {
        interim(message, |result| {
            each(result, |request| {
                request["params"]["requestedSchema"]["properties"]["name"] =
                    json!({ "type": "object", "properties": {} });
            });
        });
    }),
    must(
        "retry-asks-for-ever",
        MODERN,
        "2026-07-28/mrtr/retry-completes",
        "asks again whatever the answer",
    )
    .needs(NEEDS)
    .ask(|ask| {
        ask.edit(|message| {
            if message["params"].is_object() {
                remove(&mut message["params"], "inputResponses");
            }
        });
    }),
];

fn each(result: &mut Value, change: impl FnMut(&mut Value)) {
    if let Some(requests) = result["inputRequests"].as_object_mut() {
        requests.values_mut().for_each(change);
    }
}
