//! Judges arguments by the very schema that `tools/list` shows.
//!
//! The keywords are a named subset of JSON Schema 2020-12: `type` (one name, always there), `enum` (strings),
//! `maxLength`, `minimum` and `maximum` (integers, on type `integer`), `required`, `properties`,
//! `additionalProperties` (a boolean), `items`, and the annotations `title`, `description`, `default`. A schema
//! with any other keyword is an error, so nothing that is shown goes unenforced.

use alloc::vec::Vec;
use core::fmt::{self, Write};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::json::{Quoted, Text, Type, each_element, each_member, integer, string};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Schema<'s> {
    r#type: Type,
    #[serde(borrow)]
    r#enum: Option<Vec<Text<'s>>>,
    max_length: Option<usize>,
    minimum: Option<i64>,
    maximum: Option<i64>,
    #[serde(borrow, default)]
    required: Vec<Text<'s>>,
    #[serde(borrow)]
    properties: Option<&'s RawValue>,
    additional_properties: Option<bool>,
    #[serde(borrow)]
    items: Option<&'s RawValue>,
    #[serde(rename = "title")]
    _title: Option<IgnoredAny>,
    #[serde(rename = "description")]
    _description: Option<IgnoredAny>,
    #[serde(rename = "default")]
    _default: Option<IgnoredAny>,
}

/// Why arguments are not taken.
#[derive(Debug)]
pub(crate) enum Fault<'a> {
    /// The schema itself can't be read.
    Schema(serde_json::Error),
    /// A member stands twice: which of the two is meant can't be told.
    Duplicate(Text<'a>),
    Invalid(Invalid<'a>),
}

/// The first fault of a value, in the order and words of contract `mcp-hil/1`.
#[derive(Debug)]
pub(crate) struct Invalid<'a> {
    /// Innermost first.
    path: Vec<Step<'a>>,
    reason: Reason<'a>,
}

#[derive(Debug)]
enum Step<'a> {
    Member(Text<'a>),
    Element(usize),
}

#[derive(Debug)]
enum Reason<'a> {
    Type { expected: Type, got: Type },
    Enum(Vec<Text<'a>>),
    MaxLength(usize),
    Minimum(i64),
    Maximum(i64),
    Required(Text<'a>),
    Unexpected(Text<'a>),
}

/// Judges a value by a schema, both JSON text.
///
/// # Errors
/// The first fault.
pub(crate) fn validate<'a>(schema: &'a RawValue, value: &'a RawValue) -> Result<(), Fault<'a>> {
    let schema: Schema<'a> = serde_json::from_str(schema.get()).map_err(Fault::Schema)?;
    let fail = |reason| {
        Err(Fault::Invalid(Invalid {
            path: Vec::new(),
            reason,
        }))
    };
    let got = Type::of(value);
    let fits = got == schema.r#type || (got, schema.r#type) == (Type::Integer, Type::Number);
    if !fits {
        return fail(Reason::Type {
            expected: schema.r#type,
            got,
        });
    }
    if let Some(allowed) = &schema.r#enum
        && !string(value).is_some_and(|text| allowed.contains(&text))
    {
        return fail(Reason::Enum(allowed.clone()));
    }
    if let Some(longest) = schema.max_length
        && string(value).is_some_and(|text| text.chars().count() > longest)
    {
        return fail(Reason::MaxLength(longest));
    }
    if let Some(minimum) = schema.minimum
        && integer(value).is_some_and(|number| number < minimum)
    {
        return fail(Reason::Minimum(minimum));
    }
    if let Some(maximum) = schema.maximum
        && integer(value).is_some_and(|number| number > maximum)
    {
        return fail(Reason::Maximum(maximum));
    }
    match got {
        Type::Object => members(&schema, value.get()),
        Type::Array => elements(&schema, value.get()),
        _ => Ok(()),
    }
}

fn members<'a>(schema: &Schema<'a>, object: &'a str) -> Result<(), Fault<'a>> {
    struct Property<'a> {
        name: Text<'a>,
        schema: &'a RawValue,
        sent: usize,
    }
    let mut properties = Vec::new();
    each_member(
        schema.properties.map_or("{}", RawValue::get),
        &mut |name, schema| {
            properties.push(Property {
                name,
                schema,
                sent: 0,
            });
        },
    );
    // A message may have thousands of members, so they are walked through twice rather than kept.
    each_member(object, &mut |name, _| {
        if let Some(property) = properties.iter_mut().find(|property| property.name == name) {
            property.sent += 1;
        }
    });
    if let Some(twice) = properties.iter().find(|property| property.sent > 1) {
        return Err(Fault::Duplicate(twice.name));
    }
    let sent = |name| {
        properties
            .iter()
            .any(|property| property.name == name && property.sent > 0)
    };
    if let Some(name) = schema.required.iter().find(|name| !sent(**name)) {
        return Err(Reason::Required(*name).into());
    }
    let mut verdict = Ok(());
    each_member(object, &mut |name, value| {
        if verdict.is_ok() {
            verdict = match properties.iter().find(|property| property.name == name) {
                Some(property) => {
                    validate(property.schema, value).map_err(|fault| fault.inside(Step::Member(name)))
                }
                None if schema.additional_properties == Some(false) => Err(Reason::Unexpected(name).into()),
                None => Ok(()),
            };
        }
    });
    verdict
}

fn elements<'a>(schema: &Schema<'a>, array: &'a str) -> Result<(), Fault<'a>> {
    let Some(items) = schema.items else { return Ok(()) };
    let (mut verdict, mut index) = (Ok(()), 0);
    each_element(array, &mut |element| {
        if verdict.is_ok() {
            verdict = validate(items, element).map_err(|fault| fault.inside(Step::Element(index)));
        }
        index += 1;
    });
    verdict
}

impl<'a> From<Reason<'a>> for Fault<'a> {
    fn from(reason: Reason<'a>) -> Self {
        Self::Invalid(Invalid {
            path: Vec::new(),
            reason,
        })
    }
}

