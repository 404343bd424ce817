//! Which version is spoken, in both eras.

use super::legacy::{initialize, parameters};
use crate::check::{Check, LEGACY, MODERN, check};
use crate::checks::http::set;
use crate::expect::{self, UNSUPPORTED_VERSION};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Client, Exchange, compose};
use mcp_hil_harness::revision::Revision;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const OTHER: &str = "2025-11-25/lifecycle/other-version-offered";
const LATEST: &str = "2025-11-25/lifecycle/latest-version-offered";
const SHAPE: &str = "2025-11-25/lifecycle/version-error-shape";
const SAME: &str = "2025-11-25/lifecycle/same-version-echoed";
const RESPECT: &str = "2025-11-25/lifecycle/respect-negotiated-version";
const ERROR: &str = "2026-07-28/version/unsupported-error";
const STATUS: &str = "2026-07-28/version/unsupported-http-400";
const ANY: &str = "2026-07-28/version/unsupported-on-any-method";
const EQUALS: &str = "2026-07-28/version/supported-equals-discover";
const LISTED: &str = "2026-07-28/discover/listed-versions-work";
/// Dates that no version has.
const NEVER: [&str; 2] = ["1999-01-01", "9999-01-01"];

pub const CHECKS: &[Check] = &[
    check!("lifecycle/unknown-version", LEGACY, other, [OTHER, LATEST, SHAPE]),
    check!("lifecycle/older-version", LEGACY, older, [RESPECT, SAME]),
    check!(
        "lifecycle/unsupported-version",
        MODERN,
        unsupported,
        [ERROR, STATUS, EQUALS]
    ),
    check!(
        "lifecycle/unsupported-version-anywhere",
        MODERN,
        anywhere,
        [ANY, STATUS]
    ),
    check!("lifecycle/listed-versions", MODERN, listed, [LISTED]),
];

/// A version of the server's, or an error that lists them.
async fn other(lab: &mut Lab) -> Result<(), Stop> {
    for never in NEVER {
        let exchange = initialize(lab, parameters(never)).await?;
        let version = match offered(&exchange, never) {
            Ok(Some(version)) => version,
            Ok(None) => {
                lab.note(SHAPE, lists_versions(&exchange, never), &exchange);
                continue;
            }
            Err(what) => {
                lab.found(OTHER, what, &[&exchange]);
                continue;
            }
        };
        if *version >= *Revision::NEWEST_MODERN.as_str() {
            let what = format!("offers {version}, which has no handshake");
            lab.found(OTHER, what, &[&exchange]);
            continue;
        }
        // the revision of this run is one that the server has
        if *version < *lab.revision().as_str() {
            let what = format!("offers {version}, and also has {}", lab.revision());
            lab.found(LATEST, what, &[&exchange]);
        }
        if version != lab.revision().as_str() {
            let again = initialize(lab, parameters(&version)).await?;
            let judged = match offered(&again, "") {
                Ok(Some(same)) if same == version => Ok(()),
                _ => Err(format!("offers {version}, and then does not take it")),
            };
            lab.note(OTHER, judged, &again);
        }
    }
    Ok(())
}

/// The version that a result names; none for an error that lists versions.
fn offered(exchange: &Exchange, asked: &str) -> Result<Option<String>, String> {
    let message = expect::message(exchange)?;
    let Some(result) = message.get("result") else {
        let listed = message.pointer("/error/data/supported").and_then(Value::as_array);
        return match listed {
            Some(listed) if !listed.is_empty() => Ok(None),
            _ => Err(format!(
                "initialize with {asked} is refused without a version in its place: {}",
                expect::brief(message)
            )),
        };
    };
    match result.get("protocolVersion").and_then(Value::as_str) {
        Some(version) if version == asked => Err(format!("agrees to {asked}, which is no version")),
        Some(version) if is_date(version) => Ok(Some(version.to_owned())),
        _ => Err(format!(
            "protocolVersion is {}",
            result.get("protocolVersion").unwrap_or(&Value::Null)
        )),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10
        && text
            .bytes()
            .enumerate()
            .all(|(index, byte)| matches!((index, byte), (4 | 7, b'-') | (_, b'0'..=b'9')))
}

fn lists_versions(exchange: &Exchange, asked: &str) -> Result<(), String> {
    let error = expect::error(exchange, &[expect::INVALID_PARAMS])?;
    if error.pointer("/data/requested") == Some(&json!(asked)) {
        Ok(())
    } else {
        Err("the error does not say which version was asked for".to_owned())
    }
}

/// A client of an older version, if the server takes one.
async fn older(lab: &mut Lab) -> Result<(), Stop> {
    let old = Revision::R2025_06_18;
    let shared = &lab.shared;
    let mut client = Client::open(&shared.target, old, shared.limits)
        .map_err(|fault| Stop::Unreachable(fault.to_string()))?;
    let opened = client.initialize().await;
    let (result, exchanges) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let exchange = error.exchange().clone();
            client.close().await;
            lab.saw(exchange)?;
            return Err(Stop::Skip(format!("the server takes no client of {old}")));
        }
    };
    let took = result.get("protocolVersion") == Some(&json!(old.as_str()));
    let opening = exchanges.first().cloned().unwrap_or_default();
    for exchange in exchanges {
        lab.saw(exchange)?;
    }
    if !took {
        client.close().await;
        if let Some(says) = says_it_has(lab, old).await? {
            let what = format!(
                "asked for {old}, the result says {}, though the server has it",
                result["protocolVersion"]
            );
            lab.found(SAME, what, &[&opening, &says]);
        }
        return Err(Stop::Skip(format!("the server does not take {old}")));
    }
    let method = if lab.offer().has("tools") {
        "tools/list"
    } else {
        "ping"
    };
    let request = lab.request(method, json!({}));
    let exchange = lab.send_as(&mut client, &request).await;
    if let Ok(exchange) = &exchange {
        lab.note(RESPECT, expect::result(exchange), exchange);
    }
    let tool = lab.callable().ok().map(|mut tools| tools.remove(0));
    let called = match tool {
        Some(tool) => {
            let request = lab.request("tools/call", json!({"name": tool.name, "arguments": {}}));
            Some(lab.send_as(&mut client, &request).await)
        }
        None => None,
    };
    client.close().await;
    exchange?;
    if let Some(called) = called.transpose()? {
        lab.note(RESPECT, is_of_legacy_shape(&called), &called);
    }
    Ok(())
}

