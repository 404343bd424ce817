//! The base protocol: what MCP adds to JSON-RPC.

use super::{call, complete_meta, first_tool, key, recode, remove, result, result_of, served, strings};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const FAULTS: &[Fault] = &[
    must(
        "meta-null",
        BOTH,
        "both/base/meta-is-object",
        "gives null for _meta in lists of tools",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "tools/list") {
            result["_meta"] = Value::Null;
        }
    }),
    must(
        "meta-of-a-tool-number",
        BOTH,
        "both/base/meta-is-object",
        "gives a number for the _meta of a tool",
    )
    .say(|ask, message| first_tool(ask, message, |tool| tool["_meta"] = json!(5))),
    must(
        "non-ascii-lost",
        BOTH,
        "both/base/utf8",
        "puts question marks in the place of what is not ASCII",
    )
    .say(|_, message| {
        strings(message, &mut |text| {
            *text = text.replace(|c: char| !c.is_ascii(), "?")
        });
    }),
    must(
        "beyond-bmp-lost",
        BOTH,
        "both/base/utf8",
        "loses characters beyond U+FFFF",
    )
    .say(|_, message| {
        strings(message, &mut |text| text.retain(|c| c <= '\u{ffff}'));
    }),
    must("latin-1", BOTH, "both/base/utf8", "sends Latin-1").reply(|_, reply| {
        if let Ok(text) = str::from_utf8(&reply.body)
            && !text.is_ascii()
        {
            reply.body = text
                .chars()
                .map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'))
                .collect();
        }
    }),
    must(
        "length-in-characters",
        BOTH,
        "both/base/utf8",
        "counts Content-Length in characters",
    )
    .case(29)
    .reply(|_, reply| reply.size_in_characters()),
    must(
        "split-character-refused",
        BOTH,
        "both/base/utf8",
        "refuses a body that came split within a character",
    )
    .http()
    .case(28)
    .answer(|ask| {
        let within = |cut: &usize| ask.body.get(*cut).is_some_and(|byte| byte & 0xc0 == 0x80);
        ask.cuts
            .iter()
            .any(within)
            .then(|| Reply::error(400, &Value::Null, -32700, "invalid UTF-8"))
    }),
    must(
        "invalid-utf8-served",
        BOTH,
        "both/base/invalid-utf8-refused",
        "mends invalid UTF-8 and serves it",
    )
    .ask(|ask| {
        if str::from_utf8(&ask.body).is_err() {
            ask.body = String::from_utf8_lossy(&ask.body).into_owned().into_bytes();
        }
    }),
    must(
        "invalid-utf8-kills",
        BOTH,
        "both/base/invalid-utf8-refused",
        "serves nobody after invalid UTF-8",
    )
    .answer(|ask| {
        if str::from_utf8(&ask.body).is_err() {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must_not(
        "null-id-served",
        BOTH,
        "both/base/null-id-rejected",
        "serves a request with a null id",
    )
    .case(2)
    .answer(|ask| (ask.is_request() && ask.id().is_null()).then(|| served(ask))),
    must_not(
        "null-id-accepted",
        BOTH,
        "both/base/null-id-rejected",
        "takes a null id for a notification",
    )
    .http()
    .case(2)
    .answer(|ask| (ask.is_request() && ask.id().is_null()).then(|| Reply::empty(202))),
    must(
        "answers-mixed-up",
        MODERN,
        "2026-07-28/base/same-id-on-separate-connections",
        "gives a call the answer of one at the same time",
    )
    .case(32)
    .reply(|ask, reply| {
        if ask.is("tools/call") {
            reply.delay = Duration::from_millis(500);
            reply.edit(|message| {
                let arguments = ask.params()["arguments"].to_string();
                let mut known = ask.memory.get(&ask.tool()).unwrap_or_else(|| json!({}));
                known[arguments.as_str()] = message["result"].clone();
                ask.memory.set(&ask.tool(), known.clone());
                let mut others = known.as_object().into_iter().flatten();
                let other = others.rfind(|(earlier, _)| **earlier != arguments);
                if let Some((_, other)) = other.filter(|_| ask.concurrent > 0) {
                    message["result"] = other.clone();
                }
            });
        }
    }),
    must(
        "result-is-array",
        BOTH,
        "both/base/result-member-present",
        "gives the list of tools as a bare array",
    )
    .case(22)
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            *list = list["tools"].clone();
        }
    }),
    must(
        "result-is-text",
        LEGACY,
        "both/base/result-member-present",
        "answers ping with a text",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "ping") {
            *result = json!("pong");
        }
    }),
    must(
        "no-result-type",
        MODERN,
        "2026-07-28/base/result-type-present",
        "leaves resultType out",
    )
    .case(13)
    .say(|_, message| {
        if let Some(result) = result(message) {
            remove(result, "resultType");
        }
    }),
    must(
        "no-result-type-in-calls",
        MODERN,
        "2026-07-28/base/result-type-present",
        "leaves resultType out of calls' results",
    )
    .case(13)
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "tools/call") {
            remove(result, "resultType");
        }
    }),
    must(
        "result-type-done",
        MODERN,
        "2026-07-28/base/result-type-complete",
        "calls a finished result done",
    )
    .say(|_, message| {
        if let Some(result) = result(message).filter(|result| result["resultType"] == "complete") {
            result["resultType"] = json!("done");
        }
    }),
    must(
        "result-type-unknown",
        MODERN,
        "2026-07-28/base/result-type-known-set",
        "gives calls a result type nobody agreed on",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["resultType"] = json!("com.example/stream");
        }
    }),
    must(
        "error-without-id",
        LEGACY,
        "2025-11-25/base/error-id-echo",
        "gives errors a null id",
    )
    .say(|_, message| {
        if message.get("error").is_some() {
            message["id"] = Value::Null;
        }
    }),
    must(
        "header-error-without-id",
        MODERN,
        "2026-07-28/base/error-id-echo",
        "gives errors about headers and versions a null id",
    )
    .http()
    .say(|_, message| {
        if matches!(message["error"]["code"].as_i64(), Some(-32022..=-32020)) {
            message["id"] = Value::Null;
        }
    }),
    must_not(
        "undefined-code",
        MODERN,
        "2026-07-28/base/no-undefined-reserved-codes",
        "answers an unknown tool with -32050",
    )
    .say(|ask, message| recode_tool(ask, message, -32050)),
    must_not(
        "code-misused",
        MODERN,
        "2026-07-28/base/no-undefined-reserved-codes",
        "answers an unknown tool with -32022",
    )
    .say(|ask, message| recode_tool(ask, message, -32022)),
    should_not(
        "legacy-code",
        MODERN,
        "2026-07-28/base/no-legacy-subrange-codes",
        "answers an unknown tool with -32001",
    )
    .say(|ask, message| recode_tool(ask, message, -32001)),
    must_not(
        "retired-code",
        MODERN,
        "2026-07-28/base/no-retired-codes",
        "answers an unknown resource with -32002",
    )
    .say(|ask, message| {
        if ask.is("resources/read") {
            recode(message, -32601, -32002);
        }
    }),
    should(
        "reserved-code",
        MODERN,
        "2026-07-28/base/app-codes-outside-reserved-range",
        "answers an unknown tool with -32500",
    )
    .say(|ask, message| recode_tool(ask, message, -32500)),
    must_not(
        "notification-with-id",
        BOTH,
        "both/base/notifications-have-no-id",
        "gives its notifications ids",
    )
    .needs(&["progress"])
    .say(|_, message| {
        if message.get("method").is_some() {
            message["id"] = json!(1);
        }
    }),
    must(
        "meta-key-bad",
        BOTH,
        "both/base/meta-key-format",
        "puts a key with spaces into _meta",
    )
    .say(|_, message| add_meta(message, "device uptime!")),
    must_not(
        "meta-prefix-taken",
        BOTH,
        "both/base/meta-reserved-prefix-not-used",
        "puts a key of its own under the protocol's prefix",
    )
    .say(|_, message| add_meta(message, "io.modelcontextprotocol/deviceUptime")),
    should(
        "meta-prefix-forward",
        BOTH,
        "both/base/meta-reverse-dns",
        "writes its prefix in _meta as a host name",
    )
    .say(|_, message| add_meta(message, "example.com/uptime")),
    must(
        "meta-key-refused",
        BOTH,
        "both/base/meta-unknown-keys-tolerated",
        "refuses unknown keys in _meta",
    )
    .answer(|ask| {
        let meta = ask.params()["_meta"].as_object().cloned().unwrap_or_default();
        meta.keys()
            .any(|key| key.starts_with("com.") || key.starts_with("org."))
            .then(|| refused(ask, "unknown key in _meta"))
    }),
    must(
        "trace-context-refused",
        MODERN,
        "2026-07-28/base/meta-trace-context-tolerated",
        "refuses traceparent in _meta",
    )
    .answer(|ask| {
        ask.params()["_meta"]
            .get("traceparent")
            .is_some()
            .then(|| refused(ask, "unknown key in _meta"))
    }),
    must(
        "meta-missing-invalid",
        MODERN,
        "2026-07-28/base/meta-required-fields-rejected-32602",
        "answers a request without _meta with -32600",
    )
    .say(|ask, message| {
        if !has_meta(ask) {
            recode(message, -32602, -32600);
        }
    }),
    must(
        "capabilities-missing-served",
        MODERN,
        "2026-07-28/base/meta-required-fields-rejected-32602",
        "serves discovery without client capabilities",
    )
    .ask(|ask| {
        if ask.is("server/discover") && !has_meta(ask) {
            complete_meta(ask);
        }
    }),
    must(
        "meta-missing-served",
        MODERN,
        "2026-07-28/base/meta-required-on-every-method",
        "serves tools without client capabilities",
    )
    .ask(|ask| {
        if ask.rpc().starts_with("tools/") && !has_meta(ask) {
            complete_meta(ask);
        }
    }),
    must(
        "meta-type-served",
        MODERN,
        "2026-07-28/base/meta-wrong-type-rejected",
        "serves client capabilities that are an array",
    )
    .ask(|ask| {
        if ask.meta("clientCapabilities").is_array() {
            complete_meta(ask);
        }
    }),
    must(
        "client-info-demanded",
        MODERN,
        "2026-07-28/base/client-info-optional",
        "refuses a request without clientInfo",
    )
    .answer(|ask| {
        (ask.is_request() && has_meta(ask) && ask.meta("clientInfo").is_null())
            .then(|| refused(ask, "who are you?"))
    }),
    should_not(
        "client-info-matters",
        MODERN,
        "2026-07-28/base/client-info-not-behavioural",
        "shows fewer tools to a client of another name",
    )
    .say(|ask, message| {
        let name = ask.meta("clientInfo")["name"].clone();
        if name.is_null() || ask.memory.get("first client").is_none() {
            ask.memory.set("first client", name);
        } else if ask.memory.get("first client") != Some(name)
            && let Some(list) = result_of(ask, message, "tools/list")
            && let Some(tools) = list["tools"].as_array_mut()
        {
            tools.pop();
        }
    }),
    should(
        "no-server-info",
        MODERN,
        "2026-07-28/base/server-info-in-result-meta",
        "does not say in calls' results who it is",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "tools/call") {
            super::change(result, "_meta", |meta| remove(meta, &key("serverInfo")));
        }
    }),
    must_not(
        "discover-demanded",
        MODERN,
        "2026-07-28/base/stateless-no-prior-context",
        "demands discovery first on each connection",
    )
    .http()
    .answer(|ask| {
        (ask.earlier == 0 && ask.is_request() && has_meta(ask) && !ask.is("server/discover"))
            .then(|| Reply::error(400, &ask.id(), -32600, "send server/discover first"))
    }),
    must_not(
        "capabilities-remembered",
        MODERN,
        "2026-07-28/base/stateless-no-prior-context",
        "serves a request without capabilities by those of an earlier one",
    )
    .ask(|ask| {
        if !ask.meta("protocolVersion").is_null()
            && !ask.meta("clientCapabilities").is_object()
            && ask.earlier > 0
        {
            complete_meta(ask);
        }
    }),
    should_not(
        "cursor-of-connection",
        MODERN,
        "2026-07-28/base/stateless-any-connection",
        "knows a cursor only on the connection it gave it on",
    )
    .http()
    .answer(|ask| {
        (ask.earlier == 0 && !ask.params()["cursor"].is_null())
            .then(|| Reply::error(200, &ask.id(), -32602, "unknown cursor"))
    }),
    should(
        "calls-cached",
        MODERN,
        "2026-07-28/base/stateless-multiplexed-conversations",
        "gives a call the result of an earlier one on the connection",
    )
    .http()
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            let earlier = ask.memory.set("last", result.clone());
            if let Some(earlier) = earlier.filter(|_| ask.earlier > 0) {
                *result = earlier;
            }
        }
    }),
];

/// Both members that every modern request has in `_meta` are there, of their types.
fn has_meta(ask: &Ask) -> bool {
    ask.meta("protocolVersion").is_string() && ask.meta("clientCapabilities").is_object()
}

fn refused(ask: &Ask, why: &str) -> Reply {
    Reply::error(200, &ask.id(), -32602, why)
}

fn recode_tool(ask: &Ask, message: &mut Value, code: i64) {
    if ask.is("tools/call") {
        recode(message, -32602, code);
    }
}

fn add_meta(message: &mut Value, key: &str) {
    if let Some(result) = result(message) {
        result["_meta"][key] = json!(1);
    }
}
