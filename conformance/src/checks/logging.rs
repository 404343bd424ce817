//! Log messages to the client.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::expect::{self, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::rc::Rc;

/// RFC 5424, 6.2.1, from the least to the most severe.
const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];
/// `_meta` member with the least level of the messages that a request wants.
const META_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub const CHECKS: &[Check] = &[
    check!(
        "logging/set-level",
        LEGACY,
        set_level,
        ["2025-11-25/logging/set-level", "2025-11-25/logging/invalid-level"]
    ),
    check!(
        "logging/bad-level",
        MODERN,
        bad_level,
        ["2026-07-28/logging/invalid-level"]
    ),
    check!(
        "logging/not-adopted",
        MODERN,
        not_adopted,
        ["2026-07-28/logging/deprecated"]
    ),
    check!(
        "logging/declared-legacy",
        LEGACY,
        declared_legacy,
        ["2025-11-25/logging/capability"]
    )
    .looking_back(),
    check!(
        "logging/declared-modern",
        MODERN,
        declared_modern,
        ["2026-07-28/logging/capability"]
    )
    .looking_back(),
    check!("logging/messages", BOTH, messages, ["both/logging/message-shape"]).looking_back(),
    check!(
        "logging/only-when-asked",
        MODERN,
        only_when_asked,
        [
            "2026-07-28/logging/opt-in-only",
            "2026-07-28/logging/at-or-above-level"
        ]
    )
    .looking_back(),
];

async fn set_level(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("logging")?;
    for level in LEVELS {
        let exchange = lab.ask("logging/setLevel", json!({"level": level})).await?;
        lab.note(
            "2025-11-25/logging/set-level",
            expect::result(&exchange),
            &exchange,
        );
    }
    for level in [json!("loud"), json!(3)] {
        let exchange = lab.ask("logging/setLevel", json!({"level": level})).await?;
        lab.note(
            "2025-11-25/logging/invalid-level",
            expect::error(&exchange, &[INVALID_PARAMS]),
            &exchange,
        );
    }
    lab.spoil();
    Ok(())
}

async fn bad_level(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("logging")?;
    let mut request = lab.request("tools/list", json!({}));
    request["params"]["_meta"][META_LEVEL] = json!("loud");
    let exchange = lab.send(&request).await?;
    lab.note(
        "2026-07-28/logging/invalid-level",
        expect::error(&exchange, &[INVALID_PARAMS]),
        &exchange,
    );
    Ok(())
}

async fn not_adopted(lab: &mut Lab) -> Result<(), Stop> {
    if lab.offer().has("logging")
        && let Some(exchange) = lab.offer().opened.first().cloned()
    {
        lab.found(
            "2026-07-28/logging/deprecated",
            "it declares the capability \"logging\", which is deprecated",
            &[&exchange],
        );
    }
    Ok(())
}

/// The log messages of an exchange.
fn logged(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    let told = exchange.replies.iter().flat_map(|reply| &reply.earlier);
    told.filter(|told| message::method(told) == Some("notifications/message"))
        .map(|told| &told["params"])
}

/// The exchanges of the run that had log messages.
fn with_messages(lab: &Lab) -> Result<Vec<Rc<Exchange>>, Stop> {
    let found: Vec<_> = lab
        .log()
        .into_iter()
        .filter(|exchange| logged(exchange).next().is_some())
        .collect();
    if found.is_empty() {
        Err(Stop::Skip("the server logged nothing".to_owned()))
    } else {
        Ok(found)
    }
}

async fn declared(lab: &mut Lab, row: &'static str) -> Result<(), Stop> {
    let found = with_messages(lab)?;
    if !lab.offer().has("logging") {
        lab.found(
            row,
            "it logs, and the capability \"logging\" is not declared",
            &[&found[0]],
        );
    }
    Ok(())
}

async fn declared_legacy(lab: &mut Lab) -> Result<(), Stop> {
    declared(lab, "2025-11-25/logging/capability").await
}

async fn declared_modern(lab: &mut Lab) -> Result<(), Stop> {
    declared(lab, "2026-07-28/logging/capability").await
}

async fn messages(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in with_messages(lab)? {
        let is_right = |params: &Value| {
            params["level"]
                .as_str()
                .is_some_and(|level| LEVELS.contains(&level))
                && params.get("data").is_some()
                && params.get("logger").is_none_or(Value::is_string)
        };
        if let Some(bad) = logged(&exchange).find(|params| !is_right(params)) {
            lab.found(
                "both/logging/message-shape",
                format!("a log message is {}", expect::brief(bad)),
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

/// The level that a request asked for, in its `_meta`.
fn asked(exchange: &Exchange) -> Option<usize> {
    let sent = String::from_utf8_lossy(&exchange.sent);
    let body = &sent[sent.find('{')?..];
    let request: Value = serde_json::from_str(body.trim_end()).ok()?;
    let level = request
        .pointer("/params/_meta/io.modelcontextprotocol~1logLevel")?
        .as_str()?
        .to_owned();
    LEVELS.iter().position(|known| *known == level)
}

async fn only_when_asked(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in with_messages(lab)? {
        match asked(&exchange) {
            None => lab.found(
                "2026-07-28/logging/opt-in-only",
                "it logs to a request that did not ask for it",
                &[&exchange],
            ),
            Some(least) => {
                let level = |params: &Value| LEVELS.iter().position(|known| params["level"] == *known);
                if let Some(below) =
                    logged(&exchange).find(|params| level(params).is_some_and(|level| level < least))
                {
                    let what = format!("{} was asked for, and it logs {}", LEVELS[least], below["level"]);
                    lab.found("2026-07-28/logging/at-or-above-level", what, &[&exchange]);
                } else {
                    continue;
                }
            }
        }
        break;
    }
    Ok(())
}
