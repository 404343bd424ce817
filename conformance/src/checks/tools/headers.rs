//! `x-mcp-header` annotations (2026-07-28, Tools, "x-mcp-header").

use super::list::each;
use crate::check::{Check, MODERN, check};
use crate::lab::{Lab, Stop};
use serde_json::Value;
use std::collections::HashSet;

/// 2^53 - 1, the largest integer of which a double holds it and the next (RFC 8259, 6).
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

pub const CHECKS: &[Check] = &[check!(
    "tools/x-mcp-header",
    MODERN,
    annotations,
    [
        "2026-07-28/tools/x-mcp-header-valid",
        "2026-07-28/tools/x-mcp-header-unique",
        "2026-07-28/tools/x-mcp-header-primitive",
        "2026-07-28/tools/x-mcp-header-reachable",
        "2026-07-28/tools/x-mcp-header-safe-integers",
    ]
)];

/// An annotation, the schema that has it, and whether `properties` alone lead there from the root.
struct Annotation<'a> {
    name: &'a Value,
    schema: &'a Value,
    is_reachable: bool,
}

/// Every annotation in a schema. `at_property`: the value is the schema of a property; `reachable`: by properties only.
fn find<'a>(value: &'a Value, at_property: bool, reachable: bool, found: &mut Vec<Annotation<'a>>) {
    let Some(members) = value.as_object() else {
        if let Some(items) = value.as_array() {
            items.iter().for_each(|item| find(item, false, false, found));
        }
        return;
    };
    if let Some(name) = members.get("x-mcp-header") {
        found.push(Annotation {
            name,
            schema: value,
            is_reachable: at_property && reachable,
        });
    }
    for (name, member) in members {
        match (name.as_str(), member.as_object()) {
            ("properties", Some(properties)) => {
                properties
                    .values()
                    .for_each(|property| find(property, true, reachable, found));
            }
            ("x-mcp-header" | "default" | "const" | "enum" | "examples", _) => {}
            _ => find(member, false, false, found),
        }
    }
}

fn all(tool: &Value) -> Vec<Annotation<'_>> {
    let mut found = Vec::new();
    find(&tool["inputSchema"], false, true, &mut found);
    found
}

/// A bound or value of an integer that a double can't hold exactly.
fn unsafe_integer(schema: &Value) -> Option<&Value> {
    if schema["type"] != "integer" {
        return None;
    }
    let listed = schema["enum"].as_array().into_iter().flatten();
    ["minimum", "maximum", "default", "const"]
        .into_iter()
        .filter_map(|name| schema.get(name))
        .chain(listed)
        .find(|value| value.as_f64().is_some_and(|number| number.abs() > MAX_SAFE))
}

/// RFC 9110, 5.6.2.
fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

async fn annotations(lab: &mut Lab) -> Result<(), Stop> {
    if !super::list::listed(lab)?
        .iter()
        .any(|(tool, _)| !all(tool).is_empty())
    {
        return Err(Stop::Skip("no tool has an x-mcp-header annotation".to_owned()));
    }
    each(lab, "2026-07-28/tools/x-mcp-header-valid", |tool| {
        let bad = all(tool)
            .into_iter()
            .find(|one| !one.name.as_str().is_some_and(is_token));
        bad.map_or(Ok(()), |one| {
            Err(format!("x-mcp-header {} is no HTTP token", one.name))
        })
    })?;
    each(lab, "2026-07-28/tools/x-mcp-header-unique", |tool| {
        let mut seen = HashSet::new();
        let names: Vec<_> = all(tool)
            .into_iter()
            .filter_map(|one| one.name.as_str().map(str::to_ascii_lowercase))
            .collect();
        match names.into_iter().find(|name| !seen.insert(name.clone())) {
            Some(name) => Err(format!("x-mcp-header {name:?} is there twice")),
            None => Ok(()),
        }
    })?;
    each(lab, "2026-07-28/tools/x-mcp-header-primitive", |tool| {
        let of_kind = |one: &Annotation<'_>| {
            matches!(
                one.schema["type"].as_str(),
                Some("string" | "integer" | "boolean")
            )
        };
        let bad = all(tool).into_iter().find(|one| !of_kind(one));
        bad.map_or(Ok(()), |one| {
            Err(format!(
                "x-mcp-header {} is on a parameter of type {}",
                one.name, one.schema["type"]
            ))
        })
    })?;
    each(lab, "2026-07-28/tools/x-mcp-header-safe-integers", |tool| {
        let found = all(tool);
        let mut bad = found
            .iter()
            .filter_map(|one| Some((one.name, unsafe_integer(one.schema)?)));
        bad.next().map_or(Ok(()), |(name, value)| {
            Err(format!(
                "x-mcp-header {name} is on an integer that may be {value}"
            ))
        })
    })?;
    each(lab, "2026-07-28/tools/x-mcp-header-reachable", |tool| {
        let bad = all(tool).into_iter().find(|one| !one.is_reachable);
        bad.map_or(Ok(()), |one| {
            Err(format!(
                "x-mcp-header {} is not reached by properties alone",
                one.name
            ))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_properties_lead_to_an_annotation() {
        let tool = json!({"inputSchema": {"type": "object", "properties": {
            "a": {"type": "string", "x-mcp-header": "A"},
            "b": {"type": "object", "properties": {"c": {"type": "integer", "x-mcp-header": "C"}}},
            "d": {"type": "array", "items": {"type": "string", "x-mcp-header": "D"}},
        }}});
        let reachable: Vec<_> = all(&tool)
            .iter()
            .map(|one| (one.name.as_str().unwrap().to_owned(), one.is_reachable))
            .collect();
        assert_eq!(
            reachable,
            [
                ("A".to_owned(), true),
                ("C".to_owned(), true),
                ("D".to_owned(), false)
            ]
        );
    }

    #[test]
    fn an_integer_in_a_header_is_exact_in_a_double() {
        let of = |most: i64| json!({"type": "integer", "minimum": 0, "maximum": most});
        assert_eq!(unsafe_integer(&of(9_007_199_254_740_991)), None);
        assert_eq!(
            unsafe_integer(&of(9_007_199_254_740_992)),
            Some(&json!(9_007_199_254_740_992_i64))
        );
        assert_eq!(unsafe_integer(&json!({"type": "number", "maximum": 1e300})), None);
    }

    #[test]
    fn a_header_name_is_a_token() {
        assert!(is_token("Region-1"));
        for bad in ["", "a b", "a:b", "\u{fc}", "a\r"] {
            assert!(!is_token(bad), "{bad:?}");
        }
    }
}
