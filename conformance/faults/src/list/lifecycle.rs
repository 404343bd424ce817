//! How a conversation begins in both eras, and how one endpoint speaks both.

use super::{key, recode, remove, result, result_of, served};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, should, should_not};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};
use std::time::Duration;

pub(super) const FAULTS: &[Fault] = &[
    must("capability-true", BOTH, "both/lifecycle/capability-types", "declares the capability tools as true")
        .say(|ask, message| opened(ask, message, |result| result["capabilities"]["tools"] = json!(true))),
    must("capability-null", BOTH, "both/lifecycle/capability-types", "declares the capability prompts as null")
        .say(|ask, message| opened(ask, message, |result| result["capabilities"]["prompts"] = Value::Null)),
    must("list-changed-text", BOTH, "both/lifecycle/capability-types", "declares with a text that its tools may change")
        .say(|ask, message| opened(ask, message, |result| result["capabilities"]["tools"]["listChanged"] = json!("yes"))),
    must("no-initialize", LEGACY, "2025-11-25/lifecycle/base-and-lifecycle-supported", "does not know initialize").answer(
        |ask| ask.is("initialize").then(|| Reply::error(200, &ask.id(), -32601, "no such method")),
    ),
    must("no-server-info-at-start", LEGACY, "2025-11-25/lifecycle/initialize-result-fields", "leaves serverInfo out of the handshake")
        .say(|ask, message| initialized(ask, message, |result| remove(result, "serverInfo"))),
    must("no-capabilities-at-start", LEGACY, "2025-11-25/lifecycle/initialize-result-fields", "leaves capabilities out of the handshake")
        .say(|ask, message| initialized(ask, message, |result| remove(result, "capabilities"))),
    must("protocol-version-number", LEGACY, "2025-11-25/lifecycle/initialize-result-fields", "gives the version as a number").say(
        |ask, message| initialized(ask, message, |result| result["protocolVersion"] = json!(20251125)),
    ),
    must("newest-always", LEGACY, "2025-11-25/lifecycle/same-version-echoed", "answers every version with its newest").case(12).say(
        |ask, message| initialized(ask, message, |result| result["protocolVersion"] = json!("2025-11-25")),
    ),
    must("oldest-always", LEGACY, "2025-11-25/lifecycle/same-version-echoed", "answers every version with its oldest").case(12).say(
        |ask, message| initialized(ask, message, |result| result["protocolVersion"] = json!("2025-06-18")),
    ),
    must("version-echoed", LEGACY, "2025-11-25/lifecycle/other-version-offered", "claims to speak any version asked for").case(11).say(
        |ask, message| {
            let asked = ask.params()["protocolVersion"].clone();
            initialized(ask, message, |result| result["protocolVersion"] = asked);
        },
    ),
    must("version-refused", LEGACY, "2025-11-25/lifecycle/other-version-offered", "refuses a version it has not with 400").case(11).answer(
        |ask| {
            (ask.is("initialize") && unknown(&ask.params()["protocolVersion"]))
                .then(|| Reply::error(400, &ask.id(), -32602, "bad version"))
        },
    ),
    must("modern-version-negotiated", LEGACY, "2025-11-25/lifecycle/other-version-offered", "offers 2026-07-28 in a handshake").say(
        |ask, message| {
            if unknown(&ask.params()["protocolVersion"]) {
                initialized(ask, message, |result| result["protocolVersion"] = json!("2026-07-28"));
            }
        },
    ),
    should("oldest-offered", LEGACY, "2025-11-25/lifecycle/latest-version-offered", "offers its oldest version for one it has not")
        .say(|ask, message| {
            if unknown(&ask.params()["protocolVersion"]) {
                initialized(ask, message, |result| result["protocolVersion"] = json!("2025-06-18"));
            }
        }),
    must("initialize-without-version-served", LEGACY, "2025-11-25/lifecycle/initialize-params-validated", "begins without a version")
        .ask(|ask| fill_initialize(ask, "protocolVersion", json!("2025-11-25"))),
    must("initialize-without-client-served", LEGACY, "2025-11-25/lifecycle/initialize-params-validated", "begins without clientInfo")
        .ask(|ask| fill_initialize(ask, "clientInfo", json!({ "name": "x", "version": "1" }))),
    must("initialize-without-capabilities-served", LEGACY, "2025-11-25/lifecycle/initialize-params-validated", "begins without capabilities")
        .ask(|ask| fill_initialize(ask, "capabilities", json!({}))),
    must("client-capability-refused", LEGACY, "2025-11-25/lifecycle/unknown-client-capabilities-ok", "refuses capabilities it does not know")
        .answer(|ask| {
            let known = ["roots", "sampling", "elicitation", "tasks"];
            let capabilities = ask.params()["capabilities"].as_object().cloned().unwrap_or_default();
            (ask.is("initialize") && capabilities.keys().any(|name| !known.contains(&name.as_str())))
                .then(|| Reply::error(200, &ask.id(), -32602, "unknown capability"))
        }),
    must("initialized-refused", LEGACY, "2025-11-25/lifecycle/initialized-accepted", "refuses notifications/initialized with 400")
        .http()
        .answer(|ask| ask.is("notifications/initialized").then(|| Reply::empty(400))),
    must("initialized-ends", LEGACY, "2025-11-25/lifecycle/initialized-accepted", "serves no list after notifications/initialized")
        .answer(|ask| {
            if ask.is("notifications/initialized") {
                ask.memory.set("initialized", true);
            }
            (ask.is("tools/list") && ask.memory.get("initialized").is_some())
                .then(|| Reply::error(200, &ask.id(), -32600, "not initialized"))
        }),
    should_not("request-before-initialized", LEGACY, "2025-11-25/lifecycle/no-server-requests-before-initialized", "asks for roots right after the handshake")
        .stdio()
        .says(|ask, message| {
            let early = ask.is("initialize") && message.get("result").is_some();
            let request = json!({ "jsonrpc": "2.0", "id": "s1", "method": "roots/list" });
            if early { vec![message, request] } else { vec![message] }
        }),
    must("older-version-refused", LEGACY, "2025-11-25/lifecycle/respect-negotiated-version", "agrees on 2025-06-18 and refuses requests in it")
        .http()
        .answer(|ask| {
            let older = ask.headers.get("mcp-protocol-version") == Some("2025-06-18");
            (older && ask.is_request() && !ask.is("initialize"))
                .then(|| Reply::error(400, &ask.id(), -32600, "MCP-Protocol-Version must be 2025-11-25"))
        }),
    must("unadvertised-served", LEGACY, "2025-11-25/lifecycle/unadvertised-feature-method-not-found", "lists prompts and resources it does not advertise")
        .answer(|ask| {
            ["prompts/list", "resources/list"].contains(&&*ask.rpc()).then(|| {
                Reply::result(&ask.id(), json!({ "prompts": [], "resources": [] }))
            })
        }),
    must("unadvertised-invalid", LEGACY, "2025-11-25/lifecycle/unadvertised-feature-method-not-found", "answers prompts/list with -32603")
        .say(|ask, message| {
            if ask.is("prompts/list") {
                recode(message, -32601, -32603);
            }
        }),
    must("ping-with-content", LEGACY, "2025-11-25/ping/empty-result", "answers ping with members").say(|ask, message| {
        if let Some(result) = result_of(ask, message, "ping") {
            result["pong"] = json!(true);
        }
    }),
    must("ping-unknown", LEGACY, "2025-11-25/ping/empty-result", "does not know ping").answer(|ask| {
        ask.is("ping").then(|| Reply::error(200, &ask.id(), -32601, "no such method"))
    }),
    must("ping-slow", LEGACY, "2025-11-25/ping/empty-result", "takes half a minute for ping").answer(|ask| {
        let mut reply = Reply::result(&ask.id(), json!({}));
        reply.delay = Duration::from_secs(30);
        ask.is("ping").then_some(reply)
    }),
    must("ping-too-early", LEGACY, "2025-11-25/ping/before-initialized", "refuses ping before notifications/initialized").answer(|ask| {
        if ask.is("notifications/initialized") {
            ask.memory.set("initialized", true);
        } else if ask.is("initialize") {
            ask.memory.set("initialized", Value::Null);
        }
        (ask.is("ping") && ask.memory.get("initialized") == Some(Value::Null))
            .then(|| Reply::error(200, &ask.id(), -32600, "not initialized"))
    }),
    must("no-discover", MODERN, "2026-07-28/discover/implemented", "does not know server/discover").answer(|ask| {
        ask.is("server/discover").then(|| Reply::error(404, &ask.id(), -32601, "no such method"))
    }),
    must("no-supported-versions", MODERN, "2026-07-28/discover/supported-versions", "leaves supportedVersions out")
        .say(|ask, message| discovered(ask, message, |result| remove(result, "supportedVersions"))),
    must("supported-versions-text", MODERN, "2026-07-28/discover/supported-versions", "gives supportedVersions as a text")
        .say(|ask, message| discovered(ask, message, |result| result["supportedVersions"] = json!("2026-07-28"))),
    must("own-version-not-listed", MODERN, "2026-07-28/discover/supported-versions", "does not list the version it answers in")
        .say(|ask, message| discovered(ask, message, |result| result["supportedVersions"] = json!(["2025-11-25"]))),
    must("no-discovered-capabilities", MODERN, "2026-07-28/discover/capabilities", "leaves capabilities out of discovery")
        .say(|ask, message| discovered(ask, message, |result| remove(result, "capabilities"))),
    must("discovered-capabilities-array", MODERN, "2026-07-28/discover/capabilities", "gives capabilities as an array")
        .say(|ask, message| discovered(ask, message, |result| result["capabilities"] = json!(["tools"]))),
    should("discover-anonymous", MODERN, "2026-07-28/discover/server-info", "does not say in discovery who it is").say(
        |ask, message| discovered(ask, message, |result| super::change(result, "_meta", |meta| remove(meta, &key("serverInfo")))),
    ),
    must("prompts-advertised", MODERN, "2026-07-28/discover/capabilities-truthful", "advertises prompts it has not")
        .say(|ask, message| discovered(ask, message, |result| result["capabilities"]["prompts"] = json!({}))),
    must("resources-advertised", MODERN, "2026-07-28/discover/capabilities-truthful", "advertises resources it has not")
        .say(|ask, message| discovered(ask, message, |result| result["capabilities"]["resources"] = json!({}))),
    must("dead-version-listed", MODERN, "2026-07-28/discover/listed-versions-work", "lists a version it refuses").say(
        |ask, message| {
            discovered(ask, message, |result| {
                if let Some(versions) = result["supportedVersions"].as_array_mut() {
                    versions.push(json!("2026-12-31"));
                }
            });
        },
    ),
    must("legacy-version-listed", MODERN, "2026-07-28/discover/listed-versions-work", "lists a legacy version that its handshake has not")
        .say(|ask, message| {
            discovered(ask, message, |result| {
                if let Some(versions) = result["supportedVersions"].as_array_mut() {
                    versions.push(json!("2024-11-05"));
                }
            });
        }),
    should("discover-unstable", MODERN, "2026-07-28/discover/stable", "describes itself anew each time").say(|ask, message| {
        let count = ask.memory.count("discover");
        discovered(ask, message, |result| result["instructions"] = json!(format!("asked {count} times")));
    }),
    must("version-code", MODERN, "2026-07-28/version/unsupported-error", "answers an unknown version with -32602")
        .say(|_, message| recode(message, -32022, -32602)),
    must("version-error-without-data", MODERN, "2026-07-28/version/unsupported-error", "does not say which versions there are")
        .say(|_, message| {
            if message["error"]["code"] == -32022 {
                remove(&mut message["error"], "data");
            }
        }),
    must("version-error-without-requested", MODERN, "2026-07-28/version/unsupported-error", "does not say which version was asked for")
        .say(|_, message| {
            if message["error"]["code"] == -32022 {
                remove(&mut message["error"]["data"], "requested");
            }
        }),
    must("any-version-served", MODERN, "2026-07-28/version/unsupported-error", "serves discovery in any version").ask(|ask| {
        if ask.is("server/discover") {
            mend_version(ask);
        }
    }),
    must("call-in-any-version", MODERN, "2026-07-28/version/unsupported-on-any-method", "serves calls in any version").ask(|ask| {
        if ask.is("tools/call") {
            mend_version(ask);
        }
    }),
    must("supported-differs", MODERN, "2026-07-28/version/supported-equals-discover", "lists other versions in its error than in discovery")
        .say(|_, message| {
            if message["error"]["code"] == -32022 {
                message["error"]["data"]["supported"] = json!(["2026-07-28"]);
            }
        }),
    must("base-incomplete", MODERN, "2026-07-28/version/base-patterns-supported", "drops a request whose method it does not know")
        .says(|_, message| if message["error"]["code"] == -32601 { Vec::new() } else { vec![message] }),
    must("extension-key-bad", MODERN, "2026-07-28/extensions/identifier-grammar", "advertises an extension without a prefix")
        .say(|ask, message| discovered(ask, message, |result| result["capabilities"]["extensions"]["fast mode"] = json!({}))),
    must("extension-setting-bool", MODERN, "2026-07-28/extensions/settings-object", "advertises an extension as true").say(
        |ask, message| {
            discovered(ask, message, |result| {
                result["capabilities"]["extensions"]["com.example/fast"] = json!(true);
            });
        },
    ),
    must("extension-demanded", MODERN, "2026-07-28/extensions/fallback", "serves calls only to clients of an extension of its own")
        .answer(|ask| {
            (ask.is("tools/call") && ask.meta("clientCapabilities")["extensions"]["com.example/fast"].is_null())
                .then(|| Reply::error(200, &ask.id(), -32603, "extension com.example/fast is missing"))
        }),
    must("unknown-extension-refused", MODERN, "2026-07-28/extensions/unknown-tolerated", "refuses clients with extensions it does not know")
        .answer(|ask| {
            let extensions = ask.meta("clientCapabilities")["extensions"].as_object().cloned().unwrap_or_default();
            extensions
                .keys()
                .any(|name| !name.starts_with("io.modelcontextprotocol/"))
                .then(|| Reply::error(400, &ask.id(), -32602, "unknown extension"))
        }),
    must("legacy-session-sticks", MODERN, "2026-07-28/dual-era/modern-meta-served-statelessly", "answers modern requests in the legacy shape once a handshake was made").any_era().http()
        .say(|ask, message| {
            if ask.is("initialize") {
                ask.memory.set("legacy", true);
            } else if ask.memory.get("legacy").is_some()
                && !ask.meta("protocolVersion").is_null()
                && let Some(result) = result(message)
            {
                for name in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                    remove(result, name);
                }
            }
        }),
    must("handshake-modern", MODERN, "2026-07-28/dual-era/initialize-selects-legacy", "answers initialize in the modern shape").any_era().say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "initialize") {
                *result = json!({
                    "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
                    "ttlMs": 0, "cacheScope": "private",
                });
            }
        },
    ),
    must("modern-shape-in-legacy", MODERN, "2026-07-28/dual-era/legacy-results-legacy-shape", "answers an unknown method in a handshake's wake with 404").any_era().needs(&["sessions"])
        .reply(|ask, reply| {
            if ask.meta("protocolVersion").is_null() && reply.code() == Some(-32601) {
                reply.status = 404;
            }
        }),
    must("ping-kept", MODERN, "2026-07-28/dual-era/removed-methods-modern", "still serves ping to modern clients")
        .answer(|ask| ask.is("ping").then(|| served(ask))),
    must("initialize-kept", MODERN, "2026-07-28/dual-era/removed-methods-modern", "still serves initialize to modern clients").answer(
        |ask| {
            let result = json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "x", "version": "1" },
            });
            ask.is("initialize").then(|| Reply::result(&ask.id(), result))
        },
    ),
    should("legacy-client-puzzled", MODERN, "2026-07-28/dual-era/modern-only-names-versions", "serves no legacy clients, and does not say whom it serves").any_era().http()
        .answer(|ask| ask.is("initialize").then(|| Reply::error(400, &ask.id(), -32601, "no such method"))),
    must("modern-unanswered", MODERN, "2026-07-28/version/base-patterns-supported", "never answers an unknown method")
        .http()
        .answer(|ask| (ask.is_request() && !known(&ask.rpc())).then(|| Reply::framed(Framing::Never))),
];

