//! `server/discover`, and what 2026-07-28 asks of every server.

use crate::check::{Check, MODERN, check};
use crate::expect::{self, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};

const IMPLEMENTED: &str = "2026-07-28/discover/implemented";
const VERSIONS: &str = "2026-07-28/discover/supported-versions";
const CAPABILITIES: &str = "2026-07-28/discover/capabilities";
const INFO: &str = "2026-07-28/discover/server-info";
const INSTRUCTIONS: &str = "2026-07-28/discover/instructions-optional";
const STABLE: &str = "2026-07-28/discover/stable";
const PATTERNS: &str = "2026-07-28/version/base-patterns-supported";
const KEYS: &str = "2026-07-28/extensions/identifier-grammar";
const SETTINGS: &str = "2026-07-28/extensions/settings-object";
const FALLBACK: &str = "2026-07-28/extensions/fallback";
const TOLERATED: &str = "2026-07-28/extensions/unknown-tolerated";

pub const CHECKS: &[Check] = &[
    check!(
        "lifecycle/discover",
        MODERN,
        discover,
        [IMPLEMENTED, VERSIONS, CAPABILITIES, INFO, INSTRUCTIONS]
    ),
    check!("lifecycle/base-patterns", MODERN, patterns, [PATTERNS]),
    check!("lifecycle/extensions", MODERN, extensions, [KEYS, SETTINGS]),
    check!("lifecycle/unknown-extension", MODERN, tolerated, [TOLERATED]),
    check!("lifecycle/extension-fallback", MODERN, fallback, [FALLBACK]).looking_back(),
    check!("lifecycle/discover-stable", MODERN, stable, [STABLE]).looking_back(),
];

/// The discovery that opened the run.
fn opening(lab: &Lab) -> Result<Exchange, Stop> {
    let opening = lab.offer().opened.first().cloned();
    opening.ok_or_else(|| Stop::Skip("nothing was discovered".to_owned()))
}

async fn discover(lab: &mut Lab) -> Result<(), Stop> {
    let opening = opening(lab)?;
    let result = lab.must(IMPLEMENTED, expect::result(&opening).cloned(), &opening)?;
    let revision = lab.revision().as_str();
    lab.note(VERSIONS, lists(&result["supportedVersions"], revision), &opening);
    if !result["capabilities"].is_object() {
        let what = format!("capabilities is {}, not an object", result["capabilities"]);
        lab.found(CAPABILITIES, what, &[&opening]);
    }
    let info = result.pointer("/_meta/io.modelcontextprotocol~1serverInfo");
    let named = ["name", "version"]
        .iter()
        .all(|member| info.is_some_and(|info| info[member].is_string()));
    if !named {
        lab.found(INFO, "_meta has no serverInfo with name and version", &[&opening]);
    }
    if let Some(other) = result.get("instructions").filter(|value| !value.is_string()) {
        lab.found(
            INSTRUCTIONS,
            format!("instructions is {other}, not a text"),
            &[&opening],
        );
    }
    Ok(())
}

/// A list of texts with the version that was used.
fn lists(versions: &Value, used: &str) -> Result<(), String> {
    let Some(list) = versions.as_array() else {
        return Err(format!("supportedVersions is {versions}, not a list"));
    };
    if let Some(bad) = list.iter().find(|version| !version.is_string()) {
        return Err(format!("supportedVersions holds {bad}, not a text"));
    }
    if list.iter().any(|version| *version == used) {
        Ok(())
    } else {
        Err(format!(
            "supportedVersions is {versions}, without the {used} of the request"
        ))
    }
}

async fn patterns(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(PATTERNS, expect::result(&exchange), &exchange);
    let exchange = lab.ask("mcp-hil/nowhere", Value::Null).await?;
    lab.note(PATTERNS, expect::error(&exchange, &[METHOD_NOT_FOUND]), &exchange);
    Ok(())
}

async fn extensions(lab: &mut Lab) -> Result<(), Stop> {
    let opening = opening(lab)?;
    let Some(extensions) = lab.offer().capabilities().get("extensions").cloned() else {
        return Err(Stop::Skip("the server declares no extension".to_owned()));
    };
    let Some(extensions) = extensions.as_object() else {
        lab.found(
            SETTINGS,
            format!("extensions is {extensions}, not an object"),
            &[&opening],
        );
        return Ok(());
    };
    for (key, settings) in extensions {
        if !is_prefixed_key(key) {
            let what = format!("the extension {key:?} is no _meta key with a prefix");
            lab.found(KEYS, what, &[&opening]);
        }
        if !settings.is_object() {
            let what = format!("the settings of {key:?} are {settings}, not an object");
            lab.found(SETTINGS, what, &[&opening]);
        }
    }
    Ok(())
}

