//! Results that ask for input (2026-07-28, multi round-trip requests).

use crate::arguments;
use crate::check::{Check, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::client::compose::META_CAPABILITIES;
use mcp_hil_harness::message;
use serde_json::{Map, Value, json};

/// What a server may ask for, and the capability that a client declares for it.
const KINDS: [(&str, &str); 3] = [
    ("elicitation/create", "elicitation"),
    ("sampling/createMessage", "sampling"),
    ("roots/list", "roots"),
];

/// How often a call is answered that asks for the same again.
const MAX_ROUNDS: usize = 3;

pub const CHECKS: &[Check] = &[
    check!(
        "mrtr/only-where-allowed",
        MODERN,
        only_where_allowed,
        ["2026-07-28/mrtr/only-supported-methods"]
    )
    .looking_back(),
    check!(
        "mrtr/no-requests",
        MODERN,
        no_requests,
        ["2026-07-28/mrtr/no-server-initiated-requests"]
    )
    .looking_back(),
    check!(
        "mrtr/input-required",
        MODERN,
        input_required,
        [
            "2026-07-28/mrtr/result-type",
            "2026-07-28/mrtr/requests-or-state",
            "2026-07-28/mrtr/input-request-kinds",
            "2026-07-28/mrtr/respects-capabilities",
            "2026-07-28/mrtr/elicit-form-flat",
            "2026-07-28/mrtr/retry-completes",
            "2026-07-28/mrtr/state-across-connections",
            "2026-07-28/mrtr/abandoned-ok",
            "2026-07-28/mrtr/state-integrity",
            "2026-07-28/caching/input-required-no-hints",
        ]
    ),
];

fn asks(exchange: &Exchange) -> Option<&Value> {
    expect::result(exchange)
        .ok()
        .filter(|result| result["resultType"] == "input_required" || result.get("inputRequests").is_some())
}

async fn only_where_allowed(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        let sent = String::from_utf8_lossy(&exchange.sent);
        let allowed = ["tools/call", "prompts/get", "resources/read", "tasks/"];
        let is_allowed = allowed
            .iter()
            .any(|method| sent.contains(&format!("\"method\":\"{method}")));
        if asks(&exchange).is_some_and(|result| result["resultType"] == "input_required") && !is_allowed {
            lab.found(
                "2026-07-28/mrtr/only-supported-methods",
                "a request of another method is answered with input_required",
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

async fn no_requests(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        let mut told = exchange.replies.iter().flat_map(|reply| &reply.earlier);
        if let Some(request) = told.find(|told| message::method(told).is_some() && told.get("id").is_some()) {
            let what = format!("the server sent a request: {}", expect::brief(request));
            lab.found("2026-07-28/mrtr/no-server-initiated-requests", what, &[&exchange]);
            break;
        }
    }
    Ok(())
}

fn call(lab: &Lab, params: &Value, capabilities: Value) -> Value {
    let mut request = lab.request("tools/call", params.clone());
    request["params"]["_meta"][META_CAPABILITIES] = capabilities;
    request
}

/// Every tool that may be called, from a client that can give any input; those that ask are answered.
async fn input_required(lab: &mut Lab) -> Result<(), Stop> {
    let all = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    let mut asked = false;
    for tool in lab.callable()? {
        let Some(arguments) = arguments::valid(tool.input_schema(), lab.shared.seed, false) else {
            continue;
        };
        let params = json!({"name": tool.name, "arguments": arguments});
        let request = call(lab, &params, all.clone());
        let exchange = lab.send(&request).await?;
        let Some(result) = asks(&exchange).cloned() else {
            continue;
        };
        asked = true;
        if result["resultType"] != "input_required" {
            lab.found(
                "2026-07-28/mrtr/result-type",
                format!(
                    "a result that asks for input has resultType {}",
                    result["resultType"]
                ),
                &[&exchange],
            );
        }
        if let Some(hint) = ["ttlMs", "cacheScope"]
            .into_iter()
            .find(|hint| result.get(hint).is_some())
        {
            let what = format!("a result that asks for input has {hint}");
            lab.found("2026-07-28/caching/input-required-no-hints", what, &[&exchange]);
        }
        let requests = result
            .get("inputRequests")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        if requests.is_empty() && result.get("requestState").is_none() {
            lab.found(
                "2026-07-28/mrtr/requests-or-state",
                "neither inputRequests nor requestState",
                &[&exchange],
            );
        }
        for (key, wanted) in &requests {
            let kind = wanted["method"].as_str().unwrap_or_default();
            if !KINDS.iter().any(|(method, _)| *method == kind) {
                lab.found(
                    "2026-07-28/mrtr/input-request-kinds",
                    format!("{key:?} asks for {}", wanted["method"]),
                    &[&exchange],
                );
            }
            if kind == "elicitation/create"
                && wanted["params"]["mode"] != "url"
                && !is_flat(&wanted["params"]["requestedSchema"])
            {
                let what = format!(
                    "{key:?} has requestedSchema {}",
                    expect::brief(&wanted["params"]["requestedSchema"])
                );
                lab.found("2026-07-28/mrtr/elicit-form-flat", what, &[&exchange]);
            }
        }
        without_capabilities(lab, &params, &requests).await?;
        altered(lab, &params, &result, all.clone()).await?;
        answered(lab, &params, &result, all.clone()).await?;
    }
    if !asked {
        return Err(Stop::Skip("no tool that may be called asks for input".to_owned()));
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note("2026-07-28/mrtr/abandoned-ok", expect::result(&next), &next);
    Ok(())
}

/// The same call from a client that can give none of it.
async fn without_capabilities(
    lab: &mut Lab,
    params: &Value,
    wanted: &Map<String, Value>,
) -> Result<(), Stop> {
    let request = call(lab, params, json!({}));
    let exchange = lab.send(&request).await?;
    if let Some(result) = asks(&exchange)
        && result
            .get("inputRequests")
            .and_then(Value::as_object)
            .is_some_and(|requests| !requests.is_empty())
        && !wanted.is_empty()
    {
        lab.found(
            "2026-07-28/mrtr/respects-capabilities",
            "a client that declares no capability is asked for input",
            &[&exchange],
        );
    }
    Ok(())
}

/// The parameters of the call again, with the input that was asked for.
fn retry(params: &Value, asked: &Value) -> Value {
    let wanted = asked["inputRequests"].as_object().into_iter().flatten();
    let responses: Map<String, Value> = wanted
        .map(|(key, wanted)| (key.clone(), response(wanted)))
        .collect();
    let mut params = params.clone();
    params["inputResponses"] = Value::Object(responses);
    if let Some(state) = asked.get("requestState") {
        params["requestState"] = state.clone();
    }
    params
}

/// The call again, with the input, in a conversation of its own and under a new id; and again if it asks for more.
async fn answered(lab: &mut Lab, params: &Value, result: &Value, capabilities: Value) -> Result<(), Stop> {
    let row = "2026-07-28/mrtr/retry-completes";
    let mut asked = result.clone();
    for round in 1..=MAX_ROUNDS {
        let request = call(lab, &retry(params, &asked), capabilities.clone());
        let mut other = lab.another().await?;
        let exchange = lab.send_as(&mut other, &request).await?;
        other.close().await;
        if lab
            .note(row, expect::result(&exchange).map(drop), &exchange)
            .is_none()
        {
            lab.found(
                "2026-07-28/mrtr/state-across-connections",
                "the input is not taken on another connection",
                &[&exchange],
            );
        }
        match asks(&exchange) {
            Some(more) if more["inputRequests"] == result["inputRequests"] && round == MAX_ROUNDS => {
                let what = format!("answered {MAX_ROUNDS} times, it asks for the same");
                lab.found(row, what, &[&exchange]);
            }
            Some(more) if more["inputRequests"] == result["inputRequests"] => asked = more.clone(),
            _ => break,
        }
    }
    Ok(())
}

/// The call again, with the input and a state in which one character is another.
async fn altered(lab: &mut Lab, params: &Value, result: &Value, capabilities: Value) -> Result<(), Stop> {
    let Some(state) = result["requestState"].as_str().filter(|state| !state.is_empty()) else {
        return Ok(());
    };
    let mut params = retry(params, result);
    params["requestState"] = json!(other_state(state));
    let request = call(lab, &params, capabilities);
    let exchange = lab.send(&request).await?;
    let done =
        asks(&exchange).is_none() && expect::result(&exchange).is_ok_and(|result| result["isError"] != true);
    if done {
        let what = "a call whose requestState was altered is done";
        lab.found("2026-07-28/mrtr/state-integrity", what, &[&exchange]);
    }
    Ok(())
}

/// A state that differs in its middle.
fn other_state(state: &str) -> String {
    let middle = state.chars().count() / 2;
    let swap = |(index, c): (usize, char)| match c {
        _ if index != middle => c,
        'a' => 'b',
        _ => 'a',
    };
    state.chars().enumerate().map(swap).collect()
}

/// An answer to what is asked for.
fn response(wanted: &Value) -> Value {
    match wanted["method"].as_str() {
        Some("elicitation/create") if wanted["params"]["mode"] == "url" => json!({"action": "accept"}),
        Some("elicitation/create") => {
            let content =
                arguments::valid(&wanted["params"]["requestedSchema"], 0, true).unwrap_or(json!({}));
            json!({"action": "accept", "content": content})
        }
        Some("sampling/createMessage") => {
            json!({"role": "assistant", "content": {"type": "text", "text": "test"}, "model": "none", "stopReason": "endTurn"})
        }
        _ => json!({"roots": []}),
    }
}

/// Whether a schema is an object of primitives (2026-07-28, Elicitation, "Requested Schema").
fn is_flat(schema: &Value) -> bool {
    let is_primitive = |property: &Value| match property["type"].as_str() {
        Some("string" | "number" | "integer" | "boolean") => true,
        // several of an enumeration
        Some("array") => property["items"].get("enum").is_some() || property["items"].get("anyOf").is_some(),
        _ => property.get("oneOf").is_some() || property.get("enum").is_some(),
    };
    schema["type"] == "object"
        && schema["properties"]
            .as_object()
            .is_some_and(|properties| properties.values().all(is_primitive))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_flat() {
        assert!(is_flat(
            &json!({"type": "object", "properties": {"name": {"type": "string"}}})
        ));
        assert!(!is_flat(
            &json!({"type": "object", "properties": {"name": {"type": "object"}}})
        ));
        assert!(!is_flat(&json!({"type": "string"})));
    }
}
