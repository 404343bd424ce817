//! What is answered, and to whom, by a board at rest.

use std::net::{Ipv4Addr, SocketAddrV4};

use crate::script::*;

const ADDITIONAL: [&str; 4] = [SRV_RECORD, TXT_RECORD, A_RECORD, HOST_NSEC];

/// `mdns/ptr-answer`, `mdns/additional-records`, `mdns/ttl-other-records`, `mdns/ttl-host-records`,
/// `mdns/cache-flush-unique`, `mdns/cache-flush-not-shared`, `mdns/qm-multicast-response`, `mdns/dest-multicast`,
/// `mdns/service-name-syntax`
#[test]
fn browsing_finds_the_instance_and_all_that_comes_next() {
    let answer = Board::new(1).at_rest().group_answer("? _mcp._tcp.local PTR");
    assert_eq!(answer, lines(&[("=", &[SERVICE]), ("+", &ADDITIONAL)]));
}

/// `mdns/srv-answer`, `mdns/srv-priority-weight`, `mdns/host-name-local`, `mdns/srv-target-uncompressed-ok`
#[test]
fn an_srv_comes_with_the_address() {
    let answer = Board::new(1)
        .at_rest()
        .group_answer("? mcp-hil-a1b2c3._mcp._tcp.local SRV");
    assert_eq!(
        answer,
        lines(&[("=", &[SRV_RECORD]), ("+", &[A_RECORD, HOST_NSEC])])
    );
}

/// `mdns/txt-answer`, `mdns/txt-single-record`
#[test]
fn a_txt_is_one_record() {
    let answer = Board::new(1)
        .at_rest()
        .group_answer("? mcp-hil-a1b2c3._mcp._tcp.local TXT");
    assert_eq!(answer, lines(&[("=", &[TXT_RECORD])]));
}

/// `mdns/a-answer`, `mdns/rrset-complete` (there is one address, so one record is the whole set)
#[test]
fn an_address_says_that_there_is_no_other_kind() {
    let answer = Board::new(1).at_rest().group_answer("? mcp-hil-a1b2c3.local A");
    assert_eq!(answer, lines(&[("=", &[A_RECORD]), ("+", &[HOST_NSEC])]));
}

/// `mdns/aaaa-answer` (the host has no IPv6), `mdns/nsec-for-missing-type`, `mdns/no-negative-without-nsec`
#[test]
fn a_type_that_is_not_there_is_denied() {
    let mut board = Board::new(1).at_rest();
    let answer = board.group_answer("? mcp-hil-a1b2c3.local AAAA");
    assert_eq!(answer, lines(&[("=", &[HOST_NSEC]), ("+", &[A_RECORD])]));
    let answer = board.group_answer("? mcp-hil-a1b2c3._mcp._tcp.local MX");
    assert_eq!(answer, lines(&[("=", &[INSTANCE_NSEC])]));
}

/// `mdns/any-answer`
#[test]
fn any_is_every_record_of_the_name() {
    let mut board = Board::new(1).at_rest();
    let answer = board.group_answer("? mcp-hil-a1b2c3._mcp._tcp.local ANY");
    assert_eq!(
        answer,
        lines(&[("=", &[SRV_RECORD, TXT_RECORD]), ("+", &[A_RECORD, HOST_NSEC])])
    );
    let answer = board.group_answer("? mcp-hil-a1b2c3.local ANY");
    assert_eq!(answer, lines(&[("=", &[A_RECORD]), ("+", &[HOST_NSEC])]));
    let answer = board.group_answer("? _mcp._tcp.local ANY");
    assert_eq!(answer, lines(&[("=", &[SERVICE]), ("+", &ADDITIONAL)]));
}

/// `mdns/meta-query`
#[test]
fn the_service_type_is_enumerated() {
    let answer = Board::new(1)
        .at_rest()
        .group_answer("? _services._dns-sd._udp.local PTR");
    assert_eq!(answer, lines(&[("=", &[SERVICES])]));
}

