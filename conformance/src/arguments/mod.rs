//! Arguments made from a tool's own JSON Schema: pure, and the same for the same seed.

mod pattern;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

/// Deepest schema that is followed.
const MAX_DEPTH: usize = 12;
/// Texts, one of which is chosen by the seed.
const WORDS: [&str; 4] = ["test", "probe", "sample", "trial"];
/// Longest text that is made to break a `maxLength`.
const MAX_TEXT: u64 = 4096;

/// Arguments that the schema must refuse.
#[derive(Clone, Debug, PartialEq)]
pub struct Bad {
    /// What is wrong with them, as `"channel" is left out`.
    pub why: String,
    /// The keyword that is broken.
    pub keyword: &'static str,
    /// The arguments.
    pub arguments: Value,
}

/// A schema as a validator, if it is one.
pub fn validator(schema: &Value) -> Option<Validator> {
    jsonschema::validator_for(schema).ok()
}

/// Arguments that the schema allows: only what is required, or with `all` every property. None where none could be made.
pub fn valid(schema: &Value, seed: u64, all: bool) -> Option<Value> {
    let mut maker = Maker {
        root: schema,
        random: fastrand::Rng::with_seed(seed),
        all,
    };
    let made = maker.make(schema, 0)?;
    validator(schema)?.is_valid(&made).then_some(made)
}

/// Arguments that the schema refuses, each for one reason; `jsonschema` agrees that they are refused.
pub fn invalid(schema: &Value, seed: u64) -> Vec<Bad> {
    let (Some(good), Some(validator)) = (
        valid(schema, seed, true).or_else(|| valid(schema, seed, false)),
        validator(schema),
    ) else {
        return Vec::new();
    };
    let Some(members) = good.as_object() else {
        return Vec::new();
    };
    let mut bad = Vec::new();
    let mut add = |why: String, keyword, arguments: Map<String, Value>| {
        bad.push(Bad {
            why,
            keyword,
            arguments: Value::Object(arguments),
        });
    };
    let with = |name: &str, value: Value| {
        let mut changed = members.clone();
        changed.insert(name.to_owned(), value);
        changed
    };
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        let mut changed = members.clone();
        changed.shift_remove(name);
        add(format!("{name:?} is left out"), "required", changed);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        for (keyword, value) in broken(property) {
            add(format!("{name:?} breaks {keyword:?}"), keyword, with(name, value));
        }
    }
    if schema["additionalProperties"] == false {
        add(
            "an additional property".to_owned(),
            "additionalProperties",
            with("zzz-not-a-property", json!(1)),
        );
    }
    bad.retain(|bad| !validator.is_valid(&bad.arguments));
    bad
}

/// Values that break one keyword of a property.
fn broken(property: &Value) -> Vec<(&'static str, Value)> {
    let mut values = Vec::new();
    match property["type"].as_str() {
        Some("string") => values.push(("type", json!(12))),
        Some("integer" | "number" | "boolean" | "array" | "object") => {
            values.push(("type", json!("not-of-this-type")))
        }
        _ => {}
    }
    let number = |keyword: &str| property[keyword].as_f64();
    let exact = |value: f64| {
        if value.fract() == 0.0 {
            json!(value as i64)
        } else {
            json!(value)
        }
    };
    if property.get("enum").is_some() {
        values.push(("enum", json!("not-one-of-the-enum")));
    }
    if property.get("pattern").is_some() {
        // whatever the pattern, one of these is likely to break it
        values.push(("pattern", json!("")));
        values.push(("pattern", json!("\u{7f}mcp-hil\u{7f}")));
    }
    if let Some(least) = number("minimum") {
        values.push(("minimum", exact(least.floor() - 1.0)));
    }
    if let Some(most) = number("maximum") {
        values.push(("maximum", exact(most.ceil() + 1.0)));
    }
    if let Some(most) = property["maxLength"].as_u64().filter(|most| *most <= MAX_TEXT) {
        values.push(("maxLength", json!("x".repeat(most as usize + 1))));
    }
    if let Some(least) = property["minLength"]
        .as_u64()
        .filter(|least| (1..=MAX_TEXT).contains(least))
    {
        values.push(("minLength", json!("x".repeat(least as usize - 1))));
    }
    values
}

struct Maker<'a> {
    root: &'a Value,
    random: fastrand::Rng,
    all: bool,
}

