//! Schemas, and the shapes of what is listed.

use super::{call, first_tool, key, result, result_of, tools, with_pattern};
use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, should};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    must(
        "pattern-ignored",
        BOTH,
        "both/tools/enum-and-bounds-enforced",
        "calls a tool with a text that its pattern does not match",
    )
    .say(with_pattern),
    must(
        "reference-to-nowhere",
        BOTH,
        "both/schema/schemas-are-valid",
        "refers to a definition that its schema does not have",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["inputSchema"]["properties"]["x"] = json!({ "$ref": "#/$defs/none" });
        });
    }),
    should(
        "pattern-unclosed",
        BOTH,
        "both/schema/patterns-are-regular-expressions",
        "publishes a pattern that is no regular expression",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["inputSchema"]["properties"]["x"] = json!({ "type": "string", "pattern": "([" });
        });
    }),
    must(
        "icon-without-src",
        BOTH,
        "both/schema/icon-src-required",
        "offers an icon without src",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["icons"] = json!([{ "mimeType": "image/png" }])
        });
    }),
    must(
        "icon-src-relative",
        BOTH,
        "both/schema/icon-src-required",
        "offers an icon whose src is no URI",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["icons"] = json!([{ "src": "icon.png" }])
        });
    }),
    must(
        "icon-theme-blue",
        BOTH,
        "both/schema/icon-theme-enum",
        "offers an icon for a blue theme",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["icons"] = json!([{ "src": "data:image/png;base64,AA==", "theme": "blue" }]);
        });
    }),
    must(
        "icon-sizes-text",
        BOTH,
        "both/schema/icon-theme-enum",
        "gives the sizes of an icon as a text",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["icons"] = json!([{ "src": "data:image/png;base64,AA==", "sizes": "48x48" }]);
        });
    }),
    must(
        "server-version-number",
        BOTH,
        "both/schema/implementation-required-fields",
        "gives its own version as a number",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "initialize") {
            result["serverInfo"]["version"] = json!(1);
        } else if let Some(result) = result(message).filter(|result| result["_meta"].is_object()) {
            super::change(&mut result["_meta"], &key("serverInfo"), |info| {
                info["version"] = json!(1)
            });
        }
    }),
    must(
        "server-without-name",
        BOTH,
        "both/schema/implementation-required-fields",
        "does not say its name",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "initialize") {
            super::remove(&mut result["serverInfo"], "name");
        } else if let Some(result) = result(message).filter(|result| result["_meta"].is_object()) {
            super::change(&mut result["_meta"], &key("serverInfo"), |info| {
                super::remove(info, "name")
            });
        }
    }),
    must(
        "schema-of-draft-4",
        BOTH,
        "both/schema/dialect-2020-12-supported",
        "writes a bound as draft 4 does, without saying so",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(
                tool,
                json!({ "type": "integer", "minimum": 0, "exclusiveMinimum": true }),
            )
        });
    }),
    must(
        "dialect-not-kept",
        BOTH,
        "both/schema/explicit-dialect-honoured",
        "says draft 7 and writes what that forbids",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["inputSchema"]["$schema"] = json!("http://json-schema.org/draft-07/schema#");
            property(tool, json!({ "type": "integer", "minimum": "0" }));
        });
    }),
    must(
        "output-type-int",
        BOTH,
        "both/schema/schemas-are-valid",
        "publishes an output of type int",
    )
    .case(20)
    .say(|ask, message| {
        tools(ask, message, |tool| {
            if tool["outputSchema"].is_object() {
                tool["outputSchema"]["properties"]["added"] = json!({ "type": "int" });
            }
        });
    }),
    should(
        "schema-reference-outside",
        MODERN,
        "2026-07-28/schema/server-schemas-self-contained",
        "refers to a schema on the network",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "$ref": "https://schemas.example/added.json" }))
        });
    }),
    must(
        "input-type-int",
        BOTH,
        "both/tools/input-schema-valid",
        "offers a tool with a property of type int",
    )
    .case(20)
    .say(|ask, message| first_tool(ask, message, |tool| property(tool, json!({ "type": "int" })))),
    must(
        "required-text",
        BOTH,
        "both/tools/input-schema-valid",
        "gives required as a text",
    )
    .case(20)
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["inputSchema"]["required"] = json!("text")
        });
    }),
    must(
        "output-schema-true",
        BOTH,
        "both/tools/output-schema-valid",
        "gives outputSchema as a text",
    )
    .case(20)
    .say(|ask, message| {
        first_tool(ask, message, |tool| tool["outputSchema"] = json!("object"));
    }),
    must(
        "output-schema-array",
        LEGACY,
        "2025-11-25/tools/output-schema-object-root",
        "offers a tool that gives an array",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            tool["outputSchema"] = json!({ "type": "array" })
        });
    }),
    must(
        "properties-of-texts",
        LEGACY,
        "2025-11-25/tools/input-schema-keywords",
        "gives properties by their types alone",
    )
    .say(|ask, message| first_tool(ask, message, |tool| property(tool, json!("integer")))),
    must(
        "required-of-numbers",
        LEGACY,
        "2025-11-25/tools/input-schema-keywords",
        "requires properties by number",
    )
    .case(20)
    .say(|ask, message| first_tool(ask, message, |tool| tool["inputSchema"]["required"] = json!([0]))),
    must(
        "header-name-bad",
        MODERN,
        "2026-07-28/tools/x-mcp-header-valid",
        "has a parameter mirrored into a header with a space",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "type": "string", "x-mcp-header": "My Region" }))
        })
    }),
    must(
        "header-name-empty",
        MODERN,
        "2026-07-28/tools/x-mcp-header-valid",
        "has a parameter mirrored into a header without a name",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "type": "string", "x-mcp-header": "" }))
        })
    }),
    must(
        "header-name-twice",
        MODERN,
        "2026-07-28/tools/x-mcp-header-unique",
        "has two parameters mirrored into one header",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "type": "string", "x-mcp-header": "Region" }));
            tool["inputSchema"]["properties"]["other"] =
                json!({ "type": "string", "x-mcp-header": "REGION" });
        });
    }),
    must(
        "header-integer-large",
        MODERN,
        "2026-07-28/tools/x-mcp-header-safe-integers",
        "mirrors an integer that no double holds",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(
                tool,
                json!({ "type": "integer", "maximum": u64::MAX, "x-mcp-header": "Region" }),
            )
        });
    }),
    must(
        "header-of-object",
        MODERN,
        "2026-07-28/tools/x-mcp-header-primitive",
        "has an object mirrored into a header",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "type": "object", "x-mcp-header": "Region" }))
        })
    }),
    must(
        "header-of-number",
        MODERN,
        "2026-07-28/tools/x-mcp-header-primitive",
        "has a number mirrored into a header",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(tool, json!({ "type": "number", "x-mcp-header": "Ratio" }))
        })
    }),
    must(
        "header-in-items",
        MODERN,
        "2026-07-28/tools/x-mcp-header-reachable",
        "has the items of an array mirrored into a header",
    )
    .say(|ask, message| {
        first_tool(ask, message, |tool| {
            property(
                tool,
                json!({ "type": "array", "items": { "type": "string", "x-mcp-header": "Region" } }),
            );
        });
    }),
    should(
        "no-argument-schema",
        BOTH,
        "both/tools/no-arg-tool-schema",
        "gives tools without arguments a schema for them",
    )
    .say(|ask, message| {
        tools(ask, message, |tool| {
            if tool["inputSchema"]["properties"]
                .as_object()
                .is_some_and(serde_json::Map::is_empty)
            {
                tool["inputSchema"] =
                    json!({ "type": "object", "properties": {}, "required": [], "minProperties": 0 });
            }
        });
    }),
    must(
        "extra-arguments-ignored",
        BOTH,
        "both/tools/additional-properties-enforced",
        "runs a tool with arguments its schema forbids",
    )
    .ask(|ask| {
        let known = ask.memory.get("properties").unwrap_or_default()[ask.tool()].clone();
        if let Some(known) = known.as_object() {
            ask.edit(|message| {
                if let Some(arguments) = message["params"]["arguments"].as_object_mut() {
                    arguments.retain(|name, _| known.contains_key(name));
                }
            });
        }
    })
    .say(learn_properties),
    must(
        "bounds-ignored",
        BOTH,
        "both/tools/enum-and-bounds-enforced",
        "runs a tool with numbers out of bounds and values not in the enum",
    )
    .ask(|ask| {
        let known = ask.memory.get("properties").unwrap_or_default()[ask.tool()].clone();
        ask.edit(|message| {
            let Some(arguments) = message["params"]["arguments"].as_object_mut() else {
                return;
            };
            for (name, value) in arguments {
                clamp(value, &known[name.as_str()]);
            }
        });
    })
    .say(learn_properties),
    must(
        "no-structured-content",
        BOTH,
        "both/tools/structured-present",
        "leaves out what outputSchema promises",
    )
    .case(21)
    .say(|ask, message| {
        if let Some(result) = call(ask, message) {
            super::remove(result, "structuredContent");
        }
    }),
    must(
        "structured-content-wrong",
        BOTH,
        "both/tools/structured-conforms",
        "gives structured results against their schema",
    )
    .case(21)
    .say(|ask, message| {
        if let Some(result) = call(ask, message).filter(|result| result.get("structuredContent").is_some()) {
            result["structuredContent"] = json!({ "value": "unknown" });
        }
    }),
    must(
        "structured-content-text",
        LEGACY,
        "2025-11-25/tools/structured-is-object",
        "gives structured results as a text",
    )
    .case(21)
    .say(|ask, message| {
        if let Some(result) = call(ask, message).filter(|result| result.get("structuredContent").is_some()) {
            result["structuredContent"] = json!(result["structuredContent"].to_string());
        }
    }),
];