/// `mdns/authoritative-only`, `mdns/no-negative-without-nsec`, `mdns/subtype-form` (there are no subtypes)
#[test]
fn what_is_not_ours_is_met_with_silence() {
    let mut board = Board::new(1).at_rest();
    for question in [
        "? _http._tcp.local PTR",
        "? other._mcp._tcp.local SRV",
        "? other.local A",
        "? mcp-hil-a1b2c3._http._tcp.local SRV",
        "? mcp-hil-a1b2c3 A",
        "? local ANY",
        "? _hil._sub._mcp._tcp.local PTR",
        // The shared names have other records at other hosts, so nobody can deny them.
        "? _mcp._tcp.local TXT",
        "? _services._dns-sd._udp.local A",
    ] {
        assert!(board.ask(question).is_empty(), "{question}");
    }
}

/// `mdns/multi-question`
#[test]
fn all_questions_of_a_query_are_answered() {
    let answer = Board::new(1).at_rest().group_answer(
        "? _mcp._tcp.local PTR
         ? mcp-hil-a1b2c3._mcp._tcp.local SRV
         ? mcp-hil-a1b2c3._mcp._tcp.local TXT
         ? other.local A
         ? mcp-hil-a1b2c3.local A",
    );
    assert_eq!(
        answer,
        lines(&[
            ("=", &[SERVICE, SRV_RECORD, TXT_RECORD, A_RECORD]),
            ("+", &[HOST_NSEC])
        ])
    );
}

/// `mdns/name-case-insensitive`
#[test]
fn letter_case_does_not_matter() {
    let mut board = Board::new(1).at_rest();
    let answer = board.group_answer("? _MCP._Tcp.LOCAL PTR");
    assert_eq!(answer, lines(&[("=", &[SERVICE]), ("+", &ADDITIONAL)]));
    let answer = board.group_answer("? MCP-HIL-A1B2C3._mcp._TCP.local TXT");
    assert_eq!(answer, lines(&[("=", &[TXT_RECORD])]));
}

/// `mdns/qclass-any`
#[test]
fn class_any_is_in_and_no_other_class_is() {
    let mut board = Board::new(1).at_rest();
    let answer = board.group_answer("? mcp-hil-a1b2c3.local A ANY");
    assert_eq!(answer, lines(&[("=", &[A_RECORD]), ("+", &[HOST_NSEC])]));
    assert!(board.ask("? mcp-hil-a1b2c3.local A CH").is_empty());
}

/// `mdns/query-id-any`, `mdns/reserved-bits-ignored`, `mdns/response-id-zero`, `mdns/response-flags`,
/// `mdns/response-no-question`
#[test]
fn id_and_reserved_bits_of_a_query_do_not_matter() {
    let mut board = Board::new(1).at_rest();
    let mut asked = query("? mcp-hil-a1b2c3._mcp._tcp.local TXT");
    asked[..2].copy_from_slice(&[0x12, 0x34]);
    asked[2] |= 0x01; // RD
    asked[3] |= 0xf0; // RA, Z, AD, CD
    board.receive(ASKER, &asked);
    let sent = board.run(1000);
    assert_eq!(sent[0].text(), lines(&[("=", &[TXT_RECORD])]));
    assert_eq!(
        sent[0].bytes[..6],
        [0, 0, 0x84, 0, 0, 0],
        "id 0, QR and AA, no question"
    );
}

/// `mdns/nonzero-opcode-ignored`, `mdns/nonzero-rcode-ignored`
#[test]
fn other_opcodes_and_any_rcode_are_ignored() {
    let mut board = Board::new(1).at_rest();
    let asked = query("? _mcp._tcp.local PTR");
    for opcode in 1..16 {
        let mut packet = asked.clone();
        packet[2] |= opcode << 3;
        board.receive(ASKER, &packet);
        assert!(board.run(1000).is_empty(), "opcode {opcode}");
    }
    for rcode in 1..16 {
        let mut packet = asked.clone();
        packet[3] |= rcode;
        board.receive(ASKER, &packet);
        assert!(board.run(1000).is_empty(), "rcode {rcode}");
    }
}