fn initialized(ask: &Ask, message: &mut Value, change: impl FnOnce(&mut Value)) {
    if let Some(result) = result_of(ask, message, "initialize") {
        change(result);
    }
}

fn discovered(ask: &Ask, message: &mut Value, change: impl FnOnce(&mut Value)) {
    if let Some(result) = result_of(ask, message, "server/discover") {
        change(result);
    }
}

/// The result with the capabilities, of either era.
fn opened(ask: &Ask, message: &mut Value, change: impl FnOnce(&mut Value)) {
    if ask.is("initialize") {
        initialized(ask, message, change);
    } else {
        discovered(ask, message, change);
    }
}

fn unknown(version: &Value) -> bool {
    version
        .as_str()
        .is_some_and(|version| !["2025-11-25", "2025-06-18"].contains(&version))
}

fn known(rpc: &str) -> bool {
    rpc == "server/discover"
        || rpc.starts_with("tools/")
        || rpc.starts_with("tasks/")
        || rpc.starts_with("subscriptions/")
}

fn fill_initialize(ask: &mut Ask, name: &str, value: Value) {
    if ask.is("initialize") && ask.params().is_object() && ask.params().get(name).is_none() {
        ask.edit(|message| message["params"][name] = value);
    }
}

fn mend_version(ask: &mut Ask) {
    if ask
        .meta("protocolVersion")
        .as_str()
        .is_some_and(|version| version != "2026-07-28")
    {
        ask.edit(|message| message["params"]["_meta"][key("protocolVersion")] = json!("2026-07-28"));
        ask.headers.set("mcp-protocol-version", "2026-07-28");
    }
}
