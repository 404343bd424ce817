//! Several boards on one link that loses, delays and reorders packets.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::net::{Ipv4Addr, SocketAddrV4};

use mcp_device::Millis;
use mcp_device_net::mdns::{Config, Packet, Responder, Txt};
use proptest::prelude::*;

use crate::script::*;

/// Chance of losing a packet, in percent, and the longest delay in ms, per receiver.
#[derive(Clone, Copy)]
struct Faults {
    loss: u64,
    delay: u64,
}

type Delivery = (u64, usize, SocketAddrV4, Vec<u8>);

struct Bus {
    boards: Vec<Responder>,
    faults: Faults,
    noise: u64,
    now: u64,
    on_the_way: BinaryHeap<Reverse<Delivery>>,
    sent: u64,
}

impl Bus {
    /// Boards that all want the same names, switched on within a second.
    fn new(count: usize, seed: u64, faults: Faults) -> Self {
        let mut bus = Self {
            boards: Vec::new(),
            faults,
            noise: seed | 1,
            now: 0,
            on_the_way: BinaryHeap::new(),
            sent: 0,
        };
        for at in 0..count {
            let id = format!("{at:012x}");
            let txt = Txt::new(&[("endpoint", "mcp"), ("id", &id)]).unwrap();
            let config = Config::new("board", "board", 18791, txt).unwrap();
            bus.boards
                .push(Responder::new(config, seed.wrapping_add(at as u64)));
        }
        bus
    }

    fn random(&mut self, below: u64) -> u64 {
        self.noise = self
            .noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.noise >> 33) % below
    }

    fn address(at: usize) -> SocketAddrV4 {
        SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, 10 + at as u8), 5353)
    }

    fn power_on(&mut self, at: usize) {
        self.boards[at].link_up(Millis(self.now), *Self::address(at).ip(), 24);
    }

    /// To everyone on the link, the sender included, or to one.
    fn send(&mut self, from: SocketAddrV4, to: SocketAddrV4, payload: &[u8]) {
        for at in 0..self.boards.len() {
            let addressed = to == GROUP || to == Self::address(at);
            if !addressed || self.random(100) < self.faults.loss {
                continue;
            }
            let arrival = self.now + self.random(self.faults.delay + 1);
            self.on_the_way
                .push(Reverse((arrival, at, from, payload.to_vec())));
        }
    }

    fn run(&mut self, ms: u64) {
        let end = self.now + ms;
        loop {
            let mut packet = Packet::new();
            for at in 0..self.boards.len() {
                while let Some(to) = self.boards[at].transmit(Millis(self.now), &mut packet) {
                    self.sent += 1;
                    self.send(Self::address(at), to, &packet.clone());
                }
            }
            let deadlines = self
                .boards
                .iter()
                .filter_map(|board| board.deadline().map(|d| d.0));
            let arrival = self.on_the_way.peek().map(|Reverse((at, ..))| *at);
            let Some(next) = deadlines.chain(arrival).min().filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            while let Some(Reverse((arrival, at, from, payload))) = self.on_the_way.pop() {
                if arrival > self.now {
                    self.on_the_way.push(Reverse((arrival, at, from, payload)));
                    break;
                }
                self.boards[at].receive(Millis(self.now), from, &payload);
            }
        }
        self.now = end;
    }

    /// How many different names there are: of hosts, of instances.
    fn names(&self) -> (usize, usize) {
        let hosts: HashSet<String> = self.boards.iter().map(|b| b.host().to_string()).collect();
        let instances: HashSet<String> = self.boards.iter().map(|b| b.instance().to_string()).collect();
        (hosts.len(), instances.len())
    }
}

/// Two boards that hear each other and themselves have nothing to say once announced.
#[test]
fn two_boards_fall_silent() {
    let mut bus = Bus::new(2, 1, Faults { loss: 0, delay: 0 });
    bus.power_on(0);
    bus.power_on(1);
    bus.run(30_000);
    assert_eq!(bus.names(), (2, 2));
    assert!(bus.boards.iter().all(|board| board.deadline().is_none()));
    let before = bus.sent;
    bus.run(3_600_000);
    assert_eq!(bus.sent, before);
}

/// Twenty boards switched on at the same moment.
#[test]
fn twenty_boards_of_one_name_find_twenty_names() {
    let mut bus = Bus::new(20, 7, Faults { loss: 0, delay: 3 });
    for at in 0..20 {
        bus.power_on(at);
    }
    bus.run(300_000);
    assert_eq!(bus.names(), (20, 20));
    assert!(bus.boards.iter().all(|board| board.deadline().is_none()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Boards that want one name end up with different names on a link without loss, without anyone asking.
    #[test]
    fn names_differ_without_loss(count in 2..7usize, seed in any::<u64>(), delay in 0..20u64, apart in 0..400u64) {
        let mut bus = Bus::new(count, seed, Faults { loss: 0, delay });
        for at in 0..count {
            bus.power_on(at);
            let apart = bus.random(apart + 1);
            bus.run(apart);
        }
        bus.run(120_000);
        prop_assert_eq!(bus.names(), (count, count));
        prop_assert!(bus.boards.iter().all(|board| board.deadline().is_none()));
    }

    /// With loss they do as soon as someone looks at them often enough that the clash is heard.
    #[test]
    fn names_differ_with_loss(count in 2..6usize, seed in any::<u64>(), loss in 1..40u64, delay in 0..50u64) {
        let mut bus = Bus::new(count, seed, Faults { loss, delay });
        for at in 0..count {
            bus.power_on(at);
        }
        let browse = query("? _mcp._tcp.local PTR");
        for _ in 0..60 {
            bus.run(5000);
            bus.send(ASKER, GROUP, &browse);
        }
        bus.run(60_000);
        prop_assert_eq!(bus.names(), (count, count));
        prop_assert!(bus.boards.iter().all(|board| board.deadline().is_none()));
    }

    /// One query makes no more than one answer a board, in at most two packets.
    #[test]
    fn a_query_makes_no_avalanche(count in 2..6usize, seed in any::<u64>(), loss in 0..30u64) {
        let mut bus = Bus::new(count, seed, Faults { loss, delay: 10 });
        for at in 0..count {
            bus.power_on(at);
        }
        bus.run(120_000);
        // A clash that loss has hidden till now costs more, and is counted elsewhere.
        prop_assume!(bus.names() == (count, count));
        let before = bus.sent;
        bus.send(ASKER, GROUP, &query("? _mcp._tcp.local PTR\n? _services._dns-sd._udp.local PTR"));
        bus.run(10_000);
        prop_assert!(bus.sent - before <= 2 * count as u64, "{} packets", bus.sent - before);
    }
}
