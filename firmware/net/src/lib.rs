//! What an MCP device needs between its sockets and [`mcp_device::Device`]: an HTTP/1.1 edge, an mDNS responder, the
//! clock that polls it, and the boot log lines that all boards print alike.
#![no_std]

pub mod boot;
pub mod clock;
pub mod http;
pub mod mdns;
