//! Boards without hardware: QEMU machines on a network of their own.
//!
//! ```text
//!  the machine's network   │  anonymous namespace
//!                          │
//!  client ──127.0.0.1:P──► relay ──► hil0 (TAP, 10.13.37.1) ◄── programs run inside
//!                          │                   │
//!                          │        switch: loss, delay, cut, capture, DHCP
//!                          │         │                │
//!                          │       QEMU 10.13.37.10  QEMU 10.13.37.11 …
//! ```
//!
//! The process itself enters the namespace, first thing in `main`: [`VirtualNetwork::enter`]. The pure parts
//! ([`switch`], [`impairment`], [`dhcp`], [`plan`]) know neither sockets nor clocks.
//!
//! Nothing of this is needed for a real board, and nothing is left behind: the namespace has no name and dies with
//! its last process, the boards die with this process, and no file is made but those the caller names.
#![cfg(target_os = "linux")]

mod board;
pub mod capture;
pub mod console;
pub mod dhcp;
mod error;
mod fabric;
pub mod firmware;
mod host;
pub mod impairment;
mod machine;
pub mod namespace;
mod network;
pub mod plan;
mod relay;
pub mod serial;
pub mod switch;
mod tether;

pub use board::{Board, BoardOptions, Serving};
pub use error::Error;
pub use network::{MCP_PATH, Options, VirtualNetwork};
pub use serial::board::SerialBoard;
