//! Reading JSON one level at a time, without a tree and without the heap: a value stays the text it was sent as.
//!
//! Everything here takes values of a message that [`crate::message`] has checked, or of the contract.

use core::fmt::{self, Write};
use core::str::Chars;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
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
    pub fn of(value: &RawValue) -> Self {
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

/// A string value; none for a value of another type.
pub(crate) fn string(value: &RawValue) -> Option<Text<'_>> {
    value.get().strip_prefix('"')?.strip_suffix('"').map(Text)
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
    // How many digits stand before the decimal point once the exponent has moved it.
    let point = saturating(exponent).saturating_add(whole.len() as i64);
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
#[error("the member {0} stands twice in one object")]
pub(crate) struct Duplicate(pub &'static str);

/// The members of these names of an object.
pub(crate) fn members<'a, const N: usize>(
    object: &'a str,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], Duplicate> {
    let mut found = [None; N];
    let mut duplicate = None;
    each_member(object, &mut |name, value| {
        if let Some(index) = names.iter().position(|wanted| name == **wanted)
            && found[index].replace(value).is_some()
        {
            duplicate = Some(names[index]);
        }
    });
    duplicate.map_or(Ok(found), |name| Err(Duplicate(name)))
}

/// Calls `visit` with name and value of each member of an object in the order sent.
pub(crate) fn each_member<'a>(object: &'a str, visit: &mut dyn FnMut(Text<'a>, &'a RawValue)) {
    struct Each<'v, 'a>(&'v mut dyn FnMut(Text<'a>, &'a RawValue));
    impl<'a> Visitor<'a> for Each<'_, 'a> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }
        fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<(), M::Error> {
            while let Some((name, value)) = map.next_entry()? {
                (self.0)(name, value);
            }
            Ok(())
        }
    }
    let read = serde_json::Deserializer::from_str(object).deserialize_map(Each(visit));
    debug_assert!(read.is_ok(), "checked before: {object}");
}

/// Calls `visit` with each element of an array.
pub(crate) fn each_element<'a>(array: &'a str, visit: &mut dyn FnMut(&'a RawValue)) {
    struct Each<'v, 'a>(&'v mut dyn FnMut(&'a RawValue));
    impl<'a> Visitor<'a> for Each<'_, 'a> {
        type Value = ();
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }
        fn visit_seq<S: SeqAccess<'a>>(self, mut elements: S) -> Result<(), S::Error> {
            while let Some(element) = elements.next_element()? {
                (self.0)(element);
            }
            Ok(())
        }
    }
    let read = serde_json::Deserializer::from_str(array).deserialize_seq(Each(visit));
    debug_assert!(read.is_ok(), "checked before: {array}");
}

/// A string, kept as it stands between its quotes: reading it takes no memory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    /// Its characters, escapes resolved.
    pub fn chars(self) -> impl Iterator<Item = char> + Clone + 'a {
        Unescaped(self.0.chars())
    }

    /// The same characters without a copy; none where some are escaped.
    pub fn plain(self) -> Option<&'a str> {
        (!self.0.contains('\\')).then_some(self.0)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        string(<&'de RawValue>::deserialize(deserializer)?).ok_or_else(|| Error::custom("expected a string"))
    }
}

impl PartialEq<str> for Text<'_> {
    fn eq(&self, other: &str) -> bool {
        self.plain()
            .map_or_else(|| self.chars().eq(other.chars()), |plain| plain == other)
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.chars().eq(other.chars())
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Some(plain) => f.write_str(plain),
            None => self.chars().try_for_each(|c| f.write_char(c)),
        }
    }
}

#[derive(Clone)]
struct Unescaped<'a>(Chars<'a>);

impl Unescaped<'_> {
    fn code_unit(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + self.0.next()?.to_digit(16)?))
    }
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self.0.next()? {
            '\\' => Some(match self.0.next()? {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let mut code = self.code_unit()?;
                    if (0xD800..0xDC00).contains(&code) {
                        self.0.nth(1)?; // the \u of the other half, there by the scan
                        code = 0x10000 + ((code - 0xD800) << 10) + (self.code_unit()? & 0x3FF);
                    }
                    char::from_u32(code)?
                }
                other => other,
            }),
            c => Some(c),
        }
    }
}

/// Shows a text as a JSON string, cut after so many characters.
pub(crate) struct Quoted<'a>(pub Text<'a>, pub usize);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text, most) = self;
        f.write_char('"')?;
        for c in text.chars().take(*most) {
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
        f.write_char('"')?;
        if text.chars().nth(*most).is_some() {
            f.write_char('…')
        } else {
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> &RawValue {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_number_without_a_fraction_is_an_integer_however_it_is_written() {
        for (json, value) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("0.000", Some(0)),
            ("0e999999999999999999999", Some(0)),
            ("1.0", Some(1)),
            ("1e2", Some(100)),
            ("1E+2", Some(100)),
            ("1.5e1", Some(15)),
            ("1500e-2", Some(15)),
            ("-64.0e0", Some(-64)),
            ("0.1", None),
            ("1e-1", None),
            ("1.25e1", None),
            ("15e-99999999999999999999", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("1e400", Some(i64::MAX)),
            ("-1e99999999999999999999999", Some(i64::MIN)),
            ("0.0000000000000000000000000000001e31", Some(1)),
            (r#""1""#, None),
            ("true", None),
            ("null", None),
        ] {
            assert_eq!(integer(raw(json)), value, "{json}");
        }
    }

    #[test]
    fn a_text_is_what_its_escapes_mean() {
        let text = string(raw(r#""a\"\\\/\b\f\n\r\t\u00e9\ud83e\udd80\uD83E\uDD80é""#)).unwrap();
        assert!(text == *"a\"\\/\u{8}\u{c}\n\r\té\u{1f980}\u{1f980}é");
        assert_eq!(
            alloc::format!("{text}"),
            "a\"\\/\u{8}\u{c}\n\r\té\u{1f980}\u{1f980}é"
        );
    }

    #[test]
    fn a_quote_escapes_as_a_json_writer_does_and_is_cut_on_a_character() {
        let sent = raw(r#""\u0041\"\\\/\b\f\n\r\t\u0000\u001F\u007f\ud83e\udd80""#);
        let quoted = alloc::format!("{}", Quoted(string(sent).unwrap(), usize::MAX));
        let text: alloc::string::String = serde_json::from_str(sent.get()).unwrap();
        assert_eq!(quoted, serde_json::to_string(&text).unwrap());

        let crabs = Text("🦀🦀🦀");
        assert_eq!(alloc::format!("{}", Quoted(crabs, 3)), "\"🦀🦀🦀\"");
        assert_eq!(alloc::format!("{}", Quoted(crabs, 2)), "\"🦀🦀\"…");
    }

    #[test]
    fn a_member_twice_is_told_also_behind_an_escape() {
        assert_eq!(
            members(r#"{"id":1,"x":2,"x":3}"#, ["id"]).unwrap()[0]
                .unwrap()
                .get(),
            "1"
        );
        assert_eq!(
            members(r#"{"id":1,"\u0069d":1}"#, ["id"]).unwrap_err(),
            Duplicate("id")
        );
        assert!(members("{}", ["id"]).unwrap()[0].is_none());
    }
}
