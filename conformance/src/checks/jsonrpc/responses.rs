//! What every answer of the run must be.

use crate::check::{BOTH, Check, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, Reply};
use mcp_hil_harness::message;
use serde_json::Value;

const META: &str = "both/base/meta-is-object";

/// Most characters of an error message that still is a short sentence.
const MAX_CONCISE: usize = 200;

/// Keys of the protocol's own that a server may send in either revision (2025-11-25, Tasks; 2026-07-28, basic, `_meta`).
const KNOWN_KEYS: [&str; 4] = [
    "io.modelcontextprotocol/related-task",
    "io.modelcontextprotocol/model-immediate-response",
    "io.modelcontextprotocol/serverInfo",
    "io.modelcontextprotocol/subscriptionId",
];

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/every-version",
        BOTH,
        version,
        ["jsonrpc-2.0/version-member-in-responses"]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-result-or-error",
        BOTH,
        result_or_error,
        ["jsonrpc-2.0/result-xor-error"]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-error",
        BOTH,
        error,
        [
            "jsonrpc-2.0/error-object-shape",
            "jsonrpc-2.0/error-message-concise"
        ]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-result",
        BOTH,
        result,
        ["both/base/result-member-present"]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-result-type",
        MODERN,
        result_type,
        [
            "2026-07-28/base/result-type-present",
            "2026-07-28/base/result-type-complete",
            "2026-07-28/base/result-type-known-set",
        ]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-server-info",
        MODERN,
        server_info,
        ["2026-07-28/base/server-info-in-result-meta"]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-code",
        MODERN,
        codes,
        [
            "2026-07-28/base/no-undefined-reserved-codes",
            "2026-07-28/base/no-retired-codes",
            "2026-07-28/base/no-legacy-subrange-codes",
            "2026-07-28/base/app-codes-outside-reserved-range",
        ]
    )
    .looking_back(),
    check!(
        "jsonrpc/every-meta-key",
        BOTH,
        meta_keys,
        [
            META,
            "both/base/meta-key-format",
            "both/base/meta-reserved-prefix-not-used",
            "both/base/meta-reverse-dns"
        ]
    )
    .looking_back(),
];

/// Everything in an exchange that answers, or has the place of an answer.
fn answers(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    let answers = exchange.replies.iter().filter_map(|reply| reply.message.as_ref());
    answers.filter(|message| message.is_object() && message.get("method").is_none())
}

/// Notes the first answer of the run that is judged wrong; one tells as much as a hundred.
fn first(lab: &mut Lab, row: &'static str, judge: impl Fn(&Exchange, &Value) -> Result<(), String>) {
    for exchange in lab.log() {
        if let Some(what) = answers(&exchange).find_map(|answer| judge(&exchange, answer).err()) {
            lab.found(row, what, &[&exchange]);
            return;
        }
    }
}

async fn version(lab: &mut Lab) -> Result<(), Stop> {
    first(
        lab,
        "jsonrpc-2.0/version-member-in-responses",
        |_, answer| match answer.get("jsonrpc") {
            Some(version) if version == "2.0" => Ok(()),
            other => Err(format!(
                "an answer has jsonrpc {}, where \"2.0\" is due",
                other.unwrap_or(&Value::Null)
            )),
        },
    );
    Ok(())
}

async fn result_or_error(lab: &mut Lab) -> Result<(), Stop> {
    first(lab, "jsonrpc-2.0/result-xor-error", |_, answer| {
        match (answer.get("result"), answer.get("error")) {
            (Some(_), Some(_)) => Err("an answer has both a result and an error".to_owned()),
            (None, None) => Err(format!(
                "an answer has neither a result nor an error: {}",
                expect::brief(answer)
            )),
            _ => Ok(()),
        }
    });
    Ok(())
}

/// An error as text that is no JSON, as where it repeats what it was sent without escaping it. What ends early is judged
/// elsewhere.
fn is_broken_error(reply: &Reply) -> bool {
    let broken = serde_json::from_slice::<Value>(&reply.body).is_err_and(|error| error.is_syntax());
    let text = String::from_utf8_lossy(&reply.body);
    broken && text.starts_with('{') && text.contains("\"jsonrpc\"") && text.contains("\"error\"")
}

