//! Compares a value with a pattern: pure.

use crate::transcript::Captures;
use crate::transcript::pattern::{Pattern, Rule, escape};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;

/// A place where what came is not what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON Pointer (RFC 6901) into the message; empty for the whole.
    pub pointer: String,
    /// What was expected, in words or JSON.
    pub expected: String,
    /// What came.
    pub got: String,
}

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Every place that differs; empty for a match.
    pub mismatches: Vec<Mismatch>,
    /// What was captured on the way.
    pub captured: Captures,
}

impl Outcome {
    fn miss(&mut self, pointer: &str, expected: impl Into<String>, got: Option<&Value>) {
        let got = got.map_or_else(|| "nothing".to_owned(), Value::to_string);
        self.mismatches.push(Mismatch {
            pointer: pointer.to_owned(),
            expected: expected.into(),
            got,
        });
    }
}

/// Compares what came (none: nothing is there) with a pattern.
pub fn compare(pattern: &Pattern, got: Option<&Value>, captures: &Captures) -> Outcome {
    let mut outcome = Outcome::default();
    visit(pattern, got, captures, "", &mut outcome);
    outcome
}

fn fits(pattern: &Pattern, got: Option<&Value>, captures: &Captures) -> Option<Captures> {
    let outcome = compare(pattern, got, captures);
    outcome.mismatches.is_empty().then_some(outcome.captured)
}

fn visit(pattern: &Pattern, got: Option<&Value>, captures: &Captures, at: &str, outcome: &mut Outcome) {
    match (pattern, got) {
        (Pattern::Absent, None) | (Pattern::Optional(_), None) => {}
        (Pattern::Absent, got) => outcome.miss(at, "nothing", got),
        (Pattern::Optional(inner), got) => visit(inner, got, captures, at, outcome),
        (Pattern::Capture(name, inner), got) => {
            visit(inner, got, captures, at, outcome);
            if let Some(value) = got {
                outcome.captured.insert(name, value.clone());
            }
        }
        (Pattern::Matcher { source, rule }, got) => match got {
            Some(value) => apply(rule, source, value, captures, at, outcome),
            // an alternative may be that nothing is there
            None => {
                let alternatives = if let Rule::OneOf(alternatives) = rule {
                    alternatives.as_slice()
                } else {
                    &[]
                };
                if !alternatives
                    .iter()
                    .any(|alternative| fits(alternative, None, captures).is_some())
                {
                    outcome.miss(at, source.to_string(), None);
                }
            }
        },
        (Pattern::Array(patterns), Some(Value::Array(items))) => {
            for index in 0..patterns.len().max(items.len()) {
                let at = format!("{at}/{index}");
                match patterns.get(index) {
                    Some(pattern) => visit(pattern, items.get(index), captures, &at, outcome),
                    None => outcome.miss(&at, "nothing", items.get(index)),
                }
            }
        }
        (Pattern::Object { members, extra }, Some(Value::Object(got))) => {
            for (name, pattern) in members {
                visit(
                    pattern,
                    got.get(name),
                    captures,
                    &format!("{at}/{}", escape(name)),
                    outcome,
                );
            }
            let unnamed = got
                .iter()
                .filter(|(name, _)| !members.iter().any(|(known, _)| known == *name));
            for (name, value) in unnamed.filter(|_| !extra) {
                outcome.miss(&format!("{at}/{}", escape(name)), "nothing", Some(value));
            }
        }
        (pattern, got) => {
            let expected = expected(pattern, captures);
            if got != Some(&expected) {
                outcome.miss(at, expected.to_string(), got);
            }
        }
    }
}

