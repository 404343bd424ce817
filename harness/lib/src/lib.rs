//! Drives MCP devices: client on both eras, transcripts, replay, reports.
//!
//! The pure parts (what to send, what an answer must be, how it is shown) are apart from those that talk: sockets
//! and processes are touched only in [`client`], [`discover`], [`http::connection`], [`process`] and [`board`]. This
//! crate compares exchanges with transcripts; it never judges conformance to the specification.

pub mod access;
pub mod bench;
pub mod board;
pub mod client;
pub mod compare;
pub mod diff;
pub mod discover;
pub mod fault;
pub mod fixtures;
pub mod http;
pub mod judge;
pub mod matcher;
pub mod message;
pub mod player;
pub mod prepare;
pub mod process;
pub mod record;
pub mod repeat;
pub mod replay;
pub mod report;
pub mod revision;
pub mod run;
pub mod shape;
pub mod shown;
pub mod sse;
pub mod surface;
pub mod target;
pub mod transcript;
