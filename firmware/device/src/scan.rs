//! A look at the body before any parser sees it: bounds, and the one rule of JSON text that a parser which skips
//! a value does not check.

use crate::{MAX_DEPTH, MAX_VALUES};

/// Why a body is not read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ScanError {
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("more than {MAX_VALUES} values")]
    TooManyValues,
    #[error("a string is not closed or holds a bad \\u escape at byte {at}")]
    String { at: usize },
}

/// Bounds nesting and values of a text, and refuses strings that can't be decoded (a lone surrogate is a legal
/// escape by the grammar of RFC 8259 but no Unicode text). All other grammar is left to the parser; on a text
/// that is not JSON this may also find nothing wrong.
pub(crate) fn scan(text: &str) -> Result<(), ScanError> {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut values) = (0, 0usize, 0usize);
    while let Some(&byte) = bytes.get(at) {
        let is_value = match byte {
            b'{' | b'[' => {
                depth += 1;
                at += 1;
                true
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at += 1;
                false
            }
            b'"' => {
                at = string_end(bytes, at + 1).ok_or(ScanError::String { at })?;
                !is_name(bytes, at)
            }
            b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                false
            }
            _ => {
                at += bytes[at..]
                    .iter()
                    .position(|b| b"{}[]\",: \t\n\r".contains(b))
                    .unwrap_or(bytes.len() - at);
                true
            }
        };
        values += usize::from(is_value);
        if depth > MAX_DEPTH {
            return Err(ScanError::TooDeep);
        }
        if values > MAX_VALUES {
            return Err(ScanError::TooManyValues);
        }
    }
    Ok(())
}

/// Whether a string that ends before `at` is the name of a member.
fn is_name(bytes: &[u8], at: usize) -> bool {
    bytes[at..].iter().find(|byte| !b" \t\n\r".contains(byte)) == Some(&b':')
}

/// Where the string ends whose text begins at `at`, past its closing quote.
fn string_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match (*bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', _) => return Some(at + 1),
            (b'\\', Some(b'u')) => at = code_point_end(bytes, at)?,
            (b'\\', _) => at += 2,
            _ => at += 1,
        }
    }
}

/// Where the escaped code point ends that begins at `at`; it takes two escapes beyond the basic plane.
fn code_point_end(bytes: &[u8], at: usize) -> Option<usize> {
    match code_unit(bytes, at)? {
        0xD800..=0xDBFF => match code_unit(bytes, at + 6)? {
            0xDC00..=0xDFFF => Some(at + 12),
            _ => None,
        },
        0xDC00..=0xDFFF => None,
        _ => Some(at + 6),
    }
}

fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| {
        Some(unit * 16 + char::from(digit).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_names_are_not() {
        let exactly = |unit: &str, values: usize, count: usize| {
            let text = alloc::format!("[{}]", alloc::vec![unit; count].join(","));
            assert_eq!(
                1 + values * count,
                MAX_VALUES + 1,
                "the test is one over the bound"
            );
            assert_eq!(scan(&text), Err(ScanError::TooManyValues), "{unit}");
            assert_eq!(scan(&text.replacen(unit, "", 1)), Ok(()), "{unit}");
        };
        for scalar in ["1", r#""""#, r#""a:b,[{""#, r#""\"""#, "null", "[]", " {} "] {
            exactly(scalar, 1, MAX_VALUES);
        }
        exactly(r#"{"a" : 1}"#, 2, MAX_VALUES / 2);
        exactly(r#"{"a":{"\"":[[]]}}"#, 4, MAX_VALUES / 4);
    }

    #[test]
    fn a_string_that_is_no_unicode_text_is_refused() {
        for good in [
            r#""\ud83e\udd80""#,
            r#""\uD800\uDFFF\udbff\udc00""#,
            r#""\ud7ff\ue000""#,
            r#""\\ud800""#,
            r#""\\\\\"""#,
        ] {
            assert_eq!(scan(good), Ok(()), "{good}");
        }
        for bad in [
            r#""\ud800""#,
            r#""\udc00""#,
            r#""\ud800\ud800""#,
            r#""\ud800x""#,
            r#""\ud800\n""#,
            r#""\ud800\\udc00""#,
            r#""\u12""#,
            r#""\u12é4""#,
            r#""\u+123""#,
            r#"""#,
            r#""\""#,
            r#""\"#,
            r#""\u"#,
            r#""\ud800\u"#,
        ] {
            assert!(matches!(scan(bad), Err(ScanError::String { at: 0 })), "{bad}");
        }
    }

    #[test]
    fn what_is_not_json_is_scanned_to_its_end() {
        for text in ["", "]]]]", "}{", ":::", "é", "\u{0}", "[\"a\" \"b\""] {
            assert_eq!(scan(text), Ok(()), "{text}");
        }
    }
}