impl<'a> Maker<'a> {
    fn make(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        if schema == &Value::Bool(true) {
            return Some(json!({}));
        }
        for given in ["const", "default"] {
            if let Some(value) = schema.get(given) {
                return Some(value.clone());
            }
        }
        for given in ["examples", "enum"] {
            if let Some(values) = schema[given].as_array().filter(|values| !values.is_empty()) {
                return values.get(self.random.usize(..values.len())).cloned();
            }
        }
        if let Some(pointer) = schema["$ref"]
            .as_str()
            .and_then(|reference| reference.strip_prefix('#'))
        {
            let root = self.root;
            return self.make(root.pointer(pointer)?, depth + 1);
        }
        for either in ["anyOf", "oneOf"] {
            if let Some(first) = schema[either].as_array().and_then(|options| options.first()) {
                return self.make(first, depth + 1);
            }
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.first().and_then(Value::as_str),
            kind => kind.as_str(),
        };
        match kind {
            Some("object") => self.object(schema, depth),
            Some("array") => self.array(schema, depth),
            Some("string") => {
                let word = WORDS[self.random.usize(..WORDS.len())];
                match schema["pattern"].as_str() {
                    Some(pattern) => pattern::text(pattern, &mut self.random).map(Value::String),
                    None => text(schema, word),
                }
            }
            Some("integer") => Some(json!(self.number(schema).round() as i64)),
            Some("number") => Some(json!(self.number(schema))),
            Some("boolean") => Some(json!(self.random.bool())),
            Some("null") => Some(Value::Null),
            _ if schema.get("properties").is_some() => self.object(schema, depth),
            _ => Some(json!("x")),
        }
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut made = Map::new();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            if self.all || required.contains(&name.as_str()) {
                match self.make(property, depth + 1) {
                    Some(value) => drop(made.insert(name.clone(), value)),
                    None if required.contains(&name.as_str()) => return None,
                    None => {}
                }
            }
        }
        Some(Value::Object(made))
    }

    fn array(&mut self, schema: &'a Value, depth: usize) -> Option<Value> {
        let count = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 16);
        let items = (0..count).map(|_| match schema.get("items") {
            Some(items) => self.make(items, depth + 1),
            None => Some(json!("x")),
        });
        items.collect::<Option<Vec<_>>>().map(Value::Array)
    }

    /// In the middle of the bounds, or a little by chance.
    fn number(&mut self, schema: &Value) -> f64 {
        let least = schema["minimum"]
            .as_f64()
            .or_else(|| schema["exclusiveMinimum"].as_f64().map(|least| least + 1.0));
        let most = schema["maximum"]
            .as_f64()
            .or_else(|| schema["exclusiveMaximum"].as_f64().map(|most| most - 1.0));
        let (least, most) = match (least, most) {
            (Some(least), Some(most)) => (least, most),
            (Some(least), None) => (least, least + 10.0),
            (None, Some(most)) => (most - 10.0, most),
            (None, None) => (1.0, 10.0),
        };
        let chosen = (least + self.random.f64() * (most - least)).floor().max(least);
        match schema["multipleOf"].as_f64() {
            Some(step) if step > 0.0 => (chosen / step).ceil() * step,
            _ => chosen,
        }
    }
}

fn text(schema: &Value, word: &str) -> Option<Value> {
    let made = match schema["format"].as_str() {
        Some("date-time") => "2026-01-02T03:04:05Z".to_owned(),
        Some("date") => "2026-01-02".to_owned(),
        Some("time") => "03:04:05Z".to_owned(),
        Some("email") => "user@example.com".to_owned(),
        Some("uri" | "url") => "https://example.com/".to_owned(),
        Some("uuid") => "01234567-89ab-4def-8123-456789abcdef".to_owned(),
        Some("ipv4") => "192.0.2.1".to_owned(),
        Some("hostname") => "example.com".to_owned(),
        _ => word.to_owned(),
    };
    let least = usize::try_from(schema["minLength"].as_u64().unwrap_or(0))
        .ok()
        .filter(|least| *least <= 4096)?;
    let most = schema["maxLength"]
        .as_u64()
        .and_then(|most| usize::try_from(most).ok())
        .unwrap_or(usize::MAX);
    let mut made: String = made.chars().take(most).collect();
    while made.chars().count() < least {
        made.push('x');
    }
    Some(Value::String(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "channel": {"type": "string", "enum": ["a", "b"]},
                "level": {"type": "integer", "minimum": 0, "maximum": 100},
                "name": {"type": "string", "minLength": 6, "maxLength": 8},
                "at": {"$ref": "#/$defs/point"},
            },
            "required": ["channel"],
            "additionalProperties": false,
            "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        })
    }

    #[test]
    fn good_arguments_are_allowed_and_repeatable() {
        let schema = schema();
        let few = valid(&schema, 7, false).unwrap();
        assert_eq!(few.as_object().unwrap().len(), 1);
        let all = valid(&schema, 7, true).unwrap();
        assert_eq!(all.as_object().unwrap().len(), 4);
        assert_eq!(Some(all), valid(&schema, 7, true));
    }

    #[test]
    fn each_rule_is_broken_once() {
        let mut keywords: Vec<_> = invalid(&schema(), 7).into_iter().map(|bad| bad.keyword).collect();
        keywords.sort_unstable();
        assert_eq!(
            keywords,
            [
                "additionalProperties",
                "enum",
                "maxLength",
                "maximum",
                "minLength",
                "minimum",
                "required",
                "type",
                "type",
                "type"
            ]
        );
    }

    #[test]
    fn a_text_matches_its_pattern_or_is_not_guessed() {
        let with = |pattern: &str| json!({"type": "object", "properties": {"id": {"type": "string", "pattern": pattern}}, "required": ["id"]});
        let made = valid(&with("^[0-9]{4}$"), 1, false).unwrap();
        assert_eq!(made["id"].as_str().unwrap().len(), 4);
        assert_eq!(valid(&with("^(?=abc)x$"), 1, false), None);
    }
}
