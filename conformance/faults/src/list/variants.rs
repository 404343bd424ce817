//! Unusual but legal: nothing may fail on them.

use super::{as_stream, call, first_tool, recode, remove, result, result_of, tools, with_pattern};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, variant};
use crate::reply::{Framing, Reply};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const VARIANTS: &[Fault] = &[
    variant("one-tool-a-page", BOTH, "splits pages of tools into pages of one")
        .ask(page_asked)
        .says(page_of_one),
    variant("no-descriptions", BOTH, "describes no tool").say(|ask, message| {
        tools(ask, message, |tool| {
            remove(tool, "description");
            remove(tool, "title");
        });
    }),
    variant(
        "extra-members",
        BOTH,
        "adds members nobody knows to results, tools and errors",
    )
    .say(|ask, message| {
        tools(ask, message, |tool| tool["x-vendor"] = json!({ "order": 1 }));
        if let Some(result) = result(message).filter(|_| !ask.is("ping")) {
            result["x-vendor"] = json!([1, 2]);
        }
        if let Some(error) = message.get_mut("error") {
            error["data"] = match error["data"].take() {
                Value::Object(mut data) => {
                    data.insert("x-vendor".to_owned(), json!("more"));
                    Value::Object(data)
                }
                other => other,
            };
        }
    }),
    variant("vendor-meta", BOTH, "puts a vendor's key into _meta").say(|ask, message| {
        if let Some(result) = result(message).filter(|_| !ask.is("ping")) {
            result["_meta"]["com.example/uptime"] = json!(1);
        }
    }),
    variant("json-as-stream", BOTH, "answers requests with event streams").reply(as_stream),
    variant(
        "stream-with-comments",
        BOTH,
        "puts comments and odd spacing into event streams",
    )
    .reply(|ask, reply| {
        as_stream(ask, reply);
        if reply.is_event_stream() {
            let text = String::from_utf8_lossy(&reply.body)
                .replace("data: ", "data:")
                .replace('\n', "\r\n");
            reply.body = format!(": hello\r\n\r\n:\r\n{text}").into_bytes();
        }
    }),
    variant(
        "stream-over-many-lines",
        BOTH,
        "spreads messages in event streams over data lines",
    )
    .reply(|ask, reply| {
        let pretty = serde_json::from_slice::<Value>(&reply.body).map(|message| format!("{message:#}"));
        as_stream(ask, reply);
        if let (true, Ok(pretty)) = (reply.is_event_stream(), pretty) {
            let lines: String = pretty.lines().map(|line| format!("data: {line}\n")).collect();
            reply.body = format!("event: message\n{lines}\n").into_bytes();
        }
    }),
    variant("get-405", BOTH, "answers GET with 405")
        .http()
        .answer(|ask| {
            let mut reply = Reply::empty(405);
            reply.headers.set("allow", "POST");
            // a GET from a foreign page is refused for that
            (ask.method == "GET" && ask.headers.get("origin").is_none()).then_some(reply)
        }),
    variant("odd-tool-names", BOTH, "puts dots and capitals into tool names")
        .ask(real_name)
        .say(|ask, message| {
            tools(ask, message, |tool| {
                if let Some(name) = tool["name"].as_str().map(|name| format!("Board.{name}-1")) {
                    tool["name"] = json!(name);
                }
            });
        }),
    variant("pattern", BOTH, "takes only texts of a certain form")
        .ask(|ask| {
            let text = ask.params()["arguments"]["text"].as_str().map(str::to_owned);
            if ask.tool() == "echo" && text.is_some_and(|text| !is_of_the_pattern(&text)) {
                // which the server refuses as it refuses all bad arguments
                ask.edit(|message| message["params"]["arguments"]["text"] = json!(7));
            }
        })
        .say(with_pattern),
    variant("slow", BOTH, "takes a fifth of a second for everything")
        .reply(|_, reply| reply.delay = Duration::from_millis(200)),
    variant(
        "busy-at-times",
        BOTH,
        "is busy for every tenth request, and says for how long",
    )
    .answer(|ask| {
        let is_busy = !ask.is_stdio() && ask.memory.count("asked") % 10 == 0;
        is_busy.then(|| {
            let mut reply = Reply::empty(503);
            reply.headers.set("retry-after", "0");
            reply
        })
    }),
    variant(
        "slow-tool",
        BOTH,
        "takes longer for one tool than for anything else",
    )
    .reply(|ask, reply| {
        if ask.tool() == "uptime" {
            reply.delay = Duration::from_secs(3);
        }
    }),
    variant(
        "connection-close",
        BOTH,
        "closes the connection after each answer",
    )
    .reply(|_, reply| {
        if !reply.is_event_stream() {
            reply.headers.set("connection", "close");
        }
    }),
    variant("errors-with-400", LEGACY, "sends legacy errors with 400").reply(|ask, reply| {
        if reply.code().is_some() && ask.meta("protocolVersion").is_null() && reply.status == 200 {
            reply.status = 400;
        }
    }),
    variant(
        "errors-with-200",
        LEGACY,
        "sends legacy errors of requests with 200",
    )
    .reply(|ask, reply| {
        let version = ask.headers.get("mcp-protocol-version");
        let known = version.is_none_or(|version| version.starts_with("2025-"));
        if reply.code().is_some()
            && known
            && ask.is_request()
            && reply.status == 400
            && ask.headers.get("mcp-session-id").is_none()
        {
            reply.status = 200;
        }
    }),
    variant(
        "header-names-in-capitals",
        BOTH,
        "writes header names in capitals",
    )
    .reply(|_, reply| {
        for (name, _) in &mut reply.headers.0 {
            *name = name.to_ascii_uppercase();
        }
    }),
    variant("chunked", BOTH, "sends answers in small chunks").reply(|_, reply| {
        if !reply.body.is_empty() {
            reply.framing = Framing::Chunked(7);
        }
    }),
    variant("dribbling", BOTH, "sends answers in small pieces")
        .reply(|_, reply| reply.framing = Framing::Pieces(97)),
    variant("until-close", BOTH, "ends answers with the connection").reply(|_, reply| {
        if !reply.body.is_empty() && !reply.is_event_stream() {
            reply.framing = Framing::UntilClose;
        }
    }),
    variant(
        "members-reordered",
        BOTH,
        "puts the id last and jsonrpc before it",
    )
    .reply(|_, reply| {
        if let Ok(Value::Object(message)) = serde_json::from_slice::<Value>(&reply.body) {
            let late = |name: &str| matches!(name, "jsonrpc" | "id");
            let (last, first): (Vec<_>, Vec<_>) = message.iter().partition(|(name, _)| late(name));
            let members: Vec<_> = first
                .into_iter()
                .chain(last)
                .map(|(name, value)| format!("\"{name}\": {value}"))
                .collect();
            reply.body = format!("{{ {} }}", members.join(", ")).into_bytes();
        }
    }),
    variant("pretty", BOTH, "spreads JSON over lines").reply(|_, reply| {
        if let Ok(message) = serde_json::from_slice::<Value>(&reply.body) {
            reply.body = format!("\r\n{message:#}\n").into_bytes();
        }
    }),
    variant("escaped", BOTH, "escapes whatever is not ASCII").reply(|_, reply| {
        if let Ok(text) = str::from_utf8(&reply.body)
            && reply.headers.media_type() == "application/json"
        {
            let mut escaped = String::new();
            for unit in text.chars() {
                if unit.is_ascii() {
                    escaped.push(unit);
                } else {
                    let mut units = [0; 2];
                    let escape = unit
                        .encode_utf16(&mut units)
                        .iter()
                        .map(|unit| format!("\\u{unit:04x}"));
                    escaped.extend(escape);
                }
            }
            reply.body = escaped.into_bytes();
        }
    }),
    variant("extra-headers", BOTH, "sends headers nobody asked for").reply(|_, reply| {
        reply.headers.set("server", "board/1.0");
        reply.headers.set("x-request-cost", "12");
        reply.headers.set("date", "Tue, 28 Jul 2026 12:00:00 GMT");
        reply.headers.set("cache-control", "no-store");
    }),
    variant("charset-given", BOTH, "says the charset of its JSON").reply(|_, reply| {
        if reply.headers.media_type() == "application/json" {
            reply
                .headers
                .set("content-type", "Application/JSON; Charset=UTF-8");
        }
    }),
    variant(
        "invalid-params-for-arguments",
        BOTH,
        "answers bad arguments with -32602",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "tools/call").filter(|result| bad_arguments(result)) {
            let why = result["content"][0]["text"].clone();
            remove(message, "result");
            message["error"] = json!({ "code": -32602, "message": why });
        }
    }),
    variant(
        "unknown-tool-other-code",
        LEGACY,
        "refuses an unknown tool with a code of its own",
    )
    .say(|ask, message| {
        if ask.is("tools/call") && ask.params()["name"].is_string() {
            recode(message, -32602, -32002);
        }
    }),
    variant(
        "is-error-false",
        BOTH,
        "says of successful calls that they are no errors",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["isError"] = json!(false);
        }
    }),
    variant(
        "unreadable-id-left-out",
        BOTH,
        "leaves the id out where it can't be read",
    )
    .say(|_, message| {
        if message.get("error").is_some() && message["id"].is_null() {
            remove(message, "id");
        }
    }),
    variant("private-and-stale", MODERN, "gives hints of 0 ms and private").say(|_, message| {
        if let Some(result) = result(message).filter(|result| result.get("ttlMs").is_some()) {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
    }),
    variant("dialect-said", BOTH, "says the dialect of schemas").say(|ask, message| {
        tools(ask, message, |tool| {
            tool["inputSchema"]["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        });
    }),
    variant("reference-within", BOTH, "refers to definitions within a schema").say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["inputSchema"]["$defs"] = json!({ "note": { "type": "string" } });
            tool["inputSchema"]["properties"]["note"] = json!({ "$ref": "#/$defs/note" });
        });
    }),
    variant("tools-may-change", BOTH, "says that its tools may change").say(|ask, message| {
        if let Some(result) = result_of(ask, message, "initialize") {
            result["capabilities"]["tools"]["listChanged"] = json!(true);
        } else if let Some(result) = result_of(ask, message, "server/discover") {
            result["capabilities"]["tools"]["listChanged"] = json!(false);
        }
    }),
];

