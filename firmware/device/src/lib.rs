//! The device's MCP server as a library: [`Request`] in, [`Response`] out.
//!
//! This crate never does I/O, reads no clock, and knows neither a board nor the test harness. What differs
//! between boards comes in through [`Board`]; time comes in as [`Millis`].
#![no_std]
extern crate alloc;

mod board;
mod http;

pub use board::{Board, Led, ReadError, Stats};
pub use http::{Request, Response};

/// Milliseconds since the board started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);
