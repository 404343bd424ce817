//! From what came to what is expected: what was the same in every play stays, what differed gets a matcher. Pure.

use super::secret::is_secret;
use super::wording;
use crate::access::Access;
use crate::client::Reply;
use crate::compare::VARYING;
use crate::transcript::Captures;
use crate::transcript::captures::has_names;
use crate::transcript::pattern::escape;
use serde_json::{Map, Value, json};

/// A captured text shorter than this is not looked for inside others.
const SHORT: usize = 4;

/// Numbers that tell a moment, and may be the same in every play by chance.
const MOMENTARY: [&str; 4] = ["runtime_ms", "elapsed_ms", "duration_ms", "timestamp"];

/// What was done, for people.
#[derive(Default)]
pub struct Notes {
    /// Name of the step under way.
    pub step: String,
    pub varying: Vec<String>,
    pub redacted: Vec<String>,
}

/// What is known beside the values.
struct Scene<'a> {
    captures: Vec<&'a Captures>,
    names: Vec<String>,
    access: &'a Access,
    notes: &'a mut Notes,
}

/// The `expect` of a step, from the answers of each play and what each had captured before.
pub fn expect(seen: &[(&Reply, &Captures)], access: &Access, notes: &mut Notes) -> Value {
    let captures: Vec<_> = seen.iter().map(|(_, captures)| *captures).collect();
    let names = captures
        .first()
        .map(|first| first.names().map(str::to_owned).collect())
        .unwrap_or_default();
    let mut scene = Scene {
        captures,
        names,
        access,
        notes,
    };
    let mut expect = Map::new();
    let statuses: Vec<_> = seen.iter().filter_map(|(reply, _)| reply.status).collect();
    if let Some(first) = statuses.first() {
        let mut distinct = statuses.clone();
        distinct.sort_unstable();
        distinct.dedup();
        let status = if distinct.len() > 1 {
            json!({"$oneOf": distinct})
        } else {
            (*first).into()
        };
        expect.insert("status".to_owned(), status);
    }
    let messages: Vec<_> = seen
        .iter()
        .filter_map(|(reply, _)| reply.message.as_ref())
        .collect();
    let bodies: Vec<_> = seen
        .iter()
        .map(|(reply, _)| Value::from(String::from_utf8_lossy(&reply.body)))
        .collect();
    if messages.len() == seen.len() {
        expect.insert("message".to_owned(), general(&messages, None, "", &mut scene));
    } else if seen
        .iter()
        .all(|(reply, _)| reply.message.is_none() && reply.body.is_empty())
    {
        expect.insert("message".to_owned(), json!({"$absent": true}));
    } else {
        expect.insert(
            "body".to_owned(),
            general(&bodies.iter().collect::<Vec<_>>(), None, "body", &mut scene),
        );
    }
    expect.into()
}

/// A matcher for the JSON types of some values.
pub fn kind<'a>(values: impl Iterator<Item = &'a Value>) -> Value {
    let mut kinds: Vec<_> = values
        .map(|value| match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kinds.as_slice() {
        ["integer", "number"] => json!({"$type": "number"}),
        [kind] => json!({"$type": kind}),
        _ => json!({"$type": kinds}),
    }
}

fn general(samples: &[&Value], name: Option<&str>, pointer: &str, scene: &mut Scene<'_>) -> Value {
    if let Some(objects) = all(samples, Value::as_object) {
        return object(samples, &objects, pointer, scene);
    }
    if let Some(arrays) = all(samples, Value::as_array) {
        let length = arrays.first().map_or(0, |array| array.len());
        if arrays.iter().any(|array| array.len() != length) {
            scene.varies(pointer);
            return json!({"$type": "array"});
        }
        let element = |index: usize| {
            let items: Vec<_> = arrays.iter().filter_map(|array| array.get(index)).collect();
            general(&items, None, &format!("{pointer}/{index}"), scene)
        };
        return (0..length).map(element).collect();
    }
    if let Some(texts) = all(samples, Value::as_str) {
        return text(&texts, name, pointer, scene);
    }
    let first = samples.first().copied().cloned().unwrap_or_default();
    let volatile =
        name.is_some_and(|name| VARYING.contains(&name) || MOMENTARY.contains(&name)) && first.is_number();
    if samples.iter().all(|sample| **sample == first) && !volatile {
        return first;
    }
    scene.used(samples).unwrap_or_else(|| {
        scene.varies(pointer);
        kind(samples.iter().copied())
    })
}

fn all<'a, T: ?Sized>(samples: &[&'a Value], of: impl Fn(&'a Value) -> Option<&'a T>) -> Option<Vec<&'a T>> {
    samples.iter().map(|sample| of(sample)).collect()
}

