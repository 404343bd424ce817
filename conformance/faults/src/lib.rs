//! Breaks a good MCP server in one way at a time, to show which checks see it.
//!
//! A [`Fault`] breaks one clause of the specification and nothing else. [`Proxy`] injects it over HTTP, [`relay`] over
//! stdio, [`Responder`] in what a board announces by mDNS; each counts how often it changed something, for a fault that changes nothing shows nothing. [`variants`]
//! are unusual but legal: no check may fail on them.

mod ask;
mod fault;
mod headers;
mod inject;
mod list;
mod mdns;
mod proxy;
mod reply;
mod stdio;
mod wire;

pub use fault::{Fault, Level, Transport};
pub use list::{faults, find, variants};
pub use mdns::Responder;
pub use proxy::Proxy;
pub use stdio::relay;
