//! The contract's tools as the build script compacted them.

use alloc::format;
use alloc::string::String;

use crate::PAGE_SIZE;
use crate::json::Text;

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
pub(crate) fn tool(name: Text<'_>) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| name == *tool.name)
}

/// The cursor of the page that begins with this tool.
pub(crate) fn cursor(start: usize) -> String {
    format!("tools/{start}")
}

/// Where the page begins that a cursor stands for; none for a cursor that was never given.
pub(crate) fn page_start(cursor: Text<'_>) -> Option<usize> {
    (PAGE_SIZE..TOOLS.len())
        .step_by(PAGE_SIZE)
        .find(|start| cursor == *self::cursor(*start))
}
