//! Streamable HTTP of 2026-07-28.

use super::http_legacy::{accept_by_letter, capitals, charset, run_together};
use super::recode;
use crate::ask::Ask;
use crate::fault::{Fault, MODERN, must, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    must(
        "meta-missing-200",
        MODERN,
        "2026-07-28/base/meta-required-fields-http-400",
        "tells with 200 that _meta lacks something",
    )
    .reply(|ask, reply| {
        let whole = ask.meta("protocolVersion").is_string() && ask.meta("clientCapabilities").is_object();
        if !whole && reply.code() == Some(-32602) {
            reply.status = 200;
        }
    }),
    must(
        "version-unsupported-200",
        MODERN,
        "2026-07-28/version/unsupported-http-400",
        "tells with 200 that it has not the version",
    )
    .reply(|_, reply| {
        if reply.code() == Some(-32022) {
            reply.status = 200;
        }
    }),
    must(
        "modern-header-case-matters",
        MODERN,
        "2026-07-28/http/header-names-case-insensitive",
        "does not see header names in capitals",
    )
    .http()
    .case(26)
    .answer(capitals),
    must(
        "post-405",
        MODERN,
        "2026-07-28/http/single-endpoint-post",
        "answers POST with 405",
    )
    .http()
    .answer(|ask| ask.is("server/discover").then(|| Reply::empty(405))),
    must(
        "modern-notification-null",
        MODERN,
        "2026-07-28/http/notification-202-or-error",
        "answers notifications with 200 and null",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::json(200, &Value::Null))),
    must(
        "modern-notification-204",
        MODERN,
        "2026-07-28/http/notification-202-or-error",
        "answers notifications with 204",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::empty(204))),
    must(
        "modern-notification-200",
        MODERN,
        "2026-07-28/http/notification-202-or-error",
        "answers notifications with 200 and nothing",
    )
    .http()
    .case(9)
    .answer(|ask| ask.is_notification().then(|| Reply::empty(200))),
    must(
        "modern-answers-as-text",
        MODERN,
        "2026-07-28/http/response-content-type",
        "sends JSON as text/plain",
    )
    .reply(|_, reply| {
        if reply.headers.media_type() == "application/json" {
            reply.headers.set("content-type", "text/plain");
        }
    }),
    must(
        "errors-as-text",
        MODERN,
        "2026-07-28/http/response-content-type",
        "sends errors as text/html",
    )
    .reply(|_, reply| {
        if reply.code().is_some() {
            reply.headers.set("content-type", "text/html");
        }
    }),
    must(
        "response-accepted",
        MODERN,
        "2026-07-28/http/client-response-refused",
        "accepts a response from the client",
    )
    .http()
    .answer(|ask| {
        let json = ask.json();
        (json.get("method").is_none() && json.get("result").is_some()).then(|| Reply::empty(202))
    }),
    should(
        "modern-stream-held-open",
        MODERN,
        "2026-07-28/http/sse-final-response-ends",
        "keeps streams open after the response",
    )
    .needs(&["streams"])
    .reply(|ask, reply| {
        if reply.is_event_stream() && !ask.is("subscriptions/listen") {
            reply.framing = Framing::HeldOpen;
        }
    }),
    should(
        "stream-buffered",
        MODERN,
        "2026-07-28/http/sse-x-accel-buffering",
        "lets proxies buffer its streams",
    )
    .needs(&["streams"])
    .reply(|_, reply| reply.headers.remove("x-accel-buffering")),
    should_not(
        "modern-event-ids",
        MODERN,
        "2026-07-28/http/sse-no-event-ids",
        "numbers events",
    )
    .needs(&["streams"])
    .event(|ask, event| format!("id: {}\n{event}", ask.memory.count("events"))),
    must(
        "version-header-not-demanded",
        MODERN,
        "2026-07-28/http/version-header-required",
        "serves a request without MCP-Protocol-Version",
    )
    .http()
    .ask(|ask| {
        if ask.headers.get("mcp-protocol-version").is_none() {
            ask.headers.set("mcp-protocol-version", "2026-07-28");
        }
    }),
    must(
        "version-header-not-compared",
        MODERN,
        "2026-07-28/http/version-header-matches-meta",
        "does not compare MCP-Protocol-Version with the body",
    )
    .http()
    .ask(|ask| {
        if let (Some(_), Some(version)) = (
            ask.headers.get("mcp-protocol-version"),
            ask.meta("protocolVersion").as_str(),
        ) {
            ask.headers.set("mcp-protocol-version", version);
        }
    }),
    must(
        "unknown-method-200",
        MODERN,
        "2026-07-28/http/method-not-found-404",
        "answers an unknown method with 200",
    )
    .reply(|_, reply| {
        if reply.code() == Some(-32601) {
            reply.status = 200;
        }
    }),
    must(
        "unknown-method-page",
        MODERN,
        "2026-07-28/http/method-not-found-404",
        "answers an unknown method with 404 and a page",
    )
    .reply(|_, reply| {
        if reply.code() == Some(-32601) {
            *reply = Reply::text(404, "text/html", "<h1>404 Not Found</h1>");
        }
    }),
    must(
        "prompts-listed",
        MODERN,
        "2026-07-28/http/unadvertised-feature-404",
        "lists prompts it does not advertise",
    )
    .http()
    .answer(|ask| {
        let result = json!({ "prompts": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "private" });
        ask.is("prompts/list").then(|| Reply::result(&ask.id(), result))
    }),
    must(
        "completion-200",
        MODERN,
        "2026-07-28/http/unadvertised-feature-404",
        "answers completion/complete with 200",
    )
    .reply(|ask, reply| {
        if ask.is("completion/complete") {
            reply.status = 200;
        }
    }),
    must(
        "method-header-not-demanded",
        MODERN,
        "2026-07-28/http/mcp-method-required",
        "serves a request without Mcp-Method",
    )
    .http()
    .ask(|ask| {
        if ask.headers.get("mcp-method").is_none() {
            ask.headers.set("mcp-method", ask.rpc());
        }
    }),
    must(
        "method-header-not-compared",
        MODERN,
        "2026-07-28/http/mcp-method-matches",
        "does not compare Mcp-Method with the body",
    )
    .http()
    .ask(|ask| {
        if ask
            .headers
            .get("mcp-method")
            .is_some_and(|method| !method.eq_ignore_ascii_case(&ask.rpc()))
        {
            ask.headers.set("mcp-method", ask.rpc());
        }
    }),
    must(
        "header-value-case-ignored",
        MODERN,
        "2026-07-28/http/header-values-case-sensitive",
        "compares Mcp-Method in any letter case",
    )
    .http()
    .ask(|ask| {
        if ask
            .headers
            .get("mcp-method")
            .is_some_and(|method| method.eq_ignore_ascii_case(&ask.rpc()))
        {
            ask.headers.set("mcp-method", ask.rpc());
        }
    }),
    must(
        "name-header-not-demanded",
        MODERN,
        "2026-07-28/http/mcp-name-required",
        "serves a call without Mcp-Name",
    )
    .http()
    .ask(|ask| {
        if ask.is("tools/call") && ask.headers.get("mcp-name").is_none() {
            ask.headers.set("mcp-name", ask.tool());
        }
    }),
    must(
        "name-header-not-compared",
        MODERN,
        "2026-07-28/http/mcp-name-matches",
        "does not compare Mcp-Name with the body",
    )
    .http()
    .ask(|ask| {
        if ask.is("tools/call")
            && ask
                .headers
                .get("mcp-name")
                .is_some_and(|name| !name.starts_with("=?") && name.is_ascii())
        {
            ask.headers.set("mcp-name", ask.tool());
        }
    }),
    must(
        "name-header-not-decoded",
        MODERN,
        "2026-07-28/http/mcp-name-base64-decoded",
        "does not decode Mcp-Name",
    )
    .http()
    .answer(|ask| {
        sentinel(ask, "=?base64?").then(|| Reply::error(400, &ask.id(), -32020, "Mcp-Name differs"))
    }),
    must(
        "coded-name-not-compared",
        MODERN,
        "2026-07-28/http/mcp-name-base64-decoded",
        "believes any Mcp-Name in Base64",
    )
    .http()
    .ask(|ask| {
        if sentinel(ask, "=?base64?") {
            ask.headers.set("mcp-name", ask.tool());
        }
    }),
    must(
        "sentinel-case-ignored",
        MODERN,
        "2026-07-28/http/mcp-name-sentinel-case",
        "decodes =?BASE64? too",
    )
    .http()
    .ask(|ask| {
        if sentinel(ask, "=?BASE64?") {
            ask.headers.set("mcp-name", ask.tool());
        }
    }),
    must(
        "name-header-demanded-elsewhere",
        MODERN,
        "2026-07-28/http/mcp-name-not-needed-elsewhere",
        "demands Mcp-Name of tools/list",
    )
    .http()
    .answer(|ask| {
        (ask.is("tools/list") && ask.headers.get("mcp-name").is_none())
            .then(|| Reply::error(400, &ask.id(), -32020, "Mcp-Name is missing"))
    }),
    must(
        "header-space-kept",
        MODERN,
        "2026-07-28/http/header-ows-trimmed",
        "compares headers with the space around them",
    )
    .http()
    .answer(|ask| {
        let head = String::from_utf8_lossy(&ask.head).to_ascii_lowercase();
        let spaced = |line: &str| {
            let value = line
                .strip_prefix("mcp-")
                .and_then(|line| line.split_once(':'))
                .map(|(_, value)| value);
            value.is_some_and(|value| {
                value.starts_with("  ") || value.ends_with([' ', '\t']) || value.starts_with('\t')
            })
        };
        head.split("\r\n")
            .any(spaced)
            .then(|| Reply::error(400, &ask.id(), -32020, "a header differs"))
    }),
    must(
        "header-error-200",
        MODERN,
        "2026-07-28/http/header-error-status-400",
        "tells with 200 that a header is wrong",
    )
    .reply(|_, reply| {
        if reply.code() == Some(-32020) {
            reply.status = 200;
        }
    }),
    must(
        "header-error-422",
        MODERN,
        "2026-07-28/http/header-error-status-400",
        "tells with 422 that a header is wrong",
    )
    .reply(|_, reply| {
        if reply.code() == Some(-32020) {
            reply.status = 422;
        }
    }),
    must(
        "header-error-code",
        MODERN,
        "2026-07-28/http/header-error-code",
        "answers a wrong header with -32600",
    )
    .http()
    .say(|_, message| recode(message, -32020, -32600)),
    must(
        "header-error-code-retired",
        MODERN,
        "2026-07-28/http/header-error-code",
        "answers a wrong header with -32001",
    )
    .http()
    .say(|_, message| recode(message, -32020, -32001)),
    must(
        "header-bytes-accepted",
        MODERN,
        "2026-07-28/http/header-invalid-characters",
        "accepts any bytes in Mcp-Name",
    )
    .http()
    .ask(|ask| {
        let odd = |value: &[u8]| {
            value
                .iter()
                .any(|byte| !(32..127).contains(byte) && *byte != b'\t')
        };
        let name = ask
            .headers
            .0
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case("mcp-name"));
        if ask.is("tools/call") && name.is_some_and(|(_, value)| odd(value)) {
            ask.headers.set("mcp-name", ask.tool());
        }
    })
    .raw(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let message: Value = serde_json::from_str(text.split_once("\r\n\r\n")?.1).ok()?;
        let content = json!([{ "type": "text", "text": "" }]);
        let result = json!({ "content": content, "resultType": "complete" });
        text.to_ascii_lowercase()
            .contains("\r\nmcp-name:")
            .then(|| Reply::result(&message["id"], result))
    }),
    must(
        "header-twice-accepted",
        MODERN,
        "2026-07-28/http/duplicate-standard-header",
        "looks at one of two Mcp-Method headers",
    )
    .http()
    .ask(|ask| {
        let copies = ask
            .headers
            .0
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("mcp-method"))
            .count();
        if copies > 1 {
            ask.headers.remove("mcp-method");
            ask.headers.set("mcp-method", ask.rpc());
        }
    }),
    must(
        "param-header-refused",
        MODERN,
        "2026-07-28/http/param-header-unknown-ignored",
        "refuses Mcp-Param headers no tool asks for",
    )
    .http()
    .answer(|ask| {
        let known = |name: &str| name.to_ascii_lowercase().starts_with("mcp-param-");
        let given = ask.headers.0.iter().any(|(name, _)| known(name));
        given.then(|| Reply::error(400, &ask.id(), -32020, "unknown Mcp-Param header"))
    }),
    should(
        "session-looked-up",
        MODERN,
        "2026-07-28/http/session-header-ignored",
        "looks for the session of a modern request",
    )
    .http()
    .case(31)
    .answer(|ask| {
        ask.headers
            .get("mcp-session-id")
            .map(|_| Reply::error(404, &ask.id(), -32600, "no such session"))
    }),
    should(
        "session-minted",
        MODERN,
        "2026-07-28/http/session-header-ignored",
        "begins a session for modern clients",
    )
    .case(31)
    .reply(|_, reply| reply.headers.set("mcp-session-id", "0123456789abcdef")),
    should(
        "resume-refused",
        MODERN,
        "2026-07-28/http/last-event-id-ignored",
        "refuses Last-Event-ID",
    )
    .http()
    .answer(|ask| {
        ask.headers
            .get("last-event-id")
            .map(|_| Reply::error(400, &ask.id(), -32600, "nothing to resume"))
    }),
    should_not(
        "old-transport",
        MODERN,
        "2026-07-28/http/old-sse-transport",
        "offers the endpoint event of 2024-11-05 on GET",
    )
    .any_era()
    .http()
    .answer(|ask| {
        let mut reply = Reply::text(
            200,
            "text/event-stream",
            "event: endpoint\ndata: /messages?session=1\n\n",
        );
        reply.framing = Framing::HeldOpen;
        (ask.method == "GET").then_some(reply)
    }),
    must(
        "task-name-not-compared",
        MODERN,
        "2026-07-28/tasks/header-name-taskid",
        "does not compare Mcp-Name with the task id",
    )
    .http()
    .needs(&["tasks"])
    .ask(|ask| {
        if let (true, Some(id)) = (ask.rpc().starts_with("tasks/"), ask.params()["taskId"].as_str()) {
            ask.headers.set("mcp-name", id);
        }
    }),
    must(
        "task-name-refused",
        MODERN,
        "2026-07-28/tasks/header-name-taskid",
        "refuses Mcp-Name on tasks/get",
    )
    .http()
    .needs(&["tasks"])
    .answer(|ask| {
        (ask.is("tasks/get") && ask.headers.get("mcp-name").is_some())
            .then(|| Reply::error(400, &ask.id(), -32020, "Mcp-Name is not for this method"))
    }),
    must(
        "modern-accept-by-letter",
        MODERN,
        "2026-07-28/http/accept-variants",
        "refuses an Accept it does not know by heart",
    )
    .http()
    .answer(accept_by_letter),
    must(
        "modern-charset-refused",
        MODERN,
        "2026-07-28/http/content-type-json",
        "refuses a Content-Type with a charset",
    )
    .http()
    .case(25)
    .answer(charset),
    must(
        "modern-events-without-data",
        MODERN,
        "2026-07-28/http/sse-valid-framing",
        "sends messages on streams without a field name",
    )
    .needs(&["streams"])
    .event(|_, event| event.replace("data: {", "{")),
    must(
        "modern-events-run-together",
        MODERN,
        "2026-07-28/http/sse-valid-framing",
        "puts two messages into one event",
    )
    .needs(&["streams"])
    .event(run_together),
    must(
        "legacy-client-ok",
        MODERN,
        "2026-07-28/dual-era/modern-only-initialize-http-400",
        "serves no legacy clients, and refuses them with 200",
    )
    .any_era()
    .http()
    .answer(|ask| {
        ask.is("initialize")
            .then(|| Reply::error(200, &ask.id(), -32601, "use 2026-07-28"))
    }),
];

/// Whether `Mcp-Name` begins so on a call.
fn sentinel(ask: &Ask, prefix: &str) -> bool {
    ask.is("tools/call")
        && ask
            .headers
            .get("mcp-name")
            .is_some_and(|name| name.starts_with(prefix))
}
