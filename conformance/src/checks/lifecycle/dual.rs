//! What a modern server does with a legacy client: serves it, or refuses it so that it understands.

use super::legacy::{has_fields, parameters};
use crate::check::{Check, MODERN, check};
use crate::expect::{self, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Client, Exchange};
use mcp_hil_harness::revision::Revision;
use serde_json::{Value, json};

const HTTP: &str = "2026-07-28/dual-era/modern-only-initialize-http-400";
const STDIO: &str = "2026-07-28/dual-era/modern-only-initialize-stdio-error";
const NAMES: &str = "2026-07-28/dual-era/modern-only-names-versions";
const STATELESS: &str = "2026-07-28/dual-era/modern-meta-served-statelessly";
const SELECTS: &str = "2026-07-28/dual-era/initialize-selects-legacy";
const SHAPE: &str = "2026-07-28/dual-era/legacy-results-legacy-shape";
const REMOVED: &str = "2026-07-28/dual-era/removed-methods-modern";

pub const CHECKS: &[Check] = &[
    check!("lifecycle/legacy-client", MODERN, refused, [HTTP, STDIO, NAMES]),
    check!("lifecycle/both-eras", MODERN, both, [SELECTS, STATELESS, SHAPE]).with_two_connections(),
    check!("lifecycle/removed-methods", MODERN, removed, [REMOVED]),
];

/// A conversation as a legacy client has it, before its handshake. The caller closes it.
pub fn legacy_client(lab: &Lab) -> Result<Client, Stop> {
    let shared = &lab.shared;
    Client::open(&shared.target, Revision::NEWEST_LEGACY, shared.limits)
        .map_err(|fault| Stop::Unreachable(fault.to_string()))
}

/// Sends `initialize`; the session it opens is the client's.
async fn initialize(lab: &mut Lab, client: &mut Client) -> Result<Exchange, Stop> {
    let params = parameters(Revision::NEWEST_LEGACY.as_str());
    let message = json!({"jsonrpc": "2.0", "id": lab.fresh_id(), "method": "initialize", "params": params});
    let exchange = lab.send_as(client, &message).await?;
    client.note_sessions(&exchange);
    Ok(exchange)
}

async fn refused(lab: &mut Lab) -> Result<(), Stop> {
    let mut client = legacy_client(lab)?;
    let exchange = initialize(lab, &mut client).await;
    client.close().await;
    let exchange = exchange?;
    if exchange
        .message()
        .is_some_and(|answer| answer.get("result").is_some())
    {
        return Err(Stop::Skip("the server serves legacy clients too".to_owned()));
    }
    if lab.endpoint().is_ok() {
        lab.note(HTTP, expect::has_status(&exchange, &[400]), &exchange);
    } else {
        lab.note(STDIO, is_answered_error(&exchange), &exchange);
    }
    let versions = lab.offer().opening["supportedVersions"].clone();
    let text = exchange
        .message()
        .and_then(|answer| answer.get("error"))
        .map(Value::to_string)
        .unwrap_or_default();
    let named = versions
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .any(|version| text.contains(version));
    if !named {
        lab.found(
            NAMES,
            "the refusal of initialize names no version that the server has",
            &[&exchange],
        );
    }
    Ok(())
}

/// An error with the id of the request.
fn is_answered_error(exchange: &Exchange) -> Result<(), String> {
    let answer = expect::message(exchange)?;
    let sent: Option<Value> = serde_json::from_slice(exchange.sent.trim_ascii_end()).ok();
    let id = sent.as_ref().and_then(|sent| sent.get("id"));
    if answer.get("error").is_some() && answer.get("id") == id {
        Ok(())
    } else {
        Err(format!("initialize is answered with {}", expect::brief(answer)))
    }
}

/// A legacy client and a modern one in turns. Over standard streams each has a process of its own: there a handshake
/// stands for all of it.
async fn both(lab: &mut Lab) -> Result<(), Stop> {
    lab.client().await?;
    let mut client = legacy_client(lab)?;
    let ended = turns(lab, &mut client).await;
    client.close().await;
    ended
}

async fn turns(lab: &mut Lab, client: &mut Client) -> Result<(), Stop> {
    let opening = initialize(lab, client).await?;
    let Ok(result) = expect::result(&opening).cloned() else {
        return Err(Stop::Skip("the server serves no legacy clients".to_owned()));
    };
    lab.note(SELECTS, has_fields(&result), &opening);
    let version = result["protocolVersion"].as_str().unwrap_or_default();
    if version >= Revision::NEWEST_MODERN.as_str() {
        let what = format!("initialize agrees to {version}, which has no initialize");
        lab.found(SELECTS, what, &[&opening]);
    }
    let session = opening
        .reply()
        .and_then(|reply| reply.header("mcp-session-id"))
        .map(str::to_owned);
    let has_session = session.is_some();
    if version == Revision::NEWEST_LEGACY.as_str() {
        client.dress.handshake_done(session);
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        lab.send_as(client, &done).await?;
    }
    let exchange = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(STATELESS, is_modern(&exchange), &exchange);
    if version != Revision::NEWEST_LEGACY.as_str() {
        return Ok(());
    }
    let ping = json!({"jsonrpc": "2.0", "id": lab.fresh_id(), "method": "ping"});
    let exchange = lab.send_as(client, &ping).await?;
    lab.note(SELECTS, expect::result(&exchange), &exchange);
    let unknown = json!({"jsonrpc": "2.0", "id": lab.fresh_id(), "method": "server/discover"});
    let exchange = lab.send_as(client, &unknown).await?;
    let mut judged = expect::error(&exchange, &[METHOD_NOT_FOUND]).map(|_| ());
    if has_session && expect::status(&exchange) == Some(404) {
        judged = Err("an unknown method gets 404, which ends a legacy session".to_owned());
    }
    lab.note(SHAPE, judged, &exchange);
    Ok(())
}

/// A result in the shape of this revision.
fn is_modern(exchange: &Exchange) -> Result<(), String> {
    let result = expect::result(exchange)?;
    if result.get("resultType").is_some_and(Value::is_string) {
        Ok(())
    } else {
        Err(format!("the result has no resultType: {}", expect::brief(result)))
    }
}

async fn removed(lab: &mut Lab) -> Result<(), Stop> {
    let uri = json!({"uri": "mcp-hil://nowhere"});
    for (method, params) in [
        ("initialize", parameters(Revision::NEWEST_LEGACY.as_str())),
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "error"})),
        ("resources/subscribe", uri.clone()),
        ("resources/unsubscribe", uri),
    ] {
        let exchange = lab.ask(method, params).await?;
        let mut judged = expect::error(&exchange, &[METHOD_NOT_FOUND]).map(|_| ());
        if judged.is_ok() && lab.endpoint().is_ok() {
            judged = expect::has_status(&exchange, &[404]);
        }
        let judged = judged.map_err(|what| format!("{method}: {what}"));
        lab.note(REMOVED, judged, &exchange);
    }
    Ok(())
}
