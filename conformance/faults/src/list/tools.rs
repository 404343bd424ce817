//! Listing and calling tools.

use super::{call, first_tool, recode, remove, result, result_of, served, tools};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    must(
        "tools-not-declared",
        LEGACY,
        "2025-11-25/tools/capability-declared",
        "does not declare tools",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "initialize") {
            remove(&mut result["capabilities"], "tools");
        }
    }),
    must(
        "modern-tools-not-declared",
        MODERN,
        "2026-07-28/tools/capability-declared",
        "does not declare tools",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "server/discover") {
            remove(&mut result["capabilities"], "tools");
        }
    }),
    must(
        "tools-null",
        BOTH,
        "both/tools/list-result-array",
        "gives null for the list of tools",
    )
    .case(22)
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            list["tools"] = Value::Null;
        }
    }),
    must(
        "tools-by-name",
        BOTH,
        "both/tools/list-result-array",
        "gives the tools as an object by their names",
    )
    .case(22)
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            list["tools"] = json!({ "echo": {} });
        }
    }),
    must(
        "list-refused",
        MODERN,
        "2026-07-28/tools/list-served-when-advertised",
        "does not serve the tools it advertises",
    )
    .answer(|ask| {
        ask.is("tools/list")
            .then(|| Reply::error(200, &ask.id(), -32603, "no tools today"))
    }),
    must_not(
        "list-by-connection",
        MODERN,
        "2026-07-28/tools/list-same-on-every-connection",
        "hides a tool on every second connection",
    )
    .http()
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            if ask.earlier == 0 {
                ask.memory.count("connections");
            }
            let odd = ask
                .memory
                .get("connections")
                .and_then(|count| count.as_u64())
                .is_some_and(|count| count % 2 == 1);
            if let (true, Some(tools)) = (odd, list["tools"].as_array_mut()) {
                tools.pop();
            }
        }
    }),
    must_not(
        "list-after-call",
        MODERN,
        "2026-07-28/tools/list-no-side-effect-changes",
        "hides a tool after a call",
    )
    .say(|ask, message| {
        if ask.is("tools/call") {
            ask.memory.set("called", true);
        } else if ask.memory.get("called").is_some()
            && let Some(list) = result_of(ask, message, "tools/list")
            && let Some(tools) = list["tools"].as_array_mut()
        {
            tools.pop();
        }
    }),
    should(
        "list-order",
        MODERN,
        "2026-07-28/tools/list-deterministic-order",
        "lists tools in another order each time",
    )
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list")
            && let Some(tools) = list["tools"].as_array_mut()
            && ask.memory.count("lists") % 2 == 0
        {
            tools.reverse();
        }
    }),
    should(
        "name-too-long",
        BOTH,
        "both/tools/name-length",
        "offers a tool whose name has 129 characters",
    )
    .say(|ask, message| {
        rename(ask, message, &"n".repeat(129));
    }),
    should(
        "name-not-ascii",
        BOTH,
        "both/tools/name-charset",
        "offers a tool with an umlaut in its name",
    )
    .say(|ask, message| rename(ask, message, "gerät")),
    should_not(
        "name-with-space",
        BOTH,
        "both/tools/name-no-specials",
        "offers a tool with a space in its name",
    )
    .say(|ask, message| rename(ask, message, "read sensor")),
    should(
        "name-case-ignored",
        BOTH,
        "both/tools/name-case-sensitive",
        "finds tools in any letter case",
    )
    .ask(|ask| {
        if ask.tool().chars().any(|c| c.is_ascii_uppercase()) {
            ask.edit(|message| {
                if let Some(name) = message["params"]["name"].as_str().map(str::to_ascii_lowercase) {
                    message["params"]["name"] = json!(name);
                }
            });
            if ask.headers.get("mcp-name").is_some() {
                ask.headers.set("mcp-name", ask.tool());
            }
        }
    }),
    should(
        "name-twice",
        BOTH,
        "both/tools/name-unique",
        "offers a tool twice",
    )
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list")
            && let Some(tools) = list["tools"].as_array_mut()
            && let Some(last) = tools.last().cloned()
        {
            tools.push(last);
        }
    }),
    should_not(
        "hints-contradict",
        BOTH,
        "both/tools/annotations-consistent",
        "calls a tool read-only and destructive",
    )
    .say(|ask, message| {
        tools(ask, message, |tool| {
            if tool["annotations"]["readOnlyHint"] == true {
                tool["annotations"]["destructiveHint"] = json!(true);
            }
        });
    }),
    should_not(
        "execution-in-modern",
        MODERN,
        "2025-11-25/tools/no-legacy-fields-in-modern",
        "keeps the member execution",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["execution"] = json!({ "taskSupport": "optional" })
        });
    }),
    must(
        "arguments-demanded",
        BOTH,
        "both/tools/arguments-omittable",
        "demands arguments where none are needed",
    )
    .case(19)
    .answer(|ask| {
        (ask.is("tools/call") && ask.params()["name"].is_string() && ask.params().get("arguments").is_none())
            .then(|| Reply::error(200, &ask.id(), -32602, "arguments is missing"))
    }),
    must(
        "empty-arguments-refused",
        BOTH,
        "both/tools/arguments-omittable",
        "refuses {} where nothing is required",
    )
    .case(19)
    .answer(|ask| {
        (ask.is("tools/call") && ask.params()["arguments"] == json!({}))
            .then(|| Reply::error(200, &ask.id(), -32602, "arguments is empty"))
    }),
    must(
        "arguments-of-any-type",
        BOTH,
        "both/tools/arguments-must-be-object",
        "runs a tool with arguments that are no object",
    )
    .ask(|ask| {
        if ask.is("tools/call")
            && ask
                .params()
                .get("arguments")
                .is_some_and(|arguments| !arguments.is_object())
        {
            ask.edit(|message| message["params"]["arguments"] = json!({}));
        }
    }),
    must(
        "nameless-call-served",
        BOTH,
        "both/tools/name-missing",
        "answers a call without a name with a result",
    )
    .answer(|ask| {
        (ask.is("tools/call") && ask.params().is_object() && !ask.params()["name"].is_string())
            .then(|| served_call(ask, "which tool?"))
    }),
    must(
        "nameless-call-is-error",
        BOTH,
        "both/tools/name-missing",
        "answers a call without a name with isError",
    )
    .answer(|ask| {
        let mut reply = served_call(ask, "which tool?");
        reply.edit(|message| message["result"]["isError"] = json!(true));
        (ask.is("tools/call") && ask.params().is_object() && !ask.params()["name"].is_string())
            .then_some(reply)
    }),
    must(
        "unknown-tool-served-legacy",
        LEGACY,
        "2025-11-25/tools/unknown-tool",
        "answers an unknown tool with a text",
    )
    .case(17)
    .say(unknown_served),
    must(
        "unknown-tool-served",
        MODERN,
        "2026-07-28/tools/unknown-tool",
        "answers an unknown tool with a text",
    )
    .case(17)
    .say(unknown_served),
    must(
        "unknown-tool-is-error-legacy",
        LEGACY,
        "2025-11-25/tools/unknown-tool",
        "answers an unknown tool with isError",
    )
    .case(17)
    .say(unknown_is_error),
    must(
        "unknown-tool-is-error",
        MODERN,
        "2026-07-28/tools/unknown-tool",
        "answers an unknown tool with isError",
    )
    .case(17)
    .say(unknown_is_error),
    must(
        "unknown-tool-code",
        MODERN,
        "2026-07-28/tools/unknown-tool",
        "answers an unknown tool with -32601",
    )
    .case(17)
    .say(|ask, message| {
        if ask.is("tools/call") && ask.params()["name"].is_string() {
            recode(message, -32602, -32601);
        }
    }),
    should(
        "bad-arguments-internal",
        BOTH,
        "both/tools/input-error-is-execution-error",
        "answers bad arguments with -32603",
    )
    .case(18)
    .say(|ask, message| {
        if let Some(result) =
            result(message).filter(|result| ask.is("tools/call") && result["isError"] == true)
        {
            let why = result["content"][0]["text"].clone();
            remove(message, "result");
            message["error"] = json!({ "code": -32603, "message": why });
        }
    }),
    must(
        "list-changed-unannounced",
        LEGACY,
        "2025-11-25/tools/list-changed-only-if-declared",
        "notifies of changed tools without having declared it",
    )
    .needs(&["streams"])
    .says(|ask, message| {
        let notification = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        if ask.is("tools/list") && message.get("result").is_some() {
            vec![notification, message]
        } else {
            vec![message]
        }
    })
    .http(),
    should(
        "no-text-copy",
        BOTH,
        "both/tools/structured-text-copy",
        "gives structured results without the text",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message).filter(|result| result.get("structuredContent").is_some()) {
            result["content"] = json!([]);
        }
    }),
    must(
        "call-without-content",
        BOTH,
        "both/tools/content-always-array",
        "leaves content out of results",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            remove(result, "content");
        }
    }),
    must(
        "tool-never-answers",
        BOTH,
        "both/tools/call-basic",
        "never answers calls of one tool",
    )
    .answer(|ask| (ask.tool() == "uptime").then(|| Reply::framed(Framing::Never))),
    must(
        "content-is-text",
        BOTH,
        "both/tools/call-basic",
        "gives content as a text",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["content"] = result["content"][0]["text"].clone();
        }
    }),
    must(
        "is-error-text",
        BOTH,
        "both/tools/is-error-boolean",
        "gives isError as a text",
    )
    .case(18)
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "tools/call") {
            result["isError"] = json!(if result["isError"] == true {
                "true"
            } else {
                "false"
            });
        }
    }),
    must(
        "content-text-number",
        BOTH,
        "both/tools/content-text-fields",
        "gives the text of content as a number",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["content"][0]["text"] = json!(1);
        }
    }),
    must(
        "content-type-invented",
        BOTH,
        "both/tools/content-type-known",
        "gives content of type json",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["content"][0]["type"] = json!("json");
        }
    }),
    must(
        "image-without-type",
        BOTH,
        "both/tools/content-image-fields",
        "gives an image without mimeType",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["content"] = json!([{ "type": "image", "data": "!" }]);
        }
    }),
    must(
        "content-priority-2",
        BOTH,
        "both/tools/content-annotations",
        "gives content a priority of 2",
    )
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            result["content"][0]["annotations"] = json!({ "priority": 2 });
        }
    }),
    must(
        "tool-without-name",
        BOTH,
        "both/tools/tool-name-required",
        "offers a tool without a name",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| super::remove(tool, "name"));
    }),
    must(
        "tool-name-empty",
        BOTH,
        "both/tools/tool-name-required",
        "offers a tool with an empty name",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| tool["name"] = json!(""));
    }),
    must(
        "no-input-schema",
        BOTH,
        "both/tools/input-schema-required",
        "offers a tool without inputSchema",
    )
    .case(20)
    .say(|ask, message| {
        first_tool(ask, message, |tool| super::remove(tool, "inputSchema"));
    }),
    must(
        "input-schema-null",
        BOTH,
        "both/tools/input-schema-required",
        "offers a tool whose inputSchema is null",
    )
    .case(20)
    .say(|ask, message| first_tool(ask, message, |tool| tool["inputSchema"] = Value::Null)),
    must(
        "input-schema-empty",
        BOTH,
        "both/tools/input-schema-required",
        "offers a tool whose inputSchema is {}",
    )
    .case(20)
    .say(|ask, message| first_tool(ask, message, |tool| tool["inputSchema"] = json!({}))),
    must(
        "input-schema-string",
        BOTH,
        "both/tools/input-schema-required",
        "offers a tool that takes a string",
    )
    .case(20)
    .say(|ask, message| first_tool(ask, message, |tool| tool["inputSchema"]["type"] = json!("string"))),
    must(
        "hint-text",
        BOTH,
        "both/tools/annotations-types",
        "gives a hint as a text",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["annotations"] = json!({ "openWorldHint": "no" })
        });
    }),
    must(
        "annotation-title-number",
        BOTH,
        "both/tools/annotations-types",
        "gives the title of annotations as a number",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| tool["annotations"]["title"] = json!(7));
    }),
    must(
        "description-null",
        BOTH,
        "both/tools/optional-strings",
        "gives a null description",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| tool["description"] = Value::Null);
    }),
    must(
        "title-number",
        BOTH,
        "both/tools/optional-strings",
        "gives a title as a number",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| tool["title"] = json!(1));
    }),
];

fn rename(ask: &Ask, message: &mut Value, name: &str) {
    first_tool(ask, message, |tool| tool["name"] = json!(name));
}

fn unknown_tool(ask: &Ask, message: &Value) -> bool {
    ask.is("tools/call") && ask.params()["name"].is_string() && message["error"]["code"] == -32602
}

fn unknown_served(ask: &Ask, message: &mut Value) {
    if unknown_tool(ask, message) {
        *message = success(ask, "Tool not found");
    }
}

fn unknown_is_error(ask: &Ask, message: &mut Value) {
    if unknown_tool(ask, message) {
        *message = success(ask, "Tool not found");
        message["result"]["isError"] = json!(true);
    }
}

fn success(ask: &Ask, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": ask.id(), "result": {
        "content": [{ "type": "text", "text": text }], "resultType": "complete",
    } })
}

fn served_call(ask: &Ask, text: &str) -> Reply {
    let mut reply = served(ask);
    reply.edit(|message| *message = success(ask, text));
    reply
}
