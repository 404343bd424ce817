//! Packets that no honest host sends: nothing panics, nothing hangs, and the board answers the next query.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddrV4};

use mcp_device::Millis;
use mcp_device_net::mdns::{Event, MAX_RECEIVED};
use proptest::prelude::*;

use crate::script::*;

/// The board still does its work.
fn answers(board: &mut Board) -> bool {
    board.run(3000);
    board.ask("? mcp-hil-a1b2c3._mcp._tcp.local TXT")[0].text() == lines(&[("=", &[TXT_RECORD])])
}

/// A query header with these counts, and what follows.
fn packet(questions: u16, answers: u16, body: &[u8]) -> Vec<u8> {
    let mut packet = vec![0; 12];
    packet[4..6].copy_from_slice(&questions.to_be_bytes());
    packet[6..8].copy_from_slice(&answers.to_be_bytes());
    packet.extend_from_slice(body);
    packet
}

/// `mdns/compressed-query-names`
#[test]
fn a_second_question_may_point_into_the_first() {
    let mut board = Board::new(1).at_rest();
    let mut asked = packet(2, 0, b"\x04_mcp\x04_tcp\x05local\x00\x00\x0c\x00\x01");
    asked.extend_from_slice(b"\x0emcp-hil-a1b2c3\xc0\x0c\x00\x21\x00\x01");
    board.receive(ASKER, &asked);
    let text = board.run(1000)[0].text();
    assert!(
        text.starts_with(&lines(&[("=", &[SERVICE, SRV_RECORD])])),
        "{text}"
    );
}

/// `mdns/malformed-packets`: by name of the fault.
#[test]
fn malformed_packets_are_ignored() {
    let ptr = b"\x04_mcp\x04_tcp\x05local\x00\x00\x0c\x00\x01";
    let mut long_name = Vec::new();
    for _ in 0..4 {
        long_name.push(63);
        long_name.extend_from_slice(&[b'a'; 63]);
    }
    long_name.extend_from_slice(b"\x00\x00\x0c\x00\x01");
    let mut long_label = vec![64];
    long_label.extend_from_slice(&[b'a'; 64]);
    long_label.extend_from_slice(b"\x00\x00\x0c\x00\x01");
    let mut board = Board::new(1).at_rest();
    for (fault, bytes) in [
        ("empty", Vec::new()),
        ("half a header", vec![0; 11]),
        ("a header alone", packet(0, 0, b"")),
        ("a question that isn't there", packet(1, 0, b"")),
        ("65535 questions, one there", packet(65535, 0, ptr)),
        ("65535 answers, none there", packet(1, 65535, ptr)),
        ("name cut off", packet(1, 0, &ptr[..10])),
        ("type cut off", packet(1, 0, &ptr[..ptr.len() - 3])),
        ("pointer to itself", packet(1, 0, b"\xc0\x0c\x00\x0c\x00\x01")),
        (
            "pointers to each other",
            packet(1, 0, b"\xc0\x0e\xc0\x0c\x00\x0c\x00\x01"),
        ),
        (
            "pointer forward",
            packet(1, 0, b"\xc0\x12\x00\x0c\x00\x01\x04_mcp\x04_tcp\x05local\x00"),
        ),
        ("pointer past the end", packet(1, 0, b"\xff\xff\x00\x0c\x00\x01")),
        ("pointer cut off", packet(1, 0, b"\x04_mcp\xc0")),
        ("label of 64 bytes", packet(1, 0, &long_label)),
        ("label type 0x80", packet(1, 0, b"\x80\x00\x00\x0c\x00\x01")),
        ("name of 257 bytes", packet(1, 0, &long_name)),
        ("record data past the end", {
            let mut answer = ptr.to_vec();
            answer.extend_from_slice(b"\xc0\x0c\x00\x0c\x00\x01\x00\x00\x11\x94\xff\xff\x00");
            packet(1, 1, &answer)
        }),
        ("record data that is half a name", {
            let mut answer = ptr.to_vec();
            answer.extend_from_slice(b"\xc0\x0c\x00\x0c\x00\x01\x00\x00\x11\x94\x00\x02\x04a");
            packet(1, 1, &answer)
        }),
    ] {
        for from in [ASKER, CLIENT] {
            for qr in [0, 0x80] {
                let mut bytes = bytes.clone();
                if let Some(flags) = bytes.get_mut(2) {
                    *flags |= qr;
                }
                board.receive(from, &bytes);
                assert!(board.run(1000).is_empty(), "{fault}");
            }
        }
    }
    assert!(answers(&mut board));
}

