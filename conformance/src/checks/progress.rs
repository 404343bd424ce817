//! Progress notifications.

use crate::arguments;
use crate::check::{BOTH, Check, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::http::Piece;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::time::Duration;

/// Most notifications of one call within a second that are no flood.
const MAX_A_SECOND: f64 = 100.0;
/// How long a stream is read on after its response.
const AFTER: Duration = Duration::from_millis(300);

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
            "both/progress/stops-at-completion",
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

/// Every tool that may be called, under a text; those that tell their progress again, under a number, and listened to on.
async fn notifications(lab: &mut Lab) -> Result<(), Stop> {
    let mut seen = false;
    let mut given = Vec::new();
    for (number, tool) in lab.callable()?.into_iter().enumerate() {
        let token = json!(format!("p-{number}"));
        given.push(token.clone());
        let Some(exchange) = call(lab, &tool, token.clone()).await? else {
            continue;
        };
        judge(lab, &tool, &token, &given, &exchange);
        if progress(&exchange).next().is_some() {
            seen = true;
            let token = json!(1000 + number);
            given.push(token.clone());
            let exchange = over(lab, &tool, &token).await?;
            judge(lab, &tool, &token, &given, &exchange);
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

/// A call after whose answer no progress comes: over HTTP on its stream, which is read to its end, over standard streams
/// before the next answer.
async fn over(lab: &mut Lab, tool: &Tool, token: &Value) -> Result<Exchange, Stop> {
    let row = "both/progress/stops-at-completion";
    let arguments = arguments::valid(tool.input_schema(), lab.shared.seed, false);
    let params = json!({"name": tool.name, "arguments": arguments, "_meta": {"progressToken": token}});
    let request = lab.request("tools/call", params);
    let (called, exchange) = if lab.endpoint().is_ok() {
        let bytes = lab.post(&request).await?.to_bytes();
        let piece = [Piece::Bytes(bytes)];
        let called = lab.deliver_raw(&piece, &["POST"], Some(AFTER)).await?.0;
        (called.clone(), called)
    } else {
        let called = lab.send(&request).await?;
        (called, lab.ask(lab.harmless(), Value::Null).await?)
    };
    let is_ours = |message: &Value| {
        message::method(message) == Some("notifications/progress")
            && message["params"]["progressToken"] == *token
    };
    let late = if lab.endpoint().is_ok() {
        after_response(&exchange.received).iter().any(is_ours)
    } else {
        exchange
            .replies
            .iter()
            .flat_map(|reply| &reply.earlier)
            .any(is_ours)
    };
    if late {
        let what = format!(
            "tool {:?} goes on telling its progress after its answer",
            tool.name
        );
        lab.found(row, what, &[&exchange]);
    }
    Ok(called)
}

/// The messages that an event stream has after a response, as far as each is a line of data.
fn after_response(received: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(received);
    let messages = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data:")?).ok());
    messages
        .skip_while(|message| !message::is_response(message))
        .skip(1)
        .collect()
}

/// Notes what is wrong with the progress of one call.
fn judge(lab: &mut Lab, tool: &Tool, token: &Value, given: &[Value], exchange: &Exchange) {
    let mut last = f64::NEG_INFINITY;
    for params in progress(exchange) {
        let of = |what: String| format!("tool {:?}: {what}", tool.name);
        if params["progressToken"] != *token {
            let row = if given.contains(&params["progressToken"]) {
                "both/progress/on-own-stream"
            } else {
                "both/progress/token-echo"
            };
            lab.found(
                row,
                of(format!(
                    "progress for token {}, where {token} was given",
                    params["progressToken"]
                )),
                &[exchange],
            );
        }
        let total = params.get("total").is_none_or(Value::is_number);
        match params["progress"].as_f64() {
            Some(value) if total => {
                if value <= last {
                    lab.found(
                        "both/progress/increasing",
                        of(format!("progress {value} comes after {last}")),
                        &[exchange],
                    );
                }
                last = value;
            }
            _ => lab.found(
                "both/progress/numbers",
                of(format!("progress is {}", expect::brief(params))),
                &[exchange],
            ),
        }
        match params.get("message") {
            None => {}
            Some(Value::String(text)) if !text.trim().is_empty() && text.len() < 500 => {}
            Some(text) => lab.found(
                "both/progress/message-readable",
                of(format!("the message is {}", expect::brief(text))),
                &[exchange],
            ),
        }
    }
    let count = progress(exchange).count();
    if count as f64 > MAX_A_SECOND * exchange.time.as_secs_f64().max(1.0) {
        let what = format!(
            "tool {:?}: {count} notifications in {:.1} s",
            tool.name,
            exchange.time.as_secs_f64()
        );
        lab.found("both/progress/rate-limited", what, &[exchange]);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_after_the_response_is_late() {
        let stream = b"data: {\"method\":\"a\"}\n\ndata: {\"id\":1,\"result\":{}}\n\n5\r\ndata: {\"method\":\"b\"}\n\n";
        assert_eq!(after_response(stream), [json!({"method": "b"})]);
        assert!(after_response(b"data: {\"method\":\"a\"}\n\n").is_empty());
    }
}
