//! A client without a network.

use mcp_device::Millis;
use mcp_device_net::http::{Action, BODY_MAX, CONNECTION_BYTES, Connection, Hosts, MAX_HEADERS};

/// What the connection did, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// A request reached the device.
    Request {
        method: String,
        path: String,
        headers: Vec<(String, Vec<u8>)>,
        body: Vec<u8>,
    },
    /// `100 Continue`.
    Continue,
    /// The edge answered by itself.
    Refused(u16),
    /// It closed its writing side.
    HalfClosed,
    /// It closed.
    Closed,
}

/// The names that the connection under test answers to, besides the usual ones.
pub const NAMES: [&str; 1] = ["board.local"];

/// A connection with the script of its client.
pub struct Peer {
    connection: Connection<'static>,
    spill: Option<Vec<u8>>,
    /// It waits for bytes.
    reading: bool,
    pub now: u64,
    /// Raw output of the edge itself.
    pub output: Vec<u8>,
    pub seen: Vec<Seen>,
}

impl Peer {
    /// A fresh connection, opened at 0 ms.
    pub fn new() -> Self {
        let mut connection = Connection::new(Box::leak(Box::new([0; CONNECTION_BYTES])));
        connection.open(Millis(0));
        Self {
            connection,
            spill: None,
            reading: false,
            now: 0,
            output: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Sends `bytes` in one piece.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let mut rest = bytes.as_ref();
        while (self.reading || self.run()) && !rest.is_empty() {
            let room = self.connection.room();
            assert!(!room.is_empty(), "asked to read into nothing");
            let (now, later) = rest.split_at(rest.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.connection.received(now.len(), Millis(self.now));
            self.reading = false;
            rest = later;
        }
        self
    }

    /// Sends `bytes` in pieces of these sizes, over and over.
    pub fn send_split(&mut self, bytes: &[u8], sizes: &[usize]) -> &mut Self {
        let mut rest = bytes;
        for size in sizes.iter().cycle() {
            let (now, later) = rest.split_at(rest.len().min(*size));
            self.send(now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        self
    }

    /// Sends nothing more.
    pub fn end(&mut self) -> &mut Self {
        if self.run() {
            self.connection.ended();
            self.run();
        }
        self
    }

    /// Lets time pass to `now` ms.
    pub fn at(&mut self, now: u64) -> &mut Self {
        self.now = now;
        self.run();
        self
    }

    /// The connection must make room.
    pub fn evict(&mut self) -> &mut Self {
        self.connection.evict();
        self.run();
        self
    }

    /// Does what the connection asks for until it wants to read; whether it does.
    fn run(&mut self) -> bool {
        self.reading = false;
        if self.seen.last() == Some(&Seen::Closed) {
            return false;
        }
        let hosts = Hosts::new(&NAMES);
        loop {
            match self
                .connection
                .poll(Millis(self.now), &hosts, self.spill.as_deref_mut())
            {
                Action::Read => {
                    self.reading = true;
                    return true;
                }
                Action::Buffer => {
                    assert!(self.spill.is_none(), "asked for a second body buffer");
                    self.spill = Some(vec![0; BODY_MAX]);
                }
                Action::Send => {
                    let output = self.connection.output().to_vec();
                    let status = std::str::from_utf8(&output[9..12]).unwrap().parse().unwrap();
                    self.seen.push(if status == 100 {
                        Seen::Continue
                    } else {
                        Seen::Refused(status)
                    });
                    self.output.extend(output);
                    self.connection.sent();
                }
                Action::Handle => {
                    let mut slots = [("", &[][..]); MAX_HEADERS];
                    let request = self
                        .connection
                        .request(self.spill.as_deref(), &mut slots)
                        .unwrap();
                    self.seen.push(Seen::Request {
                        method: request.method.into(),
                        path: request.path.into(),
                        headers: request
                            .headers
                            .iter()
                            .map(|(n, v)| ((*n).into(), v.to_vec()))
                            .collect(),
                        body: request.body.to_vec(),
                    });
                    self.spill = None;
                    self.connection.answered(Millis(self.now));
                }
                Action::HalfClose => self.seen.push(Seen::HalfClosed),
                Action::Close => {
                    self.seen.push(Seen::Closed);
                    return false;
                }
            }
        }
    }

    /// Bodies of the requests that reached the device.
    pub fn bodies(&self) -> Vec<&[u8]> {
        let bodies = self.seen.iter().filter_map(|seen| match seen {
            Seen::Request { body, .. } => Some(&body[..]),
            _ => None,
        });
        bodies.collect()
    }

    /// Status of the edge's own answer, where it gave one.
    pub fn refused(&self) -> Option<u16> {
        self.seen.iter().find_map(|seen| {
            if let Seen::Refused(status) = seen {
                Some(*status)
            } else {
                None
            }
        })
    }

    pub fn half_closed(&self) -> bool {
        self.seen.contains(&Seen::HalfClosed)
    }
}

/// What becomes of a connection that sends `bytes` and then nothing more.
pub fn outcome(bytes: impl AsRef<[u8]>) -> Peer {
    let mut peer = Peer::new();
    peer.send(bytes).end();
    assert_eq!(
        peer.seen.last(),
        Some(&Seen::Closed),
        "a connection that ended is closed"
    );
    peer
}
