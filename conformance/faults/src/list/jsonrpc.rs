//! JSON-RPC 2.0 and the base protocol.

use super::{
    call, complete_meta, first_tool, key, recode, remove, result, result_of, served, served_as, strings,
};
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
        "response-without-version",
        BOTH,
        "jsonrpc-2.0/version-member-in-responses",
        "leaves jsonrpc out of responses",
    )
    .say(|_, message| {
        if message.get("id").is_some() {
            remove(message, "jsonrpc");
        }
    }),
    must(
        "error-with-version-1",
        BOTH,
        "jsonrpc-2.0/version-member-in-responses",
        "says jsonrpc 1.0 in errors",
    )
    .say(|_, message| {
        if message.get("error").is_some() {
            message["jsonrpc"] = json!("1.0");
        }
    }),
    must(
        "no-version-served",
        BOTH,
        "jsonrpc-2.0/request-without-version-rejected",
        "serves a request without jsonrpc",
    )
    .case(3)
    .answer(|ask| {
        let json = ask.json();
        (json.is_object() && json.get("jsonrpc").is_none() && json.get("id").is_some()).then(|| served(ask))
    }),
    must(
        "version-1-served",
        BOTH,
        "jsonrpc-2.0/request-wrong-version-rejected",
        "serves jsonrpc 1.0",
    )
    .case(3)
    .answer(|ask| {
        ask.json()
            .get("jsonrpc")
            .is_some_and(|version| version != "2.0")
            .then(|| served(ask))
    }),
    must(
        "method-number-served",
        BOTH,
        "jsonrpc-2.0/method-not-string-rejected",
        "serves a method that is no string",
    )
    .answer(|ask| {
        ask.json()
            .get("method")
            .is_some_and(|method| !method.is_string())
            .then(|| served(ask))
    }),
    must(
        "no-method-served",
        BOTH,
        "jsonrpc-2.0/method-missing-rejected",
        "serves a request without a method",
    )
    .answer(|ask| {
        let json = ask.json();
        let bare = ["method", "result", "error"]
            .iter()
            .all(|name| json.get(name).is_none());
        (bare && json.get("id").is_some() && json.get("jsonrpc").is_some()).then(|| served(ask))
    }),
    must(
        "params-scalar-served",
        BOTH,
        "jsonrpc-2.0/params-must-be-structured",
        "serves params that is no object",
    )
    .answer(|ask| {
        ask.json()
            .get("params")
            .is_some_and(|params| !params.is_object())
            .then(|| served(ask))
    }),
    must(
        "params-null-unanswered",
        BOTH,
        "jsonrpc-2.0/params-must-be-structured",
        "drops a request with null params",
    )
    .case(8)
    .answer(|ask| {
        ask.json()
            .get("params")
            .is_some_and(Value::is_null)
            .then(|| Reply::framed(Framing::Drop))
    }),
    must(
        "id-of-any-type-served",
        BOTH,
        "jsonrpc-2.0/id-bad-type-rejected",
        "serves ids that are no string or number",
    )
    .answer(|ask| {
        (ask.id().is_boolean() || ask.id().is_array() || ask.id().is_object()).then(|| served(ask))
    }),
    must(
        "id-string-to-number",
        BOTH,
        "jsonrpc-2.0/response-id-echo-value-and-type",
        "turns a string id into a number",
    )
    .case(1)
    .say(|ask, message| {
        if let (Some(id), Some(_)) = (ask.id().as_str(), message.get("id")) {
            message["id"] = json!(id.parse::<i64>().unwrap_or_default());
        }
    }),
    must(
        "id-number-to-string",
        BOTH,
        "jsonrpc-2.0/response-id-echo-value-and-type",
        "turns a number id into a string",
    )
    .case(1)
    .say(|_, message| {
        if let Some(id) = message.get_mut("id").filter(|id| id.is_number()) {
            *id = json!(id.to_string());
        }
    }),
    must(
        "id-cut",
        BOTH,
        "jsonrpc-2.0/response-id-echo-value-and-type",
        "cuts a string id at 32 characters",
    )
    .case(1)
    .say(|_, message| {
        if let Some(id) = message["id"].as_str().filter(|id| id.chars().count() > 32) {
            message["id"] = json!(id.chars().take(32).collect::<String>());
        }
    }),
    must(
        "id-negative-lost",
        BOTH,
        "jsonrpc-2.0/response-id-echo-value-and-type",
        "loses the sign of an id",
    )
    .case(1)
    .say(|_, message| {
        if let Some(id) = message["id"].as_i64() {
            message["id"] = json!(id.abs());
        }
    }),
    must(
        "id-in-32-bits",
        BOTH,
        "jsonrpc-2.0/response-id-echo-large-integer",
        "keeps 32 bits of an id",
    )
    .case(1)
    .say(|_, message| {
        if let Some(id) = message["id"].as_i64() {
            message["id"] = json!(id as i32);
        }
    }),
    must(
        "id-as-float",
        BOTH,
        "jsonrpc-2.0/response-id-echo-large-integer",
        "writes a large id with a point",
    )
    .case(1)
    .say(|_, message| {
        if let Some(id) = message["id"].as_i64().filter(|id| id.unsigned_abs() > 1 << 40) {
            message["id"] = json!(id as f64);
        }
    }),
    must(
        "result-and-error",
        BOTH,
        "jsonrpc-2.0/result-xor-error",
        "puts a null error beside a result",
    )
    .say(|_, message| {
        if message.get("result").is_some() {
            message["error"] = Value::Null;
        }
    }),
    must(
        "error-and-result",
        BOTH,
        "jsonrpc-2.0/result-xor-error",
        "puts a null result beside an error",
    )
    .say(|_, message| {
        if message.get("error").is_some() {
            message["result"] = Value::Null;
        }
    }),
    must(
        "error-code-string",
        BOTH,
        "jsonrpc-2.0/error-object-shape",
        "gives the code of an error as a string",
    )
    .case(5)
    .say(|_, message| {
        if let Some(code) = message["error"]["code"].as_i64() {
            message["error"]["code"] = json!(code.to_string());
        }
    }),
    must(
        "error-without-code",
        BOTH,
        "jsonrpc-2.0/error-object-shape",
        "leaves the code out of errors",
    )
    .case(5)
    .say(|_, message| {
        if let Some(error) = message.get_mut("error") {
            remove(error, "code");
        }
    }),
    must(
        "error-without-message",
        BOTH,
        "jsonrpc-2.0/error-object-shape",
        "leaves the message out of errors",
    )
    .case(5)
    .say(|_, message| {
        if let Some(error) = message.get_mut("error") {
            remove(error, "message");
        }
    }),
    must(
        "error-is-text",
        BOTH,
        "jsonrpc-2.0/error-object-shape",
        "gives errors as a text",
    )
    .case(5)
    .say(|_, message| {
        if let Some(error) = message.get_mut("error") {
            *error = json!("something went wrong");
        }
    }),
    must(
        "quote-unescaped",
        BOTH,
        "jsonrpc-2.0/error-object-shape",
        "repeats a method's name in an error without escaping it",
    )
    .case(6)
    .reply(|ask, reply| {
        if ask.rpc().contains('"') && reply.code().is_some() {
            let text = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"error\":{{\"code\":-32601,\"message\":\"no {}\"}}}}",
                ask.id(),
                ask.rpc()
            );
            reply.body = text.into_bytes();
        }
    }),
    should(
        "error-message-long",
        BOTH,
        "jsonrpc-2.0/error-message-concise",
        "explains errors at length, over many lines",
    )
    .say(|_, message| {
        if message.get("error").is_some() {
            message["error"]["message"] =
                json!("Traceback (most recent call last):\n  at server.c:1\n".repeat(40));
        }
    }),
    must(
        "bad-json-internal",
        BOTH,
        "jsonrpc-2.0/parse-error-code",
        "answers bad JSON with -32603 and 200",
    )
    .case(4)
    .answer(|ask| bad_json(ask).then(|| Reply::error(200, &Value::Null, -32603, "internal error"))),
    must(
        "bad-json-html",
        BOTH,
        "jsonrpc-2.0/parse-error-code",
        "answers bad JSON with 500 and a page",
    )
    .http()
    .case(4)
    .answer(|ask| bad_json(ask).then(|| Reply::text(500, "text/html", "<h1>500 Internal Server Error</h1>"))),
    must(
        "bad-json-415",
        BOTH,
        "jsonrpc-2.0/parse-error-code",
        "answers bad JSON with 415",
    )
    .http()
    .case(4)
    .answer(|ask| bad_json(ask).then(|| Reply::text(415, "text/plain", "unsupported media type\n"))),
    must(
        "bad-json-dropped",
        BOTH,
        "jsonrpc-2.0/parse-error-code",
        "drops the connection on bad JSON",
    )
    .http()
    .case(4)
    .answer(|ask| bad_json(ask).then(|| Reply::framed(Framing::Drop))),
    must(
        "bad-json-kills",
        BOTH,
        "jsonrpc-2.0/parse-error-code",
        "serves nobody after bad JSON",
    )
    .case(4)
    .answer(|ask| {
        if bad_json(ask) {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "no-object-accepted",
        BOTH,
        "jsonrpc-2.0/invalid-request-code",
        "answers JSON that is no object with 202",
    )
    .http()
    .case(3)
    .answer(|ask| no_object(ask).then(|| Reply::empty(202))),
    must(
        "no-object-served",
        BOTH,
        "jsonrpc-2.0/invalid-request-code",
        "answers JSON that is no object with a result",
    )
    .case(3)
    .answer(|ask| no_object(ask).then(|| served_as(&Value::Null))),
    must(
        "empty-object-accepted",
        BOTH,
        "jsonrpc-2.0/invalid-request-code",
        "answers {} with 202",
    )
    .http()
    .case(3)
    .answer(|ask| (ask.json() == json!({})).then(|| Reply::empty(202))),
    must(
        "unknown-method-invalid",
        LEGACY,
        "jsonrpc-2.0/method-not-found-code-2025-11-25",
        "answers an unknown method with -32600",
    )
    .say(|_, message| recode(message, -32601, -32600)),
    must(
        "unknown-method-code-0",
        LEGACY,
        "jsonrpc-2.0/method-not-found-code-2025-11-25",
        "answers an unknown method with code 0",
    )
    .case(5)
    .say(|_, message| recode(message, -32601, 0)),
    must(
        "unknown-method-served",
        LEGACY,
        "jsonrpc-2.0/method-not-found-code-2025-11-25",
        "answers an unknown method with an empty result",
    )
    .say(|_, message| empty_result(message)),
    must(
        "modern-unknown-method-invalid",
        MODERN,
        "jsonrpc-2.0/method-not-found-code-2026-07-28",
        "answers an unknown method with -32600",
    )
    .say(|_, message| recode(message, -32601, -32600)),
    must(
        "modern-unknown-method-served",
        MODERN,
        "jsonrpc-2.0/method-not-found-code-2026-07-28",
        "answers an unknown method with an empty result",
    )
    .say(|_, message| empty_result(message)),
    must(
        "call-without-name-internal",
        BOTH,
        "jsonrpc-2.0/invalid-params-code",
        "answers a call without a name with -32603",
    )
    .say(|ask, message| {
        if ask.is("tools/call") && !ask.params()["name"].is_string() {
            recode(message, -32602, -32603);
        }
    }),
    must(
        "invented-id",
        BOTH,
        "jsonrpc-2.0/undetectable-id",
        "gives an error about an unreadable id the id 0",
    )
    .say(|_, message| {
        if message.get("error").is_some() && message["id"].is_null() {
            message["id"] = json!(0);
        }
    }),
    must_not(
        "notification-error",
        BOTH,
        "jsonrpc-2.0/notification-never-answered",
        "answers an unknown notification with an error",
    )
    .case(10)
    .answer(|ask| {
        (ask.is_notification() && !known_notification(ask))
            .then(|| Reply::error(200, &json!(1), -32601, "no such method"))
    }),
    must_not(
        "notification-result",
        BOTH,
        "jsonrpc-2.0/notification-never-answered",
        "answers notifications with a null id",
    )
    .case(9)
    .answer(|ask| {
        ask.is_notification()
            .then(|| Reply::result(&Value::Null, json!({})))
    }),
    must(
        "unknown-notification-kills",
        BOTH,
        "jsonrpc-2.0/unknown-notification-harmless",
        "serves nobody after an unknown notification",
    )
    .answer(|ask| {
        if ask.is_notification() && !known_notification(ask) {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "batch-served",
        BOTH,
        "jsonrpc-2.0/batch-not-supported",
        "answers a batch with an array of results",
    )
    .case(3)
    .answer(batch),
    must(
        "batch-first-served",
        BOTH,
        "jsonrpc-2.0/batch-not-supported",
        "serves the first request of a batch",
    )
    .case(3)
    .answer(|ask| {
        let first = ask.json().as_array().and_then(|batch| batch.first().cloned())?;
        Some(served_as(&first["id"]))
    }),
    must(
        "empty-batch-accepted",
        BOTH,
        "jsonrpc-2.0/batch-not-supported",
        "accepts an empty batch with 202",
    )
    .http()
    .case(3)
    .answer(|ask| (ask.json() == json!([])).then(|| Reply::empty(202))),
    must(
        "rpc-prefix-served",
        BOTH,
        "jsonrpc-2.0/rpc-prefix-reserved",
        "serves methods that begin with rpc.",
    )
    .answer(|ask| ask.rpc().starts_with("rpc.").then(|| served(ask))),
    must(
        "member-case-ignored",
        BOTH,
        "jsonrpc-2.0/member-names-case-sensitive",
        "takes ID and Method for id and method",
    )
    .answer(|ask| {
        let json = ask.json();
        json.get("Method")
            .or(json.get("METHOD"))
            .map(|_| served_as(&json["ID"]))
    }),
    must(
        "member-order-matters",
        BOTH,
        "jsonrpc-2.0/member-order-insignificant",
        "refuses a request whose first member is not jsonrpc",
    )
    .answer(|ask| {
        let text = String::from_utf8_lossy(&ask.body);
        let begins = text
            .trim_start()
            .trim_start_matches('{')
            .trim_start()
            .starts_with("\"jsonrpc\"");
        (ask.is_request() && ask.json()["jsonrpc"] == "2.0" && !begins)
            .then(|| Reply::error(400, &ask.id(), -32600, "jsonrpc must come first"))
    }),
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

fn bad_json(ask: &Ask) -> bool {
    (ask.method == "POST" || ask.is_stdio())
        && !ask.body.is_empty()
        && serde_json::from_slice::<Value>(&ask.body).is_err()
}

fn no_object(ask: &Ask) -> bool {
    serde_json::from_slice::<Value>(&ask.body).is_ok_and(|json| !json.is_object() && !json.is_array())
}

fn known_notification(ask: &Ask) -> bool {
    matches!(
        &*ask.rpc(),
        "notifications/initialized" | "notifications/cancelled" | "notifications/progress"
    )
}

pub(super) fn batch(ask: &Ask) -> Option<Reply> {
    let json = ask.json();
    let batch = json.as_array().filter(|batch| !batch.is_empty())?;
    let one = |message: &Value| json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "tools": [] } });
    Some(Reply::json(200, &batch.iter().map(one).collect()))
}

/// Both members that every modern request has in `_meta` are there, of their types.
fn has_meta(ask: &Ask) -> bool {
    ask.meta("protocolVersion").is_string() && ask.meta("clientCapabilities").is_object()
}

fn refused(ask: &Ask, why: &str) -> Reply {
    Reply::error(200, &ask.id(), -32602, why)
}

fn empty_result(message: &mut Value) {
    if message["error"]["code"] == -32601 {
        remove(message, "error");
        message["result"] = json!({ "resultType": "complete" });
    }
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
