//! `fixtures/` as it was when this library was built.

const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Path below `fixtures/` and text of each file whose path begins so, in the order of paths.
pub fn all(prefix: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES
        .iter()
        .copied()
        .filter(move |(name, _)| name.starts_with(prefix))
}

/// Text of one file.
pub fn get(path: &str) -> Option<&'static str> {
    FILES
        .iter()
        .find(|(name, _)| *name == path)
        .map(|(_, text)| *text)
}
