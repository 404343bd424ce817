//! JSON as the wire gives it: members in the order sent, numbers as written, duplicates seen.
//!
//! `serde_json::Value` keeps the last of two equal keys and turns large numbers into floats; a strict server
//! needs to see both. `serde_json` still does all the parsing and escaping.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::fmt;
use thiserror::Error;

/// Levels of objects and arrays a message may nest.
pub(crate) const MAX_DEPTH: usize = 32;
/// Values a message may hold: every object, array and scalar counts one.
pub(crate) const MAX_VALUES: usize = 2048;

/// Any JSON value.
#[derive(Clone, Debug)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Why bytes are not an acceptable message.
#[derive(Debug, Error)]
pub(crate) enum ReadError {
    #[error("not JSON: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    #[error("member {} occurs twice in one object", quote(.0))]
    Duplicate(String),
}

impl Json {
    /// Reads one JSON text. Syntax is judged over the whole text before the bounds are.
    pub(crate) fn read(text: &[u8]) -> Result<Self, ReadError> {
        Reader { values: 0 }.value(serde_json::from_slice(text)?, 0)
    }

    /// An object of these members, in this order.
    pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(members.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// An object with one more member at its end.
    pub(crate) fn with(mut self, name: &str, value: Json) -> Self {
        if let Self::Object(members) = &mut self {
            members.push((name.to_owned(), value));
        }
        self
    }

    /// An object whose `_meta` has one more member.
    pub(crate) fn with_meta(mut self, name: &str, value: Json) -> Self {
        let meta = match &mut self {
            Self::Object(members) => members.iter_mut().find(|(member, _)| member == "_meta"),
            _ => None,
        };
        match meta {
            Some((_, meta)) => {
                *meta = std::mem::replace(meta, Json::Null).with(name, value);
                self
            }
            None => self.with("_meta", Self::object([(name, value)])),
        }
    }

    /// A member of an object; `None` for any other value.
    pub(crate) fn get(&self, name: &str) -> Option<&Json> {
        self.as_object()?
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value)
    }

    pub(crate) fn as_object(&self) -> Option<&[(String, Json)]> {
        if let Self::Object(members) = self {
            Some(members)
        } else {
            None
        }
    }

    pub(crate) fn as_array(&self) -> Option<&[Json]> {
        if let Self::Array(items) = self {
            Some(items)
        } else {
            None
        }
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub(crate) fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// The value of a number without a fraction, however it is written (`1`, `1.0`, `10e-1`).
    pub(crate) fn as_integer(&self) -> Option<i128> {
        if let Self::Number(number) = self {
            number.integer()
        } else {
            None
        }
    }
}

/// Compact JSON.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(Number(value.to_string()))
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl FromIterator<Json> for Json {
    fn from_iter<I: IntoIterator<Item = Json>>(items: I) -> Self {
        Self::Array(items.into_iter().collect())
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => items.serialize(serializer),
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (name, value) in members {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

/// A text of the client's as JSON, cut where it is long: an error must not outgrow the limit by what it quotes.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(64) {
        Some((end, _)) => format!("{}…", Json::from(&text[..end])),
        None => Json::from(text).to_string(),
    }
}

/// A number, kept as it was written.
#[derive(Clone, Debug)]
pub(crate) struct Number(String);

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

impl Number {
    /// A number with two decimals at most.
    pub(crate) fn rounded(value: f64) -> Self {
        let text = format!("{value:.2}");
        Self(text.trim_end_matches('0').trim_end_matches('.').to_owned())
    }

    /// The text of the number in the message.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// The value, if its fraction is zero. Values outside `i128` are given as its nearest end.
    pub(crate) fn integer(&self) -> Option<i128> {
        let (negative, rest) = self
            .0
            .strip_prefix('-')
            .map_or((false, &*self.0), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_matches('0');
        if significant.is_empty() {
            return Some(0);
        }
        // An exponent too long for i64 has the effect of the largest one.
        let exponent = exponent.parse::<i64>().unwrap_or(if exponent.starts_with('-') {
            i64::MIN
        } else {
            i64::MAX
        });
        let trailing = digits.len() - digits.trim_end_matches('0').len();
        let shift = exponent
            .saturating_sub(fraction.len() as i64)
            .saturating_add(trailing as i64);
        let zeros = usize::try_from(shift).ok()?;
        let end = if negative { i128::MIN } else { i128::MAX };
        if significant.len().saturating_add(zeros) > 39 {
            return Some(end);
        }
        let sign = if negative { "-" } else { "" };
        Some(
            format!("{sign}{significant}{}", "0".repeat(zeros))
                .parse()
                .unwrap_or(end),
        )
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(value) = self.0.parse::<u64>() {
            serializer.serialize_u64(value)
        } else if let Ok(value) = self.0.parse::<i64>() {
            serializer.serialize_i64(value)
        } else {
            serializer.serialize_f64(self.0.parse().map_err(serde::ser::Error::custom)?)
        }
    }
}

struct Reader {
    values: usize,
}

impl Reader {
    /// Reads level by level through `RawValue`, whose scan does not recurse: a deep text can't exhaust the stack.
    fn value(&mut self, raw: &RawValue, depth: usize) -> Result<Json, ReadError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(ReadError::TooManyValues);
        }
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'{' | b'[') if depth == MAX_DEPTH => Err(ReadError::TooDeep),
            Some(b'{') => self.object(serde_json::from_str(text)?, depth + 1),
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text)?;
                let items = items.into_iter().map(|item| self.value(item, depth + 1));
                Ok(Json::Array(items.collect::<Result<_, _>>()?))
            }
            Some(b'"') => Ok(Json::String(serde_json::from_str(text)?)),
            Some(b't' | b'f') => Ok(Json::Bool(serde_json::from_str(text)?)),
            Some(b'n') => Ok(Json::Null),
            _ => Ok(Json::Number(Number(text.to_owned()))),
        }
    }

    fn object(&mut self, members: Members<'_>, depth: usize) -> Result<Json, ReadError> {
        let mut read: Vec<(String, Json)> = Vec::new();
        for (name, raw) in members.0 {
            if read.iter().any(|(earlier, _)| *earlier == name) {
                return Err(ReadError::Duplicate(name));
            }
            read.push((name, self.value(raw, depth)?));
        }
        Ok(Json::Object(read))
    }
}

