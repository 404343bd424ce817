//! Streamable HTTP, by subject.

mod answers;
mod framing;
mod headers;
mod methods;
mod modern_headers;
mod names;
mod notifications;
mod sessions;
mod statuses;
mod streams;

pub use methods::bare;
pub use sessions::hard_to_guess;
pub use statuses::features;

use crate::check::Check;
use crate::expect;
use mcp_hil_harness::client::{Exchange, Reply};
use mcp_hil_harness::http::Request;
use mcp_hil_harness::message;
use serde_json::Value;

/// A name that no server has: of a tool, a path, a session.
const NOWHERE: &str = "mcp-hil-nowhere";

pub const CHECKS: &[&[Check]] = &[
    methods::CHECKS,
    notifications::CHECKS,
    headers::CHECKS,
    modern_headers::CHECKS,
    names::CHECKS,
    statuses::CHECKS,
    sessions::CHECKS,
    framing::CHECKS,
    answers::CHECKS,
    streams::CHECKS,
];

/// Sets a header, in the place of one of this name in any letter case.
pub fn set(request: &mut Request, name: &str, value: &str) {
    unset(request, name);
    request.headers.push((name.to_owned(), value.to_owned()));
}

/// Takes a header away.
fn unset(request: &mut Request, name: &str) {
    request.headers.retain(|(n, _)| !n.eq_ignore_ascii_case(name));
}

/// Media type of an answer without its parameters, in lower case; empty if it has none.
fn media_type(reply: &Reply) -> String {
    let value = reply.header("content-type").unwrap_or_default();
    value
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}

fn is_event_stream(reply: &Reply) -> bool {
    media_type(reply) == "text/event-stream"
}

/// The JSON-RPC request that an exchange sent with one plain POST; none for anything else.
fn asked(exchange: &Exchange) -> Option<Value> {
    let is_post = exchange.sent.starts_with(b"POST ");
    let body = expect::sent_message(exchange)?;
    (is_post && body.get("id").is_some() && message::method(&body).is_some()).then_some(body)
}

/// Value of a header that an exchange sent.
fn sent_header(exchange: &Exchange, name: &str) -> Option<String> {
    let head = String::from_utf8_lossy(&exchange.sent);
    head.split("\r\n")
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_once(':'))
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.trim().to_owned())
}