/// Structured content is an object in every revision with a handshake.
fn is_of_legacy_shape(exchange: &Exchange) -> Result<(), String> {
    let message = expect::message(exchange)?;
    match message.pointer("/result/structuredContent") {
        Some(content) if !content.is_object() => Err(format!(
            "structuredContent is {}, an object in this revision",
            expect::brief(content)
        )),
        _ => Ok(()),
    }
}

/// The answer by which a server says that it has a version: in the list of `server/discover`, or over HTTP by taking its
/// header where it refuses that of a version that never was.
async fn says_it_has(lab: &mut Lab, version: Revision) -> Result<Option<Exchange>, Stop> {
    let shared = &lab.shared;
    let mut modern = Client::open(&shared.target, Revision::NEWEST_MODERN, shared.limits)
        .map_err(|fault| Stop::Unreachable(fault.to_string()))?;
    let discovered = modern.exchange("server/discover", json!({})).await;
    modern.close().await;
    if let Ok(exchange) = discovered {
        let listed = exchange
            .message()
            .and_then(|answer| answer.pointer("/result/supportedVersions")?.as_array());
        if listed.is_some_and(|listed| listed.contains(&json!(version.as_str()))) {
            return Ok(Some(lab.saw(exchange)?));
        }
    }
    if lab.endpoint().is_err() {
        return Ok(None);
    }
    let mut answers = Vec::new();
    for header in [NEVER[0], version.as_str()] {
        let message = lab.request("ping", Value::Null);
        let mut request = lab.post(&message).await?;
        set(&mut request, "MCP-Protocol-Version", header);
        answers.push(lab.deliver(&request).await?);
    }
    let refuses = expect::status(&answers[0]) == Some(400);
    let takes = expect::result(&answers[1]).is_ok();
    Ok((refuses && takes).then(|| answers.remove(1)))
}

/// A request of the given version, in header and `_meta`.
fn of_version(lab: &Lab, method: &str, mut params: Value, version: &str) -> Value {
    params["_meta"] = json!({compose::META_VERSION: version});
    lab.request(method, params)
}

/// The error's two members.
fn names_versions(exchange: &Exchange, asked: &str) -> Result<BTreeSet<String>, String> {
    let error = expect::error(exchange, &[UNSUPPORTED_VERSION])?;
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    let texts: Option<BTreeSet<String>> = supported.and_then(|versions| {
        versions
            .iter()
            .map(|version| version.as_str().map(str::to_owned))
            .collect()
    });
    let Some(texts) = texts.filter(|texts| !texts.is_empty()) else {
        return Err("error.data.supported is no list of versions".to_owned());
    };
    match error.pointer("/data/requested") {
        Some(requested) if *requested == asked => Ok(texts),
        requested => Err(format!(
            "error.data.requested is {}, not {asked:?}",
            requested.unwrap_or(&Value::Null)
        )),
    }
}

