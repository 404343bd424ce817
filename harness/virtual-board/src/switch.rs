//! An Ethernet learning switch with imperfect cables. Pure: frames and the time go in, frames come out.
//!
//! ```text
//!   board ──cable──► [ learn, look up, flood ] ──cable──► board
//!        receive()                                  poll()
//! ```
//!
//! Each port has one cable. A frame crosses the sender's cable inwards and the receiver's cable outwards, and
//! each crossing may lose, delay, double or reorder it. The DHCP server sits inside the switch.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::dhcp;
use crate::impairment::{Fate, Impairment, Lane};
use crate::plan::Mac;

/// How long an address stays learnt after the last frame from it (IEEE 802.1D-2004, table 7-5).
pub const AGEING: Duration = Duration::from_secs(300);
/// How many addresses are remembered; the one longest unheard makes room.
pub const MAX_ADDRESSES: usize = 1024;
/// How many frames can be on their way at once; more are dropped and counted as `overflow`.
pub const MAX_IN_FLIGHT: usize = 8192;
/// The shortest frame that has a header.
const MIN_FRAME: usize = 14;
/// The longest frame: header, VLAN tag and 1500 bytes (IEEE 802.3, without the checksum).
pub(crate) const MAX_FRAME: usize = 1518;

/// A port of the switch, as [`Switch::add_port`] numbered it.
pub type PortId = usize;

/// A whole Ethernet frame without its checksum; copies share their bytes.
pub type Frame = Arc<[u8]>;

/// What one port has seen, in frames since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Put on the cable by the port's board.
    pub sent: u64,
    /// Handed to the port's board.
    pub received: u64,
    /// Lost on the cable, both directions.
    pub lost: u64,
    /// Doubled on the cable, both directions.
    pub duplicated: u64,
    /// Held back on the cable, both directions.
    pub reordered: u64,
    /// Not carried because the cable was cut.
    pub cut: u64,
    /// Not carried because too many frames were on their way, or the receiver took no more.
    pub overflow: u64,
    /// Shorter than an Ethernet header or longer than a frame may be; not carried.
    pub malformed: u64,
}

struct Port {
    impairment: Impairment,
    connected: bool,
    inward: Lane,
    outward: Lane,
    counters: Counters,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Direction {
    Inward,
    Outward,
}

/// A frame on a cable. Ordered by due time, then by age, so equal delays keep the order of sending.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct InFlight {
    due: Instant,
    sequence: u64,
    direction: Direction,
    port: PortId,
    frame: Frame,
}

struct Learnt {
    port: PortId,
    heard: Instant,
}

/// The switch. See the module's documentation.
pub struct Switch {
    seed: u64,
    ports: Vec<Port>,
    addresses: HashMap<Mac, Learnt>,
    in_flight: BinaryHeap<Reverse<InFlight>>,
    sequence: u64,
    dhcp: Option<dhcp::Server>,
}

impl Switch {
    /// A switch without ports. The same seed gives the nth frame on each cable the same fate in every run.
    pub fn new(seed: u64) -> Self {
        Switch {
            seed,
            ports: Vec::new(),
            addresses: HashMap::new(),
            in_flight: BinaryHeap::new(),
            sequence: 0,
            dhcp: None,
        }
    }

    /// Puts a DHCP server inside the switch. Requests to it are not forwarded to any port.
    pub fn serve_dhcp(&mut self, server: dhcp::Server) {
        self.dhcp = Some(server);
    }

    /// Adds a port with a perfect cable.
    pub fn add_port(&mut self) -> PortId {
        let id = self.ports.len();
        let lane = |direction| Lane::new(self.seed, 2 * id as u64 + direction);
        self.ports.push(Port {
            impairment: Impairment::default(),
            connected: true,
            inward: lane(0),
            outward: lane(1),
            counters: Counters::default(),
        });
        id
    }

    /// Changes what a port's cable does to frames put on it from now on.
    ///
    /// # Panics
    /// This and the other methods panic when `port` did not come from [`Switch::add_port`].
    pub fn impair(&mut self, port: PortId, impairment: Impairment) {
        self.ports[port].impairment = impairment;
    }

    /// Cuts a port's cable or mends it. Frames on a cut cable are gone, and so is what was learnt through it.
    pub fn connect(&mut self, port: PortId, connected: bool) {
        self.ports[port].connected = connected;
        if !connected {
            let before = self.in_flight.len();
            self.in_flight.retain(|Reverse(one)| one.port != port);
            self.ports[port].counters.cut += (before - self.in_flight.len()) as u64;
            self.addresses.retain(|_, learnt| learnt.port != port);
        }
    }

    /// What a port has seen so far.
    pub fn counters(&self, port: PortId) -> Counters {
        self.ports[port].counters
    }

