//! HTTP rules that both eras have.

use crate::fault::{BOTH, Fault, must};
use crate::reply::Framing;

pub(super) const FAULTS: &[Fault] = &[
    must(
        "any-path",
        BOTH,
        "both/http/wrong-path-404",
        "speaks MCP on every path",
    )
    .http()
    .ask(|ask| match ask.memory.get("path") {
        Some(path) => ask.target = path.as_str().unwrap_or_default().to_owned(),
        None => {
            ask.memory.set("path", ask.target.clone());
        }
    }),
    must(
        "unknown-tool-404",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "answers an unknown tool with 404",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.status = 404;
        }
    }),
    must(
        "unknown-tool-500",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "answers an unknown tool with 500",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.status = 500;
        }
    }),
    must(
        "unknown-tool-hangs",
        BOTH,
        "both/tools/unknown-tool-http-status",
        "never answers an unknown tool",
    )
    .reply(|ask, reply| {
        if ask.is("tools/call") && reply.code() == Some(-32602) {
            reply.framing = Framing::Never;
        }
    }),
];