/// What the pattern of [`with_pattern`] matches.
fn is_of_the_pattern(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (letters, digits) = bytes.split_at(bytes.len().min(4));
    matches!(letters, [a, b, c, b'-'] if [a, b, c].iter().all(|byte| byte.is_ascii_uppercase()))
        && digits.len() == 4
        && digits.iter().all(u8::is_ascii_digit)
}

/// Whether a call was refused for its arguments, as our servers word it.
fn bad_arguments(result: &Value) -> bool {
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    result["isError"] == true && text.starts_with("invalid arguments")
}

/// Undoes the names of `odd-tool-names` in what the client asks.
fn real_name(ask: &mut Ask) {
    let real = ask
        .tool()
        .strip_prefix("Board.")
        .and_then(|name| name.strip_suffix("-1"))
        .map(str::to_owned);
    if let Some(real) = real {
        let name = ask.headers.get("mcp-name").map(str::to_owned);
        let in_base64 = |name: &str| format!("=?base64?{}?=", STANDARD.encode(name));
        if name == Some(ask.tool()) {
            ask.headers.set("mcp-name", real.clone());
        } else if name == Some(in_base64(&ask.tool())) {
            ask.headers.set("mcp-name", in_base64(&real));
        }
        ask.edit(|message| message["params"]["name"] = json!(real));
    }
}

