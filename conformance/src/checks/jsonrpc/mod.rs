//! The message layer: JSON-RPC 2.0 as MCP narrows it.

mod codes;
mod ids;
mod invalid;
mod meta;
mod notifications;
mod reading;
mod responses;
mod stateless;

use crate::check::Check;

pub const CHECKS: &[&[Check]] = &[
    reading::CHECKS,
    ids::CHECKS,
    invalid::CHECKS,
    notifications::CHECKS,
    codes::CHECKS,
    meta::CHECKS,
    stateless::CHECKS,
    responses::CHECKS,
];
