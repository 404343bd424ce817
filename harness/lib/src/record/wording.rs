//! A regular expression for texts that differ in times, ids, numbers or words only: pure.

use regex::Regex;
use std::sync::LazyLock;

/// For longer texts an expression would tell little.
const MAX: usize = 2000;
/// What stands for something as a whole, though only a part of it may have differed.
const SHAPES: [&str; 4] = [
    // RFC 3339
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})",
    // RFC 9562
    r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}",
    r"[0-9]{1,4}[-/.][0-9]{1,2}[-/.][0-9]{1,4}",
    r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[ \x{202f}][AP]M)?",
];

/// A shape, a run of letters and digits, or another character.
#[allow(clippy::unwrap_used, reason = "the tests compile it")]
static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    let [a, b, c, d] = SHAPES;
    Regex::new(&format!(r"(?s)({a})|({b})|({c})|({d})|[0-9A-Za-z]+|.")).unwrap()
});

struct Token<'a> {
    text: &'a str,
    shape: Option<usize>,
}

/// None where the texts are too different.
pub fn regex(texts: &[&str]) -> Option<String> {
    if is_base64(texts) {
        return Some("^[A-Za-z0-9+/]+={0,2}$".to_owned());
    }
    let split: Vec<Vec<Token<'_>>> = texts.iter().map(|text| tokens(text)).collect();
    let first = split.first()?;
    if split.iter().any(|other| other.len() != first.len()) || texts.iter().any(|text| text.len() > MAX) {
        return None;
    }
    let mut regex = String::from("^");
    for index in 0..first.len() {
        let column: Vec<_> = split.iter().map(|tokens| &tokens[index]).collect();
        regex.push_str(&one(&column)?);
    }
    regex.push('$');
    Some(regex)
}

fn one(column: &[&Token<'_>]) -> Option<String> {
    let Token { text, shape } = column.first()?;
    if column.iter().all(|token| token.text == *text) {
        return Some(regex::escape(text));
    }
    if let Some(shape) = shape.filter(|_| column.iter().all(|token| token.shape == *shape)) {
        return Some(SHAPES[shape].to_owned());
    }
    let every = |is: fn(&u8) -> bool| {
        column
            .iter()
            .all(|token| token.text.bytes().all(|byte| is(&byte)))
    };
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let length = text.len();
    if every(u8::is_ascii_digit) {
        Some("[0-9]+".to_owned())
    } else if length >= 4 && every(is_hex) && column.iter().all(|token| token.text.len() == length) {
        Some(format!("[0-9a-f]{{{length}}}"))
    } else if every(u8::is_ascii_alphanumeric) {
        Some("[0-9A-Za-z]+".to_owned())
    } else {
        None
    }
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let found = TOKEN.captures_iter(text).filter_map(|token| {
        let shape = (0..SHAPES.len()).find(|shape| token.get(shape + 1).is_some());
        Some(Token {
            text: token.get(0)?.as_str(),
            shape,
        })
    });
    found.collect()
}

/// Long, with a letter of each case, and of the right length: no words, but data.
fn is_base64(texts: &[&str]) -> bool {
    let is = |text: &&str| {
        let digits = text.trim_end_matches('=');
        text.len() >= 16
            && text.len().is_multiple_of(4)
            && text.len() - digits.len() <= 2
            && digits
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
            && digits.bytes().any(|byte| byte.is_ascii_uppercase())
            && digits.bytes().any(|byte| byte.is_ascii_lowercase())
    };
    texts.iter().all(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what is made of two texts holds for a third.
    fn holds(first: &str, second: &str, third: &str) -> bool {
        let made = regex(&[first, second]).unwrap();
        let made = Regex::new(&made).unwrap();
        assert!(made.is_match(first) && made.is_match(second), "{made}");
        made.is_match(third)
    }

    #[test]
    fn a_time_is_any_time_though_only_its_seconds_differed() {
        assert!(holds(
            "2026-11-30T23:04:01.25Z",
            "2026-11-30T23:04:02.5Z",
            "2027-01-01T00:00:00Z"
        ));
        assert!(!holds(
            "2026-11-30T23:04:01.25Z",
            "2026-11-30T23:04:02.5Z",
            "yesterday"
        ));
        assert!(holds(
            "created 11:04:01 PM.",
            "created 11:04:02 PM.",
            "created 1:00:00 AM."
        ));
        assert!(!holds(
            "created 11:04:01 PM.",
            "created 11:04:02 PM.",
            "created 1:00:00 AM!"
        ));
    }

    #[test]
    fn ids_and_data_keep_their_alphabet() {
        let (a, b) = (
            "0b5cf1a2-7f0e-4a55-9d0e-0123456789ab",
            "9f957171-7252-412b-a379-b91a6f49f3ef",
        );
        assert!(holds(a, b, "26f8e8f2-dfc8-4f34-81ff-f8db4ed3df6c"));
        assert!(!holds(a, b, "26f8e8f2"));
        assert!(holds(
            "SGVsbG8gMTI6MDE6MDIh",
            "SGVsbG8gMTI6MDE6MDMh",
            "SGVsbG8gMTI6MDE6+/=="
        ));
        assert_eq!(regex(&["a b", "a-b"]), None);
    }
}
