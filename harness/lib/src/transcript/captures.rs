//! Captured values, and the places where they are used.

use super::error::Fault;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Values kept by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Captures(BTreeMap<String, Value>);

impl Captures {
    /// Keeps a value.
    pub fn insert(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Every name that has a value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Takes over what another holds.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// A text with every `${name}` replaced: a string by itself, any other value by its JSON. A name that is not
    /// there is left as it is; loading has seen to it that there is none.
    pub fn fill_text(&self, text: &str) -> String {
        let mut filled = String::new();
        for part in parts(text) {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Name(name) => match self.get(name) {
                    Some(Value::String(value)) => filled.push_str(value),
                    Some(value) => filled.push_str(&value.to_string()),
                    None => filled.push_str(&format!("${{{name}}}")),
                },
            }
        }
        filled
    }

    /// A message with every `{"$use": …}`, `{"$literal": …}` and `${name}` replaced.
    pub fn fill(&self, template: &Value) -> Value {
        match template {
            Value::String(text) => Value::String(self.fill_text(text)),
            Value::Array(items) => items.iter().map(|item| self.fill(item)).collect(),
            Value::Object(members) => match special(template) {
                Some(Special::Use(name)) => self.get(name).cloned().unwrap_or_default(),
                Some(Special::Literal(value)) => value.clone(),
                None => members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.fill(value)))
                    .collect(),
            },
            other => other.clone(),
        }
    }
}

/// What an object with one `$` member stands for in a message.
pub enum Special<'a> {
    /// A captured value.
    Use(&'a str),
    /// The value as it stands.
    Literal(&'a Value),
}

/// Recognises `{"$use": "name"}` and `{"$literal": …}`.
pub fn special(value: &Value) -> Option<Special<'_>> {
    let members = value.as_object().filter(|members| members.len() == 1)?;
    let (name, value) = members.iter().next()?;
    match (name.as_str(), value) {
        ("$use", Value::String(name)) => Some(Special::Use(name)),
        ("$literal", value) => Some(Special::Literal(value)),
        _ => None,
    }
}

enum Part<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// Splits a text at its `${name}`; a name is made of letters, digits and `_`.
fn parts(mut text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    while let Some(start) = text.find("${") {
        let after = &text[start + 2..];
        let end = after
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(after.len());
        if end > 0 && after[end..].starts_with('}') {
            parts.push(Part::Text(&text[..start]));
            parts.push(Part::Name(&after[..end]));
            text = &after[end + 1..];
        } else {
            parts.push(Part::Text(&text[..start + 2]));
            text = after;
        }
    }
    parts.push(Part::Text(text));
    parts
}

/// Whether a text uses a capture.
pub fn has_names(text: &str) -> bool {
    parts(text).iter().any(|part| matches!(part, Part::Name(_)))
}

/// Checks that every name a text uses is known.
pub fn check_text(text: &str, known: &BTreeSet<String>, pointer: &str) -> Result<(), Fault> {
    for part in parts(text) {
        if let Part::Name(name) = part {
            check_name(name, known, pointer)?;
        }
    }
    Ok(())
}

/// Checks that a name is known.
pub fn check_name(name: &str, known: &BTreeSet<String>, pointer: &str) -> Result<(), Fault> {
    if known.contains(name) {
        return Ok(());
    }
    Err(Fault::new(
        pointer,
        format!("no earlier step captures {name:?}; capture it with {{\"$capture\": {name:?}}}"),
    ))
}

/// Checks every name that a message uses.
pub fn check_template(template: &Value, known: &BTreeSet<String>, pointer: &str) -> Result<(), Fault> {
    match template {
        Value::String(text) => check_text(text, known, pointer),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(index, item)| check_template(item, known, &format!("{pointer}/{index}"))),
        Value::Object(members) => match special(template) {
            Some(Special::Use(name)) => check_name(name, known, pointer),
            Some(Special::Literal(_)) => Ok(()),
            None => members.iter().try_for_each(|(name, value)| {
                check_template(
                    value,
                    known,
                    &format!("{pointer}/{}", super::pattern::escape(name)),
                )
            }),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn captures_are_filled_in_where_they_are_named() {
        let mut captures = Captures::default();
        captures.insert("cursor", json!("abc"));
        captures.insert("n", json!({"a": 1}));
        let template = json!({"p": {"$use": "n"}, "q": "x${cursor}y${n}", "r": {"$literal": {"$use": "n"}}, "s": "$${ ${}"});
        assert_eq!(
            captures.fill(&template),
            json!({"p": {"a": 1}, "q": "xabcy{\"a\":1}", "r": {"$use": "n"}, "s": "$${ ${}"})
        );
    }

    #[test]
    fn a_name_that_nobody_captured_is_named_with_its_place() {
        let fault = check_template(&json!({"a": [{"$use": "x"}]}), &BTreeSet::new(), "/send").unwrap_err();
        assert_eq!(fault.pointer, "/send/a/0");
        assert!(check_text("${x}", &BTreeSet::from(["x".into()]), "").is_ok());
    }
}
