//! The headers of 2026-07-28 that repeat what the body says.

use super::{NOWHERE, set, unset};
use crate::check::{Check, MODERN, Over, check};
use crate::checks::lifecycle::{legacy_client, parameters};
use crate::expect::{self, HEADER_MISMATCH, UNSUPPORTED_VERSION};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, compose};
use mcp_hil_harness::http::Request;
use serde_json::{Value, json};

pub(super) const STATUS: &str = "2026-07-28/http/header-error-status-400";
pub(super) const CODE: &str = "2026-07-28/http/header-error-code";
const VERSION: &str = "MCP-Protocol-Version";
const METHOD: &str = "Mcp-Method";

pub const CHECKS: &[Check] = &[
    check!(
        "http/version-header-missing",
        MODERN,
        version_missing,
        ["2026-07-28/http/version-header-required", STATUS, CODE]
    )
    .over(Over::Http),
    check!(
        "http/version-header-differs",
        MODERN,
        version_differs,
        ["2026-07-28/http/version-header-matches-meta", STATUS, CODE]
    )
    .over(Over::Http),
    check!(
        "http/method-header-missing",
        MODERN,
        method_missing,
        ["2026-07-28/http/mcp-method-required", STATUS, CODE]
    )
    .over(Over::Http),
    check!(
        "http/method-header-differs",
        MODERN,
        method_differs,
        [
            "2026-07-28/http/mcp-method-matches",
            "2026-07-28/http/header-values-case-sensitive",
            STATUS,
            CODE
        ]
    )
    .over(Over::Http),
    check!(
        "http/method-header-twice",
        MODERN,
        method_twice,
        ["2026-07-28/http/duplicate-standard-header"]
    )
    .over(Over::Http),
    check!(
        "http/header-whitespace",
        MODERN,
        whitespace,
        ["2026-07-28/http/header-ows-trimmed"]
    )
    .over(Over::Http),
    check!(
        "http/param-header-unknown",
        MODERN,
        unknown_param,
        ["2026-07-28/http/param-header-unknown-ignored"]
    )
    .over(Over::Http),
    check!(
        "http/legacy-headers-ignored",
        MODERN,
        legacy_headers,
        [
            "2026-07-28/http/session-header-ignored",
            "2026-07-28/http/last-event-id-ignored"
        ]
    )
    .over(Over::Http),
];

/// The POST of the request that every server serves, with its message.
async fn harmless(lab: &mut Lab) -> Result<(Value, Request), Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    let request = lab.post(&message).await?;
    Ok((message, request))
}

/// Sends a request whose headers don't fit its body, and notes for the row, and for the clauses on status and code, what
/// is wrong with the refusal.
pub(super) async fn mismatch(
    lab: &mut Lab,
    row: &'static str,
    message: &Value,
    request: &Request,
    codes: &[i64],
) -> Result<(), Stop> {
    let exchange = lab.deliver(request).await?;
    let (status, code) = (
        expect::has_status(&exchange, &[400]),
        has_code(&exchange, message, codes),
    );
    if let Err(what) = status.and(code) {
        lab.found(row, what, &[&exchange]);
    }
    // served is not refused in a wrong way
    if expect::result(&exchange).is_err() && exchange.fault.is_none() {
        lab.note(STATUS, expect::has_status(&exchange, &[400]), &exchange);
        lab.note(CODE, has_code(&exchange, message, codes), &exchange);
    }
    Ok(())
}

/// An error with one of the codes and the id of the request.
fn has_code(exchange: &Exchange, message: &Value, codes: &[i64]) -> Result<(), String> {
    expect::error(exchange, codes)?;
    let id = exchange.message().and_then(|answer| answer.get("id"));
    if id == message.get("id") {
        Ok(())
    } else {
        Err(format!(
            "the error has id {}, the request {}",
            id.unwrap_or(&Value::Null),
            message.get("id").unwrap_or(&Value::Null)
        ))
    }
}

/// Whether the server takes a client of the revision before the header, whatever it lists.
async fn serves_older(lab: &mut Lab) -> Result<bool, Stop> {
    let mut client = legacy_client(lab)?;
    let message = json!({"jsonrpc": "2.0", "id": lab.fresh_id(), "method": "initialize", "params": parameters("2025-03-26")});
    let exchange = lab.send_as(&mut client, &message).await;
    if let Ok(exchange) = &exchange {
        client.note_sessions(exchange);
    }
    client.close().await;
    let exchange = exchange?;
    let version = exchange
        .message()
        .and_then(|answer| answer.pointer("/result/protocolVersion"));
    Ok(version == Some(&json!("2025-03-26")))
}

