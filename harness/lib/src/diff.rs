//! Shows two texts against each other, line by line: pure.

use crate::report::style::Style;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;

/// Lines around a difference.
const CONTEXT: usize = 3;

/// A diff of what was expected (`-`) and what came (`+`).
pub fn render(expected: &str, got: &str, style: Style) -> String {
    let diff = TextDiff::from_lines(expected, got);
    let mut text = format!("{}\n{}\n", style.bad("- expected"), style.good("+ got"));
    for (index, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if index > 0 {
            text.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches('\n');
            let _ = match change.tag() {
                ChangeTag::Delete => writeln!(text, "{}", style.bad(&format!("- {line}"))),
                ChangeTag::Insert => writeln!(text, "{}", style.good(&format!("+ {line}"))),
                ChangeTag::Equal => writeln!(text, "  {line}"),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_marked() {
        let text = render(
            "{\n  \"id\": 1,\n  \"ok\": true\n}",
            "{\n  \"id\": \"1\",\n  \"ok\": true\n}",
            Style::PLAIN,
        );
        assert_eq!(
            text,
            "- expected\n+ got\n  {\n-   \"id\": 1,\n+   \"id\": \"1\",\n    \"ok\": true\n  }\n"
        );
    }
}