fn object(
    samples: &[&Value],
    objects: &[&Map<String, Value>],
    pointer: &str,
    scene: &mut Scene<'_>,
) -> Value {
    let mut members = Map::new();
    let names = objects.iter().flat_map(|object| object.keys());
    for name in names {
        if members.contains_key(name) {
            continue;
        }
        let values: Vec<_> = objects.iter().filter_map(|object| object.get(name)).collect();
        let pointer = format!("{pointer}/{}", escape(name));
        let value = general(&values, Some(name), &pointer, scene);
        let value = if values.len() == objects.len() {
            value
        } else {
            json!({"$optional": value})
        };
        members.insert(name.clone(), value);
    }
    // members that the format would take for its own
    let is_lone = members.len() == 1 && members.keys().all(|name| name.starts_with('$'));
    if !is_lone && !members.contains_key("$capture") && !members.contains_key("$extra") {
        return members.into();
    }
    match samples {
        [first, rest @ ..]
            if rest.iter().all(|other| other == first)
                && scene.access.redact(&first.to_string()) == first.to_string() =>
        {
            json!({"$literal": first})
        }
        _ => {
            scene.varies(pointer);
            json!({"$type": "object"})
        }
    }
}

fn text(texts: &[&str], name: Option<&str>, pointer: &str, scene: &mut Scene<'_>) -> Value {
    // JSON in a text is looked into, as far as something in it varies or is secret
    let parsed: Option<Vec<Value>> = texts
        .iter()
        .map(|text| {
            serde_json::from_str(text)
                .ok()
                .filter(|value: &Value| value.is_object() || value.is_array())
        })
        .collect();
    let same = texts.iter().all(|text| *text == texts[0]);
    if let Some(parsed) = parsed.filter(|parsed| !parsed.is_empty()) {
        let before = scene.notes.varying.len() + scene.notes.redacted.len();
        let inner = general(&parsed.iter().collect::<Vec<_>>(), None, pointer, scene);
        let noted = scene.notes.varying.len() + scene.notes.redacted.len() > before;
        return if same && !noted {
            literal(texts[0])
        } else {
            json!({"$json": inner})
        };
    }
    let is_secret = texts
        .iter()
        .any(|text| is_secret(name, text) || scene.access.is_told_by(text));
    if !same {
        let samples: Vec<Value> = texts.iter().map(|&text| text.into()).collect();
        let used = scene.used(&samples.iter().collect::<Vec<_>>());
        // what stands around a captured text may be the secret
        if let Some(used) = used.or_else(|| scene.used_inside(texts).filter(|_| !is_secret)) {
            return used;
        }
    }
    if is_secret {
        scene
            .notes
            .redacted
            .push(format!("{}: {pointer}", scene.notes.step));
        return json!({"$type": "string"});
    }
    if name.is_some_and(|name| VARYING.contains(&name)) {
        scene.varies(pointer);
        return json!({"$type": "string"});
    }
    if same {
        return literal(texts[0]);
    }
    scene.varies(pointer);
    match wording::regex(texts) {
        Some(regex) => json!({"$regex": regex}),
        None => json!({"$type": "string"}),
    }
}

/// A text that stands for itself.
fn literal(text: &str) -> Value {
    if has_names(text) {
        json!({"$literal": text})
    } else {
        text.into()
    }
}

