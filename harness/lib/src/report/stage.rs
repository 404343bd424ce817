//! A board's way from image to verdict.

use std::time::Duration;

/// A stage of it that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// As `boot`.
    pub name: &'static str,
    /// Time it took.
    pub time: Duration,
    /// What came of it; may be empty.
    pub note: String,
    /// Whether the way ends here.
    pub failed: bool,
}