fn apply(rule: &Rule, source: &Value, value: &Value, captures: &Captures, at: &str, outcome: &mut Outcome) {
    let holds = match (rule, value) {
        (Rule::Any, _) => true,
        (Rule::Type(types), value) => types.iter().any(|kind| kind.holds(value)),
        (Rule::Regex(regex), Value::String(text)) => regex.is_match(text),
        (Rule::Range(low, high), Value::Number(number)) => {
            low.as_ref()
                .is_none_or(|low| order(low, number) != Some(Ordering::Greater))
                && high
                    .as_ref()
                    .is_none_or(|high| order(number, high) != Some(Ordering::Greater))
        }
        (Rule::Set(patterns), Value::Array(items)) => match assign(patterns, items, captures) {
            Some(found) => {
                outcome.captured.extend(found);
                true
            }
            None => false,
        },
        (Rule::OneOf(patterns), value) => {
            match patterns
                .iter()
                .find_map(|pattern| fits(pattern, Some(value), captures))
            {
                Some(found) => {
                    outcome.captured.extend(found);
                    true
                }
                None => false,
            }
        }
        (Rule::Each(pattern), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                visit(pattern, Some(item), captures, &format!("{at}/{index}"), outcome);
            }
            true
        }
        (Rule::Json(pattern), Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(inner) => {
                visit(pattern, Some(&inner), captures, at, outcome);
                true
            }
            Err(error) => {
                outcome.miss(at, format!("a string that holds JSON ({error})"), Some(value));
                true
            }
        },
        (Rule::Schema(schema), value) => match schema.validate(value) {
            Ok(()) => true,
            Err(error) => {
                outcome.miss(
                    &format!("{at}{}", error.instance_path()),
                    format!("valid under the schema: {error}"),
                    Some(value),
                );
                true
            }
        },
        _ => false,
    };
    if !holds {
        outcome.miss(at, source.to_string(), Some(value));
    }
}

