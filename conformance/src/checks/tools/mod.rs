//! Tools: the list, its schemas, calls and what comes back.

mod call;
mod headers;
mod list;
mod patterns;
mod results;
mod schemas;

use crate::check::Check;
pub(super) use list::each;

pub const CHECKS: &[&[Check]] = &[
    list::CHECKS,
    schemas::CHECKS,
    patterns::CHECKS,
    headers::CHECKS,
    call::CHECKS,
    results::CHECKS,
];
