//! HTTP/1.1 edge and mDNS responder for MCP devices, sans-IO, no_std.
#![no_std]
