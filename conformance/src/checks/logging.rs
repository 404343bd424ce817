//! Log messages to the client.

use crate::arguments;
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
        "logging/told-legacy",
        LEGACY,
        told_legacy,
        ["2025-11-25/logging/set-level-filters"]
    ),
    check!(
        "logging/told-modern",
        MODERN,
        told_modern,
        ["2026-07-28/logging/at-or-above-level"]
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
        // an empty result may have members that nobody knows, but the level it was given is none of them
        let is_empty = expect::result(&exchange).and_then(|result| match result.get("level") {
            None => Ok(()),
            Some(level) => Err(format!("the result is not empty: it has the level {level}")),
        });
        lab.note("2025-11-25/logging/set-level", is_empty, &exchange);
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

/// Calls of the tools that may be called, for what they log, which the checks that look back judge too.
async fn calls(lab: &mut Lab, level: Option<&str>) -> Result<Vec<Exchange>, Stop> {
    let mut exchanges = Vec::new();
    for tool in lab.callable()? {
        let Some(arguments) = arguments::valid(tool.input_schema(), lab.shared.seed, false) else {
            continue;
        };
        let mut request = lab.request("tools/call", json!({"name": tool.name, "arguments": arguments}));
        if let Some(level) = level {
            request["params"]["_meta"][META_LEVEL] = json!(level);
        }
        exchanges.push(lab.send(&request).await?);
    }
    Ok(exchanges)
}

fn below<'e>(exchange: &'e Exchange, least: &str) -> Option<&'e Value> {
    let index = |level: &Value| LEVELS.iter().position(|known| *level == *known);
    let least = index(&json!(least))?;
    logged(exchange).find(|params| index(&params["level"]).is_some_and(|level| level < least))
}

/// With everything wanted, then with as little as can be.
async fn told_legacy(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("logging")?;
    lab.spoil();
    for level in ["debug", "emergency"] {
        lab.ask("logging/setLevel", json!({"level": level})).await?;
        for exchange in calls(lab, None).await? {
            if let Some(below) = below(&exchange, level) {
                let what = format!("{level} was set, and it logs {}", below["level"]);
                lab.found("2025-11-25/logging/set-level-filters", what, &[&exchange]);
                return Ok(());
            }
        }
    }
    // others may share what was set
    lab.ask("logging/setLevel", json!({"level": "info"})).await?;
    Ok(())
}

async fn told_modern(lab: &mut Lab) -> Result<(), Stop> {
    for (round, level) in ["debug", "emergency"].into_iter().enumerate() {
        let exchanges = calls(lab, Some(level)).await?;
        if round == 0 && !exchanges.iter().any(|exchange| logged(exchange).next().is_some()) {
            return Err(Stop::Skip("the server logged nothing".to_owned()));
        }
        for exchange in exchanges {
            if let Some(below) = below(&exchange, level) {
                let what = format!("{level} was asked for, and it logs {}", below["level"]);
                lab.found("2026-07-28/logging/at-or-above-level", what, &[&exchange]);
                return Ok(());
            }
        }
    }
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
