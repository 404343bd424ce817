//! Texts as they may be shown to anybody: pure.

use serde_json::Value;

/// A value of a query shorter than this is shown: it is no token.
const SHORT: usize = 6;

/// Whether a character moves, hides or reorders others where it is shown.
pub fn is_steering(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A JSON value as a text with a line feed. A character that could steer a terminal is written as `\u009b`, which means the
/// same in JSON (RFC 8259, section 7).
pub fn json(value: &Value) -> String {
    let mut text = String::new();
    for c in format!("{value:#}\n").chars() {
        // such characters are in strings only
        if c != '\n' && is_steering(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
    }
    text
}

/// A target's name without what may be secret in a URL: a user name, a password, and the values of the query.
pub fn target(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let Some(scheme) = ["http://", "https://"]
        .into_iter()
        .find(|scheme| lower.starts_with(scheme))
    else {
        return name.to_owned();
    };
    let (scheme, rest) = name.split_at(scheme.len());
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let mut text = format!("{scheme}{host}{path}");
    for (secret, shown) in of_query(path) {
        text = text.replace(&secret, &shown);
    }
    text
}

/// What may be secret in the query of a path: texts, and what to show in their place. `name=value` is one for itself, and
/// so is a long value.
pub fn of_query(path: &str) -> Vec<(String, String)> {
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let mut hidden = Vec::new();
    for pair in query.split('&') {
        let (name, value) = pair.split_once('=').unwrap_or(("", pair));
        if value.len() < SHORT {
            continue;
        }
        let upper = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        };
        let variable = format!("$MCP_HIL_{}", name.chars().map(upper).collect::<String>());
        if name.is_empty() || value.len() >= 2 * SHORT {
            hidden.push((value.to_owned(), variable));
        } else {
            hidden.push((format!("{name}={value}"), format!("{name}={variable}")));
        }
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_no_secret_of_a_url() {
        for (name, shown) in [
            ("http://h/mcp", "http://h/mcp"),
            ("http://h/mcp?x=1&board=two", "http://h/mcp?x=1&board=two"),
            (
                "https://h:1/mcp?api-key=0123456789abcdef&x=1",
                "https://h:1/mcp?api-key=$MCP_HIL_API_KEY&x=1",
            ),
            ("http://h?token=secret", "http://h?token=$MCP_HIL_TOKEN"),
            ("http://h/?0123456789ab", "http://h/?$MCP_HIL_"),
            ("HTTP://me:secret@h/mcp", "HTTP://h/mcp"),
            ("http://me:se@cret@[bad", "http://[bad"),
            ("stdio:x http://me:secret@h", "stdio:x http://me:secret@h"),
            ("reference", "reference"),
        ] {
            assert_eq!(target(name), shown);
        }
    }

    #[test]
    fn json_that_could_steer_a_terminal_means_the_same_without() {
        let value = serde_json::json!({"a\u{9b}": ["\u{1b}[2J\u{7f}", "\u{202e}\u{fc}\n"]});
        let text = json(&value);
        assert!(text.chars().all(|c| c == '\n' || !is_steering(c)), "{text:?}");
        assert!(text.contains("\u{fc}\\n") && text.ends_with("}\n"));
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