/// A plain DNS client's query of 201 questions, 1,233 bytes, all names but the first compressed.
#[test]
fn a_query_of_201_compressed_questions_is_survived() {
    let mut board = Board::new(1).at_rest();
    for (qtype, expected) in [(12, 1), (255, 1), (28, 0)] {
        let mut asked = packet(201, 0, b"\x04_mcp\x04_tcp\x05local\x00");
        asked.extend_from_slice(&[0, qtype, 0, 1]);
        for _ in 0..200 {
            asked.extend_from_slice(&[0xc0, 0x0c, 0, qtype, 0, 1]);
        }
        assert_eq!(asked.len(), 12 + 21 + 1200);
        board.receive(CLIENT, &asked);
        let sent = board.run(1000);
        assert_eq!(sent.len(), expected, "type {qtype}");
        board.receive(ASKER, &asked);
        assert_eq!(board.run(1000).len(), expected, "type {qtype}");
    }
    assert!(answers(&mut board));
}

/// RFC 6762 §17: up to 9,000 bytes count.
#[test]
fn packets_of_9000_bytes_are_read_and_longer_ones_ignored() {
    let mut board = Board::new(1).at_rest();
    let mut asked = packet(1, 0, b"\x04_mcp\x04_tcp\x05local\x00\x00\x0c\x00\x01");
    asked.resize(MAX_RECEIVED, 0);
    board.receive(ASKER, &asked);
    assert_eq!(board.run(1000).len(), 1);
    asked.push(0);
    board.receive(ASKER, &asked);
    assert!(board.run(1000).is_empty());
}

/// The longest chains that compression allows, as many as fit in 9,000 bytes.
#[test]
fn chains_of_pointers_cost_bounded_time() {
    let mut body = b"\x00".to_vec();
    while body.len() < 4000 {
        let before = 12 + body.len() as u16 - if body.len() == 1 { 1 } else { 2 };
        body.extend_from_slice(&(0xc000 | before).to_be_bytes());
    }
    let last = 12 + body.len() as u16 - 2;
    // The chain lies in the data of a first, unknown record, so that the questions after it are all legal names.
    let mut asked = packet(1, 800, b"");
    asked.extend_from_slice(b"\x00\x00\x0c\x00\x01");
    asked.extend_from_slice(b"\x00\x00\x0a\x00\x01\x00\x00\x00\x01");
    asked.extend_from_slice(&(body.len() as u16).to_be_bytes());
    asked.extend_from_slice(&body);
    while asked.len() + 12 < MAX_RECEIVED {
        asked.extend_from_slice(&(0xc000 | last).to_be_bytes());
        asked.extend_from_slice(b"\x00\x0c\x00\x01\x00\x00\x11\x94\x00\x00");
    }
    let mut board = Board::new(1).at_rest();
    let start = std::time::Instant::now();
    for _ in 0..10 {
        board.receive(ASKER, &asked);
    }
    // A few ms each; the bound leaves room for a busy machine.
    assert!(
        start.elapsed().as_secs() < 5,
        "{:?} for 10 packets",
        start.elapsed()
    );
    assert!(answers(&mut board));
}

