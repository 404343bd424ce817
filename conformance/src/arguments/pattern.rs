//! Texts that match a regular expression: pure, and the same for the same seed.

use regex_syntax::hir::{Class, Hir, HirKind};

/// Most repetitions of what may be repeated without end, over what must be.
const MAX_MORE: u32 = 3;
/// Longest pattern that is read and text that is made, in bytes.
const MAX_LENGTH: usize = 4096;
/// Deepest expression that is followed.
const MAX_DEPTH: u32 = 64;

/// A text that matches, as far as this reads the pattern: JSON Schema's are of ECMA-262, whose look-around and
/// back-references this does not know. Anchors and word boundaries are passed over, so the caller checks what is made.
pub fn text(pattern: &str, random: &mut fastrand::Rng) -> Option<String> {
    if pattern.len() > MAX_LENGTH {
        return None;
    }
    let mut parser = regex_syntax::ParserBuilder::new().nest_limit(MAX_DEPTH).build();
    let mut made = String::new();
    write(&parser.parse(pattern).ok()?, random, &mut made)?;
    Some(made)
}

fn write(hir: &Hir, random: &mut fastrand::Rng, made: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => made.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => made.push(character(class, random)?),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(MAX_MORE));
            for _ in 0..random.u32(repetition.min..=most.min(repetition.min.saturating_add(MAX_MORE))) {
                write(&repetition.sub, random, made)?;
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, random, made)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, random, made))?,
        HirKind::Alternation(options) => write(&options[random.usize(..options.len())], random, made)?,
    }
    (made.len() <= MAX_LENGTH).then_some(())
}

/// One of a class, of its ASCII where it has some that can be printed: a name with a NUL is legal, and of no use.
fn character(class: &Class, random: &mut fastrand::Rng) -> Option<char> {
    let Class::Unicode(class) = class else {
        return None;
    };
    let printed: Vec<char> = (' '..='~')
        .filter(|c| {
            class
                .iter()
                .any(|range| (range.start()..=range.end()).contains(c))
        })
        .collect();
    if printed.is_empty() {
        class.iter().next().map(|range| range.start())
    } else {
        printed.get(random.usize(..printed.len())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(pattern: &str) -> Option<String> {
        text(pattern, &mut fastrand::Rng::with_seed(7))
    }

    #[test]
    fn a_text_matches_its_pattern_in_full() {
        for pattern in [
            "^(?:[0-9A-F]{2}:){5}[0-9A-F]{2}$",
            r"^\d{4}-\d{2}$",
            "^(on|off)$",
            r"^[^\x00-\x1f]+$",
            "^gpio[0-9]{1,2}(_inv)?$",
        ] {
            let text = made(pattern).unwrap();
            assert!(
                regress::Regex::new(pattern).unwrap().find(&text).is_some(),
                "{pattern}: {text:?}"
            );
        }
        assert_eq!(made("^abc$").unwrap(), "abc");
    }

    #[test]
    fn what_is_not_known_or_too_long_gives_none() {
        for pattern in [r"^(?!a)\w+$", r"^(a)\1$", "([", "^(a{1000}){1000}$"] {
            assert_eq!(made(pattern), None, "{pattern}");
        }
    }
}