async fn version_missing(lab: &mut Lab) -> Result<(), Stop> {
    // the first legacy revision that has the header is 2025-06-18
    let versions = lab.offer().opening.get("supportedVersions").cloned();
    let oldest = versions
        .as_ref()
        .and_then(Value::as_array)
        .and_then(|versions| versions.iter().filter_map(Value::as_str).min());
    if oldest.is_some_and(|oldest| oldest < "2025-06-18") || serves_older(lab).await? {
        let reason = "the server also serves clients from before the header, and may take this for one";
        return Err(Stop::Skip(reason.to_owned()));
    }
    let (message, mut request) = harmless(lab).await?;
    unset(&mut request, VERSION);
    let row = "2026-07-28/http/version-header-required";
    mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await
}

/// One of the two is a version that the server may not have, which it may say instead.
async fn version_differs(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/http/version-header-matches-meta";
    let codes = [HEADER_MISMATCH, UNSUPPORTED_VERSION];
    let (message, mut request) = harmless(lab).await?;
    set(&mut request, VERSION, "2025-11-25");
    mismatch(lab, row, &message, &request, &codes).await?;
    let mut message = message;
    message["id"] = json!(lab.fresh_id());
    message["params"]["_meta"][compose::META_VERSION] = json!("1999-01-01");
    let mut request = lab.post(&message).await?;
    set(&mut request, VERSION, lab.revision().as_str());
    mismatch(lab, row, &message, &request, &codes).await
}

async fn method_missing(lab: &mut Lab) -> Result<(), Stop> {
    let (message, mut request) = harmless(lab).await?;
    unset(&mut request, METHOD);
    let row = "2026-07-28/http/mcp-method-required";
    mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await
}

async fn method_differs(lab: &mut Lab) -> Result<(), Stop> {
    for (value, row) in [
        ("tools/list", "2026-07-28/http/mcp-method-matches"),
        ("SERVER/DISCOVER", "2026-07-28/http/header-values-case-sensitive"),
    ] {
        let (message, mut request) = harmless(lab).await?;
        set(&mut request, METHOD, value);
        mismatch(lab, row, &message, &request, &[HEADER_MISMATCH]).await?;
    }
    Ok(())
}

/// Whichever of two copies a server reads, in one of the orders it is the wrong one.
async fn method_twice(lab: &mut Lab) -> Result<(), Stop> {
    for wrong_first in [false, true] {
        let (_, mut request) = harmless(lab).await?;
        let wrong = (METHOD.to_owned(), "tools/list".to_owned());
        let place = if wrong_first { 0 } else { request.headers.len() };
        request.headers.insert(place, wrong);
        let exchange = lab.deliver(&request).await?;
        let row = "2026-07-28/http/duplicate-standard-header";
        lab.note(row, expect::has_status(&exchange, &[400]), &exchange);
    }
    Ok(())
}

async fn whitespace(lab: &mut Lab) -> Result<(), Stop> {
    let (_, mut request) = harmless(lab).await?;
    set(&mut request, METHOD, " \t server/discover \t ");
    let version = format!("  {}\t", lab.revision());
    set(&mut request, VERSION, &version);
    let exchange = lab.deliver(&request).await?;
    lab.note(
        "2026-07-28/http/header-ows-trimmed",
        expect::result(&exchange),
        &exchange,
    );
    Ok(())
}

async fn unknown_param(lab: &mut Lab) -> Result<(), Stop> {
    let (_, mut request) = harmless(lab).await?;
    set(&mut request, "Mcp-Param-Mcp-Hil-Nowhere", "1");
    let exchange = lab.deliver(&request).await?;
    let row = "2026-07-28/http/param-header-unknown-ignored";
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

/// What legacy clients send is passed over, and no session is made of it.
async fn legacy_headers(lab: &mut Lab) -> Result<(), Stop> {
    for (name, row) in [
        ("Mcp-Session-Id", "2026-07-28/http/session-header-ignored"),
        ("Last-Event-ID", "2026-07-28/http/last-event-id-ignored"),
    ] {
        let (_, mut request) = harmless(lab).await?;
        set(&mut request, name, NOWHERE);
        let exchange = lab.deliver(&request).await?;
        lab.note(row, expect::result(&exchange), &exchange);
        let minted = exchange
            .reply()
            .and_then(|reply| reply.header("mcp-session-id"))
            .map(str::to_owned);
        if let (Some(session), "Mcp-Session-Id") = (minted, name) {
            let what = format!("the answer has a session id, {session:?}");
            lab.found(row, what, &[&exchange]);
        }
    }
    Ok(())
}
