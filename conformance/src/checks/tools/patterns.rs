//! The regular expressions in the schemas of tools.

use super::list::each;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use serde_json::Value;

const ROW: &str = "both/schema/patterns-are-regular-expressions";

/// Longest pattern that is judged, in bytes: the engine's stack grows with what it is given.
const MAX_LENGTH: usize = 2000;

pub const CHECKS: &[Check] = &[check!("schema/patterns", BOTH, patterns, [ROW])];

/// Every pattern of a schema and its subschemas; what is an example or a constant is none.
fn patterns_in<'a>(schema: &'a Value, found: &mut Vec<&'a str>) {
    match schema {
        Value::Object(members) => {
            for (keyword, member) in members {
                match (keyword.as_str(), member) {
                    ("pattern", Value::String(pattern)) => found.push(pattern),
                    ("const" | "default" | "enum" | "examples", _) => {}
                    // the names of properties are no keywords
                    ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(named)) => {
                        if keyword == "patternProperties" {
                            found.extend(named.keys().map(String::as_str));
                        }
                        named.values().for_each(|schema| patterns_in(schema, found));
                    }
                    _ => patterns_in(member, found),
                }
            }
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| patterns_in(schema, found)),
        _ => {}
    }
}

/// Why a pattern is no regular expression, with the `u` flag or without.
fn fault(pattern: &str) -> Option<String> {
    if pattern.len() > MAX_LENGTH {
        return None;
    }
    let error = regress::Regex::with_flags(pattern, "u").err()?;
    regress::Regex::new(pattern)
        .is_err()
        .then(|| format!("the pattern {pattern:?} is no regular expression: {error}"))
}

async fn patterns(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, ROW, |tool| {
        let mut found = Vec::new();
        for schema in ["inputSchema", "outputSchema"] {
            patterns_in(tool.get(schema).unwrap_or(&Value::Null), &mut found);
        }
        found.into_iter().find_map(fault).map_or(Ok(()), Err)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn patterns_are_found_where_they_are_keywords() {
        let schema = json!({
            "properties": {
                "pattern": {"type": "string", "pattern": "a"},
                "b": {"items": {"pattern": "b"}, "default": {"pattern": "(["}},
            },
            "patternProperties": {"^c": {"pattern": "d"}},
        });
        let mut found = Vec::new();
        patterns_in(&schema, &mut found);
        assert_eq!(found, ["a", "b", "^c", "d"]);
    }

    #[test]
    fn only_what_no_engine_takes_is_wrong() {
        for good in [
            "^(?!a)\\w+$",
            "(?<y>\\d{4})-\\k<y>",
            "^\\p{L}+$",
            "\\-",
            "[^]",
            "\\u{1F600}",
        ] {
            assert_eq!(fault(good), None);
        }
        assert_eq!(fault(&"a|".repeat(100_000)), None);
        for bad in ["([", "a{2,1}", "*a", "(?<n>a"] {
            assert!(fault(bad).is_some(), "{bad}");
        }
    }
}
