//! Which checks a person means: pure.

use crate::check::Check;
use crate::checks;
use mcp_hil_harness::revision::Revision;

/// A choice of checks. Each of its texts is an area (`tools`), a check (`tools/unknown-tool`), or one of them in one
/// revision (`2026-07-28/tools`, `2026-07-28/tools/unknown-tool`); a slash at the end changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Only(Vec<String>);

/// A text that names no check.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no area and no check{}; `mcp-hil check --list` shows all", did_you_mean(.nearest))]
pub struct UnknownCheck {
    /// The text.
    pub text: String,
    /// What is written most alike, if anything is.
    pub nearest: Option<String>,
}

impl Only {
    /// Reads a choice; of no text, everything is chosen.
    ///
    /// # Errors
    /// The first text that names nothing.
    pub fn parse(texts: &[String]) -> Result<Self, UnknownCheck> {
        let names: Vec<String> = names();
        let mut chosen = Vec::new();
        for text in texts {
            let name = text.strip_suffix('/').unwrap_or(text);
            if !names.iter().any(|known| known == name) {
                return Err(UnknownCheck {
                    text: text.clone(),
                    nearest: nearest(name, names.iter().map(String::as_str)),
                });
            }
            chosen.push(name.to_owned());
        }
        Ok(Self(chosen))
    }

    /// Whether a check is chosen in a revision.
    pub fn chooses(&self, check: &Check, revision: Revision) -> bool {
        let id = check.id(revision);
        let is_at_or_below = |text: &str, name: &str| {
            text.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.0.is_empty()
            || self
                .0
                .iter()
                .any(|name| is_at_or_below(&id, name) || is_at_or_below(check.name, name))
    }
}

/// Everything that chooses at least one check.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    for check in checks::all() {
        for name in [check.area(), check.name] {
            names.push(name.to_owned());
            for revision in check.revisions {
                names.push(revision.to_string());
                names.push(format!("{revision}/{name}"));
            }
        }
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// The candidate that is written most like a text; none if all are far.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let likeness = |candidate: &&str| strsim::normalized_damerau_levenshtein(text, candidate);
    let (likeness, candidate) = candidates
        .map(|candidate| (likeness(&candidate), candidate))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (likeness >= 0.5).then(|| candidate.to_owned())
}

/// The nearest, for an error.
pub fn did_you_mean(nearest: &Option<String>) -> String {
    nearest
        .as_ref()
        .map_or_else(String::new, |nearest| format!("; did you mean {nearest:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(text: &str) -> Vec<String> {
        let only = Only::parse(&[text.to_owned()]).unwrap();
        let ids = checks::all().flat_map(|check| {
            let revisions = check.revisions.iter();
            let chosen = revisions.filter(|revision| only.chooses(check, **revision));
            chosen.map(|revision| check.id(*revision)).collect::<Vec<_>>()
        });
        ids.collect()
    }

    #[test]
    fn an_area_is_that_area_and_no_other() {
        let tools = chosen("tools");
        assert!(tools.len() > 20, "{tools:?}");
        assert!(
            tools.iter().all(|id| id.split('/').nth(1) == Some("tools")),
            "{tools:?}"
        );
        assert!(chosen("tools/") == tools);
        // these hold the word as well, and are of other areas
        assert!(checks::all().any(|check| check.name.contains("tool") && check.area() != "tools"));
    }

    #[test]
    fn a_check_is_chosen_in_all_revisions_or_in_one() {
        let both = ["2025-11-25/tools/unknown-tool", "2026-07-28/tools/unknown-tool"];
        assert_eq!(chosen("tools/unknown-tool"), both);
        assert_eq!(chosen(both[1]), both[1..]);
        assert!(
            chosen("2026-07-28/tools")
                .iter()
                .all(|id| id.starts_with("2026-07-28/tools/"))
        );
        assert!(
            chosen("2026-07-28")
                .iter()
                .all(|id| id.starts_with("2026-07-28/"))
        );
    }

    #[test]
    fn a_part_of_a_name_is_none_and_the_nearest_is_told() {
        let error = |text: &str| Only::parse(&[text.to_owned()]).unwrap_err().to_string();
        assert!(
            error("tool").contains("did you mean \"tools\"?"),
            "{}",
            error("tool")
        );
        assert!(error("tools/unknown-tol").contains("did you mean \"tools/unknown-tool\"?"));
        assert!(error("2026-07-28/tool/unknown-tool").contains("\"2026-07-28/tools/unknown-tool\""));
        for text in ["", "/", "ools", "tools//", "unknown-tool", "zzzzzzzzzzzzzzzzzz"] {
            assert!(Only::parse(&[text.to_owned()]).is_err(), "{text:?}");
        }
        assert!(!error("zzzzzzzzzzzzzzzzzz").contains("did you mean"));
    }

    #[test]
    fn without_a_text_all_are_chosen() {
        let only = Only::parse(&[]).unwrap();
        assert!(checks::all().all(|check| only.chooses(check, check.revisions[0])));
    }
}