/// `label.label/name` (2026-07-28, basic, `_meta`).
fn is_prefixed_key(key: &str) -> bool {
    let Some((prefix, name)) = key.split_once('/') else {
        return false;
    };
    let is_label = |label: &str| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && label.ends_with(|c: char| c.is_ascii_alphanumeric())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    let is_name = name.is_empty()
        || (name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')));
    prefix.split('.').all(is_label) && is_name
}

async fn tolerated(lab: &mut Lab) -> Result<(), Stop> {
    let capabilities = json!({"extensions": {"com.example/mcp-hil": {"x": 1}}, "zzz": {}});
    let meta = json!({"io.modelcontextprotocol/clientCapabilities": capabilities});
    let exchange = lab.ask(lab.harmless(), json!({"_meta": meta})).await?;
    lab.note(TOLERATED, expect::result(&exchange), &exchange);
    Ok(())
}

/// A capability that the client does not have (2026-07-28, basic, `_meta`).
const MISSING_CAPABILITY: i64 = -32021;

/// An error that is due to an extension, and does not say so by its code. Bad parameters may hold the word.
fn speaks_of_extension(error: &Value) -> bool {
    let suitable = [MISSING_CAPABILITY, expect::INVALID_PARAMS];
    let text = error["message"].as_str().unwrap_or_default();
    let is_suitable = error["code"]
        .as_i64()
        .is_some_and(|code| suitable.contains(&code));
    !is_suitable && text.to_ascii_lowercase().contains("extension")
}

/// No client that declares no extension gets a result of one.
async fn fallback(lab: &mut Lab) -> Result<(), Stop> {
    let mut calls = 0;
    for exchange in lab.log() {
        let Some(sent) =
            expect::sent_message(&exchange).filter(|sent| message::method(sent) == Some("tools/call"))
        else {
            continue;
        };
        let declared = sent.pointer("/params/_meta/io.modelcontextprotocol~1clientCapabilities/extensions");
        let kind = exchange
            .message()
            .and_then(|answer| answer.pointer("/result/resultType")?.as_str());
        if declared.is_some() {
            continue;
        }
        calls += 1;
        let error = exchange.message().and_then(|answer| answer.get("error"));
        if let Some(error) = error.filter(|error| speaks_of_extension(error)) {
            let what = format!(
                "refused for want of an extension, with another code than {MISSING_CAPABILITY}: {error}"
            );
            lab.found(FALLBACK, what, &[&exchange]);
            break;
        }
        if let Some(kind) = kind.filter(|kind| !matches!(*kind, "complete" | "input_required")) {
            let what = format!("a client without extensions gets a result of type {kind:?}");
            lab.found(FALLBACK, what, &[&exchange]);
            break;
        }
    }
    if calls == 0 {
        return Err(Stop::Skip("no tool was called".to_owned()));
    }
    Ok(())
}

/// All discoveries of the run that were answered alike.
async fn stable(lab: &mut Lab) -> Result<(), Stop> {
    let members = ["supportedVersions", "capabilities", "instructions"];
    let mut first: Option<(Vec<Value>, std::rc::Rc<Exchange>)> = None;
    for exchange in lab.log() {
        let Some(result) = exchange
            .message()
            .and_then(|answer| answer.get("result"))
            .filter(|result| result.get("supportedVersions").is_some())
        else {
            continue;
        };
        let now: Vec<Value> = members.iter().map(|member| result[member].clone()).collect();
        match &first {
            None => first = Some((now, exchange)),
            Some((before, _)) if *before == now => {}
            Some((_, before)) => {
                let before = std::rc::Rc::clone(before);
                lab.found(
                    STABLE,
                    "server/discover gives another answer",
                    &[&before, &exchange],
                );
                break;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_versions_has_the_one_that_was_used() {
        let used = "2026-07-28";
        assert_eq!(lists(&json!(["2026-07-28", "2025-11-25"]), used), Ok(()));
        for bad in [
            json!([]),
            json!("2026-07-28"),
            json!(["2025-11-25"]),
            json!(["2026-07-28", 1]),
            Value::Null,
        ] {
            assert!(lists(&bad, used).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_extension_has_a_prefix() {
        for good in ["io.modelcontextprotocol/tasks", "com.example/a_b.c-1", "x/"] {
            assert!(is_prefixed_key(good), "{good}");
        }
        for bad in ["tasks", "/tasks", "1a/tasks", "a-/x", "a..b/x", "a/_x", "a/b/c"] {
            assert!(!is_prefixed_key(bad), "{bad}");
        }
    }
}
