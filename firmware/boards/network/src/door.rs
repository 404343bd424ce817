//! A driver around a board's own, which puts right at the frames what the network stack does wrong with clients that
//! connect. The stack has no table of connections: it asks each socket in turn whether a segment is its own. So
//!
//! - a client that comes while no socket listens is refused. That refusal is not sent: a client that gets no answer asks
//!   again after a second (RFC 6298, 2.1), and then finds a place;
//! - a client that asks again, because the answer was lost on the way, is taken for a new one by a socket that listens. Two
//!   sockets then have the same client, and the wrong one resets its connection. Such a repeated question is dropped: the
//!   socket that has the client repeats its answer by itself.

use core::cell::RefCell;
use core::task::Context;

use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_time::Instant;
use static_cell::ConstStaticCell;

use crate::listener;

/// Clients whose question was answered that are remembered: more than there can be sockets.
const REMEMBERED: usize = 32;
const _: () = assert!(REMEMBERED > listener::SOCKETS);
/// A longer frame is no refusal, bytes: one has 54, and TCP options are 40 at most.
const SMALL: usize = 94;

/// The driver for clients of one TCP port.
pub struct Door<D> {
    driver: D,
    /// Not in here: the stack's constructor has its driver several times on the board's stack.
    clients: &'static RefCell<Clients>,
}

impl<D: Driver> Door<D> {
    /// Around a driver for Ethernet. To be called once.
    pub fn new(driver: D, port: u16) -> Self {
        static CLIENTS: ConstStaticCell<RefCell<Clients>> =
            ConstStaticCell::new(RefCell::new(Clients::new(0)));

        let clients = CLIENTS.take();
        clients.get_mut().port = port;
        Self { driver, clients }
    }
}

impl<D: Driver> Driver for Door<D> {
    type RxToken<'a>
        = Coming<'a, D::RxToken<'a>>
    where
        D: 'a;
    type TxToken<'a>
        = Leaving<'a, D::TxToken<'a>>
    where
        D: 'a;

    fn receive(&mut self, context: &mut Context) -> Option<(Self::RxToken<'_>, Self::TxToken<'_>)> {
        let (received, room) = self.driver.receive(context)?;
        let clients = self.clients;
        Some((
            Coming {
                token: received,
                clients,
            },
            Leaving { token: room, clients },
        ))
    }

    fn transmit(&mut self, context: &mut Context) -> Option<Self::TxToken<'_>> {
        let token = self.driver.transmit(context)?;
        Some(Leaving {
            token,
            clients: self.clients,
        })
    }

    fn link_state(&mut self, context: &mut Context) -> LinkState {
        self.driver.link_state(context)
    }

    fn capabilities(&self) -> Capabilities {
        self.driver.capabilities()
    }

    fn hardware_address(&self) -> HardwareAddress {
        self.driver.hardware_address()
    }
}

/// A frame that has come.
pub struct Coming<'a, T> {
    token: T,
    clients: &'a RefCell<Clients>,
}

impl<T: RxToken> RxToken for Coming<'_, T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        let clients = self.clients;
        self.token.consume(|frame| {
            let is_repeated = clients.borrow().has_answer(frame, Instant::now());
            // The stack passes over an empty frame.
            read(if is_repeated { &mut [] } else { frame })
        })
    }
}

/// Room for a frame to be sent.
pub struct Leaving<'a, T> {
    token: T,
    clients: &'a RefCell<Clients>,
}

impl<T: TxToken> TxToken for Leaving<'_, T> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut small = [0; SMALL];
        let Some(frame) = small.get_mut(..length) else {
            return self.token.consume(length, write);
        };
        let result = write(frame);
        let mut clients = self.clients.borrow_mut();
        if !clients.is_refusal(frame) {
            clients.note_answer(frame, Instant::now());
            self.token.consume(length, |room| room.copy_from_slice(frame));
        }
        result
    }
}

