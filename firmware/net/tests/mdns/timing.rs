//! When answers go out.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::script::*;

/// `mdns/shared-response-delay`
#[test]
fn shared_answers_wait_20_to_120_ms_at_random() {
    let mut board = Board::new(1).at_rest();
    let mut waits = Vec::new();
    for _ in 0..200 {
        let asked = board.now;
        let sent = board.ask("? _mcp._tcp.local PTR");
        waits.push(sent[0].at - asked);
    }
    let (least, most) = (*waits.iter().min().unwrap(), *waits.iter().max().unwrap());
    assert!(
        (20..=30).contains(&least) && (110..=120).contains(&most),
        "{least} to {most}"
    );
}

/// `mdns/unique-response-prompt`
#[test]
fn unique_answers_go_out_at_once() {
    let mut board = Board::new(1).at_rest();
    for question in [
        "? mcp-hil-a1b2c3._mcp._tcp.local SRV",
        "? mcp-hil-a1b2c3._mcp._tcp.local TXT",
        "? mcp-hil-a1b2c3.local A QU",
        "? mcp-hil-a1b2c3.local AAAA",
    ] {
        let asked = board.now;
        assert_eq!(board.ask(question)[0].at, asked, "{question}");
    }
}

/// RFC 6762 §6.3: where one answer of several waits, all do, and go in one packet.
#[test]
fn mixed_answers_wait_together() {
    let mut board = Board::new(1).at_rest();
    let asked = board.now;
    let sent = board.ask("? mcp-hil-a1b2c3._mcp._tcp.local SRV\n? _mcp._tcp.local PTR");
    assert_eq!(sent.len(), 1);
    assert!((20..=120).contains(&(sent[0].at - asked)));
}

/// `mdns/multicast-rate-limit`: no record is multicast twice within a second, however often it is asked for; who asks in between is
/// answered when the second is over.
#[test]
fn a_record_is_multicast_once_a_second() {
    let mut board = Board::new(1).at_rest();
    let mut sent = Vec::new();
    for _ in 0..45 {
        board.receive(ASKER, &query("? mcp-hil-a1b2c3.local A"));
        sent.extend(board.run(100));
    }
    let times: Vec<u64> = sent.iter().map(|sent| sent.at).collect();
    let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps, [1000; 4]);
}

/// RFC 6762 §6 again: an additional record is a multicast of it, too.
#[test]
fn an_additional_record_keeps_to_the_rate() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &query("? mcp-hil-a1b2c3._mcp._tcp.local SRV"));
    board.receive(ASKER, &query("? _mcp._tcp.local PTR"));
    let sent = board.run(1000);
    assert_eq!(
        sent[0].text(),
        lines(&[("=", &[SRV_RECORD]), ("+", &[A_RECORD, HOST_NSEC])])
    );
    assert_eq!(sent[1].text(), lines(&[("=", &[SERVICE]), ("+", &[TXT_RECORD])]));
}

/// RFC 6762 §7.4: another host gave the same answer while ours waited.
#[test]
fn an_answer_that_another_host_gave_is_not_repeated() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &query("? _services._dns-sd._udp.local PTR"));
    board.receive(ASKER, &response(&format!("= {SERVICES}")));
    assert!(board.run(1000).is_empty());
}

/// RFC 6762 §7.4: only if it lives as long as ours would have.
#[test]
fn an_answer_with_a_shorter_life_is_no_substitute() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &query("? _services._dns-sd._udp.local PTR"));
    board.receive(
        ASKER,
        &response("= _services._dns-sd._udp.local PTR 4499 _mcp._tcp.local"),
    );
    assert_eq!(board.run(1000)[0].text(), lines(&[("=", &[SERVICES])]));
}

fn truncated(mut packet: Vec<u8>) -> Vec<u8> {
    packet[2] |= 0x02;
    packet
}

const KNOWN: &str = "= _mcp._tcp.local PTR 4500 mcp-hil-a1b2c3._mcp._tcp.local";

/// `mdns/known-answer-tc`
#[test]
fn known_answers_in_a_second_packet_count() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &truncated(query("? _mcp._tcp.local PTR")));
    assert!(board.run(100).is_empty());
    board.receive(ASKER, &query(KNOWN));
    assert!(board.run(2000).is_empty());
}

/// `mdns/known-answer-tc`: with nothing left to say, nothing is said, by unicast either.
#[test]
fn known_answers_in_a_second_packet_count_for_unicast_answers() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &truncated(query("? _mcp._tcp.local PTR QU")));
    board.receive(ASKER, &query(KNOWN));
    assert!(board.run(2000).is_empty());
}

/// `mdns/known-answer-tc`
#[test]
fn a_truncated_query_is_answered_after_400_to_500_ms() {
    let mut board = Board::new(1).at_rest();
    for _ in 0..50 {
        let asked = board.now;
        board.receive(ASKER, &truncated(query("? _mcp._tcp.local PTR")));
        let sent = board.run(2000);
        assert_eq!(sent.len(), 1);
        assert!(
            (400..=500).contains(&(sent[0].at - asked)),
            "{}",
            sent[0].at - asked
        );
    }
}

/// RFC 6762 §7.2: each further packet with TC starts the wait anew.
#[test]
fn more_truncated_packets_extend_the_wait() {
    let mut board = Board::new(1).at_rest();
    let other = "= _mcp._tcp.local PTR 4500 other._mcp._tcp.local";
    board.receive(ASKER, &truncated(query("? _mcp._tcp.local PTR")));
    assert!(board.run(390).is_empty());
    board.receive(ASKER, &truncated(query(other)));
    assert!(board.run(390).is_empty());
    board.receive(ASKER, &query(KNOWN));
    assert!(board.run(2000).is_empty());
}

/// RFC 6762 §7.2: the known answers of one asker don't silence the answer to another.
#[test]
fn known_answers_count_for_their_asker_only() {
    let mut board = Board::new(1).at_rest();
    let second = SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, 9), 5353);
    board.receive(ASKER, &truncated(query("? _mcp._tcp.local PTR")));
    board.receive(second, &truncated(query("? _mcp._tcp.local PTR")));
    board.receive(ASKER, &query(KNOWN));
    let sent = board.run(2000);
    assert_eq!(sent.len(), 1);
    assert!(sent[0].text().starts_with(&format!("= {SERVICE}\n")));
}

/// Bounded memory: with all places for waiting answers taken, askers of mDNS are still answered, by multicast.
#[test]
fn more_askers_than_places_are_answered() {
    let mut board = Board::new(1).at_rest();
    for last in 10..60 {
        let asker = SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, last), 5353);
        board.receive(asker, &query("? _mcp._tcp.local PTR QU"));
    }
    let sent = board.run(1000);
    assert_eq!(sent.iter().filter(|sent| sent.to != GROUP).count(), 4);
    assert_eq!(sent.iter().filter(|sent| sent.to == GROUP).count(), 1);
}