/// The members of one object, equal names and all, their values not yet read.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(String, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Collect).map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Json, ReadError> {
        Json::read(text.as_bytes())
    }

    #[test]
    fn order_is_kept_and_numbers_keep_their_digits() {
        let json = read(r#"{ "b": 9007199254740993, "a": [true, null, "é\u0041"] }"#).unwrap();
        assert_eq!(json.to_string(), r#"{"b":9007199254740993,"a":[true,null,"éA"]}"#);
    }

    #[test]
    fn depth_is_bounded_on_both_sides() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(32)).is_ok());
        assert!(matches!(read(&nested(33)), Err(ReadError::TooDeep)));
        assert!(matches!(read(&nested(8000)), Err(ReadError::TooDeep)));
        // Not JSON at all: the syntax comes first, however deep.
        assert!(matches!(read(&"[".repeat(16_000)), Err(ReadError::Syntax(_))));
    }

    #[test]
    fn values_are_bounded_on_both_sides() {
        let zeros = |n: usize| format!("[{}]", vec!["0"; n].join(","));
        assert!(read(&zeros(2047)).is_ok());
        assert!(matches!(read(&zeros(2048)), Err(ReadError::TooManyValues)));
    }

    #[test]
    fn an_equal_name_is_seen_also_when_it_is_escaped() {
        assert!(matches!(
            read(r#"{"id":1,"\u0069d":2}"#),
            Err(ReadError::Duplicate(_))
        ));
        assert!(read(r#"{"a":{"id":1},"id":1}"#).is_ok());
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for text in [
            "",
            " ",
            "{",
            "{'a':1}",
            "[1,]",
            "01",
            "+1",
            "nul",
            "\"\u{1}\"",
            "1 2",
            r#""\ud800""#,
        ] {
            assert!(matches!(read(text), Err(ReadError::Syntax(_))), "{text}");
        }
        assert!(matches!(Json::read(b"\"\xff\""), Err(ReadError::Syntax(_))));
    }

    #[test]
    fn an_integer_is_known_by_its_value() {
        for (text, value) in [
            ("1", 1),
            ("1.0", 1),
            ("10e-1", 1),
            ("1.20e1", 12),
            ("0.1E+1", 1),
            ("-0.0", 0),
            ("0e99999999999999999999", 0),
            ("-120", -120),
            ("1e999", i128::MAX),
            ("-1e99999999999999999999", i128::MIN),
        ] {
            assert_eq!(read(text).unwrap().as_integer(), Some(value), "{text}");
        }
        for text in ["1.5", "1e-1", "1.00000000000000000001", "1e-99999999999999999999"] {
            assert_eq!(read(text).unwrap().as_integer(), None, "{text}");
        }
    }

    #[test]
    fn a_rounded_number_has_two_decimals_at_most() {
        assert_eq!(Number::rounded(21.456).text(), "21.46");
        assert_eq!(Number::rounded(3.3).text(), "3.3");
        assert_eq!(Number::rounded(20.0).text(), "20");
    }
}
