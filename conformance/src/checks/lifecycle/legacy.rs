//! The handshake of 2025-11-25, and `ping`.

use crate::check::{Check, LEGACY, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, compose};
use mcp_hil_harness::message;
use serde_json::{Value, json};

const SUPPORTED: &str = "2025-11-25/lifecycle/base-and-lifecycle-supported";
const FIELDS: &str = "2025-11-25/lifecycle/initialize-result-fields";
const SAME: &str = "2025-11-25/lifecycle/same-version-echoed";
const INITIALIZED: &str = "2025-11-25/lifecycle/initialized-accepted";
const PARAMS: &str = "2025-11-25/lifecycle/initialize-params-validated";
const UNKNOWN: &str = "2025-11-25/lifecycle/unknown-client-capabilities-ok";
const PING: &str = "2025-11-25/ping/empty-result";
const EARLY: &str = "2025-11-25/ping/before-initialized";
const QUIET: &str = "2025-11-25/lifecycle/no-server-requests-before-initialized";

pub const CHECKS: &[Check] = &[
    check!(
        "lifecycle/handshake",
        LEGACY,
        handshake,
        [SUPPORTED, FIELDS, SAME, INITIALIZED]
    ),
    check!("lifecycle/initialize-incomplete", LEGACY, incomplete, [PARAMS]),
    check!("lifecycle/client-capabilities", LEGACY, capabilities, [UNKNOWN]),
    check!("lifecycle/ping", LEGACY, ping, [PING]),
    check!("lifecycle/ping-early", LEGACY, early, [EARLY, QUIET]),
];

/// The parameters of a good `initialize`.
pub fn parameters(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": compose::client_info()})
}

/// Sends an `initialize` in a conversation of its own, which is closed. A session that it opens is ended.
pub(super) async fn initialize(lab: &mut Lab, params: Value) -> Result<Exchange, Stop> {
    let mut stranger = lab.stranger()?;
    let request = lab.request("initialize", params);
    let exchange = lab.send_as(&mut stranger, &request).await;
    if let Ok(exchange) = &exchange {
        stranger.note_sessions(exchange);
    }
    stranger.close().await;
    exchange
}

/// The three members of the result, each of its type.
pub(super) fn has_fields(result: &Value) -> Result<(), String> {
    let text = |pointer: &str| {
        result
            .pointer(pointer)
            .and_then(Value::as_str)
            .map(|_| ())
            .ok_or_else(|| format!("the result of initialize has no text at {pointer}"))
    };
    text("/protocolVersion")?;
    text("/serverInfo/name")?;
    text("/serverInfo/version")?;
    if !result.get("capabilities").is_some_and(Value::is_object) {
        return Err("the result of initialize has no object \"capabilities\"".to_owned());
    }
    match result.get("instructions") {
        None | Some(Value::String(_)) => Ok(()),
        Some(other) => Err(format!("\"instructions\" is {other}, not a text")),
    }
}

