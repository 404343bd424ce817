//! What to change when a check fails, from the page that people read about it (`failures.md`): pure.

/// The page. A section has a line that begins with `Checks:` and names checks in backticks, and one with `Change:`.
const PAGE: &str = include_str!("../failures.md");

/// What to change when the check of this name (`AREA/NAME`) fails; none where the page says nothing of it.
pub fn advice(check: &str) -> Option<String> {
    let named = format!("`{check}`");
    let section = PAGE.split("\n## ").find(|section| {
        let checks = section.lines().find_map(|line| line.strip_prefix("Checks:"));
        checks.is_some_and(|checks| checks.contains(&named))
    })?;
    let change = section.lines().find_map(|line| line.strip_prefix("Change:"))?;
    Some(change.trim().replace('`', ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn the_page_has_ten_sections_with_advice_and_names_only_checks() {
        let sections: Vec<&str> = PAGE
            .lines()
            .filter_map(|line| line.strip_prefix("Checks:"))
            .collect();
        assert_eq!(sections.len(), 10);
        for section in sections {
            // the checks are named before what follows in words
            let names = section.split('.').next().unwrap_or_default();
            let names: Vec<&str> = names.split('`').skip(1).step_by(2).collect();
            assert!(!names.is_empty(), "{section}");
            for name in names {
                assert!(checks::all().any(|check| check.name == name), "{name}");
                assert!(advice(name).is_some(), "{name}");
            }
        }
    }

    #[test]
    fn what_the_page_does_not_name_has_no_advice() {
        assert_eq!(advice("jsonrpc/utf-8"), None);
        assert!(
            advice("jsonrpc/batch").is_some_and(|change| change.contains("-32600") && !change.contains('`'))
        );
    }
}