async fn unsupported(lab: &mut Lab) -> Result<(), Stop> {
    let discovered: BTreeSet<String> = lab.offer().opening["supportedVersions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|version| version.as_str().map(str::to_owned))
        .collect();
    for never in NEVER {
        let request = of_version(lab, lab.harmless(), json!({}), never);
        let exchange = lab.send(&request).await?;
        if lab.endpoint().is_ok() {
            lab.note(STATUS, expect::has_status(&exchange, &[400]), &exchange);
        }
        let Some(supported) = lab.note(ERROR, names_versions(&exchange, never), &exchange) else {
            continue;
        };
        if !discovered.is_empty() && supported != discovered {
            let what = format!("the error lists {supported:?}, server/discover {discovered:?}");
            lab.found(EQUALS, what, &[&exchange]);
        }
    }
    Ok(())
}

async fn anywhere(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let mut asked = vec![("tools/list", json!({}))];
    let callable = lab.callable().ok().map(|mut tools| tools.remove(0));
    if let Some(tool) = callable {
        asked.push(("tools/call", json!({"name": tool.name, "arguments": {}})));
    }
    for (method, params) in asked {
        let request = of_version(lab, method, params, NEVER[1]);
        let exchange = lab.send(&request).await?;
        let judged = names_versions(&exchange, NEVER[1]).map_err(|what| format!("{method}: {what}"));
        lab.note(ANY, judged, &exchange);
        if lab.endpoint().is_ok() {
            lab.note(STATUS, expect::has_status(&exchange, &[400]), &exchange);
        }
    }
    Ok(())
}

/// Each version of the list, in the way of its era.
async fn listed(lab: &mut Lab) -> Result<(), Stop> {
    let versions = lab.offer().opening["supportedVersions"].clone();
    for version in versions
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if version >= Revision::NEWEST_MODERN.as_str() {
            let request = of_version(lab, lab.harmless(), json!({}), version);
            let exchange = lab.send(&request).await?;
            let judged = expect::understood(&exchange, &[UNSUPPORTED_VERSION])
                .map_err(|what| format!("lists {version}: {what}"));
            lab.note(LISTED, judged, &exchange);
        } else {
            let exchange = initialize_legacy(lab, version).await?;
            let judged = match offered(&exchange, "") {
                Ok(Some(theirs)) if theirs == version => Ok(()),
                Ok(theirs) => Err(format!(
                    "lists {version}; initialize with it gives {}",
                    theirs.unwrap_or_default()
                )),
                Err(what) => Err(format!("lists {version}: {what}")),
            };
            lab.note(LISTED, judged, &exchange);
        }
    }
    Ok(())
}

/// `initialize` as a legacy client sends it.
async fn initialize_legacy(lab: &mut Lab, version: &str) -> Result<Exchange, Stop> {
    let mut client = super::dual::legacy_client(lab)?;
    let message = json!({"jsonrpc": "2.0", "id": lab.fresh_id(), "method": "initialize", "params": parameters(version)});
    let exchange = lab.send_as(&mut client, &message).await;
    if let Ok(exchange) = &exchange {
        client.note_sessions(exchange);
    }
    client.close().await;
    exchange
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_hil_harness::client::Reply;

    fn with(message: Value) -> Exchange {
        Exchange {
            replies: vec![Reply {
                message: Some(message),
                ..Reply::default()
            }],
            ..Exchange::default()
        }
    }

    #[test]
    fn a_version_of_the_servers_comes_in_place_of_an_unknown_one() {
        let result = |version: Value| with(json!({"id": 1, "result": {"protocolVersion": version}}));
        assert_eq!(
            offered(&result(json!("2025-06-18")), NEVER[0]),
            Ok(Some("2025-06-18".into()))
        );
        assert!(offered(&result(json!(NEVER[0])), NEVER[0]).is_err());
        assert!(offered(&result(json!("latest")), NEVER[0]).is_err());
        let error =
            |data: Value| with(json!({"id": 1, "error": {"code": -32602, "message": "x", "data": data}}));
        assert_eq!(
            offered(&error(json!({"supported": ["2025-06-18"]})), NEVER[0]),
            Ok(None)
        );
        assert!(offered(&error(json!({})), NEVER[0]).is_err());
        assert!(offered(&error(json!({"supported": []})), NEVER[0]).is_err());
    }

    #[test]
    fn an_unsupported_version_is_refused_with_the_list() {
        let error = |code: i64, data: Value| {
            with(json!({"id": 1, "error": {"code": code, "message": "x", "data": data}}))
        };
        let data = json!({"supported": ["2026-07-28"], "requested": "1999-01-01"});
        assert!(names_versions(&error(-32022, data.clone()), "1999-01-01").is_ok());
        assert!(names_versions(&error(-32602, data.clone()), "1999-01-01").is_err());
        assert!(names_versions(&error(-32022, data), "9999-01-01").is_err());
        let bad = json!({"supported": "2026-07-28", "requested": "1999-01-01"});
        assert!(names_versions(&error(-32022, bad), "1999-01-01").is_err());
    }
}
