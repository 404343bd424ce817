//! A verdict as text for a terminal: pure.

use crate::report;
use crate::verdict::Judged;
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::report::{Detail, line};

/// One verdict with what was found; `with_bytes` adds the exchanges.
pub fn judged(judged: &Judged, style: Style, with_bytes: bool) -> String {
    let detail = if with_bytes { Detail::Full } else { Detail::Terse };
    line(&report::case(judged), style, detail)
}
