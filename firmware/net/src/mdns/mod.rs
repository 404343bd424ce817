//! mDNS responder for one host that offers one service, `_mcp._tcp.local` (RFC 6762, RFC 6763).
//!
//! [`Responder`] does no I/O and reads no clock: packets and time go in, packets and the next deadline come out.
//! It allocates nothing after construction, whatever is sent to it. [`driver`] runs it on a UDP socket.
//!
//! Not offered: IPv6, subtypes, reverse address records, more than one address. A UDP socket does not tell
//! whether a query came by unicast or multicast, so a query sent straight to the board is answered as if it had
//! been multicast.

mod config;
pub mod driver;
mod link;
mod query;
mod random;
mod record;
mod responder;
mod tie;
mod wire;
mod zone;

pub use config::{Config, ConfigError, Label, Txt};
pub use responder::{Event, Responder};
pub use wire::Packet;

use core::net::{Ipv4Addr, SocketAddrV4};

/// The port of mDNS (RFC 6762 §3).
pub const PORT: u16 = 5353;

/// Where multicast DNS packets go (RFC 6762 §3).
pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(224, 0, 0, 251), PORT);

/// Largest packet that is looked at, in bytes; longer ones are ignored (RFC 6762 §17).
pub const MAX_RECEIVED: usize = 9000;

/// Largest packet that is sent, in bytes: fits the IPv6 minimum MTU, and so every link.
pub const MAX_SENT: usize = 1232;
