//! Arguments of a tool that are mirrored into headers (2026-07-28, server/tools, "x-mcp-header"; basic/transports/streamable-http,
//! "Custom Headers from Tool Parameters"): pure.

use serde_json::Value;

const ANNOTATION: &str = "x-mcp-header";
/// Keywords whose values are data and hold no schemas.
const DATA: [&str; 5] = ["const", "default", "enum", "example", "examples"];
/// Keywords that hold schemas by names of the author's choice.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentSchemas",
];
/// The largest integer that JavaScript holds exactly.
const SAFE: i64 = (1 << 53) - 1;

/// An argument that goes into a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    path: Vec<String>,
    name: String,
}

/// Why a tool may not be used over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its inputSchema is invalid at {pointer}: {problem}")]
pub struct BadAnnotation {
    /// JSON Pointer into the schema.
    pub pointer: String,
    /// What is wrong with the annotation.
    pub problem: String,
}

impl Mirror {
    /// The annotated arguments of a tool, as `tools/list` gives it.
    ///
    /// # Errors
    /// [`BadAnnotation`]: a client must not offer such a tool.
    pub fn all(tool: &Value) -> Result<Vec<Self>, BadAnnotation> {
        let mut found: Vec<Self> = Vec::new();
        if let Some(schema) = tool.get("inputSchema") {
            visit(schema, Place::Root, "", &mut Vec::new(), &mut found)?;
        }
        Ok(found)
    }

    /// Name of the header.
    pub fn header(&self) -> String {
        format!("Mcp-Param-{}", self.name)
    }

    /// The argument as text, not yet encoded; none where it is left out or `null`.
    pub fn value(&self, arguments: &Value) -> Option<String> {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, name| value.get(name))?;
        match value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(value) => Some(value.to_string()),
            // 7.0 is an integer to JSON Schema, and 7 to a header
            Value::Number(number) => Some(match number.as_f64().filter(|value| value.fract() == 0.0) {
                Some(value) if number.is_f64() => format!("{value:.0}"),
                _ => number.to_string(),
            }),
            _ => None,
        }
    }

    /// What is wrong with the arguments of a call: an integer that not every server can read exactly.
    pub fn fault(&self, arguments: &Value) -> Option<String> {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, name| value.get(name))?;
        let safe = !value.is_number()
            || value
                .as_i64()
                .is_some_and(|value| (-SAFE..=SAFE).contains(&value))
            || value.is_f64();
        (!safe).then(|| {
            format!(
                "/{} is mirrored into a header and beyond 2^53 - 1",
                self.path.join("/")
            )
        })
    }
}

/// How a schema is reached.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Root,
    /// By `properties` alone.
    Property,
    Elsewhere,
}

