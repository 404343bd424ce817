//! What of an answer is not compared.

use crate::matcher;
use crate::transcript::Captures;
use crate::transcript::pattern::{Pattern, Rule};
use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// Members that belong to one board, or to one moment.
pub const VARYING: [&str; 7] = [
    "mac",
    "chip",
    "build_id",
    "uptime_ms",
    "heap_used",
    "heap_peak",
    "job_id",
];

/// The id of a job in the text of a refusal.
#[allow(clippy::unwrap_used, reason = "the tests compile it")]
static JOB_ID: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"( job | id ")[0-9a-f]{8}\b(")?"#).unwrap());

/// The same value with what varies replaced by its name, also in JSON inside a text. A member of a schema is none of an
/// answer: its value is an object.
pub fn steady(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            // a board's name is made of its MAC address
            let is_board = members.contains_key("mac");
            let steadied = members.iter().map(|(name, value)| {
                let varies = VARYING.contains(&name.as_str()) || is_board && name == "name";
                let steadied = match value {
                    Value::String(_) | Value::Number(_) if varies => format!("<{name}>").into(),
                    value => steady(value),
                };
                (name.clone(), steadied)
            });
            Value::Object(steadied.collect())
        }
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::String(text) if text.starts_with('{') => match serde_json::from_str::<Value>(text) {
            // as it stands, where nothing varies: the order of members and the spaces are compared then
            Ok(inner) if steady(&inner) != inner => steady(&inner).to_string().into(),
            _ => value.clone(),
        },
        Value::String(text) => JOB_ID.replace_all(text, "$1<job_id>$2").into(),
        other => other.clone(),
    }
}

/// Replaces what a matcher covers by the matcher, where it holds.
pub fn mask(value: &mut Value, pattern: &Pattern, captures: &Captures) {
    match (pattern, value) {
        (Pattern::Capture(_, inner) | Pattern::Optional(inner), value) => mask(value, inner, captures),
        (Pattern::Array(patterns), Value::Array(items)) => {
            for (pattern, item) in patterns.iter().zip(items) {
                mask(item, pattern, captures);
            }
        }
        (Pattern::Object { members, .. }, Value::Object(values)) => {
            for (name, pattern) in members {
                if let Some(value) = values.get_mut(name) {
                    mask(value, pattern, captures);
                }
            }
        }
        (
            Pattern::Matcher {
                rule: Rule::Each(pattern),
                ..
            },
            Value::Array(items),
        ) => {
            for item in items {
                mask(item, pattern, captures);
            }
        }
        (
            Pattern::Matcher {
                rule: Rule::Json(pattern),
                ..
            },
            Value::String(text),
        ) => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                mask(&mut inner, pattern, captures);
                *text = inner.to_string();
            }
        }
        (Pattern::Matcher { source, .. }, value) => {
            // captures are not known here, so a matcher that uses one covers whatever came
            let uses_captures = source.to_string().contains("\"$use\"") || source.to_string().contains("${");
            if uses_captures
                || matcher::compare(pattern, Some(value), captures)
                    .mismatches
                    .is_empty()
            {
                *value = source.clone();
            }
        }
        // a captured value differs from server to server
        (Pattern::Use(name), value) => *value = format!("<{name}>").into(),
        (Pattern::Text(text), value @ Value::String(_)) => *value = text.clone().into(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::pattern::Compiler;
    use serde_json::json;
    use std::collections::BTreeSet;

    fn masked(pattern: Value, mut value: Value) -> Value {
        let mut compiler = Compiler {
            known: &BTreeSet::new(),
            captured: BTreeSet::new(),
            extra: false,
        };
        let pattern = compiler.compile(&pattern, "").unwrap();
        mask(&mut value, &pattern, &Captures::default());
        value
    }

    #[test]
    fn only_what_a_matcher_covers_and_holds_for_is_masked() {
        let pattern =
            json!({"a": {"$type": "integer"}, "b": {"$json": {"c": {"$any": true}, "d": 1}}, "e": 2});
        assert_eq!(
            masked(
                pattern.clone(),
                json!({"a": 7, "b": "{\"c\":8,\"d\":9}", "e": 3, "f": 4})
            ),
            json!({"a": {"$type": "integer"}, "b": "{\"c\":{\"$any\":true},\"d\":9}", "e": 3, "f": 4})
        );
        assert_eq!(masked(pattern, json!({"a": "7"})), json!({"a": "7"}));
    }

    #[test]
    fn what_belongs_to_a_board_is_named_instead() {
        assert_eq!(
            steady(
                &json!({"mac": "02:00:00:00:00:01", "name": "mcp-hil-000001", "text": "{\"heap_used\":1,\"x\":2}",
                "properties": {"mac": {"type": "string"}}, "said": "in use by job 0a1b2c3d; stop it"})
            ),
            json!({"mac": "<mac>", "name": "<name>", "text": "{\"heap_used\":\"<heap_used>\",\"x\":2}",
                "properties": {"mac": {"type": "string"}}, "said": "in use by job <job_id>; stop it"})
        );
        let same = json!({"text": "{ \"x\":  2 }", "name": "echo"});
        assert_eq!(steady(&same), same);
    }
}