async fn error(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.log() {
        if exchange.replies.iter().any(is_broken_error) {
            let what = "an error is no JSON; is what it repeats escaped?";
            lab.found("jsonrpc-2.0/error-object-shape", what, &[&exchange]);
            break;
        }
    }
    first(lab, "jsonrpc-2.0/error-object-shape", |_, answer| {
        let Some(error) = answer.get("error") else {
            return Ok(());
        };
        let has_code = error
            .get("code")
            .is_some_and(|code| code.is_i64() || code.is_u64());
        let has_message = error.get("message").is_some_and(Value::is_string);
        if has_code && has_message {
            Ok(())
        } else {
            Err(format!(
                "an error without an integer code or a text as message: {}",
                expect::brief(error)
            ))
        }
    });
    first(lab, "jsonrpc-2.0/error-message-concise", |_, answer| match answer
        .pointer("/error/message")
        .and_then(Value::as_str)
    {
        Some(text) if text.trim().is_empty() => Err("an error has an empty message".to_owned()),
        Some(text) if text.contains('\n') => Err(format!("an error's message has several lines: {text:?}")),
        Some(text) if text.chars().count() > MAX_CONCISE => Err(format!(
            "an error's message has {} characters",
            text.chars().count()
        )),
        _ => Ok(()),
    });
    Ok(())
}

async fn result(lab: &mut Lab) -> Result<(), Stop> {
    first(lab, "both/base/result-member-present", |_, answer| {
        match answer.get("result") {
            Some(result) if !result.is_object() => {
                Err(format!("a result is no object: {}", expect::brief(result)))
            }
            _ => Ok(()),
        }
    });
    Ok(())
}

async fn result_type(lab: &mut Lab) -> Result<(), Stop> {
    let of = |exchange: &Exchange, answer: &Value| {
        answer
            .get("result")
            .filter(|_| expect::is_modern(exchange))
            .map(|result| result.get("resultType").cloned())
    };
    first(
        lab,
        "2026-07-28/base/result-type-present",
        |exchange, answer| match of(exchange, answer) {
            Some(None) => Err("a result has no resultType".to_owned()),
            Some(Some(kind)) if !kind.is_string() => Err(format!("resultType is {kind}, no text")),
            _ => Ok(()),
        },
    );
    let asked = |exchange: &Exchange, method: &str| {
        String::from_utf8_lossy(&exchange.sent).contains(&format!("\"method\":\"{method}\""))
    };
    first(
        lab,
        "2026-07-28/base/result-type-complete",
        |exchange, answer| match of(exchange, answer) {
            Some(Some(kind))
                if kind != "complete"
                    && (asked(exchange, "server/discover") || asked(exchange, "tools/list")) =>
            {
                Err(format!(
                    "the result of a list or of server/discover has resultType {kind}"
                ))
            }
            _ => Ok(()),
        },
    );
    first(
        lab,
        "2026-07-28/base/result-type-known-set",
        |exchange, answer| match of(exchange, answer) {
            Some(Some(Value::String(kind))) if !matches!(kind.as_str(), "complete" | "input_required") => {
                // requests that offer an extension may get its kinds
                let sent = String::from_utf8_lossy(&exchange.sent);
                if sent.contains("\"extensions\"") {
                    Ok(())
                } else {
                    Err(format!("resultType {kind:?} without an extension"))
                }
            }
            _ => Ok(()),
        },
    );
    Ok(())
}

async fn server_info(lab: &mut Lab) -> Result<(), Stop> {
    first(
        lab,
        "2026-07-28/base/server-info-in-result-meta",
        |exchange, answer| {
            let Some(result) = answer.get("result").filter(|_| expect::is_modern(exchange)) else {
                return Ok(());
            };
            match result.pointer("/_meta/io.modelcontextprotocol~1serverInfo") {
                Some(info) if info["name"].is_string() && info["version"].is_string() => Ok(()),
                Some(info) => Err(format!("serverInfo in _meta is {}", expect::brief(info))),
                None => Err("a result does not name the server in _meta".to_owned()),
            }
        },
    );
    Ok(())
}

async fn codes(lab: &mut Lab) -> Result<(), Stop> {
    let code = |exchange: &Exchange, answer: &Value| {
        message::error_code(answer).filter(|_| expect::is_modern(exchange))
    };
    first(
        lab,
        "2026-07-28/base/no-undefined-reserved-codes",
        |exchange, answer| match code(exchange, answer) {
            Some(code @ -32099..=-32020) if !(-32022..=-32020).contains(&code) && code != -32042 => {
                Err(format!("error code {code} is reserved and not defined"))
            }
            Some(-32022) => Err("error code -32022 to a request of a version that the server has".to_owned()),
            _ => Ok(()),
        },
    );
    first(
        lab,
        "2026-07-28/base/no-retired-codes",
        |exchange, answer| match code(exchange, answer) {
            Some(code @ (-32002 | -32042)) => Err(format!("error code {code} is retired")),
            _ => Ok(()),
        },
    );
    first(
        lab,
        "2026-07-28/base/no-legacy-subrange-codes",
        |exchange, answer| match code(exchange, answer) {
            Some(code @ -32019..=-32000) if code != -32002 => {
                Err(format!("error code {code} is left to old implementations"))
            }
            _ => Ok(()),
        },
    );
    first(
        lab,
        "2026-07-28/base/app-codes-outside-reserved-range",
        |exchange, answer| match code(exchange, answer) {
            Some(-32700 | -32603..=-32600 | -32099..=-32000) => Ok(()),
            Some(code @ -32768..=-32000) => Err(format!(
                "error code {code} of the server's own lies in the range of JSON-RPC"
            )),
            _ => Ok(()),
        },
    );
    Ok(())
}

