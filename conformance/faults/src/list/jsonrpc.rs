//! JSON-RPC 2.0.

use super::{as_stream, recode, remove, served, served_as};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
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
        "stream-with-two-responses",
        BOTH,
        "jsonrpc-2.0/one-response",
        "sends the response twice in each stream",
    )
    .reply(|ask, reply| {
        as_stream(ask, reply);
        if reply.is_event_stream() {
            reply.body = reply.body.repeat(2);
        }
    }),
    must(
        "stream-with-version-1",
        BOTH,
        "both/base/told-messages-well-formed",
        "puts a notification of JSON-RPC 1.0 ahead of each response",
    )
    .reply(|ask, reply| {
        told_first(
            ask,
            reply,
            r#"{"jsonrpc":"1.0","method":"notifications/message"}"#,
        )
    }),
    must(
        "stream-with-no-method",
        BOTH,
        "both/base/told-messages-well-formed",
        "puts a message without a method ahead of each response",
    )
    .reply(|ask, reply| told_first(ask, reply, r#"{"jsonrpc":"2.0","params":{}}"#)),
    must(
        "stream-with-array-params",
        BOTH,
        "both/base/told-messages-well-formed",
        "puts a notification with an array of params ahead of each response",
    )
    .reply(|ask, reply| {
        told_first(
            ask,
            reply,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":[]}"#,
        );
    }),
];

/// A stream with a message ahead of its response.
fn told_first(ask: &Ask, reply: &mut Reply, told: &str) {
    as_stream(ask, reply);
    if reply.is_event_stream() {
        let response = String::from_utf8_lossy(&reply.body);
        reply.body = format!("data: {told}\n\n{response}").into_bytes();
    }
}

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

fn empty_result(message: &mut Value) {
    if message["error"]["code"] == -32601 {
        remove(message, "error");
        message["result"] = json!({ "resultType": "complete" });
    }
}