/// `mdns/qu-unicast-response`
#[test]
fn a_qu_question_is_answered_to_the_asker_while_caches_are_fresh() {
    let mut board = Board::new(1).at_rest();
    let sent = board.ask("? mcp-hil-a1b2c3._mcp._tcp.local TXT QU");
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to, ASKER);
    assert_eq!(sent[0].text(), lines(&[("=", &[TXT_RECORD])]));
}

/// RFC 6762 §5.4: an SRV lives 120 s, and after a quarter of that everyone is told.
#[test]
fn a_qu_question_is_answered_to_all_when_caches_are_not_fresh() {
    let mut board = Board::new(1).at_rest();
    board.run(30_000);
    let answer = board.group_answer("? mcp-hil-a1b2c3._mcp._tcp.local SRV QU");
    assert_eq!(
        answer,
        lines(&[("=", &[SRV_RECORD]), ("+", &[A_RECORD, HOST_NSEC])])
    );
    assert_eq!(
        board.ask("? mcp-hil-a1b2c3._mcp._tcp.local SRV QU")[0].to,
        ASKER,
        "fresh again"
    );
}

#[test]
fn a_record_asked_for_both_ways_is_multicast() {
    let answer = Board::new(1)
        .at_rest()
        .group_answer("? mcp-hil-a1b2c3.local A QU\n? mcp-hil-a1b2c3.local A");
    assert_eq!(answer, lines(&[("=", &[A_RECORD]), ("+", &[HOST_NSEC])]));
}

/// `mdns/legacy-unicast-response`, `mdns/ttl-legacy-unicast`, `mdns/cache-flush-not-legacy`
#[test]
fn a_plain_dns_client_gets_an_answer_it_understands() {
    let mut board = Board::new(1).at_rest();
    let mut asked = query("? MCP-hil-a1b2c3._mcp._tcp.local SRV");
    asked[..2].copy_from_slice(&[0xbe, 0xef]);
    board.receive(CLIENT, &asked);
    let sent = board.run(1000);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to, CLIENT);
    assert_eq!(sent[0].bytes[..2], [0xbe, 0xef]);
    // Names after the question point into it, and so have its letter case.
    assert_eq!(
        sent[0].text(),
        "? MCP-hil-a1b2c3._mcp._tcp.local SRV\n\
         = MCP-hil-a1b2c3._mcp._tcp.local SRV 10 0 0 18791 mcp-hil-a1b2c3.local\n\
         + mcp-hil-a1b2c3.local A 10 192.168.4.2\n\
         + mcp-hil-a1b2c3.local NSEC 10 mcp-hil-a1b2c3.local A\n"
    );
}

/// `mdns/legacy-unicast-response`: the questions that are answered come back, the others don't.
#[test]
fn a_plain_dns_client_may_ask_several_questions() {
    let mut board = Board::new(1).at_rest();
    board.receive(
        CLIENT,
        &query(
            "? _mcp._tcp.local PTR\n? other.local A\n? mcp-hil-a1b2c3.local A\n? mcp-hil-a1b2c3.local AAAA",
        ),
    );
    let sent = board.run(1000);
    let questions: Vec<_> = sent[0]
        .text()
        .lines()
        .filter(|l| l.starts_with('?'))
        .map(String::from)
        .collect();
    assert_eq!(
        questions,
        [
            "? _mcp._tcp.local PTR",
            "? mcp-hil-a1b2c3.local A",
            "? mcp-hil-a1b2c3.local AAAA"
        ]
    );
}

/// `mdns/off-link-source-ignored`
#[test]
fn strangers_get_no_answer() {
    let mut board = Board::new(1).at_rest();
    for (ip, port) in [
        ([192, 168, 5, 1], 5353),
        ([8, 8, 8, 8], 5353),
        ([10, 0, 0, 1], 40_000),
        ([0, 0, 0, 0], 68),
    ] {
        let stranger = SocketAddrV4::new(Ipv4Addr::from(ip), port);
        board.receive(stranger, &query("? _mcp._tcp.local PTR"));
        assert!(board.run(1000).is_empty(), "{stranger}");
    }
    board.receive(SocketAddrV4::new(*ASKER.ip(), 0), &query("? _mcp._tcp.local PTR"));
    assert!(board.run(1000).is_empty(), "there is no way to answer port 0");
}

