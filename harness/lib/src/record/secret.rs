//! Values that look like secrets: pure.

use regex::Regex;
use std::sync::LazyLock;

/// Words in the name of a member whose text is nobody's business.
const NAMES: [&str; 9] = [
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "authorization",
    "credential",
    "privatekey",
    "cookie",
];

/// Forms that are given to keys and tokens so that they are known on sight.
#[allow(clippy::unwrap_used, reason = "the tests compile it")]
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"\b(sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bnpm_[A-Za-z0-9]{20,}",
        r"|\b(AKIA|ASIA)[0-9A-Z]{16}\b|\bxox[abprs]-[\w-]{10,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY-----|\bBearer [\w.~+/-]{12,}",
        r"|\b\w+://[^\s/:@]+:[^\s/@]+@",
    ))
    .unwrap()
});

/// Whether a text looks like a secret, or stands under a name that says so.
pub fn is_secret(name: Option<&str>, text: &str) -> bool {
    let plain = name.map(|name| name.to_ascii_lowercase().replace(['_', '-', '.'], ""));
    let named = plain.is_some_and(|name| NAMES.iter().any(|word| name.ends_with(word)));
    (named && !text.is_empty()) || FORMS.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name_and_form() {
        for (name, text) in [
            ("NPM_TOKEN", "x"),
            ("db-password", "x"),
            ("apiKey", "x"),
            ("a", "use ghp_0123456789abcdefghijABCDEFGHIJ012345 here"),
            ("a", "AKIAIOSFODNN7EXAMPLE"),
            ("a", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln"),
            ("a", "-----BEGIN EC PRIVATE KEY-----"),
            ("a", "postgres://me:pass@db/x"),
        ] {
            assert!(is_secret(Some(name), text), "{name} {text}");
        }
        for (name, text) in [
            ("text", "Echo: hello"),
            ("tokens", "7"),
            ("password", ""),
            ("uri", "https://a.example/b:c"),
        ] {
            assert!(!is_secret(Some(name), text), "{name} {text}");
        }
    }
}
