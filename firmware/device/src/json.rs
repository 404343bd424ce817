//! Reading JSON one level at a time, without a tree: a value stays the text it was sent as.

use alloc::borrow::Cow;
use core::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Types of JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Type {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Type {
    /// Type of a value; a number without a fraction, such as `1.0`, is an integer.
    pub(crate) fn of(value: &RawValue) -> Self {
        match value.get().as_bytes().first() {
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b'"') => Self::String,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'n') => Self::Null,
            _ if integer(value).is_some() => Self::Integer,
            _ => Self::Number,
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        })
    }
}

/// Text of a string value; none for a value of another type.
pub(crate) fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    serde_json::from_str::<Text>(value.get()).ok().map(|text| text.0)
}

/// Text of an object value; none for a value of another type.
pub(crate) fn object(value: &RawValue) -> Option<&str> {
    (Type::of(value) == Type::Object).then_some(value.get())
}

/// Value of a number without a fraction, however it is written (`100`, `1e2`, `100.0`), the nearest `i64` where it
/// is beyond them; none for any other value.
pub(crate) fn integer(value: &RawValue) -> Option<i64> {
    let text = value.get();
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || {
        whole
            .bytes()
            .chain(fraction.bytes())
            .map(|digit| i64::from(digit - b'0'))
    };
    let Some(last) = digits()
        .enumerate()
        .filter(|(_, digit)| *digit != 0)
        .map(|(index, _)| index)
        .last()
    else {
        return Some(0);
    };
    // Index of the first digit after the decimal point once the exponent has moved it.
    let point = (whole.len() as i64).saturating_add(saturating(exponent));
    if point <= last as i64 {
        return None;
    }
    let mut magnitude = 0i64;
    for digit in digits()
        .chain(core::iter::repeat(0))
        .take(usize::try_from(point).unwrap_or(usize::MAX))
    {
        magnitude = magnitude.saturating_mul(10).saturating_add(digit);
        if magnitude == i64::MAX {
            break;
        }
    }
    Some(match (negative, magnitude) {
        (true, i64::MAX) => i64::MIN,
        (true, _) => -magnitude,
        (false, _) => magnitude,
    })
}

fn saturating(exponent: &str) -> i64 {
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, exponent.strip_prefix('+').unwrap_or(exponent)),
    };
    digits.bytes().fold(0i64, |n, digit| {
        n.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
    }) * sign
}

/// A member that the device reads stands twice in one object.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the member {0:?} stands twice in one object")]
pub(crate) struct Duplicate(pub &'static str);

/// The members of these names of an object, which must be valid JSON text.
pub(crate) fn members<'a, const N: usize>(
    object: &'a str,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], Duplicate> {
    let mut found = [None; N];
    let mut duplicate = None;
    each_member(object, &mut |name, value| {
        if let Some(index) = names.iter().position(|wanted| *wanted == name)
            && found[index].replace(value).is_some()
        {
            duplicate = Some(names[index]);
        }
    });
    duplicate.map_or(Ok(found), |name| Err(Duplicate(name)))
}

/// Calls `visit` with name and value of each member of an object in the order sent. The object must be valid
/// JSON text: the members after a fault are not visited.
pub(crate) fn each_member<'a>(object: &'a str, visit: &mut dyn FnMut(Cow<'a, str>, &'a RawValue)) {
    struct Each<'v, 'a>(&'v mut dyn FnMut(Cow<'a, str>, &'a RawValue));
    impl<'a> Visitor<'a> for Each<'_, 'a> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
            while let Some((Text(name), value)) = map.next_entry()? {
                (self.0)(name, value);
            }
            Ok(())
        }
    }
    let read = serde_json::Deserializer::from_str(object).deserialize_map(Each(visit));
    debug_assert!(read.is_ok(), "the text was checked before: {object}");
}

/// A string, borrowed where it holds no escape (`Cow` by itself is always read as owned).
struct Text<'a>(Cow<'a, str>);

impl<'a> Deserialize<'a> for Text<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'a> Visitor<'a> for TextVisitor {
            type Value = Text<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: serde::de::Error>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.into())))
            }
        }
        deserializer
            .deserialize_str(TextVisitor)
            .map_err(D::Error::custom)
    }
}

/// Shows a text as a JSON string.
pub(crate) struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\u{8}' => f.write_str("\\b")?,
                '\u{c}' => f.write_str("\\f")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(c))?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