fn visit(
    schema: &Value,
    place: Place,
    pointer: &str,
    path: &mut Vec<String>,
    found: &mut Vec<Mirror>,
) -> Result<(), BadAnnotation> {
    let Some(members) = schema.as_object() else {
        return Ok(());
    };
    if let Some(name) = members.get(ANNOTATION) {
        let bad = |problem: &str| BadAnnotation {
            pointer: format!("{pointer}/{ANNOTATION}"),
            problem: problem.to_owned(),
        };
        if place != Place::Property {
            return Err(bad(
                "only a property that is reached by \"properties\" alone can be mirrored",
            ));
        }
        let name = name
            .as_str()
            .ok_or_else(|| bad("the name of a header is a string"))?;
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            return Err(bad("not a part of a header's name"));
        }
        if found.iter().any(|other| other.name.eq_ignore_ascii_case(name)) {
            return Err(bad("another property has the same name"));
        }
        if !is_primitive(schema) {
            return Err(bad("only a string, an integer or a boolean can be mirrored"));
        }
        found.push(Mirror {
            path: path.clone(),
            name: name.to_owned(),
        });
    }
    for (keyword, value) in members
        .iter()
        .filter(|(keyword, _)| !DATA.contains(&keyword.as_str()))
    {
        let pointer = format!("{pointer}/{keyword}");
        match value {
            Value::Object(schemas) if NAMED.contains(&keyword.as_str()) => {
                let place = if keyword == "properties" && place != Place::Elsewhere {
                    Place::Property
                } else {
                    Place::Elsewhere
                };
                for (name, schema) in schemas {
                    path.push(name.clone());
                    visit(schema, place, &format!("{pointer}/{name}"), path, found)?;
                    path.pop();
                }
            }
            Value::Object(_) => visit(value, Place::Elsewhere, &pointer, path, found)?,
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    visit(item, Place::Elsewhere, &format!("{pointer}/{index}"), path, found)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a value is a string, an integer or a boolean, or no value. Without `type` an `enum` or `const` tells.
fn is_primitive(schema: &Value) -> bool {
    let named = |kind: &Value| matches!(kind.as_str(), Some("string" | "integer" | "boolean"));
    let null = |kind: &Value| kind.as_str() == Some("null");
    let plain = |value: &Value| value.is_string() || value.is_i64() || value.is_boolean() || value.is_null();
    match (schema.get("type"), schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(kinds)), ..) => {
            kinds.iter().any(named) && kinds.iter().all(|kind| named(kind) || null(kind))
        }
        (Some(kind), ..) => named(kind),
        (None, Some(Value::Array(values)), _) => values.iter().all(plain),
        (None, None, Some(value)) => plain(value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(properties: Value) -> Value {
        json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}})
    }

    fn sent(tool: &Value, arguments: &Value) -> Vec<(String, Option<String>)> {
        let mirrors = Mirror::all(tool).unwrap();
        mirrors
            .iter()
            .map(|mirror| (mirror.header(), mirror.value(arguments)))
            .collect()
    }

    #[test]
    fn arguments_are_mirrored_by_their_paths() {
        let tool = tool(json!({
            "region": {"type": "string", "x-mcp-header": "Region"},
            "at": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "dry": {"type": "boolean", "x-mcp-header": "Dry"},
            "x-mcp-header": {"type": "string"},
        }));
        let header =
            |name: &str, value: Option<&str>| (format!("Mcp-Param-{name}"), value.map(str::to_owned));
        assert_eq!(
            sent(
                &tool,
                &json!({"region": "us-west1", "at": {"n": -7}, "dry": false})
            ),
            [
                header("Region", Some("us-west1")),
                header("N", Some("-7")),
                header("Dry", Some("false"))
            ]
        );
        // null and what is left out have no header
        assert_eq!(
            sent(&tool, &json!({"region": null, "at": {"n": 42.0}})),
            [
                header("Region", None),
                header("N", Some("42")),
                header("Dry", None)
            ]
        );
    }

    #[test]
    fn an_invalid_annotation_takes_the_tool_out() {
        let annotated = |kind: &str, name: Value| json!({"type": kind, "x-mcp-header": name});
        let bad = |properties: Value| Mirror::all(&tool(properties)).unwrap_err().to_string();
        for (properties, place) in [
            (
                json!({"a": annotated("string", json!(""))}),
                "/properties/a/x-mcp-header: not a part",
            ),
            (
                json!({"a": annotated("string", json!("a b"))}),
                "/properties/a/x-mcp-header: not a part",
            ),
            (
                json!({"a": annotated("string", json!("a\r\nb"))}),
                "/properties/a/x-mcp-header: not a part",
            ),
            (
                json!({"a": annotated("string", json!(7))}),
                "/properties/a/x-mcp-header: the name",
            ),
            (
                json!({"a": annotated("number", json!("A"))}),
                "/properties/a/x-mcp-header: only a string",
            ),
            (
                json!({"a": annotated("object", json!("A"))}),
                "/properties/a/x-mcp-header: only a string",
            ),
            (
                json!({"a": annotated("string", json!("A")), "b": annotated("string", json!("a"))}),
                "/properties/b/x-mcp-header: another property",
            ),
            (
                json!({"a": {"type": "array", "items": annotated("string", json!("A"))}}),
                "/properties/a/items/x-mcp-header: only a property",
            ),
            (
                json!({"a": {"anyOf": [{"properties": {"b": annotated("string", json!("A"))}}]}}),
                "/properties/a/anyOf/0/properties/b/x-mcp-header: only a property",
            ),
        ] {
            let error = bad(properties);
            assert!(error.contains(place), "{error}");
        }
        // data is no schema
        assert_eq!(
            Mirror::all(&tool(json!({"a": {"default": {"x-mcp-header": "A"}}}))),
            Ok(vec![])
        );
    }

    #[test]
    fn an_integer_must_be_exact_everywhere() {
        let mirrors = Mirror::all(&tool(json!({"n": {"type": "integer", "x-mcp-header": "N"}}))).unwrap();
        assert_eq!(mirrors[0].fault(&json!({"n": 9_007_199_254_740_991_i64})), None);
        assert!(
            mirrors[0]
                .fault(&json!({"n": 9_007_199_254_740_992_i64}))
                .is_some()
        );
        assert!(
            mirrors[0]
                .fault(&json!({"n": -9_007_199_254_740_992_i64}))
                .is_some()
        );
    }
}
