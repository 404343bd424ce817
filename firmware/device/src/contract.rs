//! The contract's tools as the build script compacted them.

use crate::PAGE_SIZE;

/// A tool of the contract.
pub(crate) struct Tool {
    pub name: &'static str,
    /// The whole tool, as `tools/list` gives it.
    pub json: &'static str,
    /// The part of `json` that arguments are judged by.
    pub input_schema: &'static str,
}

/// In the order of `tools/list`.
pub(crate) static TOOLS: &[Tool] = include!(concat!(env!("OUT_DIR"), "/tools.rs"));

/// The tool of this name.
pub(crate) fn tool(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}

/// Where the page begins that a cursor stands for; none for a cursor that was never given.
pub(crate) fn page_start(cursor: &str) -> Option<usize> {
    let start: usize = cursor.strip_prefix(CURSOR_PREFIX)?.parse().ok()?;
    let given = start > 0 && start < TOOLS.len() && start.is_multiple_of(PAGE_SIZE);
    // Parsing also takes "+4" and "04", which were never given.
    (given && self::cursor(start) == cursor).then_some(start)
}

/// The cursor of the page that begins at `start`.
pub(crate) fn cursor(start: usize) -> alloc::string::String {
    alloc::format!("{CURSOR_PREFIX}{start}")
}

const CURSOR_PREFIX: &str = "tools/";
