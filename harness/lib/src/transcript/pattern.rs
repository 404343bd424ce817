//! What may come back at a place in a message: compiled from JSON once, then only compared.

use super::captures;
use super::error::Fault;
use regex::Regex;
use serde_json::{Map, Number, Value};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A JSON type by the names of `$type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonType {
    /// Text.
    String,
    /// A number written without fraction and exponent.
    Integer,
    /// Any number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A list.
    Array,
    /// Members by name.
    Object,
    /// `null`.
    Null,
}

impl JsonType {
    const NAMES: [(&'static str, Self); 7] = [
        ("string", Self::String),
        ("integer", Self::Integer),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("array", Self::Array),
        ("object", Self::Object),
        ("null", Self::Null),
    ];

    /// Whether a value has this type.
    pub fn holds(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array => value.is_array(),
            Self::Object => value.is_object(),
            Self::Null => value.is_null(),
        }
    }
}

/// What must be at a place. `source` is the matcher as it was written, for reports.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// This very value: `true`, a number, a string without captures, `null`.
    Exactly(Value),
    /// A string in which captures are filled in.
    Text(String),
    /// A captured value.
    Use(String),
    /// An array, element by element.
    Array(Vec<Pattern>),
    /// An object.
    Object {
        /// Members by name.
        members: Vec<(String, Pattern)>,
        /// Whether there may be more.
        extra: bool,
    },
    /// Nothing.
    Absent,
    /// Nothing, or a match.
    Optional(Box<Pattern>),
    /// A match, kept under a name.
    Capture(String, Box<Pattern>),
    /// What one matcher says about a value that is there.
    Matcher {
        /// As written.
        source: Value,
        /// What it asks for.
        rule: Rule,
    },
}

/// What a matcher asks of a value that is there.
#[derive(Clone, Debug)]
pub enum Rule {
    /// Anything.
    Any,
    /// One of these types.
    Type(Vec<JsonType>),
    /// A string in which this is found.
    Regex(Regex),
    /// A number between these.
    Range(Option<Number>, Option<Number>),
    /// An array with these elements in any order.
    Set(Vec<Pattern>),
    /// A match of one of these.
    OneOf(Vec<Pattern>),
    /// An array whose elements all match.
    Each(Box<Pattern>),
    /// Valid under a JSON Schema.
    Schema(Arc<jsonschema::Validator>),
    /// A string with JSON that matches.
    Json(Box<Pattern>),
}

/// 2^64.
const BEYOND_64_BITS: f64 = 18_446_744_073_709_551_616.0;

/// Escapes a member name for a JSON Pointer (RFC 6901).
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Compiles patterns of one step, and collects what they capture.
pub struct Compiler<'a> {
    /// Names that earlier steps capture.
    pub known: &'a BTreeSet<String>,
    /// Names that these patterns capture.
    pub captured: BTreeSet<String>,
    /// Whether every object may have more members than are named.
    pub extra: bool,
}

impl Compiler<'_> {
    /// Compiles the pattern at a place in the file.
    pub fn compile(&mut self, source: &Value, pointer: &str) -> Result<Pattern, Fault> {
        match source {
            Value::String(text) if captures::has_names(text) => {
                captures::check_text(text, self.known, pointer)?;
                Ok(Pattern::Text(text.clone()))
            }
            // such a literal has become a float on reading, and would equal its neighbours
            Value::Number(number)
                if number.is_f64() && number.as_f64().is_some_and(|value| value.abs() >= BEYOND_64_BITS) =>
            {
                Err(Fault::new(
                    pointer,
                    "a number beyond 64 bits can't be compared exactly; use $range or a string",
                ))
            }
            Value::Array(items) => Ok(Pattern::Array(self.all(items, pointer)?)),
            Value::Object(members) => self.object(source, members, pointer),
            other => Ok(Pattern::Exactly(other.clone())),
        }
    }

    fn all(&mut self, items: &[Value], pointer: &str) -> Result<Vec<Pattern>, Fault> {
        items
            .iter()
            .enumerate()
            .map(|(index, item)| self.compile(item, &format!("{pointer}/{index}")))
            .collect()
    }

    fn members(
        &mut self,
        members: &Map<String, Value>,
        extra: bool,
        pointer: &str,
    ) -> Result<Pattern, Fault> {
        let mut patterns = Vec::new();
        for (name, value) in members.iter().filter(|(name, _)| *name != "$extra") {
            patterns.push((
                name.clone(),
                self.compile(value, &format!("{pointer}/{}", escape(name)))?,
            ));
        }
        Ok(Pattern::Object {
            members: patterns,
            extra,
        })
    }

    fn object(
        &mut self,
        source: &Value,
        members: &Map<String, Value>,
        pointer: &str,
    ) -> Result<Pattern, Fault> {
        if let Some(value) = members.get("$extra") {
            return match value.as_str() {
                Some("allow") => self.members(members, true, pointer),
                _ => Err(Fault::new(
                    &format!("{pointer}/$extra"),
                    "only \"allow\" is possible",
                )),
            };
        }
        if let Some(name) = members.get("$capture") {
            return self.capture(name, members, pointer);
        }
        let Some((key, value)) = members
            .iter()
            .next()
            .filter(|(key, _)| members.len() == 1 && key.starts_with('$'))
        else {
            return self.members(members, self.extra, pointer);
        };
        let place = format!("{pointer}/{key}");
        let bad = |problem: &str| Fault::new(&place, problem);
        let rule = match key.as_str() {
            "$absent" | "$any" if *value != Value::Bool(true) => return Err(bad("only true is possible")),
            "$absent" => return Ok(Pattern::Absent),
            "$optional" => return Ok(Pattern::Optional(Box::new(self.compile(value, &place)?))),
            "$literal" => return Ok(literal(value)),
            "$use" => {
                let name = value.as_str().ok_or_else(|| bad("give the name of a capture"))?;
                captures::check_name(name, self.known, &place)?;
                return Ok(Pattern::Use(name.to_owned()));
            }
            "$any" => Rule::Any,
            "$type" => Rule::Type(types(value).ok_or_else(|| {
                bad("give string, integer, number, boolean, array, object or null, or a list of them")
            })?),
            "$regex" => {
                let text = value
                    .as_str()
                    .ok_or_else(|| bad("give a regular expression as a string"))?;
                Rule::Regex(Regex::new(text).map_err(|error| bad(&error.to_string()))?)
            }
            "$range" => {
                let (low, high) =
                    range(value).ok_or_else(|| bad("give two numbers; null leaves a side open"))?;
                Rule::Range(low, high)
            }
            "$set" => Rule::Set(self.all(value.as_array().ok_or_else(|| bad("give a list"))?, &place)?),
            "$oneOf" => match value.as_array() {
                Some(items) if !items.is_empty() => Rule::OneOf(self.all(items, &place)?),
                _ => return Err(bad("give a list of alternatives")),
            },
            "$each" => Rule::Each(Box::new(self.compile(value, &place)?)),
            "$json" => Rule::Json(Box::new(self.compile(value, &place)?)),
            "$schema" => {
                let schema = jsonschema::draft202012::new(value).map_err(|error| bad(&error.to_string()))?;
                Rule::Schema(Arc::new(schema))
            }
            _ => {
                return Err(Fault::new(
                    pointer,
                    format!("no matcher {key:?}; write {{\"$literal\": …}} if the member is really named so"),
                ));
            }
        };
        Ok(Pattern::Matcher {
            source: source.clone(),
            rule,
        })
    }

    fn capture(
        &mut self,
        name: &Value,
        members: &Map<String, Value>,
        pointer: &str,
    ) -> Result<Pattern, Fault> {
        let place = format!("{pointer}/$capture");
        let valid = |name: &&str| {
            let mut bytes = name.bytes();
            bytes
                .next()
                .is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
                && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let name = name.as_str().filter(valid).ok_or_else(|| {
            Fault::new(
                &place,
                "a name has letters, digits and _, and does not begin with a digit",
            )
        })?;
        if let Some(other) = members
            .keys()
            .find(|key| !["$capture", "$match"].contains(&key.as_str()))
        {
            return Err(Fault::new(
                pointer,
                format!("$capture goes with $match, not with {other:?}"),
            ));
        }
        let inner = match members.get("$match") {
            Some(inner) => self.compile(inner, &format!("{pointer}/$match"))?,
            None => Pattern::Matcher {
                source: serde_json::json!({"$any": true}),
                rule: Rule::Any,
            },
        };
        self.captured.insert(name.to_owned());
        Ok(Pattern::Capture(name.to_owned(), Box::new(inner)))
    }
}

/// A value that means nothing but itself.
fn literal(value: &Value) -> Pattern {
    match value {
        Value::Array(items) => Pattern::Array(items.iter().map(literal).collect()),
        Value::Object(members) => Pattern::Object {
            members: members
                .iter()
                .map(|(name, value)| (name.clone(), literal(value)))
                .collect(),
            extra: false,
        },
        other => Pattern::Exactly(other.clone()),
    }
}

fn types(value: &Value) -> Option<Vec<JsonType>> {
    let one = |value: &Value| {
        let name = value.as_str()?;
        JsonType::NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, kind)| *kind)
    };
    match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(one).collect(),
        other => Some(vec![one(other)?]),
    }
}

fn range(value: &Value) -> Option<(Option<Number>, Option<Number>)> {
    let side = |value: &Value| match value {
        Value::Null => Some(None),
        Value::Number(number) => Some(Some(number.clone())),
        _ => None,
    };
    let [low, high] = value.as_array()?.as_slice() else {
        return None;
    };
    Some((side(low)?, side(high)?))
}
