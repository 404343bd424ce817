//! Judges arguments against the part of JSON Schema that `inputSchema`s of the contract use, and says what is wrong
//! in the contract's words.

use crate::json::Json;
use std::fmt;
use thiserror::Error;

/// A schema of known keywords.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    type_name: Option<String>,
    one_of: Option<Vec<String>>,
    max_length: Option<usize>,
    minimum: Option<i128>,
    maximum: Option<i128>,
    required: Vec<String>,
    closed: bool,
    properties: Vec<(String, Schema)>,
}

/// A keyword, or a form of one, that this interpreter doesn't have.
#[derive(Debug, Error)]
#[error("JSON Schema keyword {0:?} is not interpreted in this form")]
pub(crate) struct UnknownKeyword(String);

/// The first fault found. Shown as `POINTER: REASON`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// JSON Pointer (RFC 6901) to the value at fault; to the object that lacks a member or has one too many.
    pointer: String,
    reason: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.pointer, self.reason)
    }
}

impl Schema {
    pub(crate) fn read(schema: &Json) -> Result<Self, UnknownKeyword> {
        let mut read = Self::default();
        for (keyword, value) in schema
            .as_object()
            .ok_or_else(|| UnknownKeyword(schema.to_string()))?
        {
            let known = match keyword.as_str() {
                "title" | "description" | "default" => Some(()),
                "type" => value.as_str().map(|name| read.type_name = Some(name.to_owned())),
                "enum" => strings(value).map(|values| read.one_of = Some(values)),
                "maxLength" => size(value).map(|length| read.max_length = Some(length)),
                "minimum" => value.as_integer().map(|bound| read.minimum = Some(bound)),
                "maximum" => value.as_integer().map(|bound| read.maximum = Some(bound)),
                "required" => strings(value).map(|names| read.required = names),
                "additionalProperties" => value.as_bool().map(|open| read.closed = !open),
                "properties" => {
                    for (name, property) in value.as_object().unwrap_or_default() {
                        read.properties.push((name.clone(), Self::read(property)?));
                    }
                    value.as_object().map(|_| ())
                }
                _ => None,
            };
            known.ok_or_else(|| UnknownKeyword(keyword.clone()))?;
        }
        Ok(read)
    }

    pub(crate) fn check(&self, value: &Json) -> Result<(), Fault> {
        self.check_at(value, "")
    }

    fn check_at(&self, value: &Json, pointer: &str) -> Result<(), Fault> {
        if let Some(reason) = self.own_fault(value) {
            return Err(Fault {
                pointer: pointer.to_owned(),
                reason,
            });
        }
        for (name, member) in value.as_object().unwrap_or_default() {
            match self.properties.iter().find(|(known, _)| known == name) {
                Some((_, property)) => {
                    let step = name.replace('~', "~0").replace('/', "~1");
                    property.check_at(member, &format!("{pointer}/{step}"))?;
                }
                None if self.closed => {
                    let reason = format!("unexpected property {}", Json::from(name.as_str()));
                    return Err(Fault {
                        pointer: pointer.to_owned(),
                        reason,
                    });
                }
                None => {}
            }
        }
        Ok(())
    }

    /// What is wrong with a value apart from its members.
    fn own_fault(&self, value: &Json) -> Option<String> {
        if let Some(wanted) = &self.type_name {
            let got = type_name(value);
            if wanted != got && !(wanted == "number" && got == "integer") {
                return Some(format!("expected {wanted}, got {got}"));
            }
        }
        if let Some(values) = &self.one_of
            && !values.iter().any(|allowed| value.as_str() == Some(allowed))
        {
            let values: Vec<_> = values
                .iter()
                .map(|value| Json::from(value.as_str()).to_string())
                .collect();
            return Some(format!("expected one of {}", values.join(", ")));
        }
        if let (Some(most), Some(text)) = (self.max_length, value.as_str())
            && text.chars().count() > most
        {
            return Some(format!("longer than {most} characters"));
        }
        // A bound is an integer, so a number with a fraction never meets this in the contract's schemas.
        if let Some(number) = value.as_integer() {
            if let Some(least) = self.minimum.filter(|least| number < *least) {
                return Some(format!("less than {least}"));
            }
            if let Some(most) = self.maximum.filter(|most| number > *most) {
                return Some(format!("greater than {most}"));
            }
        }
        let members = value.as_object()?;
        let missing = |name: &&String| !members.iter().any(|(member, _)| member == *name);
        let name = self.required.iter().find(missing)?;
        Some(format!(
            "required property {} is missing",
            Json::from(name.as_str())
        ))
    }
}

fn type_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(number) if number.integer().is_some() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn strings(value: &Json) -> Option<Vec<String>> {
    value
        .as_array()?
        .iter()
        .map(|item| item.as_str().map(str::to_owned))
        .collect()
}

fn size(value: &Json) -> Option<usize> {
    value.as_integer().and_then(|length| usize::try_from(length).ok())
}
