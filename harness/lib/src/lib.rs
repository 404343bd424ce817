//! Drives MCP devices: client on both eras, transcripts, replay, reports.
//!
//! The pure parts (what to send, what an answer must be, how it is shown) are apart from those that talk: sockets
//! and processes are touched only in [`client`], [`http::connection`] and [`process`]. This crate compares exchanges with
//! transcripts; it never judges conformance to the specification.

pub mod client;
pub mod fault;
pub mod http;
pub mod message;
pub mod process;
pub mod repeat;
pub mod revision;
pub mod sse;
pub mod target;
