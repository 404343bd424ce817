//! The id of a request and that of its answer.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::expect::{self, INVALID_REQUEST};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::fault::Fault;
use mcp_hil_harness::target::Target;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/id-kept",
        BOTH,
        kept,
        ["jsonrpc-2.0/response-id-echo-value-and-type"]
    ),
    check!(
        "jsonrpc/large-id-kept",
        BOTH,
        large_kept,
        ["jsonrpc-2.0/response-id-echo-large-integer"]
    ),
    check!(
        "jsonrpc/id-of-another-type",
        BOTH,
        of_another_type,
        ["jsonrpc-2.0/id-bad-type-rejected"]
    ),
    check!("jsonrpc/null-id", BOTH, null, ["both/base/null-id-rejected"]),
    check!(
        "jsonrpc/error-id-legacy",
        LEGACY,
        of_errors_legacy,
        ["2025-11-25/base/error-id-echo"]
    ),
    check!(
        "jsonrpc/error-id-modern",
        MODERN,
        of_errors_modern,
        ["2026-07-28/base/error-id-echo"]
    ),
];

/// That a message that MCP forbids isn't executed: it is refused, or over standard streams passed over by a server that
/// goes on. No clause of MCP asks for an answer there, while HTTP has a status for it.
pub(super) async fn not_executed(lab: &mut Lab, exchange: &Exchange) -> Result<Result<(), String>, Stop> {
    let is_http = matches!(lab.shared.target, Target::Http(_));
    if is_http || !matches!(exchange.fault, Some(Fault::Silent(_))) {
        return Ok(expect::refused(exchange));
    }
    let request = lab.request(lab.harmless(), Value::Null);
    let next = lab.send(&request).await?;
    Ok(expect::result(&next)
        .map(drop)
        .map_err(|error| format!("no answer, and to the request after it: {error}")))
}

/// Notes an answer whose id is not that of the request.
async fn echoes(lab: &mut Lab, row: &'static str, mut request: Value, id: Value) -> Result<(), Stop> {
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

async fn kept(lab: &mut Lab) -> Result<(), Stop> {
    let texts = ["1", "init-1", "\u{fc}\u{4e16}\u{1f600} \"\\/"];
    for id in texts
        .map(Value::from)
        .into_iter()
        .chain([json!(7), json!(0), json!(-3), json!("x".repeat(64))])
    {
        let request = lab.request(lab.harmless(), Value::Null);
        echoes(lab, "jsonrpc-2.0/response-id-echo-value-and-type", request, id).await?;
    }
    Ok(())
}

/// The bounds within which IEEE 754 doubles are exact.
async fn large_kept(lab: &mut Lab) -> Result<(), Stop> {
    for id in [9_007_199_254_740_991_i64, -9_007_199_254_740_991] {
        let request = lab.request(lab.harmless(), Value::Null);
        echoes(
            lab,
            "jsonrpc-2.0/response-id-echo-large-integer",
            request,
            json!(id),
        )
        .await?;
    }
    Ok(())
}

async fn of_another_type(lab: &mut Lab) -> Result<(), Stop> {
    for id in [json!(true), json!({}), json!([1])] {
        let mut request = lab.request(lab.harmless(), Value::Null);
        request["id"] = id;
        let exchange = lab.send(&request).await?;
        lab.note(
            "jsonrpc-2.0/id-bad-type-rejected",
            expect::refused_as(&exchange, &[INVALID_REQUEST]),
            &exchange,
        );
    }
    Ok(())
}

async fn null(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = lab.request(lab.harmless(), Value::Null);
    request["id"] = Value::Null;
    let exchange = lab.send(&request).await?;
    let judged = not_executed(lab, &exchange).await?;
    lab.note("both/base/null-id-rejected", judged, &exchange);
    Ok(())
}

async fn of_errors_legacy(lab: &mut Lab) -> Result<(), Stop> {
    let request = lab.request("no/such", Value::Null);
    echoes(lab, "2025-11-25/base/error-id-echo", request, json!("e-1")).await
}

async fn of_errors_modern(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/base/error-id-echo";
    let unknown = lab.request("no/such", Value::Null);
    echoes(lab, row, unknown, json!("e-1")).await?;
    let mut without_meta = lab.request("server/discover", Value::Null);
    without_meta["params"] = json!({});
    echoes(lab, row, without_meta, json!(12)).await?;
    let mut of_no_version = lab.request("server/discover", Value::Null);
    of_no_version["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("1999-01-01");
    echoes(lab, row, of_no_version, json!("e-2")).await
}
