//! Origin and Host, sessions and ids that can't be guessed, and input that is not believed.

use super::{result, served};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    must(
        "origin-ignored",
        LEGACY,
        "2025-11-25/http/origin-foreign-rejected",
        "serves any Origin",
    )
    .http()
    .case(24)
    .ask(|ask| {
        if ask.method == "POST" {
            ask.headers.remove("origin");
        }
    }),
    must(
        "origin-400",
        LEGACY,
        "2025-11-25/http/origin-invalid-403",
        "answers a foreign Origin with 400",
    )
    .case(24)
    .reply(origin_400),
    must(
        "origin-ignored-on-get",
        LEGACY,
        "2025-11-25/http/origin-checked-every-method",
        "looks at Origin on POST only",
    )
    .http()
    .ask(|ask| {
        if ask.method != "POST" {
            ask.headers.remove("origin");
        }
    }),
    must(
        "origin-demanded",
        LEGACY,
        "2025-11-25/http/origin-absent-ok",
        "refuses requests without Origin",
    )
    .http()
    .answer(no_origin),
    must(
        "modern-origin-ignored",
        MODERN,
        "2026-07-28/http/origin-foreign-rejected",
        "serves any Origin",
    )
    .http()
    .case(24)
    .ask(|ask| {
        ask.headers.remove("origin");
    }),
    must(
        "modern-origin-400",
        MODERN,
        "2026-07-28/http/origin-invalid-403",
        "answers a foreign Origin with 400",
    )
    .case(24)
    .reply(origin_400),
    must(
        "origin-null-served",
        MODERN,
        "2026-07-28/http/origin-null",
        "serves Origin: null",
    )
    .http()
    .ask(|ask| {
        if ask.headers.get("origin") == Some("null") {
            ask.headers.remove("origin");
        }
    }),
    must(
        "origin-prefix-served",
        MODERN,
        "2026-07-28/http/origin-null",
        "serves an Origin that begins with its own host",
    )
    .http()
    .ask(|ask| {
        let host = ask.headers.get("host").unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        if ask
            .headers
            .get("origin")
            .is_some_and(|origin| origin.starts_with(&format!("http://{host}.")))
        {
            ask.headers.remove("origin");
        }
    }),
    must(
        "modern-origin-demanded",
        MODERN,
        "2026-07-28/http/origin-absent-ok",
        "refuses requests without Origin",
    )
    .http()
    .answer(no_origin),
    should(
        "host-ignored",
        BOTH,
        "both/security/host-header-validated",
        "serves any Host",
    )
    .http()
    .ask(|ask| {
        let host = ask.headers.get("host").unwrap_or_default();
        if !host.starts_with(|c: char| c.is_ascii_digit() || c == '[') && !host.starts_with("localhost") {
            ask.headers.set("host", "127.0.0.1");
        }
    }),
    should(
        "session-ids-count",
        LEGACY,
        "2025-11-25/session/id-unguessable",
        "counts session ids up",
    )
    .http()
    .needs(&["sessions"])
    .ask(|ask| {
        let given = ask
            .headers
            .get("mcp-session-id")
            .and_then(|id| ask.memory.get(&format!("session {id}")));
        if let Some(real) = given {
            ask.headers
                .set("mcp-session-id", real.as_str().unwrap_or_default());
        }
    })
    .reply(|ask, reply| {
        if let Some(real) = reply.headers.get("mcp-session-id").map(str::to_owned) {
            let id = ask.memory.count("sessions").to_string();
            ask.memory.set(&format!("session {id}"), real);
            reply.headers.set("mcp-session-id", id);
        }
    }),
    must(
        "sessions-end-together",
        LEGACY,
        "2025-11-25/session/isolation",
        "ends all sessions with one",
    )
    .http()
    .needs(&["sessions"])
    .answer(|ask| {
        if ask.method == "DELETE" {
            ask.memory.set("ended", true);
        } else if ask.is("initialize") {
            ask.memory.set("ended", Value::Null);
        }
        let over = ask.memory.get("ended") == Some(json!(true)) && ask.method == "POST";
        over.then(|| Reply::error(404, &ask.id(), -32600, "no such session"))
    }),
    must(
        "arguments-crash",
        BOTH,
        "both/tools/validate-inputs",
        "serves nobody after arguments that break the schema",
    )
    .answer(|ask| {
        let odd = |value: &Value| {
            value.is_null() || value.is_array() || value.as_str().is_some_and(|text| text.len() > 2000)
        };
        if ask.params()["arguments"]
            .as_object()
            .is_some_and(|arguments| arguments.values().any(odd))
        {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "arguments-not-judged",
        BOTH,
        "both/tools/validate-inputs",
        "answers every call with success",
    )
    .say(|ask, message| {
        if let Some(result) =
            result(message).filter(|result| ask.is("tools/call") && result["isError"] == true)
        {
            super::remove(result, "isError");
        }
    }),
    must(
        "required-not-enforced",
        BOTH,
        "both/tools/required-arguments-enforced",
        "runs a tool without its required arguments",
    )
    .say(|ask, message| {
        let none = ask.params()["arguments"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty);
        if let Some(result) =
            result(message).filter(|result| ask.is("tools/call") && none && result["isError"] == true)
        {
            super::remove(result, "isError");
        }
    }),
    must(
        "input-state-crash",
        MODERN,
        "2026-07-28/mrtr/unsolicited-responses",
        "serves nobody after answers it did not ask for",
    )
    .answer(|ask| {
        if !ask.params()["inputResponses"].is_null() {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "input-state-bypass",
        MODERN,
        "2026-07-28/mrtr/unsolicited-responses",
        "runs any tool, known or not, with answers it did not ask for",
    )
    .answer(|ask| (!ask.params()["inputResponses"].is_null()).then(|| served(ask))),
    should_not(
        "secret-mirrored",
        MODERN,
        "2026-07-28/tools/x-mcp-header-not-sensitive",
        "has passwords mirrored into headers",
    )
    .say(|ask, message| {
        super::first_tool(ask, message, |tool| {
            tool["inputSchema"]["properties"]["password"] =
                json!({ "type": "string", "x-mcp-header": "Password" });
        });
    }),
    must(
        "task-ids-count",
        LEGACY,
        "2025-11-25/tasks/id-unguessable",
        "counts task ids up",
    )
    .needs(&["tasks"])
    .ask(real_task)
    .say(|ask, message| {
        task_ids(ask, message, |number| number.to_string());
    }),
    must(
        "modern-task-ids-count",
        MODERN,
        "2026-07-28/tasks/id-entropy",
        "counts task ids up",
    )
    .needs(&["tasks"])
    .ask(real_task)
    .say(|ask, message| {
        task_ids(ask, message, |number| format!("task-{number:04}"));
    }),
    should_not(
        "task-list-for-all",
        LEGACY,
        "2025-11-25/tasks/list-not-without-identity",
        "advertises tasks/list to whoever asks",
    )
    .needs(&["tasks"])
    .say(|ask, message| {
        if let Some(result) = super::result_of(ask, message, "initialize") {
            result["capabilities"]["tasks"]["list"] = json!({});
        }
    }),
    should(
        "task-limit-crash",
        LEGACY,
        "2025-11-25/tasks/limits",
        "serves nobody after many tasks",
    )
    .needs(&["tasks"])
    .answer(|ask| {
        if !ask.params()["task"].is_null() && ask.memory.count("tasks") > 16 {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    should(
        "task-burst-crash",
        LEGACY,
        "2025-11-25/tasks/rate-limit",
        "serves nobody after a burst of tasks/get",
    )
    .needs(&["tasks"])
    .answer(|ask| {
        if ask.is("tasks/get") && ask.memory.count("gets") > 40 {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    should_not(
        "stdio-login",
        BOTH,
        "both/security/stdio-no-oauth",
        "demands a token over stdio",
    )
    .stdio()
    .answer(|ask| {
        let token = !ask.params()["_meta"]["authorization"].is_null();
        (ask.is("tools/list") && !token)
            .then(|| Reply::error(401, &ask.id(), -32603, "401 Unauthorized: send a bearer token"))
    }),
    must(
        "state-not-checked",
        MODERN,
        "2026-07-28/mrtr/state-integrity",
        "believes any requestState",
    )
    .needs(&["input-required"])
    .ask(|ask| {
        if let Some(good) = ask
            .memory
            .get("state")
            .filter(|_| !ask.params()["requestState"].is_null())
        {
            ask.edit(|message| message["params"]["requestState"] = good);
        }
    })
    .say(|ask, message| {
        super::interim(message, |result| {
            ask.memory.set("state", result["requestState"].clone());
        });
    }),
    must(
        "bad-arguments-false",
        BOTH,
        "both/tools/validate-inputs",
        "answers bad arguments with the text false",
    )
    .case(18)
    .say(|ask, message| {
        if let Some(result) =
            result(message).filter(|result| ask.is("tools/call") && result["isError"] == true)
        {
            super::remove(result, "isError");
            result["content"][0]["text"] = json!("false");
        }
    }),
];

fn origin_400(ask: &Ask, reply: &mut Reply) {
    if ask.headers.get("origin").is_some() && reply.status == 403 {
        reply.status = 400;
    }
}

fn no_origin(ask: &Ask) -> Option<Reply> {
    ask.headers
        .get("origin")
        .is_none()
        .then(|| Reply::text(403, "text/plain", "Origin is missing\n"))
}

/// Undoes [`task_ids`] in what the client asks.
fn real_task(ask: &mut Ask) {
    let given = ask.params()["taskId"]
        .as_str()
        .and_then(|id| ask.memory.get(&format!("task {id}")));
    if let Some(real) = given {
        if ask.headers.get("mcp-name").is_some() {
            ask.headers.set("mcp-name", real.as_str().unwrap_or_default());
        }
        ask.edit(|message| message["params"]["taskId"] = real);
    }
}

/// Gives tasks other ids, and remembers which they stand for.
fn task_ids(ask: &Ask, message: &mut Value, name: fn(u64) -> String) {
    let Some(result) = result(message) else { return };
    let task = if result["task"].is_object() {
        &mut result["task"]
    } else {
        result
    };
    if let Some(real) = task["taskId"].as_str().map(str::to_owned) {
        let known = ask.memory.get(&format!("real {real}"));
        let id = known
            .and_then(|id| id.as_str().map(str::to_owned))
            .unwrap_or_else(|| name(ask.memory.count("task ids")));
        ask.memory.set(&format!("real {real}"), id.clone());
        ask.memory.set(&format!("task {id}"), real);
        task["taskId"] = json!(id);
    }
}
