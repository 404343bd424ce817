//! Shows two texts against each other, line by line: pure.

use crate::report::style::Style;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write as _;

/// Lines around a difference.
const CONTEXT: usize = 3;

/// A diff of what was expected (`-`) and what came (`+`).
pub fn render(expected: &str, got: &str, style: Style) -> String {
    render_named(expected, got, ["expected", "got"], style)
}

/// A diff of two texts, each with its name.
pub fn render_named(left: &str, right: &str, names: [&str; 2], style: Style) -> String {
    let diff = TextDiff::from_lines(left, right);
    let [left_name, right_name] = names;
    let mut text = format!(
        "{}\n{}\n",
        style.bad(&format!("- {left_name}")),
        style.good(&format!("+ {right_name}"))
    );
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
