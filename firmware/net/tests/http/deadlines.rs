//! Time limits, with a clock that the test turns.

use std::time::Duration;

use mcp_device_net::http::{BODY_DEADLINE, HEAD_DEADLINE, IDLE_DEADLINE, LINGER_DEADLINE};

use crate::peer::{Peer, Seen};

const GET: &str = "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const HEAD: &str = "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n";

#[test]
fn the_limits_are_those_of_the_readme() {
    let limits = [HEAD_DEADLINE, BODY_DEADLINE, IDLE_DEADLINE];
    assert_eq!(limits, [5, 5, 15].map(Duration::from_secs));
}

#[test]
fn an_idle_connection_is_closed_without_a_word() {
    let mut peer = Peer::new();
    peer.at(14_999);
    assert_eq!(peer.seen, []);
    peer.at(15_000);
    assert_eq!(peer.seen, [Seen::HalfClosed, Seen::Closed]);
}

#[test]
fn each_answer_gives_another_idle_time() {
    let mut peer = Peer::new();
    peer.at(10_000).send(GET);
    peer.at(24_999);
    assert!(!peer.half_closed());
    peer.at(25_000);
    assert!(peer.half_closed());
    assert_eq!(peer.refused(), None);
}

#[test]
fn a_slow_head_is_told_so_however_it_trickles() {
    let mut peer = Peer::new();
    peer.at(7_000).send("P");
    for (step, byte) in (1..50).zip(HEAD.bytes().skip(1)) {
        peer.at(7_000 + step * 100).send([byte]);
    }
    peer.at(11_999);
    assert_eq!(peer.seen, []);
    peer.at(12_000);
    assert_eq!(peer.seen, [Seen::Refused(408), Seen::HalfClosed]);
}

#[test]
fn a_slow_body_is_told_so_however_it_trickles() {
    let mut peer = Peer::new();
    peer.at(1_000).send(HEAD);
    for step in 1..50 {
        peer.at(1_000 + step * 100).send("x");
    }
    peer.at(5_999);
    assert_eq!(peer.seen, []);
    // The byte that comes too late doesn't save it.
    peer.now = 6_000;
    peer.send("x");
    assert_eq!(peer.refused(), Some(408));
}

#[test]
fn what_is_whole_in_time_is_served_at_the_last_moment() {
    let mut peer = Peer::new();
    peer.send(&HEAD[..10]);
    peer.now = 5_000;
    peer.send(&HEAD[10..]).send(&[b'x'; 99][..]);
    peer.now = 10_000;
    peer.send("x");
    assert_eq!(peer.bodies(), [[b'x'; 100]]);
}

#[test]
fn the_next_request_has_its_own_time() {
    let mut peer = Peer::new();
    peer.at(4_000).send(&GET[..5]);
    // The rest of the first, and the beginning of a second.
    peer.at(8_000).send([&GET[5..], &GET[..5]].concat());
    peer.at(12_999);
    assert_eq!((peer.bodies().len(), peer.refused()), (1, None));
    peer.at(13_000);
    assert_eq!(peer.refused(), Some(408));
}

#[test]
fn a_client_that_never_closes_is_left() {
    let mut peer = Peer::new();
    peer.send("bad\r\n\r\n");
    assert_eq!(peer.seen, [Seen::Refused(400), Seen::HalfClosed]);
    let linger = u64::try_from(LINGER_DEADLINE.as_millis()).unwrap();
    peer.at(linger - 1).send("more");
    assert_eq!(peer.seen.len(), 2);
    peer.at(linger);
    assert_eq!(peer.seen.last(), Some(&Seen::Closed));
}

#[test]
fn making_room() {
    let mut idle = Peer::new();
    idle.evict();
    assert_eq!(
        idle.seen,
        [Seen::HalfClosed, Seen::Closed],
        "an idle connection goes without a word"
    );

    for half_sent in ["P", HEAD, &[HEAD, "x"].concat()] {
        let mut peer = Peer::new();
        peer.send(half_sent).evict();
        assert_eq!(peer.seen, [Seen::Refused(408), Seen::HalfClosed], "{half_sent}");
        peer.at(250);
        assert_eq!(peer.seen.last(), Some(&Seen::Closed), "and it may not stay");
    }

    let mut closing = Peer::new();
    closing.send("bad\r\n\r\n").evict();
    assert_eq!(closing.seen, [Seen::Refused(400), Seen::HalfClosed, Seen::Closed]);
}
