//! The mDNS responder against scripts of both sides, without sockets. Packets are written and read by another
//! library, so that a fault in ours can't hide on both sides.
//!
//! Each test names the requirements it checks by their ids (`mdns/…`).

mod answers;
mod bus;
mod config;
mod hostile;
mod names;
mod script;
mod timing;
