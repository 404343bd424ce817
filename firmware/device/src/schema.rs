//! Judges arguments by the very schema that `tools/list` shows.
//!
//! The keywords are a named subset of JSON Schema 2020-12: `type` (one name, always there), `enum` (strings),
//! `maxLength`, `minimum` and `maximum` (integers, on type `integer`), `required`, `properties`,
//! `additionalProperties` (a boolean), `items`, and the annotations `title`, `description`, `default`. A schema
//! with any other keyword is an error, so nothing that is shown goes unenforced.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::json::{Quoted, Type, each_member, integer, string};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Schema<'s> {
    r#type: Type,
    #[serde(borrow)]
    r#enum: Option<Vec<&'s str>>,
    max_length: Option<usize>,
    minimum: Option<i64>,
    maximum: Option<i64>,
    #[serde(borrow, default)]
    required: Vec<&'s str>,
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
    Duplicate(Cow<'a, str>),
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
    Member(Cow<'a, str>),
    Element(usize),
}

#[derive(Debug)]
enum Reason<'a> {
    Type { expected: Type, got: Type },
    Enum(Vec<&'a str>),
    MaxLength(usize),
    Minimum(i64),
    Maximum(i64),
    Required(&'a str),
    Unexpected(Cow<'a, str>),
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
        && !string(value).is_some_and(|text| allowed.contains(&&*text))
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
    let mut known = Vec::new();
    each_member(
        schema.properties.map_or("{}", RawValue::get),
        &mut |name, schema| known.push((name, schema)),
    );
    let mut sent = Vec::new();
    each_member(object, &mut |name, value| sent.push((name, value)));

    for (name, _) in &known {
        if sent.iter().filter(|(other, _)| other == name).count() > 1 {
            return Err(Fault::Duplicate(name.clone()));
        }
    }
    let fail = |reason| {
        Err(Fault::Invalid(Invalid {
            path: Vec::new(),
            reason,
        }))
    };
    if let Some(name) = schema
        .required
        .iter()
        .find(|name| !sent.iter().any(|(other, _)| other == **name))
    {
        return fail(Reason::Required(name));
    }
    for (name, value) in sent {
        match known.iter().find(|(other, _)| *other == name) {
            Some((_, schema)) => validate(schema, value).map_err(|fault| fault.inside(Step::Member(name)))?,
            None if schema.additional_properties == Some(false) => return fail(Reason::Unexpected(name)),
            None => {}
        }
    }
    Ok(())
}

fn elements<'a>(schema: &Schema<'a>, array: &'a str) -> Result<(), Fault<'a>> {
    let Some(items) = schema.items else { return Ok(()) };
    let elements: Vec<&RawValue> = serde_json::from_str(array).map_err(Fault::Schema)?;
    for (index, element) in elements.into_iter().enumerate() {
        validate(items, element).map_err(|fault| fault.inside(Step::Element(index)))?;
    }
    Ok(())
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
                Step::Member(name) => write!(f, "/{}", name.replace('~', "~0").replace('/', "~1"))?,
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
                    write!(f, "{}{}", if index == 0 { "" } else { ", " }, Quoted(value))?;
                }
                Ok(())
            }
            Self::MaxLength(longest) => write!(f, "longer than {longest} characters"),
            Self::Minimum(minimum) => write!(f, "less than {minimum}"),
            Self::Maximum(maximum) => write!(f, "greater than {maximum}"),
            Self::Required(name) => write!(f, "required property {} is missing", Quoted(name)),
            Self::Unexpected(name) => write!(f, "unexpected property {}", Quoted(name)),
        }
    }
}
