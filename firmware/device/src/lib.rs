//! The device's MCP server as a library: [`Request`] in, [`Response`] out.
//!
//! This crate never does I/O, reads no clock, and knows neither a board nor the test harness. What differs
//! between boards comes in through [`Board`]; time comes in as [`Millis`].
#![no_std]
extern crate alloc;

mod answer;
mod board;
mod bounds;
mod contract;
mod device;
mod era;
mod http;
mod jobs;
mod json;
mod log;
mod message;
mod scan;
mod schema;
mod tools;

pub use board::{Board, Led, ReadError, Stats};
pub use bounds::*;
pub use device::Device;
pub use http::{ALLOW, ENDPOINT, Request, Response};

/// Milliseconds since the board started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);