    /// Notes that a port's end took no more, so a frame from [`Switch::poll`] was dropped there.
    pub(crate) fn note_overflow(&mut self, port: PortId) {
        let counters = &mut self.ports[port].counters;
        counters.received -= 1;
        counters.overflow += 1;
    }

    /// Takes a frame that a port's board put on its cable. What comes of it is asked with [`Switch::poll`].
    pub fn receive(&mut self, now: Instant, port: PortId, frame: &[u8]) {
        let counters = &mut self.ports[port].counters;
        counters.sent += 1;
        if !(MIN_FRAME..=MAX_FRAME).contains(&frame.len()) {
            counters.malformed += 1;
            return;
        }
        self.put_on_cable(now, Direction::Inward, port, Frame::from(frame));
    }

    /// The next frame that arrives at a board by now, and the port it comes out of.
    pub fn poll(&mut self, now: Instant) -> Option<(PortId, Frame)> {
        while self.in_flight.peek().is_some_and(|Reverse(one)| one.due <= now) {
            let Reverse(one) = self.in_flight.pop()?;
            match one.direction {
                // What the frame causes happens when it was due, however late the caller asks.
                Direction::Inward => self.forward(one.due, one.port, one.frame),
                Direction::Outward => {
                    self.ports[one.port].counters.received += 1;
                    return Some((one.port, one.frame));
                }
            }
        }
        None
    }

    /// When [`Switch::poll`] has something to do next; none while no frame is on its way.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.in_flight.peek().map(|Reverse(one)| one.due)
    }

    fn forward(&mut self, now: Instant, from: PortId, frame: Frame) {
        let destination = mac_at(&frame, 0);
        let source = mac_at(&frame, 6);
        if !is_group(source) {
            self.learn(now, source, from);
        }
        if is_reserved(destination) {
            return;
        }
        if let Some(server) = &mut self.dhcp
            && let Some(answer) = server.receive(&frame)
        {
            if let dhcp::Answer::Reply(reply) = answer {
                self.put_on_cable(now, Direction::Outward, from, Frame::from(reply));
            }
            return;
        }
        match self.look_up(now, destination) {
            Some(port) if port == from => {}
            Some(port) => self.put_on_cable(now, Direction::Outward, port, frame),
            None => {
                for port in (0..self.ports.len()).filter(|port| *port != from) {
                    self.put_on_cable(now, Direction::Outward, port, Arc::clone(&frame));
                }
            }
        }
    }

    fn learn(&mut self, now: Instant, source: Mac, port: PortId) {
        if self.addresses.len() >= MAX_ADDRESSES
            && !self.addresses.contains_key(&source)
            && let Some(oldest) = self
                .addresses
                .iter()
                .min_by_key(|(_, learnt)| learnt.heard)
                .map(|(mac, _)| *mac)
        {
            self.addresses.remove(&oldest);
        }
        self.addresses.insert(source, Learnt { port, heard: now });
    }

    fn look_up(&self, now: Instant, destination: Mac) -> Option<PortId> {
        let learnt = self.addresses.get(&destination)?;
        (now.saturating_duration_since(learnt.heard) <= AGEING).then_some(learnt.port)
    }

    fn put_on_cable(&mut self, now: Instant, direction: Direction, port: PortId, frame: Frame) {
        let Port {
            impairment,
            connected,
            inward,
            outward,
            counters,
        } = &mut self.ports[port];
        if !*connected {
            counters.cut += 1;
            return;
        }
        let lane = match direction {
            Direction::Inward => inward,
            Direction::Outward => outward,
        };
        let Fate::Arrives { at, copies, late } = lane.carry(impairment, now) else {
            counters.lost += 1;
            return;
        };
        counters.duplicated += copies as u64 - 1;
        counters.reordered += u64::from(late);
        for _ in 0..copies {
            if self.in_flight.len() >= MAX_IN_FLIGHT {
                counters.overflow += 1;
                continue;
            }
            self.sequence += 1;
            let sequence = self.sequence;
            self.in_flight.push(Reverse(InFlight {
                due: at,
                sequence,
                direction,
                port,
                frame: Arc::clone(&frame),
            }));
        }
    }
}

/// The address at the given place of a frame; frames are at least [`MIN_FRAME`] long here.
fn mac_at(frame: &[u8], at: usize) -> Mac {
    let mut mac = Mac::default();
    mac.copy_from_slice(&frame[at..at + 6]);
    mac
}

/// Multicast or broadcast.
fn is_group(mac: Mac) -> bool {
    mac[0] & 1 == 1
}

/// The addresses that no bridge forwards, 01-80-C2-00-00-00 to -0F (IEEE 802.1D-2004, table 7-10).
fn is_reserved(mac: Mac) -> bool {
    mac[..5] == [0x01, 0x80, 0xc2, 0x00, 0x00] && mac[5] <= 0x0f
}
