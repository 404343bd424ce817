//! The message layer: JSON-RPC 2.0 as MCP narrows it.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::expect::{self, METHOD_NOT_FOUND, PARSE_ERROR};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/id-kept",
        BOTH,
        id_kept,
        ["jsonrpc-2.0/response-id-echo-value-and-type"]
    ),
    check!(
        "jsonrpc/large-id-kept",
        BOTH,
        large_id_kept,
        ["jsonrpc-2.0/response-id-echo-large-integer"]
    ),
    check!(
        "jsonrpc/parse-error",
        BOTH,
        parse_error,
        ["jsonrpc-2.0/parse-error-code", "jsonrpc-2.0/undetectable-id"]
    ),
    check!(
        "jsonrpc/unknown-method-legacy",
        LEGACY,
        unknown_method,
        ["jsonrpc-2.0/method-not-found-code-2025-11-25"]
    ),
    check!(
        "jsonrpc/unknown-method-modern",
        MODERN,
        unknown_method,
        ["jsonrpc-2.0/method-not-found-code-2026-07-28"]
    ),
    check!(
        "jsonrpc/version-in-every-response",
        BOTH,
        version_in_every_response,
        ["jsonrpc-2.0/version-member-in-responses"]
    )
    .looking_back(),
];

/// The answer to a request with this id keeps it.
async fn echoes(lab: &mut Lab, row: &'static str, id: Value) -> Result<(), Stop> {
    let mut request = lab.request(lab.harmless(), Value::Null);
    request["id"] = id.clone();
    let exchange = lab.send(&request).await?;
    let kept = expect::message(&exchange).and_then(|answer| match answer.get("id") {
        Some(theirs) if *theirs == id => Ok(()),
        theirs => Err(format!(
            "request {id} was answered with id {}",
            theirs.unwrap_or(&Value::Null)
        )),
    });
    lab.note(row, kept, &exchange);
    Ok(())
}

async fn id_kept(lab: &mut Lab) -> Result<(), Stop> {
    let ids = [
        json!("1"),
        json!(7),
        json!(-3),
        json!("init-1"),
        json!("\u{fc}\u{4e16}\u{1f600} \"\\/"),
        json!("x".repeat(64)),
    ];
    for id in ids {
        echoes(lab, "jsonrpc-2.0/response-id-echo-value-and-type", id).await?;
    }
    Ok(())
}

async fn large_id_kept(lab: &mut Lab) -> Result<(), Stop> {
    for id in [9_007_199_254_740_991_i64, -9_007_199_254_740_991] {
        echoes(lab, "jsonrpc-2.0/response-id-echo-large-integer", json!(id)).await?;
    }
    Ok(())
}

async fn parse_error(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.send_bytes(br#"{"jsonrpc":"2.0", bad"#, true).await?;
    let bare_refusal = exchange.message().is_none() && expect::status(&exchange) == Some(400);
    if bare_refusal {
        return Ok(());
    }
    lab.must(
        "jsonrpc-2.0/parse-error-code",
        expect::error(&exchange, &[PARSE_ERROR]),
        &exchange,
    )?;
    let id = exchange
        .message()
        .and_then(|answer| answer.get("id"))
        .filter(|id| !id.is_null());
    let none = id.map_or(Ok(()), |id| {
        Err(format!("the error has id {id}, though none could be read"))
    });
    lab.note("jsonrpc-2.0/undetectable-id", none, &exchange);
    Ok(())
}

async fn unknown_method(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.ask("no/such", Value::Null).await?;
    let row = if lab.revision().as_str() == "2025-11-25" {
        "jsonrpc-2.0/method-not-found-code-2025-11-25"
    } else {
        "jsonrpc-2.0/method-not-found-code-2026-07-28"
    };
    lab.note(row, expect::error(&exchange, &[METHOD_NOT_FOUND]), &exchange);
    Ok(())
}

/// Every message of the run that answers something, with its exchange.
fn responses(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    exchange
        .replies
        .iter()
        .filter_map(|reply| reply.message.as_ref())
        .filter(|message| message::is_response(message))
}

async fn version_in_every_response(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if let Some(bad) = responses(&exchange).find(|message| message.get("jsonrpc") != Some(&json!("2.0")))
        {
            let what = format!(
                "a response has jsonrpc {}",
                bad.get("jsonrpc").unwrap_or(&Value::Null)
            );
            lab.found("jsonrpc-2.0/version-member-in-responses", what, &[&exchange]);
            break;
        }
    }
    Ok(())
}