impl<'a> Fault<'a> {
    fn inside(mut self, step: Step<'a>) -> Self {
        if let Self::Invalid(invalid) = &mut self {
            invalid.path.push(step);
        }
        self
    }
}

/// `POINTER: REASON`, the pointer by RFC 6901.
impl fmt::Display for Invalid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.path.iter().rev() {
            match step {
                Step::Member(name) => {
                    f.write_char('/')?;
                    for c in name.chars() {
                        match c {
                            '~' => f.write_str("~0")?,
                            '/' => f.write_str("~1")?,
                            _ => f.write_char(c)?,
                        }
                    }
                }
                Step::Element(index) => write!(f, "/{index}")?,
            }
        }
        write!(f, ": {}", self.reason)
    }
}

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type { expected, got } => write!(f, "expected {expected}, got {got}"),
            Self::Enum(allowed) => {
                f.write_str("expected one of ")?;
                for (index, value) in allowed.iter().enumerate() {
                    write!(
                        f,
                        "{}{}",
                        if index == 0 { "" } else { ", " },
                        Quoted(*value, usize::MAX)
                    )?;
                }
                Ok(())
            }
            Self::MaxLength(longest) => write!(f, "longer than {longest} characters"),
            Self::Minimum(minimum) => write!(f, "less than {minimum}"),
            Self::Maximum(maximum) => write!(f, "greater than {maximum}"),
            Self::Required(name) => write!(f, "required property {} is missing", Quoted(*name, usize::MAX)),
            Self::Unexpected(name) => write!(f, "unexpected property {}", Quoted(*name, usize::MAX)),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::{String, ToString};

    use super::*;
    use crate::contract::TOOLS;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    /// `ok`, the first fault, or that the schema itself is not understood.
    fn verdict(schema: &str, value: &str) -> String {
        match validate(raw(schema), raw(value)) {
            Ok(()) => "ok".into(),
            Err(Fault::Invalid(invalid)) => invalid.to_string(),
            Err(Fault::Duplicate(name)) => format!("{name} twice"),
            Err(Fault::Schema(_)) => "schema".into(),
        }
    }

    /// Reads a schema and all that are in it; bounds are understood on integers only.
    fn understood(schema: &RawValue) {
        let read: Schema<'_> = serde_json::from_str(schema.get()).unwrap();
        if read.minimum.is_some() || read.maximum.is_some() {
            assert_eq!(read.r#type, Type::Integer, "{schema}");
        }
        if read.r#enum.is_some() || read.max_length.is_some() {
            assert_eq!(read.r#type, Type::String, "{schema}");
        }
        let properties = read.properties.map_or("{}", RawValue::get);
        each_member(properties, &mut |_, schema| understood(schema));
        read.items.into_iter().for_each(understood);
    }

    #[test]
    fn every_input_schema_is_understood_whole() {
        for tool in TOOLS {
            understood(raw(tool.input_schema));
            assert!(
                tool.json.contains(tool.input_schema),
                "the schema that is enforced is the one that is shown"
            );
        }
    }

    #[test]
    fn a_keyword_that_is_not_enforced_is_not_overlooked() {
        for schema in [
            r#"{"type":"string","pattern":"^a"}"#,
            r#"{"type":"integer","multipleOf":2}"#,
            r#"{"type":"object","minProperties":1}"#,
            r#"{"type":["string","null"]}"#,
            r#"{"type":"integer","maximum":0.5}"#,
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            r#"{"type":"string","enum":["a",1]}"#,
            r#"{"type":"int"}"#,
            "{}",
            "true",
        ] {
            assert_eq!(verdict(schema, "null"), "schema", "{schema}");
        }
        let nested = r#"{"type":"object","properties":{"x":{"type":"string","pattern":"a"}}}"#;
        assert_eq!(verdict(nested, r#"{"x":"b"}"#), "schema");
    }

    #[test]
    fn the_first_fault_is_told_in_the_order_of_the_contract() {
        let schema = r#"{
            "type": "object",
            "properties": {
                "a/b~c": {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "number"}}}},
                "s": {"type": "string", "enum": ["x", "yyyy"], "maxLength": 3},
                "i": {"type": "integer", "minimum": -1, "maximum": 1}
            },
            "required": ["s", "i"],
            "additionalProperties": false
        }"#;
        for (value, told) in [
            (r#"{"s":"x","i":1.0}"#, "ok"),
            (
                r#"{"i":-1,"s":"x","a/b~c":[{},{"n":1},{"n":1.5,"more":[]}]}"#,
                "ok",
            ),
            ("[]", ": expected object, got array"),
            (r#"{"z":1,"i":9}"#, r#": required property "s" is missing"#),
            (r#"{"z":1,"s":1}"#, r#": required property "i" is missing"#),
            (
                r#"{"s":"long","i":9,"z":1}"#,
                r#"/s: expected one of "x", "yyyy""#,
            ),
            (r#"{"s":"yyyy","i":9}"#, "/s: longer than 3 characters"),
            (r#"{"i":9,"s":"long"}"#, "/i: greater than 1"),
            (r#"{"i":-2e0,"s":"x"}"#, "/i: less than -1"),
            (r#"{"z":1,"i":9,"s":"x"}"#, r#": unexpected property "z""#),
            (
                r#"{"s":"x","i":0,"a/b~c":[{"n":1},{"n":"1"}]}"#,
                "/a~1b~0c/1/n: expected number, got string",
            ),
            (
                r#"{"s":"x","i":0,"a/b~c":[{},2.5]}"#,
                "/a~1b~0c/1: expected object, got number",
            ),
            (r#"{"s":"x","i":0,"s":"x"}"#, "s twice"),
            (r#"{"s":"\u0078","\u0069":0}"#, "ok"),
        ] {
            assert_eq!(verdict(schema, value), told, "{value}");
        }
    }

    #[test]
    fn length_is_in_characters() {
        let schema = r#"{"type":"string","maxLength":2}"#;
        assert_eq!(verdict(schema, r#""\ud83e\udd80é""#), "ok");
        assert_eq!(verdict(schema, r#""🦀é\n""#), ": longer than 2 characters");
    }
}