/// Gives a tool another optional argument.
fn property(tool: &mut Value, schema: Value) {
    if tool["inputSchema"].is_object() {
        tool["inputSchema"]["properties"]["added"] = schema;
    }
}

/// Remembers the properties of each tool that is listed.
fn learn_properties(ask: &Ask, message: &mut Value) {
    let mut known = ask.memory.get("properties").unwrap_or_default();
    tools(ask, message, |tool| {
        if let Some(name) = tool["name"].as_str() {
            known[name] = tool["inputSchema"]["properties"].clone();
        }
    });
    ask.memory.set("properties", known);
}

/// Brings a value into what its schema allows.
fn clamp(value: &mut Value, schema: &Value) {
    if let (Some(number), Some(least)) = (value.as_i64(), schema["minimum"].as_i64())
        && number < least
    {
        *value = json!(least);
    }
    if let (Some(number), Some(most)) = (value.as_i64(), schema["maximum"].as_i64())
        && number > most
    {
        *value = json!(most);
    }
    if let (Some(text), Some(most)) = (value.as_str(), schema["maxLength"].as_u64())
        && text.chars().count() as u64 > most
    {
        *value = json!(text.chars().take(most as usize).collect::<String>());
    }
    if let Some(allowed) = schema["enum"]
        .as_array()
        .filter(|allowed| value.is_string() && !allowed.contains(value))
    {
        *value = allowed[0].clone();
    }
}