/// The handshake that opened the run, and a request after it.
async fn handshake(lab: &mut Lab) -> Result<(), Stop> {
    let opened = lab.offer().opened.clone();
    let Some(opening) = opened.first() else {
        return Err(Stop::Skip("no handshake was tried".to_owned()));
    };
    let sent = expect::sent_message(opening);
    if sent.as_ref().and_then(message::method) == Some("notifications/initialized") {
        // what the run's own handshake broke at
        let what = match (expect::status(opening), &opening.fault) {
            (Some(status), _) => format!("notifications/initialized gets HTTP status {status}"),
            (None, fault) => format!(
                "notifications/initialized: {}",
                fault.as_ref().map(ToString::to_string).unwrap_or_default()
            ),
        };
        lab.found(INITIALIZED, what, &[opening]);
        return Err(Stop::Found);
    }
    let result = lab.must(SUPPORTED, expect::result(opening).cloned(), opening)?;
    lab.note(FIELDS, has_fields(&result), opening);
    let version = lab.revision().as_str();
    let judged = match result.get("protocolVersion") {
        Some(theirs) if *theirs == version => Ok(()),
        theirs => Err(format!(
            "asked for {version}, the result says {}",
            theirs.unwrap_or(&Value::Null)
        )),
    };
    lab.note(SAME, judged, opening);
    if let Some(initialized) = opened.get(1)
        && let Some(status) = expect::status(initialized)
        && !(200..300).contains(&status)
    {
        let what = format!("notifications/initialized gets HTTP status {status}");
        lab.found(INITIALIZED, what, &[initialized]);
    }
    let (method, row) = if lab.offer().has("tools") {
        ("tools/list", INITIALIZED)
    } else {
        ("ping", SUPPORTED)
    };
    let exchange = lab.ask(method, json!({})).await?;
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

async fn incomplete(lab: &mut Lab) -> Result<(), Stop> {
    for member in ["protocolVersion", "capabilities", "clientInfo"] {
        let mut params = parameters(lab.revision().as_str());
        if let Some(members) = params.as_object_mut() {
            members.shift_remove(member);
        }
        let exchange = initialize(lab, params).await?;
        let judged =
            expect::refused(&exchange).map_err(|what| format!("initialize without {member}: {what}"));
        lab.note(PARAMS, judged, &exchange);
    }
    Ok(())
}

async fn capabilities(lab: &mut Lab) -> Result<(), Stop> {
    let mut params = parameters(lab.revision().as_str());
    params["capabilities"] = json!({"experimental": {"com.example/x": {}}, "zzz": {"y": true}});
    let exchange = initialize(lab, params).await?;
    lab.note(UNKNOWN, expect::result(&exchange), &exchange);
    Ok(())
}

/// A result with nothing in it; `_meta` may be in any result.
fn is_empty(exchange: &Exchange) -> Result<(), String> {
    let result = expect::result(exchange)?;
    let members = result.as_object();
    if members.is_some_and(|members| members.keys().all(|name| name == "_meta")) {
        Ok(())
    } else {
        Err(format!(
            "ping is answered with {}, where {{}} is due",
            expect::brief(result)
        ))
    }
}

async fn ping(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.ask("ping", Value::Null).await?;
    lab.note(PING, is_empty(&exchange), &exchange);
    Ok(())
}

/// Between the result of `initialize` and the notification that it was understood.
async fn early(lab: &mut Lab) -> Result<(), Stop> {
    let mut stranger = lab.stranger()?;
    let request = lab.request("initialize", parameters(lab.revision().as_str()));
    let opening = lab.send_as(&mut stranger, &request).await?;
    stranger.note_sessions(&opening);
    if expect::result(&opening).is_err() {
        stranger.close().await;
        return Err(Stop::Skip("the handshake fails".to_owned()));
    }
    let session = opening
        .reply()
        .and_then(|reply| reply.header("mcp-session-id"))
        .map(str::to_owned);
    stranger.dress.handshake_done(session);
    let request = lab.request("ping", Value::Null);
    let exchange = lab.send_as(&mut stranger, &request).await;
    stranger.close().await;
    let exchange = exchange?;
    lab.note(EARLY, is_empty(&exchange), &exchange);
    for exchange in [&opening, &exchange] {
        let earlier = exchange.replies.iter().flat_map(|reply| &reply.earlier);
        let asked = earlier
            .filter(|message| message.get("id").is_some())
            .filter_map(message::method);
        if let Some(method) = asked.into_iter().find(|method| *method != "ping") {
            let what = format!("the server asks {method} before notifications/initialized");
            lab.found(QUIET, what, &[exchange]);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_harness::client::Reply;

    #[test]
    fn the_result_of_initialize_has_three_members() {
        let good = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}, "more": 1});
        assert_eq!(has_fields(&good), Ok(()));
        for (pointer, value) in [
            ("/protocolVersion", json!(20251125)),
            ("/capabilities", json!([])),
            ("/serverInfo", json!("x")),
            ("/serverInfo/version", json!(1)),
        ] {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).unwrap() = value;
            assert!(has_fields(&bad).is_err(), "{pointer}");
        }
    }

    #[test]
    fn a_ping_has_nothing_in_its_result() {
        let with = |result: Value| Exchange {
            replies: vec![Reply {
                message: Some(json!({"jsonrpc": "2.0", "id": 1, "result": result})),
                ..Reply::default()
            }],
            ..Exchange::default()
        };
        assert_eq!(is_empty(&with(json!({}))), Ok(()));
        assert_eq!(is_empty(&with(json!({"_meta": {"a/b": 1}}))), Ok(()));
        for bad in [json!({"pong": true}), json!(null), json!("pong")] {
            assert!(is_empty(&with(bad.clone())).is_err(), "{bad}");
        }
    }
}
