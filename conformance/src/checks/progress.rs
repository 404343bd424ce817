//! Progress notifications.

use crate::arguments;
use crate::check::{BOTH, Check, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};

/// Most notifications of one call within a second that are no flood.
const MAX_A_SECOND: f64 = 100.0;

pub const CHECKS: &[Check] = &[
    check!(
        "progress/tokens",
        BOTH,
        tokens,
        ["both/progress/token-types", "both/progress/optional"]
    ),
    check!(
        "progress/notifications",
        BOTH,
        notifications,
        [
            "both/progress/token-echo",
            "both/progress/increasing",
            "both/progress/numbers",
            "both/progress/float-ok",
            "both/progress/message-readable",
            "both/progress/rate-limited",
            "both/progress/on-own-stream",
        ]
    ),
    check!(
        "progress/only-when-asked",
        BOTH,
        only_when_asked,
        ["both/progress/no-token-no-progress"]
    )
    .quoting(&[(
        "both/progress/no-token-no-progress",
        "Progress notifications **MUST** only reference tokens that",
    )])
    .looking_back(),
];

/// A call with a progress token.
async fn call(lab: &mut Lab, tool: &Tool, token: Value) -> Result<Option<Exchange>, Stop> {
    let Some(arguments) = arguments::valid(tool.input_schema(), lab.shared.seed, false) else {
        return Ok(None);
    };
    let params = json!({"name": tool.name, "arguments": arguments, "_meta": {"progressToken": token}});
    lab.ask("tools/call", params).await.map(Some)
}

async fn tokens(lab: &mut Lab) -> Result<(), Stop> {
    let mut served = false;
    for tool in lab.callable()?.into_iter().take(1) {
        for token in [json!("token-1"), json!(7)] {
            let Some(exchange) = call(lab, &tool, token).await? else {
                break;
            };
            served = true;
            lab.note("both/progress/token-types", expect::result(&exchange), &exchange);
        }
    }
    if served {
        Ok(())
    } else {
        Err(Stop::Skip(
            "no arguments could be made for a tool that may be called".to_owned(),
        ))
    }
}

/// The progress notifications of an exchange.
fn progress(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    let told = exchange.replies.iter().flat_map(|reply| &reply.earlier);
    told.filter(|told| message::method(told) == Some("notifications/progress"))
        .map(|told| &told["params"])
}

async fn notifications(lab: &mut Lab) -> Result<(), Stop> {
    let mut seen = false;
    for (number, tool) in lab.callable()?.into_iter().enumerate() {
        let token = if number % 2 == 0 {
            json!(format!("p-{number}"))
        } else {
            json!(1000 + number)
        };
        let Some(exchange) = call(lab, &tool, token.clone()).await? else {
            continue;
        };
        let mut last = f64::NEG_INFINITY;
        for params in progress(&exchange) {
            seen = true;
            let of = |what: String| format!("tool {:?}: {what}", tool.name);
            if params["progressToken"] != token {
                let row = if params["progressToken"].to_string().trim_matches('"')
                    == token.to_string().trim_matches('"')
                {
                    "both/progress/token-echo"
                } else {
                    "both/progress/on-own-stream"
                };
                lab.found(
                    row,
                    of(format!(
                        "progress for token {}, where {token} was given",
                        params["progressToken"]
                    )),
                    &[&exchange],
                );
            }
            let total = params.get("total").is_none_or(Value::is_number);
            match params["progress"].as_f64() {
                Some(value) if total => {
                    if value <= last {
                        lab.found(
                            "both/progress/increasing",
                            of(format!("progress {value} comes after {last}")),
                            &[&exchange],
                        );
                    }
                    last = value;
                }
                _ => lab.found(
                    "both/progress/numbers",
                    of(format!("progress is {}", expect::brief(params))),
                    &[&exchange],
                ),
            }
            match params.get("message") {
                None => {}
                Some(Value::String(text)) if !text.trim().is_empty() && text.len() < 500 => {}
                Some(text) => lab.found(
                    "both/progress/message-readable",
                    of(format!("the message is {}", expect::brief(text))),
                    &[&exchange],
                ),
            }
        }
        let count = progress(&exchange).count();
        if count as f64 > MAX_A_SECOND * exchange.time.as_secs_f64().max(1.0) {
            let what = format!(
                "tool {:?}: {count} notifications in {:.1} s",
                tool.name,
                exchange.time.as_secs_f64()
            );
            lab.found("both/progress/rate-limited", what, &[&exchange]);
        }
    }
    if seen {
        Ok(())
    } else {
        Err(Stop::Skip(
            "no tool that may be called tells its progress".to_owned(),
        ))
    }
}

async fn only_when_asked(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        let asked = String::from_utf8_lossy(&exchange.sent).contains("progressToken");
        if !asked && progress(&exchange).next().is_some() {
            lab.found(
                "both/progress/no-token-no-progress",
                "progress was told, and no token given",
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}
