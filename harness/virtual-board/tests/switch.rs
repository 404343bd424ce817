//! The switch as its ports see it: what goes in, what comes out and when.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mcp_hil_virtual_board::impairment::{Impairment, REORDER_HOLD};
use mcp_hil_virtual_board::switch::{AGEING, Counters, MAX_ADDRESSES, MAX_IN_FLIGHT, PortId, Switch};
use proptest::prelude::*;

const BROADCAST: [u8; 6] = [0xff; 6];
const MDNS: [u8; 6] = [0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb];

const NOWHERE: [PortId; 0] = [];
const NOTHING: [(PortId, u32); 0] = [];

/// The MAC of the machine numbered so.
fn mac(number: u8) -> [u8; 6] {
    [0x02, 0, 0, 0, 0, number]
}

fn frame(to: [u8; 6], from: [u8; 6], mark: u32) -> Vec<u8> {
    let mut frame = [to, from].concat();
    frame.extend([0x88, 0xb5]);
    frame.extend(mark.to_be_bytes());
    frame
}

fn mark(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

/// A switch, a clock that only the script moves, and a way to see where frames came out.
struct Bench {
    switch: Switch,
    now: Instant,
}

impl Bench {
    fn new(ports: usize) -> Self {
        let mut switch = Switch::new(1);
        for port in 0..ports {
            assert_eq!(switch.add_port(), port);
        }
        Bench {
            switch,
            now: Instant::now(),
        }
    }

    fn impair(&mut self, port: PortId, text: &str) {
        self.switch.impair(port, text.parse::<Impairment>().unwrap());
    }

    fn send(&mut self, port: PortId, frame: &[u8]) {
        self.switch.receive(self.now, port, frame);
    }

    /// Everything that has arrived by now, as (port, mark), in order.
    fn arrived(&mut self) -> Vec<(PortId, u32)> {
        std::iter::from_fn(|| self.switch.poll(self.now))
            .map(|(port, frame)| (port, mark(&frame)))
            .collect()
    }

    /// Sends and sees at once which ports the frame came out of.
    fn send_and_see(&mut self, port: PortId, frame: &[u8]) -> Vec<PortId> {
        self.send(port, frame);
        self.arrived().into_iter().map(|(port, _)| port).collect()
    }
}

#[test]
fn unknown_addresses_are_flooded_and_learnt_ones_are_not() {
    let mut bench = Bench::new(3);
    assert_eq!(bench.send_and_see(0, &frame(mac(2), mac(0), 1)), [1, 2]);
    assert_eq!(bench.send_and_see(2, &frame(mac(0), mac(2), 2)), [0]);
    assert_eq!(bench.send_and_see(0, &frame(mac(2), mac(0), 3)), [2]);
}

#[test]
fn broadcast_and_multicast_reach_all_others() {
    let mut bench = Bench::new(4);
    assert_eq!(bench.send_and_see(1, &frame(BROADCAST, mac(1), 1)), [0, 2, 3]);
    assert_eq!(bench.send_and_see(1, &frame(MDNS, mac(1), 2)), [0, 2, 3]);
}

#[test]
fn group_addresses_are_never_learnt() {
    let mut bench = Bench::new(3);
    bench.send_and_see(0, &frame(mac(9), MDNS, 1));
    assert_eq!(bench.send_and_see(1, &frame(MDNS, mac(1), 2)), [0, 2]);
}

#[test]
fn a_frame_for_the_senders_own_side_goes_nowhere() {
    let mut bench = Bench::new(2);
    bench.send_and_see(0, &frame(BROADCAST, mac(5), 1));
    assert_eq!(bench.send_and_see(0, &frame(mac(5), mac(6), 2)), NOWHERE);
}

#[test]
fn link_local_control_frames_are_not_forwarded() {
    let mut bench = Bench::new(2);
    let spanning_tree = [0x01, 0x80, 0xc2, 0, 0, 0];
    assert_eq!(bench.send_and_see(0, &frame(spanning_tree, mac(0), 1)), NOWHERE);
    assert_eq!(
        bench.send_and_see(0, &frame([0x01, 0x80, 0xc2, 0, 0, 0x10], mac(0), 2)),
        [1]
    );
}

#[test]
fn a_machine_that_moves_is_found_at_its_new_port() {
    let mut bench = Bench::new(3);
    bench.send_and_see(0, &frame(BROADCAST, mac(7), 1));
    bench.send_and_see(1, &frame(BROADCAST, mac(7), 2));
    assert_eq!(bench.send_and_see(2, &frame(mac(7), mac(2), 3)), [1]);
}

#[test]
fn what_was_learnt_is_forgotten_after_five_minutes() {
    let mut bench = Bench::new(3);
    bench.send_and_see(0, &frame(BROADCAST, mac(0), 1));
    bench.now += AGEING;
    assert_eq!(bench.send_and_see(1, &frame(mac(0), mac(1), 2)), [0]);
    bench.now += Duration::from_millis(1);
    assert_eq!(bench.send_and_see(1, &frame(mac(0), mac(1), 3)), [0, 2]);
}

#[test]
fn a_full_table_forgets_the_address_longest_unheard() {
    let mut bench = Bench::new(3);
    bench.send_and_see(0, &frame(BROADCAST, mac(0), 0));
    for number in 0..MAX_ADDRESSES as u32 {
        bench.now += Duration::from_millis(1);
        let [.., high, low] = number.to_be_bytes();
        bench.send_and_see(1, &frame(BROADCAST, [0x06, 0, 0, 0, high, low], number));
    }
    assert_eq!(
        bench.send_and_see(2, &frame(mac(0), mac(1), 1)),
        [0, 1],
        "the first was forgotten"
    );
    let newest = [0x06, 0, 0, 0, 3, 255];
    assert_eq!(
        bench.send_and_see(2, &frame(newest, mac(1), 2)),
        [1],
        "the last was not"
    );
}

#[test]
fn frames_of_impossible_length_are_counted_and_dropped() {
    let mut bench = Bench::new(2);
    let longest = [frame(BROADCAST, mac(0), 1), vec![0; 1500]].concat();
    assert_eq!(longest.len(), 1518);
    assert_eq!(bench.send_and_see(0, &longest), [1]);
    assert_eq!(bench.send_and_see(0, &[longest, vec![0]].concat()), NOWHERE);
    assert_eq!(bench.send_and_see(0, &[0xff; 13]), NOWHERE);
    assert_eq!(bench.send_and_see(0, &[]), NOWHERE);
    assert_eq!(
        bench.switch.counters(0),
        Counters {
            sent: 4,
            malformed: 3,
            ..Counters::default()
        }
    );
}

#[test]
fn delay_is_paid_on_each_cable_and_keeps_the_order() {
    let mut bench = Bench::new(2);
    bench.impair(0, "delay=20ms");
    bench.impair(1, "delay=5ms");
    let start = bench.now;
    bench.send(0, &frame(mac(1), mac(0), 1));
    bench.now += Duration::from_millis(1);
    bench.send(0, &frame(mac(1), mac(0), 2));
    assert_eq!(bench.arrived(), NOTHING);
    bench.now = start + Duration::from_micros(24_999);
    assert_eq!(bench.arrived(), NOTHING);
    assert_eq!(
        bench.switch.next_deadline(),
        Some(start + Duration::from_millis(25))
    );
    bench.now = start + Duration::from_millis(25);
    assert_eq!(bench.arrived(), [(1, 1)]);
    bench.now = start + Duration::from_millis(26);
    assert_eq!(bench.arrived(), [(1, 2)]);
    assert_eq!(bench.switch.next_deadline(), None);
}

#[test]
fn a_late_poll_does_not_stretch_the_delay() {
    let mut bench = Bench::new(2);
    bench.impair(0, "delay=20ms");
    bench.impair(1, "delay=20ms");
    bench.send(0, &frame(mac(1), mac(0), 1));
    bench.now += Duration::from_millis(40);
    assert_eq!(bench.arrived(), [(1, 1)]);
}

#[test]
fn loss_and_duplication_are_complete_at_100_percent() {
    let mut bench = Bench::new(2);
    bench.impair(1, "loss=100%");
    assert_eq!(bench.send_and_see(0, &frame(mac(1), mac(0), 1)), NOWHERE);
    assert_eq!(bench.send_and_see(1, &frame(mac(0), mac(1), 2)), NOWHERE);
    assert_eq!(
        bench.switch.counters(1),
        Counters {
            sent: 1,
            lost: 2,
            ..Counters::default()
        }
    );

    bench.impair(1, "duplicate=100%");
    assert_eq!(bench.send_and_see(0, &frame(mac(1), mac(0), 3)), [1, 1]);
}

#[test]
fn each_cable_has_chances_of_its_own() {
    let lost = |talkers: &[PortId], watched: PortId| -> Vec<bool> {
        let mut bench = Bench::new(3);
        (0..3).for_each(|port| bench.impair(port, "loss=50%"));
        let mut lost = Vec::new();
        for number in 0..200 {
            for port in talkers {
                let before = bench.switch.counters(*port).lost;
                // For the sender's own side, so that it crosses no second cable.
                bench.send_and_see(*port, &frame(mac(*port as u8), mac(*port as u8), number));
                if *port == watched {
                    lost.push(bench.switch.counters(*port).lost > before);
                }
            }
        }
        lost
    };
    assert_eq!(
        lost(&[1], 1),
        lost(&[0, 2, 1], 1),
        "the traffic of others makes no difference"
    );
    assert_ne!(lost(&[1], 1), lost(&[2], 2), "cables do not fail together");
}

#[test]
fn a_reordered_frame_is_overtaken_by_those_sent_meanwhile() {
    let mut bench = Bench::new(2);
    bench.impair(0, "reorder=100%");
    bench.send(0, &frame(mac(1), mac(0), 1));
    bench.impair(0, "");
    bench.send(0, &frame(mac(1), mac(0), 2));
    assert_eq!(bench.arrived(), [(1, 2)]);
    bench.now += REORDER_HOLD;
    assert_eq!(bench.arrived(), [(1, 1)]);
    assert_eq!(bench.switch.counters(0).reordered, 1);
}

#[test]
fn a_cut_board_hears_and_says_nothing_until_it_is_mended() {
    let mut bench = Bench::new(3);
    bench.send_and_see(1, &frame(BROADCAST, mac(1), 0));
    bench.impair(1, "delay=20ms");
    bench.send(1, &frame(BROADCAST, mac(1), 1));
    bench.switch.connect(1, false);
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.arrived(), NOTHING, "what was on the cable is gone");
    assert_eq!(bench.send_and_see(1, &frame(BROADCAST, mac(1), 2)), NOWHERE);
    assert_eq!(bench.send_and_see(0, &frame(BROADCAST, mac(0), 3)), [2]);
    assert_eq!(bench.switch.counters(1).cut, 3);

    bench.impair(1, "");
    bench.switch.connect(1, true);
    assert_eq!(
        bench.send_and_see(0, &frame(mac(1), mac(0), 4)),
        [1, 2],
        "its address was forgotten"
    );
    assert_eq!(bench.send_and_see(1, &frame(mac(0), mac(1), 5)), [0]);
}