/// Orders two numbers: integers exactly, others as floats.
fn order(a: &Number, b: &Number) -> Option<Ordering> {
    let whole = |n: &Number| n.as_i64().map(i128::from).or_else(|| n.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}

/// Gives each pattern an element of its own, by augmenting paths; none if there is no way.
fn assign(patterns: &[Pattern], items: &[Value], captures: &Captures) -> Option<Captures> {
    if patterns.len() != items.len() {
        return None;
    }
    let fitting: Vec<Vec<Option<Captures>>> = patterns
        .iter()
        .map(|pattern| {
            items
                .iter()
                .map(|item| fits(pattern, Some(item), captures))
                .collect()
        })
        .collect();
    let mut owner: Vec<Option<usize>> = vec![None; items.len()];
    for pattern in 0..patterns.len() {
        if !place(pattern, &fitting, &mut owner, &mut vec![false; items.len()]) {
            return None;
        }
    }
    let mut found = Captures::default();
    for (item, pattern) in owner.into_iter().enumerate() {
        found.extend(fitting[pattern?][item].clone()?);
    }
    Some(found)
}

fn place(
    pattern: usize,
    fitting: &[Vec<Option<Captures>>],
    owner: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for item in 0..owner.len() {
        if tried[item] || fitting[pattern][item].is_none() {
            continue;
        }
        tried[item] = true;
        if owner[item].is_none_or(|other| place(other, fitting, owner, tried)) {
            owner[item] = Some(pattern);
            return true;
        }
    }
    false
}

/// A pattern as JSON: matchers as they were written, captures filled in.
pub fn expected(pattern: &Pattern, captures: &Captures) -> Value {
    let wrap = |name: &str, value: Value| Value::Object(Map::from_iter([(name.to_owned(), value)]));
    match pattern {
        Pattern::Exactly(value) => value.clone(),
        Pattern::Text(text) => captures.fill_text(text).into(),
        Pattern::Use(name) => captures.get(name).cloned().unwrap_or_default(),
        Pattern::Array(items) => items.iter().map(|item| expected(item, captures)).collect(),
        Pattern::Object { members, .. } => members
            .iter()
            .map(|(name, pattern)| (name.clone(), expected(pattern, captures)))
            .collect(),
        Pattern::Absent => wrap("$absent", true.into()),
        Pattern::Optional(inner) => wrap("$optional", expected(inner, captures)),
        Pattern::Capture(_, inner) => expected(inner, captures),
        Pattern::Matcher { source, .. } => source.clone(),
    }
}

/// What should have come, as near to what came as the pattern lets it be: where it matches, what came; where it does
/// not, what was expected. None: nothing.
pub fn nearest(pattern: &Pattern, got: Option<&Value>, captures: &Captures) -> Option<Value> {
    if fits(pattern, got, captures).is_some() {
        return got.cloned();
    }
    match (pattern, got) {
        (Pattern::Absent, _) => None,
        (Pattern::Capture(_, inner) | Pattern::Optional(inner), got) => nearest(inner, got, captures),
        (Pattern::Array(patterns), Some(Value::Array(items))) => {
            let pairs = patterns.iter().enumerate();
            Some(
                pairs
                    .filter_map(|(index, pattern)| nearest(pattern, items.get(index), captures))
                    .collect(),
            )
        }
        (Pattern::Object { members, extra }, Some(Value::Object(got))) => {
            let named = |name: &str| {
                members
                    .iter()
                    .find(|(known, _)| known == name)
                    .map(|(_, pattern)| pattern)
            };
            let mut object = Map::new();
            for (name, value) in got {
                match named(name) {
                    Some(pattern) => {
                        object.extend(
                            nearest(pattern, Some(value), captures).map(|value| (name.clone(), value)),
                        );
                    }
                    None if *extra => object.extend([(name.clone(), value.clone())]),
                    None => {}
                }
            }
            for (name, pattern) in members.iter().filter(|(name, _)| !got.contains_key(name)) {
                object.extend(nearest(pattern, None, captures).map(|value| (name.clone(), value)));
            }
            Some(object.into())
        }
        (
            Pattern::Matcher {
                rule: Rule::Each(pattern),
                ..
            },
            Some(Value::Array(items)),
        ) => Some(
            items
                .iter()
                .filter_map(|item| nearest(pattern, Some(item), captures))
                .collect(),
        ),
        (pattern, _) => Some(expected(pattern, captures)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::pattern::Compiler;
    use serde_json::json;
    use std::collections::BTreeSet;

    fn run(pattern: Value, got: &Value) -> Outcome {
        let known = BTreeSet::from(["c".to_owned()]);
        let mut compiler = Compiler {
            known: &known,
            captured: BTreeSet::new(),
            extra: false,
        };
        let mut captures = Captures::default();
        captures.insert("c", json!("kept"));
        compare(&compiler.compile(&pattern, "").unwrap(), Some(got), &captures)
    }

    fn yes(pattern: Value, got: Value) {
        assert_eq!(run(pattern, &got).mismatches, []);
    }

    /// The pointers that differ.
    fn no(pattern: Value, got: Value) -> Vec<String> {
        let mismatches = run(pattern, &got).mismatches;
        assert!(!mismatches.is_empty());
        mismatches.into_iter().map(|mismatch| mismatch.pointer).collect()
    }

    #[test]
    fn integer_float_and_string_are_three_values() {
        for (a, b) in [
            ("1", "1.0"),
            ("1", "\"1\""),
            ("1.0", "\"1.0\""),
            ("0", "-0.0"),
            ("0", "false"),
            ("null", "0"),
        ] {
            let (a, b): (Value, Value) = (serde_json::from_str(a).unwrap(), serde_json::from_str(b).unwrap());
            yes(a.clone(), a.clone());
            no(a.clone(), b.clone());
            no(b, a);
        }
        no(json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992_i64));
        no(json!(u64::MAX), json!(u64::MAX - 1));
    }

    #[test]
    fn every_member_and_no_other() {
        yes(json!({"a": 1, "b": [2]}), json!({"b": [2], "a": 1}));
        assert_eq!(
            no(json!({"a": 1, "b": [2]}), json!({"a": 2, "b": [2, 3], "c/d": 4})),
            ["/a", "/b/1", "/c~1d"]
        );
        assert_eq!(no(json!({"a": null}), json!({})), ["/a"]);
    }

    #[test]
    fn matchers_hold_for_what_they_say() {
        yes(json!({"$any": true}), json!(null));
        yes(json!({"$type": ["string", "null"]}), json!(null));
        yes(json!({"$type": "number"}), json!(1));
        no(json!({"$type": "integer"}), json!(1.0));
        no(json!({"$type": "boolean"}), json!("true"));
        yes(json!({"$regex": "^a+$"}), json!("aa"));
        no(json!({"$regex": "^a+$"}), json!("ab"));
        no(json!({"$regex": "1"}), json!(1));
        yes(json!({"$range": [0, 100]}), json!(100));
        yes(json!({"$range": [null, 1.5]}), json!(-1e9));
        no(json!({"$range": [0, 100]}), json!(100.5));
        no(json!({"$range": [0, null]}), json!("1"));
        yes(json!({"$set": [1, {"$type": "integer"}]}), json!([2, 1]));
        no(json!({"$set": [1, 2]}), json!([1, 1]));
        no(json!({"$set": [1]}), json!([1, 1]));
        yes(json!({"$oneOf": [1, {"$type": "string"}]}), json!("x"));
        no(json!({"$oneOf": [1, 2]}), json!(3));
        yes(json!({"$each": {"$type": "integer"}}), json!([]));
        assert_eq!(
            no(json!({"$each": {"$type": "integer"}}), json!([1, "2"])),
            ["/1"]
        );
        yes(
            json!({"$schema": {"type": "object", "required": ["a"]}}),
            json!({"a": 1}),
        );
        assert_eq!(
            no(
                json!({"$schema": {"properties": {"a": {"type": "string"}}}}),
                json!({"a": 1})
            ),
            ["/a"]
        );
        yes(json!({"$json": {"a": {"$type": "integer"}}}), json!("{\"a\":1}"));
        no(json!({"$json": {"a": 1}}), json!("{\"a\":2}"));
        no(json!({"$json": {"$any": true}}), json!("{"));
        yes(json!({"$literal": {"$any": true}}), json!({"$any": true}));
        no(json!({"$literal": {"$any": true}}), json!(1));
        yes(json!({"$extra": "allow", "a": 1}), json!({"a": 1, "b": 2}));
        no(json!({"$extra": "allow", "a": 1}), json!({"b": 2}));
    }

    #[test]
    fn members_may_be_wanted_away_or_either_way() {
        yes(json!({"a": {"$absent": true}}), json!({}));
        no(json!({"a": {"$absent": true}}), json!({"a": null}));
        yes(json!({"a": {"$optional": 1}}), json!({}));
        yes(json!({"a": {"$optional": 1}}), json!({"a": 1}));
        no(json!({"a": {"$optional": 1}}), json!({"a": 2}));
        no(json!({"a": {"$any": true}}), json!({}));
        yes(json!({"a": {"$oneOf": [1, {"$absent": true}]}}), json!({}));
    }

    #[test]
    fn captures_are_kept_and_used() {
        yes(json!([{"$use": "c"}, "<${c}>"]), json!(["kept", "<kept>"]));
        no(json!({"$use": "c"}), json!("other"));
        let outcome = run(
            json!({"$set": [{"$capture": "n", "$match": {"$type": "integer"}}, "x"]}),
            &json!(["x", 7]),
        );
        assert_eq!(outcome.captured.get("n"), Some(&json!(7)));
    }

    #[test]
    fn a_set_finds_the_only_way_to_pair() {
        let any_of = |list: Value| json!({"$oneOf": list});
        yes(
            json!({"$set": [any_of(json!([1, 2])), any_of(json!([1, 3])), any_of(json!([1, 1]))]}),
            json!([1, 2, 3]),
        );
    }

    #[test]
    fn the_nearest_value_differs_only_where_it_must() {
        let known = BTreeSet::new();
        let mut compiler = Compiler {
            known: &known,
            captured: BTreeSet::new(),
            extra: false,
        };
        let pattern = compiler
            .compile(
                &json!({"id": 7, "m": {"$type": "string"}, "t": [{"$type": "integer"}]}),
                "",
            )
            .unwrap();
        let got = json!({"m": "free text", "id": "7", "t": [1, 2], "more": 1});
        assert_eq!(
            nearest(&pattern, Some(&got), &Captures::default()),
            Some(json!({"m": "free text", "id": 7, "t": [1]}))
        );
    }
}