/// What tells a client's question, the first segment of a connection, from every other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Question {
    address: [u8; 4],
    port: u16,
    sequence: u32,
}

/// The clients of a port whose question was answered: pure.
struct Clients {
    port: u16,
    answered: [Option<(Question, Instant)>; REMEMBERED],
    next: usize,
}

impl Clients {
    const fn new(port: u16) -> Self {
        Self {
            port,
            answered: [None; REMEMBERED],
            next: 0,
        }
    }

    /// Whether a frame that has come is a question which a socket has answered, and may still answer again.
    fn has_answer(&self, frame: &[u8], now: Instant) -> bool {
        let Some(segment) = Segment::read(frame) else {
            return false;
        };
        let question = Question {
            address: segment.from,
            port: segment.from_port,
            sequence: segment.sequence,
        };
        segment.to_port == self.port
            && segment.flags & (SYN | ACK | RST) == SYN
            && self.answered.iter().flatten().any(|(answered, at)| {
                *answered == question && now.saturating_duration_since(*at) < listener::SILENCE
            })
    }

    /// Remembers a frame that leaves, if it is a first answer to a question.
    fn note_answer(&mut self, frame: &[u8], now: Instant) {
        let Some(segment) = Segment::read(frame) else {
            return;
        };
        if segment.from_port != self.port || segment.flags & (SYN | ACK) != SYN | ACK {
            return;
        }
        let question = Question {
            address: segment.to,
            port: segment.to_port,
            sequence: segment.acknowledged.wrapping_sub(1),
        };
        if self
            .answered
            .iter()
            .flatten()
            .any(|(known, _)| *known == question)
        {
            return;
        }
        self.answered[self.next] = Some((question, now));
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// Whether a frame that leaves refuses a client: a reset that answers a first segment. A reset within a connection has
    /// the connection's sequence number.
    fn is_refusal(&self, frame: &[u8]) -> bool {
        Segment::read(frame).is_some_and(|segment| {
            segment.from_port == self.port && segment.flags & RST != 0 && segment.sequence == 0
        })
    }
}

const SYN: u8 = 0b10;
const RST: u8 = 0b100;
const ACK: u8 = 0b1_0000;

/// The fields of a TCP segment that count here.
struct Segment {
    from: [u8; 4],
    to: [u8; 4],
    from_port: u16,
    to_port: u16,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
}

impl Segment {
    /// From an Ethernet frame; none where it holds no TCP over IPv4.
    fn read(frame: &[u8]) -> Option<Self> {
        const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
        const TCP: u8 = 6;

        let (ethernet, ip) = frame.split_at_checked(14)?;
        if ethernet[12..] != ETHERTYPE_IPV4 || *ip.get(9)? != TCP {
            return None;
        }
        let tcp = ip.get(usize::from(ip.first()? & 0xf) * 4..)?;
        Some(Self {
            from: *ip.get(12..)?.first_chunk()?,
            to: *ip.get(16..)?.first_chunk()?,
            from_port: u16::from_be_bytes(*tcp.first_chunk()?),
            to_port: u16::from_be_bytes(*tcp.get(2..)?.first_chunk()?),
            sequence: u32::from_be_bytes(*tcp.get(4..)?.first_chunk()?),
            acknowledged: u32::from_be_bytes(*tcp.get(8..)?.first_chunk()?),
            flags: *tcp.get(13)?,
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use super::*;

    const PORT: u16 = 18791;
    const BOARD: [u8; 4] = [10, 13, 37, 10];
    const HOST: [u8; 4] = [10, 13, 37, 1];

    /// A segment in an Ethernet frame, with an IP header of 24 bytes.
    fn frame(
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        sequence: u32,
        acknowledged: u32,
        flags: u8,
    ) -> Vec<u8> {
        let mut frame = Vec::from([0; 12]);
        frame.extend([0x08, 0x00, 0x46, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0]);
        frame.extend(from.0.iter().chain(&to.0).chain(&[1, 1, 1, 0]));
        frame.extend(from.1.to_be_bytes().iter().chain(&to.1.to_be_bytes()));
        frame.extend(sequence.to_be_bytes().iter().chain(&acknowledged.to_be_bytes()));
        frame.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
        frame
    }

    fn question(port: u16, sequence: u32) -> Vec<u8> {
        frame((HOST, port), (BOARD, PORT), sequence, 0, SYN)
    }

    fn answer(port: u16, sequence: u32) -> Vec<u8> {
        frame(
            (BOARD, PORT),
            (HOST, port),
            99,
            sequence.wrapping_add(1),
            SYN | ACK,
        )
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    #[test]
    fn a_question_passes_until_it_is_answered() {
        let mut clients = Clients::new(PORT);
        assert!(!clients.has_answer(&question(40_000, u32::MAX), at(1)));
        clients.note_answer(&answer(40_000, u32::MAX), at(1));
        assert!(clients.has_answer(&question(40_000, u32::MAX), at(2)));
        // another connection of the same client, and another client
        assert!(!clients.has_answer(&question(40_000, 7), at(2)));
        assert!(!clients.has_answer(&question(40_001, u32::MAX), at(2)));
    }

    #[test]
    fn what_follows_in_the_connection_passes() {
        let mut clients = Clients::new(PORT);
        clients.note_answer(&answer(40_000, 7), at(1));
        for flags in [ACK, RST, SYN | RST, SYN | ACK] {
            let segment = frame((HOST, 40_000), (BOARD, PORT), 7, 100, flags);
            assert!(!clients.has_answer(&segment, at(1)), "{flags:b}");
        }
        let elsewhere = frame((HOST, 40_000), (BOARD, 80), 7, 0, SYN);
        assert!(!clients.has_answer(&elsewhere, at(1)));
    }

    #[test]
    fn a_question_passes_again_once_the_socket_has_given_up() {
        let mut clients = Clients::new(PORT);
        clients.note_answer(&answer(40_000, 7), at(1));
        // an answer that is repeated counts from the first
        clients.note_answer(&answer(40_000, 7), at(20));
        assert!(clients.has_answer(&question(40_000, 7), at(20)));
        assert!(!clients.has_answer(&question(40_000, 7), at(21)));
    }

    #[test]
    fn the_latest_clients_are_remembered() {
        let mut clients = Clients::new(PORT);
        let ports = || (0..=REMEMBERED).map(|port| u16::try_from(port).unwrap());
        for port in ports() {
            clients.note_answer(&answer(port, 7), at(1));
        }
        let known: Vec<_> = ports()
            .map(|port| clients.has_answer(&question(port, 7), at(1)))
            .collect();
        assert!(!known[0]);
        assert!(known[1..].iter().all(|known| *known));
    }

    #[test]
    fn a_refusal_is_a_reset_without_a_sequence() {
        let clients = Clients::new(PORT);
        let leaves = |port, sequence, flags| frame((BOARD, port), (HOST, 40_000), sequence, 8, flags);
        assert!(clients.is_refusal(&leaves(PORT, 0, RST | ACK)));
        assert!(!clients.is_refusal(&leaves(PORT, 100, RST)));
        assert!(!clients.is_refusal(&leaves(80, 0, RST | ACK)));
        assert!(!clients.is_refusal(&leaves(PORT, 0, SYN | ACK)));
    }

    #[test]
    fn frames_cut_short_and_other_protocols_pass() {
        let mut clients = Clients::new(PORT);
        clients.note_answer(&answer(40_000, 7), at(1));
        let whole = question(40_000, 7);
        // the flags are the last byte that counts
        for length in 0..14 + 24 + 14 {
            assert!(!clients.has_answer(&whole[..length], at(1)), "{length}");
        }
        let mut udp = whole;
        udp[14 + 9] = 17;
        assert!(!clients.has_answer(&udp, at(1)));
    }
}
