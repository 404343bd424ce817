//! The mDNS responder against scripts of both sides, without sockets. Packets are written and read by another
//! library, so that a fault in ours can't hide on both sides.
//!
//! Each test names the requirements it checks by their ids (`mdns/…`).

#![allow(clippy::unwrap_used, clippy::panic)] // clippy takes the helpers of tests for code

mod answers;
mod bus;
mod config;
mod hostile;
mod names;
mod script;
mod timing;