/// What hosts say to each other, to be mutated.
fn legal() -> Vec<Vec<u8>> {
    let names = [
        "mcp-hil-a1b2c3._mcp._tcp.local",
        "_mcp._tcp.local",
        "mcp-hil-a1b2c3.local",
        "other.local",
    ];
    let mut packets = Vec::new();
    for name in names {
        for qtype in ["PTR", "SRV", "TXT", "A", "AAAA", "ANY", "PTR QU", "ANY QU"] {
            packets.push(query(&format!("? {name} {qtype}")));
        }
    }
    packets.push(query(&format!(
        "? _mcp._tcp.local PTR\n= {SERVICE}\n= {SERVICES}"
    )));
    packets.push(query(
        "? mcp-hil-a1b2c3._mcp._tcp.local ANY QU\n? mcp-hil-a1b2c3.local ANY QU
         ^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 80 other.local\n^ mcp-hil-a1b2c3.local A 120 192.168.4.77",
    ));
    let own = lines(&[
        ("=", &[SERVICES, SERVICE, SRV_RECORD, TXT_RECORD, A_RECORD]),
        ("+", &["mcp-hil-a1b2c3.local NSEC! 120 mcp-hil-a1b2c3.local"]),
    ]);
    packets.push(response(&own));
    packets.push(response(
        &own.replace("192.168.4.2", "192.168.4.77").replace("18791", "80"),
    ));
    packets.push(response(&own.replace(" 4500 ", " 0 ").replace(" 120 ", " 0 ")));
    packets
}

/// A legal packet with some bytes changed, cut or repeated; sometimes none.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4u8);
    (prop::sample::select(legal()), prop::collection::vec(change, 0..4)).prop_map(|(mut packet, changes)| {
        for (at, byte, kind) in changes {
            if packet.is_empty() {
                break;
            }
            let at = at.index(packet.len());
            match kind {
                0 => packet[at] = byte,
                1 => packet[at] ^= 1 << (byte % 8),
                2 => packet.truncate(at),
                _ => {
                    let part = packet[at..].to_vec();
                    packet.extend_from_slice(&part);
                }
            }
        }
        packet
    })
}

fn asker() -> impl Strategy<Value = SocketAddrV4> {
    (
        prop::sample::select(vec![1, 7, 77]),
        prop::sample::select(vec![5353, 5353, 5353, 40_000]),
    )
        .prop_map(|(last, port)| SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, last), port))
}

/// Bounded output: at most one unicast packet for each one received, no record multicast twice within 250 ms, nor within a
/// second unless a probe was received since; and the responder falls silent when nothing comes any more.
fn hold_the_bounds(mut board: Board, script: Vec<(u64, SocketAddrV4, Vec<u8>)>) -> Result<(), TestCaseError> {
    let received = script.len();
    let mut sent = Vec::new();
    for (wait, from, payload) in script {
        sent.extend(board.run(wait));
        board.receive(from, &payload);
    }
    sent.extend(board.run(60_000));
    prop_assert!(
        board.responder.deadline().is_none(),
        "still at work a minute later"
    );
    let unicast = sent.iter().filter(|sent| sent.to != GROUP).count();
    prop_assert!(
        unicast <= received,
        "{} unicast packets for {}",
        unicast,
        received
    );
    let mut last = HashMap::new();
    for sent in sent
        .iter()
        .filter(|sent| sent.to == GROUP && sent.bytes[2] & 0x80 != 0)
    {
        for line in sent.text().lines() {
            let head = line[2..].splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
            let gap = last.insert(head, sent.at).map_or(1000, |before| sent.at - before);
            prop_assert!(gap >= 250, "{} ms after the last: {}", gap, line);
        }
    }
    while board.responder.event().is_some() {}
    board.responder.link_down();
    board.responder.link_up(Millis(board.now), BOARD, 24);
    board.run(20_000);
    prop_assert_eq!(board.responder.event(), Some(Event::Announced));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// `mdns/malformed-packets`
    #[test]
    fn random_bytes_do_no_harm(
        packets in prop::collection::vec((0..400u64, asker(), prop::collection::vec(any::<u8>(), 0..200)), 0..20),
    ) {
        hold_the_bounds(Board::new(3).link_up(), packets)?;
    }

    /// `mdns/malformed-packets`
    #[test]
    fn mutated_packets_do_no_harm(packets in prop::collection::vec((0..400u64, asker(), mutated()), 0..40)) {
        hold_the_bounds(Board::new(3).link_up(), packets.clone())?;
        hold_the_bounds(Board::new(4).at_rest(), packets)?;
    }
}