/// Cursors of `one-tool-a-page` are `N:CURSOR`: the N-th tool of the page that the server's cursor means.
fn page_asked(ask: &mut Ask) {
    if ask.is("tools/list")
        && let Some((number, cursor)) = split_cursor(ask)
    {
        ask.edit(|message| {
            if cursor.is_empty() {
                remove(&mut message["params"], "cursor");
            } else {
                message["params"]["cursor"] = json!(cursor);
            }
        });
        let _ = number;
    }
}

fn split_cursor(ask: &Ask) -> Option<(usize, String)> {
    let cursor = ask.params()["cursor"].as_str()?.to_owned();
    let (number, rest) = cursor.split_once('.')?;
    let number = number.parse().ok().filter(|number| *number < 1000)?;
    // Only what was given is taken back.
    ask.memory.get(&cursor)?;
    Some((number, rest.to_owned()))
}

fn page_of_one(ask: &Ask, mut message: Value) -> Vec<Value> {
    let (number, cursor) = split_cursor(ask).unwrap_or_default();
    if let Some(list) = result_of(ask, &mut message, "tools/list")
        && let Some(page) = list["tools"]
            .as_array()
            .filter(|page| number < page.len())
            .cloned()
    {
        list["tools"] = json!([page[number]]);
        let next = if number + 1 < page.len() {
            Some(format!("{}.{cursor}", number + 1))
        } else {
            list["nextCursor"].as_str().map(|next| format!("0.{next}"))
        };
        match next {
            Some(next) => {
                ask.memory.set(&next, true);
                list["nextCursor"] = json!(next);
            }
            None => remove(list, "nextCursor"),
        }
    }
    vec![message]
}