#[test]
fn frames_on_their_way_are_bounded() {
    let mut bench = Bench::new(2);
    bench.impair(0, "delay=1s");
    for number in 0..MAX_IN_FLIGHT as u32 + 10 {
        bench.send(0, &frame(mac(1), mac(0), number));
    }
    bench.now += Duration::from_secs(1);
    assert_eq!(bench.arrived().len(), MAX_IN_FLIGHT);
    assert_eq!(bench.switch.counters(0).overflow, 10);
}

/// A machine sends to an address or to all.
#[derive(Clone, Debug)]
struct Sending {
    port: PortId,
    to: [u8; 6],
}

fn sendings(ports: usize) -> impl Strategy<Value = Vec<Sending>> {
    let to = prop_oneof![Just(BROADCAST), Just(MDNS), (0..ports as u8 + 2).prop_map(mac)];
    prop::collection::vec((0..ports, to).prop_map(|(port, to)| Sending { port, to }), 1..60)
}

proptest! {
    /// With perfect cables each frame comes out at once: at the one port where its address was heard last, or at
    /// all others when it is for all or for an address not heard. Never twice, never back.
    #[test]
    fn perfect_cables_carry_each_frame_once(script in sendings(5)) {
        let mut bench = Bench::new(5);
        let mut heard = BTreeMap::new();
        for (number, Sending { port, to }) in script.iter().enumerate() {
            heard.insert(mac(*port as u8), *port);
            let expected: Vec<PortId> = match heard.get(to) {
                Some(at) if at == port => vec![],
                Some(at) => vec![*at],
                None => (0..5).filter(|other| other != port).collect(),
            };
            let seen = bench.send_and_see(*port, &frame(*to, mac(*port as u8), number as u32));
            prop_assert_eq!(seen, expected);
        }
        prop_assert_eq!(bench.switch.next_deadline(), None, "nothing circles");
    }

    /// Whatever the cables do, every frame is accounted for, none comes back to its sender, and without
    /// duplication none comes twice.
    #[test]
    fn every_frame_is_accounted_for(
        script in sendings(3),
        loss in 0..=100u8,
        duplicate in prop_oneof![Just(0u8), 0..=100u8],
        reorder in 0..=100u8,
    ) {
        let mut bench = Bench::new(3);
        let text = format!("loss={loss}%,duplicate={duplicate}%,reorder={reorder}%,delay=3ms");
        for port in 0..3 {
            bench.impair(port, &text);
        }
        for (number, Sending { port, .. }) in script.iter().enumerate() {
            bench.send(*port, &frame(BROADCAST, mac(*port as u8), number as u32));
        }
        bench.now += Duration::from_secs(1);
        let arrived = bench.arrived();
        let mut times = BTreeMap::new();
        for (port, number) in &arrived {
            prop_assert_ne!(script[*number as usize].port, *port);
            *times.entry((*port, *number)).or_insert(0) += 1;
        }
        if duplicate == 0 {
            prop_assert!(times.values().all(|times| *times == 1));
        }
        prop_assert!(times.values().all(|times| *times <= 4));
        let total = |f: fn(Counters) -> u64| (0..3).map(|port| f(bench.switch.counters(port))).sum::<u64>();
        prop_assert_eq!(total(|c| c.sent), script.len() as u64);
        prop_assert_eq!(total(|c| c.received), arrived.len() as u64);
        if loss == 0 && duplicate == 0 {
            prop_assert_eq!(arrived.len(), 2 * script.len());
        }
        prop_assert_eq!(bench.switch.next_deadline(), None);
    }

    /// Bytes that are no sensible frame do no harm.
    #[test]
    fn any_bytes_are_survived(frames: Vec<(bool, Vec<u8>)>) {
        let mut bench = Bench::new(2);
        bench.switch.serve_dhcp(mcp_hil_virtual_board::dhcp::Server::new());
        for (port, bytes) in &frames {
            bench.send(usize::from(*port), bytes);
        }
        while bench.switch.poll(bench.now).is_some() {}
        prop_assert_eq!(bench.switch.next_deadline(), None);
    }
}