/// `mdns/direct-unicast-query`: sockets don't tell how a query came, so this is the same as a multicast one. A neighbour
/// with a link-local address is on the link as well.
#[test]
fn neighbours_of_both_kinds_are_answered() {
    let mut board = Board::new(1).at_rest();
    let neighbour = SocketAddrV4::new(Ipv4Addr::new(169, 254, 1, 2), 5353);
    board.receive(neighbour, &query("? mcp-hil-a1b2c3._mcp._tcp.local TXT"));
    assert_eq!(board.run(1000)[0].text(), lines(&[("=", &[TXT_RECORD])]));
}

/// `mdns/known-answer-suppression`
#[test]
fn an_answer_that_the_asker_has_is_not_sent() {
    let mut board = Board::new(1).at_rest();
    for known in [
        "? _mcp._tcp.local PTR\n= _mcp._tcp.local PTR 4500 mcp-hil-a1b2c3._mcp._tcp.local",
        "? _mcp._tcp.local PTR\n= _mcp._tcp.local PTR 2250 mcp-hil-a1b2c3._mcp._tcp.local",
        "? _mcp._tcp.local PTR\n= _MCP._tcp.local PTR 4500 MCP-HIL-a1b2c3._mcp._tcp.local",
        "? mcp-hil-a1b2c3.local A\n= mcp-hil-a1b2c3.local A 60 192.168.4.2",
        "? mcp-hil-a1b2c3._mcp._tcp.local SRV\n= mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18791 MCP-HIL-A1B2C3.local",
        "? mcp-hil-a1b2c3._mcp._tcp.local SRV QU\n= mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18791 mcp-hil-a1b2c3.local",
    ] {
        assert!(board.ask(known).is_empty(), "{known}");
    }
    let known = format!(
        "? mcp-hil-a1b2c3._mcp._tcp.local TXT\n= {}",
        TXT_RECORD.replace('!', "")
    );
    assert!(board.ask(&known).is_empty());
}

/// `mdns/known-answer-low-ttl`, `mdns/known-answer-different-rdata`
#[test]
fn old_or_other_known_answers_do_not_count() {
    let mut board = Board::new(1).at_rest();
    for known in [
        "_mcp._tcp.local PTR 1500 mcp-hil-a1b2c3._mcp._tcp.local",
        "_mcp._tcp.local PTR 2249 mcp-hil-a1b2c3._mcp._tcp.local",
        "_mcp._tcp.local PTR 4500 mcp-hil-a1b2c4._mcp._tcp.local",
        "_mcp._tcp.local PTR 4500 mcp-hil-a1b2c3.local",
        "_services._dns-sd._udp.local PTR 4500 mcp-hil-a1b2c3._mcp._tcp.local",
    ] {
        let answer = board.group_answer(&format!("? _mcp._tcp.local PTR\n= {known}"));
        assert!(answer.starts_with(&format!("= {SERVICE}\n")), "{known}: {answer}");
    }
}

/// `mdns/known-answer-suppression`: what is known is left out, the rest is sent.
#[test]
fn only_the_known_answer_is_left_out() {
    let answer = Board::new(1).at_rest().group_answer(
        "? mcp-hil-a1b2c3._mcp._tcp.local ANY
         = mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18791 mcp-hil-a1b2c3.local",
    );
    assert_eq!(answer, lines(&[("=", &[TXT_RECORD])]));
}

/// `mdns/response-size`
#[test]
fn many_questions_do_not_make_a_long_answer() {
    let mut board = Board::new(1).at_rest();
    let questions = "? mcp-hil-a1b2c3.local ANY\n? _mcp._tcp.local PTR\n? _services._dns-sd._udp.local PTR\n\
                     ? mcp-hil-a1b2c3._mcp._tcp.local ANY\n"
        .repeat(50);
    let sent = board.ask(&questions);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].heads().len(), 6, "no record twice: {sent:?}");
    assert!(sent[0].bytes.len() < 500, "{} bytes", sent[0].bytes.len());
}
