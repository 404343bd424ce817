//! Lines on standard streams.

use crate::ask::Ask;
use crate::fault::{BOTH, Fault, LEGACY, MODERN, must, must_not, should};
use crate::reply::{Framing, Reply};
use serde_json::Value;

pub(super) const FAULTS: &[Fault] = &[
    must_not(
        "message-on-lines",
        BOTH,
        "both/stdio/newline-delimited",
        "writes messages over several lines",
    )
    .line(|_, line| {
        serde_json::from_str::<Value>(line).map_or_else(|_| line.to_owned(), |message| format!("{message:#}"))
    }),
    must_not(
        "banner",
        BOTH,
        "both/stdio/stdout-only-messages",
        "greets on standard output",
    )
    .line(|ask, line| {
        if ask.memory.count("lines") == 1 {
            format!("MCP server ready\n{line}")
        } else {
            line.to_owned()
        }
    }),
    must_not(
        "log-on-stdout",
        BOTH,
        "both/stdio/stdout-only-messages",
        "logs on standard output",
    )
    .line(|ask, line| format!("[info] served {}\n{line}", ask.rpc())),
    must(
        "split-line-refused",
        BOTH,
        "both/stdio/split-and-coalesced-input",
        "takes each read for a message",
    )
    .stdio()
    .answer(|ask| (ask.cuts.len() > 1).then(|| Reply::error(400, &Value::Null, -32700, "not JSON"))),
    must(
        "second-line-lost",
        BOTH,
        "both/stdio/split-and-coalesced-input",
        "loses all but the first message of a read",
    )
    .stdio()
    .answer(|ask| ask.pipelined.then(|| Reply::framed(Framing::Never))),
    must(
        "garbage-ends",
        BOTH,
        "both/stdio/garbage-line-recovers",
        "serves nobody after a line that is not JSON",
    )
    .stdio()
    .answer(|ask| {
        if serde_json::from_slice::<Value>(&ask.body).is_err() {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Never))
    }),
    should(
        "outlives-input",
        MODERN,
        "2026-07-28/stdio/exit-on-eof",
        "goes on after the end of its input",
    )
    .lingers(),
    must(
        "stdio-meta-lost",
        BOTH,
        "both/transport/custom-preserves-messages",
        "loses the protocol version of requests",
    )
    .stdio()
    .ask(lose_version),
    must_not(
        "line-in-carriage-returns",
        LEGACY,
        "both/stdio/newline-delimited",
        "puts a line break after every comma",
    )
    .line(|_, line| line.replace(",\"", ",\n\"")),
    must(
        "legacy-client-ignored",
        MODERN,
        "2026-07-28/dual-era/modern-only-initialize-stdio-error",
        "serves no legacy clients, and does not answer them",
    )
    .any_era()
    .stdio()
    .answer(|ask| ask.is("initialize").then(|| Reply::framed(Framing::Never))),
];

fn lose_version(ask: &mut Ask) {
    ask.edit(|message| {
        if message["params"]["_meta"].is_object() {
            super::remove(
                &mut message["params"]["_meta"],
                "io.modelcontextprotocol/protocolVersion",
            );
        } else if message["method"] == "initialize" {
            super::remove(&mut message["params"], "protocolVersion");
        }
    });
}
