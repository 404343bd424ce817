//! An HTTP/1.1 server edge (RFC 9110, RFC 9112) for a device with little memory.
//!
//! The pure part is apart from the part that does I/O: [`Connection`] is the state machine of one connection, bytes in,
//! bytes out, and [`Table`] decides who has to make room; neither knows a socket or a clock. [`Server`] drives them over
//! the sockets of `edge-nal`. Nothing here allocates, parses JSON or knows a path: that is the device's, behind
//! [`Handler`].
//!
//! What the edge promises: every request is answered, also a malformed one; nothing waits without a deadline; and
//! there is always room for the next connection, at the cost of the oldest one that has nothing to lose, or of one whose
//! client does not take its answer.
//!
//! # Memory
//! A [`Connection`] takes [`CONNECTION_BYTES`] and a little; heads and small bodies live there. A body that doesn't fit
//! takes one of a few buffers of [`BODY_MAX`] bytes shared by all connections, and so does each answer while it is made
//! and sent.

mod answer;
mod chunked;
mod connection;
mod fault;
mod head;
mod host;
mod pace;
mod policy;
mod pool;
mod server;

use core::time::Duration;

pub use answer::HeadText;
pub use connection::{Action, Connection};
pub use fault::Fault;
pub use head::HeaderSlots;
pub use host::Hosts;
pub use policy::{Buffer, Phase, Table, Verdict};
pub use server::{CONSTANT_MAX, Handler, Seat, Server, Shared};

/// Longest request head in bytes, from the method to the empty line.
pub const HEAD_MAX: usize = 2048;
/// Most header lines in a request.
pub const MAX_HEADERS: usize = 32;
/// Longest request body in bytes.
pub const BODY_MAX: usize = mcp_device::MAX_BODY;
/// Longest answer body in bytes.
pub const ANSWER_MAX: usize = mcp_device::MAX_ANSWER;
/// Longest line of a chunk's size, extensions included, in bytes.
pub const CHUNK_LINE_MAX: usize = 128;
/// Most bytes of trailers after a chunked body.
pub const TRAILERS_MAX: usize = 1024;
/// Most bytes that are read and dropped after a refusal, so that the client sees the answer and not a reset.
pub const LINGER_MAX: usize = 2 << 20;

/// Bytes that one connection buffers: a head, and room to read what follows it.
pub const CONNECTION_BYTES: usize = HEAD_MAX + 512;
/// Room for the head of an answer, in front of its body.
pub const HEAD_ROOM: usize = 256;

/// For a head, from its first byte.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(5);
/// For a body, from the end of its head.
pub const BODY_DEADLINE: Duration = Duration::from_secs(5);
/// For the first byte of the next request on an open connection.
pub const IDLE_DEADLINE: Duration = Duration::from_secs(15);
/// For the device to answer.
pub const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
/// For an answer to be taken by the client.
pub const WRITE_DEADLINE: Duration = Duration::from_secs(5);
/// For the client to close its side after the last answer.
pub const LINGER_DEADLINE: Duration = Duration::from_secs(5);
/// The same for a client whose place is needed.
pub const YIELD_LINGER: Duration = Duration::from_millis(250);
/// For a buffer to become free.
pub const BUFFER_WAIT: Duration = Duration::from_secs(6);
/// How long a connection may be idle, or a request half sent, before another one may take its place.
pub const GRACE: Duration = Duration::from_millis(100);
/// How long a client may take nothing of its answer while another request waits for the answer's buffer.
pub const STALL: Duration = Duration::from_millis(300);

/// `time` past `now`.
fn after(now: mcp_device::Millis, time: Duration) -> mcp_device::Millis {
    mcp_device::Millis(
        now.0
            .saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
    )
}
