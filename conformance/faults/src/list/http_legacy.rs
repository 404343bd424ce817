//! Streamable HTTP of 2025-11-25.

use super::jsonrpc::batch;
use crate::ask::Ask;
use crate::fault::{Fault, LEGACY, must, must_not, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

const STREAMS: &[&str] = &["streams"];
const SESSIONS: &[&str] = &["sessions"];

pub(super) const FAULTS: &[Fault] = &[
    must(
        "second-client-refused",
        LEGACY,
        "2025-11-25/lifecycle/http-close-is-shutdown",
        "serves the first client for ever, even when it is gone",
    )
    .http()
    .answer(|ask| {
        let begun = ask.is("initialize") && ask.memory.count("initialize") > 1;
        begun.then(|| Reply::error(503, &ask.id(), -32603, "busy"))
    }),
    must(
        "get-404",
        LEGACY,
        "2025-11-25/http/single-endpoint-post-get",
        "answers GET with 404",
    )
    .http()
    .case(27)
    .answer(|ask| (ask.method == "GET").then(|| Reply::text(404, "text/plain", "not found\n"))),
    must(
        "get-page",
        LEGACY,
        "2025-11-25/http/get-stream-or-405",
        "answers GET with a page",
    )
    .http()
    .case(27)
    .answer(|ask| (ask.method == "GET").then(|| Reply::text(200, "text/html", "<h1>It works!</h1>"))),
    must(
        "get-500",
        LEGACY,
        "2025-11-25/http/get-stream-or-405",
        "answers GET with 500",
    )
    .http()
    .case(27)
    .answer(|ask| (ask.method == "GET").then(|| Reply::text(500, "text/plain", "error\n"))),
    must(
        "get-unanswered",
        LEGACY,
        "2025-11-25/http/get-stream-or-405",
        "never answers GET",
    )
    .http()
    .case(27)
    .answer(|ask| (ask.method == "GET").then(|| Reply::framed(Framing::Never))),
    must(
        "notification-null",
        LEGACY,
        "2025-11-25/http/notification-202-empty",
        "answers notifications with 200 and null",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::json(200, &Value::Null))),
    must(
        "notification-id-null",
        LEGACY,
        "2025-11-25/http/notification-202-empty",
        "answers notifications with 200 and a message without content",
    )
    .http()
    .case(9)
    .answer(|ask| {
        ask.is_notification()
            .then(|| Reply::json(200, &json!({ "jsonrpc": "2.0", "id": null })))
    }),
    must(
        "notification-204",
        LEGACY,
        "2025-11-25/http/notification-202-empty",
        "answers notifications with 204",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::empty(204))),
    must(
        "notification-200-empty",
        LEGACY,
        "2025-11-25/http/notification-202-empty",
        "answers notifications with 200 and nothing",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::empty(200))),
    must(
        "notification-202-body",
        LEGACY,
        "2025-11-25/http/notification-202-empty",
        "answers notifications with 202 and a text",
    )
    .http()
    .answer(|ask| {
        ask.is_notification()
            .then(|| Reply::text(202, "text/plain", "accepted"))
    }),
    must(
        "bad-notification-accepted",
        LEGACY,
        "2025-11-25/http/notification-refused-4xx",
        "accepts notifications it should refuse",
    )
    .reply(|ask, reply| {
        if ask.method == "POST" && ask.json().get("id").is_none() && reply.status >= 400 {
            *reply = Reply::empty(202);
        }
    }),
    must(
        "answers-as-text",
        LEGACY,
        "2025-11-25/http/response-content-type",
        "sends JSON as text/plain",
    )
    .reply(|_, reply| {
        if reply.headers.media_type() == "application/json" {
            reply.headers.set("content-type", "text/plain");
        }
    }),
    must(
        "answers-untyped",
        LEGACY,
        "2025-11-25/http/response-content-type",
        "sends JSON without a Content-Type",
    )
    .reply(|_, reply| reply.headers.remove("content-type")),
    must(
        "two-objects",
        LEGACY,
        "2025-11-25/http/json-single-object",
        "sends two objects in one body",
    )
    .http()
    .says(|_, message| {
        if message.get("result").is_some() {
            vec![message.clone(), message]
        } else {
            vec![message]
        }
    }),
    must(
        "body-in-array",
        LEGACY,
        "2025-11-25/http/json-single-object",
        "sends its answer in an array",
    )
    .reply(|_, reply| {
        reply.edit(|message| *message = json!([message.clone()]));
    }),
    must(
        "length-too-long",
        LEGACY,
        "2025-11-25/http/json-single-object",
        "promises a byte more than it sends",
    )
    .reply(|ask, reply| {
        if ask.is("ping") {
            reply.framing = Framing::SizedAs(reply.body.len() + 1);
            reply.headers.set("connection", "close");
        }
    }),
    must(
        "body-cut",
        LEGACY,
        "2025-11-25/http/json-single-object",
        "hangs up in the middle of an answer to ping",
    )
    .case(30)
    .reply(|ask, reply| {
        if ask.is("ping") {
            reply.framing = Framing::Cut(reply.body.len() / 2);
        }
    }),
    must(
        "array-served",
        LEGACY,
        "2025-11-25/http/body-single-message",
        "answers an array of requests with 200",
    )
    .http()
    .case(3)
    .answer(batch),
    must(
        "accept-by-letter",
        LEGACY,
        "2025-11-25/http/accept-variants",
        "refuses an Accept it does not know by heart",
    )
    .http()
    .answer(accept_by_letter),
    must(
        "charset-refused",
        LEGACY,
        "2025-11-25/http/content-type-json",
        "refuses a Content-Type with a charset",
    )
    .http()
    .case(25)
    .answer(charset),
    must(
        "content-type-case-matters",
        LEGACY,
        "2025-11-25/http/content-type-json",
        "refuses a Content-Type in other letters",
    )
    .http()
    .case(25)
    .answer(|ask| {
        let upper = ask
            .headers
            .get("content-type")
            .is_some_and(|kind| kind.chars().any(|c| c.is_ascii_uppercase()));
        upper.then(|| Reply::text(415, "text/plain", "unsupported\n"))
    }),
    should(
        "stream-without-response",
        LEGACY,
        "2025-11-25/http/sse-response-included",
        "ends streams without the response",
    )
    .http()
    .needs(STREAMS)
    .says(|_, message| {
        if message.get("id").is_some() {
            Vec::new()
        } else {
            vec![message]
        }
    }),
    should(
        "stream-held-open",
        LEGACY,
        "2025-11-25/http/sse-terminates-after-response",
        "keeps streams open after the response",
    )
    .needs(STREAMS)
    .reply(|ask, reply| {
        if reply.is_event_stream() && ask.method == "POST" {
            reply.framing = Framing::HeldOpen;
        }
    }),
    must(
        "events-without-data",
        LEGACY,
        "2025-11-25/http/sse-valid-framing",
        "sends messages on streams without a field name",
    )
    .needs(STREAMS)
    .event(|_, event| event.replace("data: {", "{")),
    must(
        "events-run-together",
        LEGACY,
        "2025-11-25/http/sse-valid-framing",
        "puts two messages into one event",
    )
    .needs(STREAMS)
    .event(run_together),
    must(
        "event-data-split",
        LEGACY,
        "2025-11-25/http/sse-valid-framing",
        "breaks a message over lines without data:",
    )
    .needs(STREAMS)
    .event(|_, event| event.replacen("\",\"", "\",\n\"", 1)),
    must(
        "event-unended",
        LEGACY,
        "2025-11-25/http/sse-valid-framing",
        "ends streams without the last blank line",
    )
    .needs(STREAMS)
    .event(|_, event| event.trim_end().to_owned() + "\n"),
    must_not(
        "response-on-get-stream",
        LEGACY,
        "2025-11-25/http/get-stream-no-responses",
        "sends a response on the GET stream",
    )
    .needs(STREAMS)
    .event(|ask, event| {
        let response = r#"data: {"jsonrpc":"2.0","id":"check-1","result":{}}"#;
        let fresh = ask.method == "GET" && ask.headers.get("last-event-id").is_none();
        if fresh {
            format!("{event}{response}\n\n")
        } else {
            event.to_owned()
        }
    }),
    must(
        "event-ids-repeat",
        LEGACY,
        "2025-11-25/http/event-id-unique",
        "counts event ids anew on each stream",
    )
    .needs(STREAMS)
    .event(|_, event| {
        let line = |line: &str| {
            if line.starts_with("id:") {
                "id: 1\n".to_owned()
            } else {
                format!("{line}\n")
            }
        };
        event.lines().map(line).collect()
    }),
    must(
        "resume-kills",
        LEGACY,
        "2025-11-25/http/resume-unknown-id",
        "serves nobody after an unknown Last-Event-ID",
    )
    .http()
    .answer(|ask| {
        if ask.method == "GET" && ask.headers.get("last-event-id").is_some() {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "resume-500",
        LEGACY,
        "2025-11-25/http/resume-unknown-id",
        "answers an unknown Last-Event-ID with 500",
    )
    .http()
    .answer(|ask| {
        let resumes = ask.method == "GET" && ask.headers.get("last-event-id").is_some();
        resumes.then(|| Reply::text(500, "text/plain", "error\n"))
    }),
    must(
        "session-id-with-space",
        LEGACY,
        "2025-11-25/session/id-visible-ascii",
        "gives session ids with a space",
    )
    .http()
    .needs(SESSIONS)
    .ask(|ask| {
        let given = ask
            .headers
            .get("mcp-session-id")
            .and_then(|id| id.strip_prefix("session "));
        if let Some(id) = given.map(str::to_owned) {
            ask.headers.set("mcp-session-id", id);
        }
    })
    .reply(|_, reply| {
        if let Some(id) = reply
            .headers
            .get("mcp-session-id")
            .map(|id| format!("session {id}"))
        {
            reply.headers.set("mcp-session-id", id);
        }
    }),
    should(
        "session-not-demanded",
        LEGACY,
        "2025-11-25/session/missing-id-400",
        "answers a request without its session id with 401",
    )
    .needs(SESSIONS)
    .reply(|ask, reply| {
        if reply.status == 400 && ask.headers.get("mcp-session-id").is_none() {
            reply.status = 401;
        }
    }),
    must(
        "unknown-session-400",
        LEGACY,
        "2025-11-25/session/unknown-id-404",
        "answers an unknown session with 400",
    )
    .needs(SESSIONS)
    .case(31)
    .reply(|_, reply| gone(reply, 400)),
    must(
        "unknown-session-401",
        LEGACY,
        "2025-11-25/session/unknown-id-404",
        "answers an unknown session with 401",
    )
    .needs(SESSIONS)
    .case(31)
    .reply(|_, reply| gone(reply, 401)),
    must(
        "unknown-session-500",
        LEGACY,
        "2025-11-25/session/unknown-id-404",
        "answers an unknown session with 500",
    )
    .needs(SESSIONS)
    .case(31)
    .reply(|_, reply| gone(reply, 500)),
    must(
        "unknown-session-served",
        LEGACY,
        "2025-11-25/session/unknown-id-404",
        "serves any session id",
    )
    .http()
    .needs(SESSIONS)
    .case(31)
    .ask(|ask| {
        let given = ask.headers.get("mcp-session-id").is_some();
        if let Some(known) = ask.memory.get("session").filter(|_| given) {
            ask.headers
                .set("mcp-session-id", known.as_str().unwrap_or_default());
        }
    })
    .reply(remember_session),
    must(
        "ended-session-served",
        LEGACY,
        "2025-11-25/session/terminated-404",
        "serves a session that was ended",
    )
    .http()
    .needs(SESSIONS)
    .answer(|ask| (ask.method == "DELETE").then(|| Reply::empty(200))),
    must(
        "version-header-ignored",
        LEGACY,
        "2025-11-25/http/version-header-invalid-400",
        "serves any MCP-Protocol-Version",
    )
    .http()
    .ask(|ask| {
        let version = ask.headers.get("mcp-protocol-version");
        if version.is_some_and(|version| !["2025-11-25", "2025-06-18"].contains(&version)) {
            ask.headers.set("mcp-protocol-version", "2025-11-25");
        }
    }),
    must(
        "version-header-422",
        LEGACY,
        "2025-11-25/http/version-header-invalid-400",
        "answers a bad MCP-Protocol-Version with 422",
    )
    .reply(|ask, reply| {
        let version = ask.headers.get("mcp-protocol-version");
        if version.is_some_and(|version| !version.starts_with("2025-")) && reply.status == 400 {
            reply.status = 422;
        }
    }),
    should(
        "version-header-demanded",
        LEGACY,
        "2025-11-25/http/version-header-absent-default",
        "refuses a request without MCP-Protocol-Version",
    )
    .http()
    .answer(|ask| {
        (ask.is_request() && !ask.is("initialize") && ask.headers.get("mcp-protocol-version").is_none())
            .then(|| Reply::error(400, &ask.id(), -32600, "MCP-Protocol-Version is missing"))
    }),
    must(
        "version-header-refused-on-get",
        LEGACY,
        "2025-11-25/http/version-header-any-supported",
        "refuses MCP-Protocol-Version on GET and DELETE",
    )
    .http()
    .answer(|ask| {
        let bodiless = ask.method == "GET" || ask.method == "DELETE";
        (bodiless && ask.headers.get("mcp-protocol-version").is_some()).then(|| Reply::empty(400))
    }),
    must(
        "header-case-matters",
        LEGACY,
        "2025-11-25/http/header-names-case-insensitive",
        "does not see header names in capitals",
    )
    .http()
    .case(26)
    .answer(capitals),
    should_not(
        "task-as-stream",
        LEGACY,
        "2025-11-25/tasks/get-no-sse",
        "answers tasks/get with an event stream",
    )
    .needs(&["tasks"])
    .reply(|ask, reply| {
        if ask.is("tasks/get") && reply.headers.media_type() == "application/json" {
            let text = format!("data: {}\n\n", String::from_utf8_lossy(&reply.body));
            *reply = Reply::text(200, "text/event-stream", &text);
        }
    }),
];

/// What a server answers that looks for headers by their usual names, to one with a name in capitals.
pub(super) fn capitals(ask: &Ask) -> Option<Reply> {
    let watched = [
        "accept",
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
    ];
    let loud = |name: &String| {
        watched.contains(&&*name.to_ascii_lowercase()) && !name.chars().any(|c| c.is_ascii_lowercase())
    };
    let blind = ask.headers.0.iter().any(|(name, _)| loud(name));
    blind.then(|| Reply::error(400, &ask.id(), -32600, "a header is missing"))
}

fn gone(reply: &mut Reply, status: u16) {
    if reply.status == 404 {
        reply.status = status;
    }
}

fn remember_session(ask: &Ask, reply: &mut Reply) {
    if let Some(id) = reply.headers.get("mcp-session-id") {
        ask.memory.set("session", id);
    }
}

/// Refuses an `Accept` that is not written as most clients write it.
pub(super) fn accept_by_letter(ask: &Ask) -> Option<Reply> {
    let accept = ask.headers.get("accept").unwrap_or_default();
    let known = matches!(
        accept,
        "" | "*/*" | "application/json, text/event-stream" | "application/json" | "text/event-stream"
    );
    (ask.method == "POST" && !known).then(|| Reply::text(406, "text/plain", "not acceptable\n"))
}

/// Refuses a media type with parameters.
pub(super) fn charset(ask: &Ask) -> Option<Reply> {
    ask.headers
        .get("content-type")
        .is_some_and(|kind| kind.contains(';'))
        .then(|| Reply::text(415, "text/plain", "unsupported\n"))
}

/// Puts the data of an event into it twice.
pub(super) fn run_together(_: &Ask, event: &str) -> String {
    let Some(data) = event.lines().find(|line| line.starts_with("data: {")) else {
        return event.to_owned();
    };
    event.replace(data, &format!("{data}\n{data}"))
}
