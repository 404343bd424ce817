//! What boards on embassy-net share, between the network stack and `mcp-device-net`: sockets that listen, being found over
//! mDNS, a driver around the board's that lets clients in, and where the board's address comes from.
//!
//! The board gives its stack two sockets more than
//! [`listener::SOCKETS`], for DHCP and mDNS, and waits for no change of the stack's configuration itself:
//! [`discovery::run`] does, and the stack wakes one task only.
#![no_std]

pub mod addressing;
mod datagram;
pub mod discovery;
pub mod door;
pub mod listener;
