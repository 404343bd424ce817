//! Tests of the HTTP edge. `peer` is one side of each script: it feeds a connection bytes as a network would, split
//! anywhere, at a time of its choosing, and records what the connection made of them. Only `sockets` uses real ones.

#![allow(clippy::unwrap_used, clippy::panic)] // a test may

mod deadlines;
mod framing;
mod heads;
mod memory;
mod peer;
mod room;
mod sockets;
mod splits;
