//! The codes of the errors that JSON-RPC defines.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::expect::{self, INVALID_PARAMS, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::message;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/unknown-method-legacy",
        LEGACY,
        unknown_legacy,
        ["jsonrpc-2.0/method-not-found-code-2025-11-25"]
    ),
    check!(
        "jsonrpc/unknown-method-modern",
        MODERN,
        unknown_modern,
        ["jsonrpc-2.0/method-not-found-code-2026-07-28"]
    ),
    check!(
        "jsonrpc/reserved-methods",
        BOTH,
        reserved,
        ["jsonrpc-2.0/rpc-prefix-reserved"]
    ),
    check!(
        "jsonrpc/invalid-params",
        BOTH,
        invalid_params,
        ["jsonrpc-2.0/invalid-params-code"]
    ),
    check!(
        "jsonrpc/retired-codes",
        MODERN,
        retired,
        ["2026-07-28/base/no-retired-codes"]
    ),
];

async fn is_unknown(lab: &mut Lab, row: &'static str, method: &str) -> Result<(), Stop> {
    let exchange = lab.ask(method, Value::Null).await?;
    lab.note(row, expect::error(&exchange, &[METHOD_NOT_FOUND]), &exchange);
    Ok(())
}

async fn unknown_legacy(lab: &mut Lab) -> Result<(), Stop> {
    let row = "jsonrpc-2.0/method-not-found-code-2025-11-25";
    is_unknown(lab, row, "no/such").await?;
    // a quote in the name must not break the JSON of the error
    is_unknown(lab, row, "no \"such\"\\").await
}

async fn unknown_modern(lab: &mut Lab) -> Result<(), Stop> {
    let row = "jsonrpc-2.0/method-not-found-code-2026-07-28";
    is_unknown(lab, row, "no/such").await?;
    is_unknown(lab, row, "no \"such\"\\").await
}

async fn reserved(lab: &mut Lab) -> Result<(), Stop> {
    for method in ["rpc.discover", "rpc.ping"] {
        is_unknown(lab, "jsonrpc-2.0/rpc-prefix-reserved", method).await?;
    }
    Ok(())
}

async fn invalid_params(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let exchange = lab.ask("tools/call", json!({})).await?;
    lab.note(
        "jsonrpc-2.0/invalid-params-code",
        expect::error(&exchange, &[INVALID_PARAMS]),
        &exchange,
    );
    Ok(())
}

/// A resource that is not there, which older revisions answered with a code of their own.
async fn retired(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab
        .ask("resources/read", json!({"uri": "file:///no-such-resource"}))
        .await?;
    let code = expect::message(&exchange).map(message::error_code);
    let judged = match code {
        Ok(Some(code @ (-32002 | -32042))) => Err(format!("error code {code} is retired")),
        Ok(_) => Ok(()),
        Err(reason) => Err(reason),
    };
    lab.note("2026-07-28/base/no-retired-codes", judged, &exchange);
    Ok(())
}