impl Scene<'_> {
    fn varies(&mut self, pointer: &str) {
        self.notes.varying.push(format!("{}: {pointer}", self.notes.step));
    }

    /// The capture whose value this is in every play.
    fn used(&self, samples: &[&Value]) -> Option<Value> {
        let is = |name: &&String| {
            samples.len() == self.captures.len()
                && samples
                    .iter()
                    .zip(&self.captures)
                    .all(|(sample, captures)| captures.get(name) == Some(*sample))
        };
        self.names.iter().find(is).map(|name| json!({"$use": name}))
    }

    /// The texts with captured texts in them named; none unless that makes them all alike.
    fn used_inside(&self, texts: &[&str]) -> Option<Value> {
        if texts.len() != self.captures.len() || texts.iter().any(|text| has_names(text)) {
            return None;
        }
        let name_all = |(text, captures): (&&str, &&Captures)| {
            self.names
                .iter()
                .fold((*text).to_owned(), |text, name| match captures.get(name) {
                    Some(Value::String(value)) if value.len() >= SHORT => {
                        text.replace(value, &format!("${{{name}}}"))
                    }
                    _ => text,
                })
        };
        let mut named = texts.iter().zip(&self.captures).map(name_all);
        let first = named.next()?;
        (has_names(&first) && named.all(|other| other == first)).then(|| first.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The matcher for what came in two plays, which had captured these values as `c`.
    fn of(first: Value, second: Value, captured: [&str; 2]) -> (Value, Vec<String>, Vec<String>) {
        let captures = captured.map(|value| {
            let mut captures = Captures::default();
            captures.insert("c", value.into());
            captures
        });
        let mut notes = Notes::default();
        let mut scene = Scene {
            captures: captures.iter().collect(),
            names: vec!["c".to_owned()],
            access: &Access::default(),
            notes: &mut notes,
        };
        let value = general(&[&first, &second], None, "", &mut scene);
        (value, notes.varying, notes.redacted)
    }

    fn matcher(first: Value, second: Value) -> Value {
        of(first, second, ["one!", "two!"]).0
    }

    #[test]
    fn what_is_the_same_is_expected_again() {
        let value =
            json!({"a": [1, "x", null, 1.5], "b": {"$ref": "#/c"}, "d": "say ${c}", "e": "{\"f\": 1}"});
        assert_eq!(
            matcher(value.clone(), value),
            json!({"a": [1, "x", null, 1.5], "b": {"$literal": {"$ref": "#/c"}}, "d": {"$literal": "say ${c}"}, "e": "{\"f\": 1}"})
        );
    }

    #[test]
    fn what_differs_is_matched() {
        assert_eq!(matcher(json!(1), json!(2)), json!({"$type": "integer"}));
        assert_eq!(matcher(json!(1), json!(2.5)), json!({"$type": "number"}));
        assert_eq!(
            matcher(json!(1), json!(null)),
            json!({"$type": ["integer", "null"]})
        );
        assert_eq!(matcher(json!([1]), json!([])), json!({"$type": "array"}));
        assert_eq!(
            matcher(json!({"a": 1}), json!({})),
            json!({"a": {"$optional": 1}})
        );
        assert_eq!(
            matcher(json!("up 7 s (id 0a1b2c3d)"), json!("up 12 s (id 9f8e7d6c)")),
            json!({"$regex": "^up [0-9]+ s \\(id [0-9a-f]{8}\\)$"})
        );
        assert_eq!(
            matcher(
                json!("at 2026-11-30T22:00:01.250Z"),
                json!("at 2026-11-30T22:00:02.003Z")
            ),
            json!({"$regex": "^at [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})$"})
        );
        assert_eq!(matcher(json!("a"), json!("b c")), json!({"$type": "string"}));
        assert_eq!(
            matcher(json!("{\"n\":1,\"s\":\"x\"}"), json!("{\"n\":2,\"s\":\"x\"}")),
            json!({"$json": {"n": {"$type": "integer"}, "s": "x"}})
        );
    }

    #[test]
    fn captured_values_are_named() {
        assert_eq!(matcher(json!("one!"), json!("two!")), json!({"$use": "c"}));
        assert_eq!(matcher(json!("<one!>"), json!("<two!>")), json!("<${c}>"));
        assert_eq!(
            matcher(json!({"job_id": "one!"}), json!({"job_id": "two!"})),
            json!({"job_id": {"$use": "c"}})
        );
        assert_eq!(
            matcher(json!({"runtime_ms": 1}), json!({"runtime_ms": 1})),
            json!({"runtime_ms": {"$type": "integer"}})
        );
        // the same in both plays: not by the capture
        assert_eq!(matcher(json!("one!"), json!("one!")), json!("one!"));
    }

    #[test]
    fn known_names_and_secrets_are_matched_though_they_are_the_same() {
        let value = json!({"uptime_ms": 7, "text": "{\"api_key\":\"k\",\"mac\":\"02:00:00:00:00:01\"}"});
        let (value, varying, redacted) = of(value.clone(), value, ["one!", "two!"]);
        assert_eq!(
            value,
            json!({"uptime_ms": {"$type": "integer"}, "text": {"$json": {"api_key": {"$type": "string"}, "mac": {"$type": "string"}}}})
        );
        assert_eq!(varying, [": /uptime_ms", ": /text/mac"]);
        assert_eq!(redacted, [": /text/api_key"]);
    }
}