/// Every `_meta` in a message, but for what is data of a tool or a schema.
fn metas<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "_meta" => found.push(member),
                    "structuredContent" | "inputSchema" | "outputSchema" | "requestedSchema" => continue,
                    _ => {}
                }
                metas(member, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| metas(item, found)),
        _ => {}
    }
}

/// Prefix and name of a key; none where it does not follow the grammar (basic, `_meta`, "Key name format").
fn parts(key: &str) -> Option<(Option<&str>, &str)> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let ends = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.ends_with(|c: char| c.is_ascii_alphanumeric())
    };
    let is_name = name.is_empty()
        || ends(name)
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_label = |label: &str| {
        label.starts_with(|c: char| c.is_ascii_alphabetic())
            && ends(label)
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    (is_name && prefix.is_none_or(|prefix| prefix.split('.').all(is_label))).then_some((prefix, name))
}

async fn meta_keys(lab: &mut Lab) -> Result<(), Stop> {
    let judge = |lab: &mut Lab, row, wrong: &dyn Fn(&str) -> bool, what: &str| {
        first(lab, row, |_, answer| {
            let mut found = Vec::new();
            metas(answer.get("result").unwrap_or(&Value::Null), &mut found);
            let mut keys = found
                .into_iter()
                .filter_map(Value::as_object)
                .flat_map(|meta| meta.keys());
            match keys.find(|key| wrong(key)) {
                Some(key) => Err(format!("{what}: {key:?}")),
                None => Ok(()),
            }
        });
    };
    first(lab, META, |_, answer| {
        let mut found = Vec::new();
        metas(answer.get("result").unwrap_or(&Value::Null), &mut found);
        match found.into_iter().find(|meta| !meta.is_object()) {
            Some(meta) => Err(format!("a _meta is {}, no object", expect::brief(meta))),
            None => Ok(()),
        }
    });
    judge(
        lab,
        "both/base/meta-key-format",
        &|key| parts(key).is_none(),
        "a key in _meta is not PREFIX/NAME or NAME",
    );
    // an extension may define keys that begin with its name
    let extensions: Vec<String> = lab.offer().capabilities()["extensions"]
        .as_object()
        .map(|extensions| extensions.keys().cloned().collect())
        .unwrap_or_default();
    let reserved = |prefix: &str| matches!(prefix.split('.').nth(1), Some("modelcontextprotocol" | "mcp"));
    let invented = |key: &str| {
        parts(key).and_then(|(prefix, _)| prefix).is_some_and(&reserved)
            && !KNOWN_KEYS.contains(&key)
            && !extensions.iter().any(|extension| key.starts_with(extension))
    };
    judge(
        lab,
        "both/base/meta-reserved-prefix-not-used",
        &invented,
        "a key in _meta has a prefix that is MCP's own",
    );
    let top_level = ["com", "org", "net", "io", "dev", "ai", "app", "co", "edu", "gov"];
    let forwards = |key: &str| {
        let labels: Vec<&str> = parts(key)
            .and_then(|(prefix, _)| prefix)
            .map(|prefix| prefix.split('.').collect())
            .unwrap_or_default();
        labels.len() > 1
            && labels.last().is_some_and(|last| top_level.contains(last))
            && labels
                .first()
                .is_some_and(|first| !top_level.contains(first) && first.len() > 2)
    };
    judge(
        lab,
        "both/base/meta-reverse-dns",
        &forwards,
        "a prefix in _meta is not reverse DNS",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn keys_follow_the_grammar() {
        for good in [
            "progressToken",
            "com.example/",
            "com.example/a.b_c-d",
            "io.modelcontextprotocol/serverInfo",
            "a",
        ] {
            assert!(parts(good).is_some(), "{good}");
        }
        for bad in [
            "-a",
            "a-",
            "1com/x",
            "com..example/x",
            "a/b/c",
            "com.exam_ple/x",
            "a b",
        ] {
            assert!(parts(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn every_meta_is_looked_at() {
        let result = json!({
            "_meta": {"a": 1},
            "tools": [{"_meta": null, "inputSchema": {"properties": {"_meta": {}}}}],
            "structuredContent": {"_meta": 5},
        });
        let mut found = Vec::new();
        metas(&result, &mut found);
        assert_eq!(found, [&json!({"a": 1}), &Value::Null]);
    }
}
