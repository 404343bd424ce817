//! How names are won, kept, lost and given up.

use std::net::{Ipv4Addr, SocketAddrV4};

use mcp_device::Millis;
use mcp_device_net::mdns::{Config, Event, Label, Txt};

use crate::script::*;

const PROBE: &str = "? mcp-hil-a1b2c3._mcp._tcp.local ANY QU
? mcp-hil-a1b2c3.local ANY QU
^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18791 mcp-hil-a1b2c3.local
^ mcp-hil-a1b2c3._mcp._tcp.local TXT 4500 endpoint=mcp id=02aabba1b2c3 build=0123abcd
^ mcp-hil-a1b2c3.local A 120 192.168.4.2
";

fn announcement() -> String {
    lines(&[
        ("=", &[SERVICES, SERVICE, SRV_RECORD, TXT_RECORD, A_RECORD]),
        ("+", &[HOST_NSEC]),
    ])
}

/// Runs until the board has sent this many packets more.
fn next_packets(board: &mut Board, count: usize) -> Vec<Sent> {
    let mut sent = Vec::new();
    while sent.len() < count {
        let Some(Millis(deadline)) = board.responder.deadline() else {
            panic!("only {sent:?}")
        };
        sent.extend(board.run(deadline.saturating_sub(board.now)));
    }
    sent
}

/// `mdns/probing`, `mdns/probe-authority`, `mdns/probe-qu`, `mdns/announcing`
#[test]
fn a_board_probes_three_times_and_announces_twice() {
    let mut board = Board::new(1).link_up();
    let sent = board.run(10_000);
    let texts: Vec<String> = sent.iter().map(Sent::text).collect();
    let (probe, announcement) = (PROBE.to_owned(), announcement());
    assert_eq!(
        texts,
        [
            probe.clone(),
            probe.clone(),
            probe,
            announcement.clone(),
            announcement
        ]
    );
    assert!(sent.iter().all(|sent| sent.to == GROUP));
    let gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert_eq!(gaps, [250, 250, 250, 1000]);
}

/// `mdns/probe-random-delay`
#[test]
fn the_first_probe_comes_after_0_to_250_ms_at_random() {
    let first = |seed| Board::new(seed).link_up().run(1000)[0].at;
    let waits: Vec<u64> = (0..300).map(first).collect();
    let (least, most) = (*waits.iter().min().unwrap(), *waits.iter().max().unwrap());
    assert!(least <= 10 && (240..=250).contains(&most), "{least} to {most}");
}

/// RFC 6762 §8.1: a name is not used before it is known to be free.
#[test]
fn a_probing_board_answers_nothing() {
    let mut board = Board::new(1).link_up();
    next_packets(&mut board, 1);
    board.receive(ASKER, &query("? _mcp._tcp.local PTR\n? mcp-hil-a1b2c3.local A"));
    let sent = board.run(400);
    assert!(sent.iter().all(|sent| sent.text() == PROBE), "{sent:?}");
}

/// The events come in the order of what they tell, and after the packets.
#[test]
fn announced_is_told_once_the_announcement_is_out() {
    let mut board = Board::new(1).link_up();
    let sent = next_packets(&mut board, 3);
    assert_eq!(board.responder.event(), None, "{sent:?}");
    let sent = next_packets(&mut board, 1);
    assert_eq!(sent[0].text(), announcement());
    assert_eq!(board.responder.event(), Some(Event::Announced));
    assert_eq!(board.responder.event(), None);
}

/// `mdns/conflict-rename`: both names are taken.
#[test]
fn a_board_whose_names_are_taken_takes_the_next_ones() {
    let mut board = Board::new(1).link_up();
    next_packets(&mut board, 1);
    board.receive(
        ASKER,
        &response(
            "= mcp-hil-a1b2c3._mcp._tcp.local SRV! 120 0 0 80 elsewhere.local
             + mcp-hil-a1b2c3.local A! 120 192.168.4.77",
        ),
    );
    assert_eq!(board.responder.event(), Some(Event::Renamed));
    assert_eq!(board.responder.host().as_str(), "mcp-hil-a1b2c3-2");
    assert_eq!(board.responder.instance().as_str(), "mcp-hil-a1b2c3-2");
    let sent = next_packets(&mut board, 4);
    let renamed = |text: &str| {
        text.replace("a1b2c3._", "a1b2c3-2._")
            .replace("a1b2c3.local", "a1b2c3-2.local")
    };
    assert_eq!(sent[0].text(), renamed(PROBE));
    assert_eq!(sent[3].text(), renamed(&announcement()));
    assert_eq!(board.responder.event(), Some(Event::Announced));
}

/// `mdns/conflict-rename`: each name is counted by itself.
#[test]
fn only_the_name_that_is_taken_changes() {
    let mut board = Board::new(1).link_up();
    next_packets(&mut board, 1);
    board.receive(ASKER, &response("= mcp-hil-a1b2c3.local A! 120 192.168.4.77"));
    next_packets(&mut board, 1);
    board.receive(ASKER, &response("= mcp-hil-a1b2c3-2.local AAAA! 120 fe80::1"));
    assert_eq!(board.responder.host().as_str(), "mcp-hil-a1b2c3-3");
    assert_eq!(board.responder.instance().as_str(), "mcp-hil-a1b2c3");
    next_packets(&mut board, 1);
    board.receive(
        ASKER,
        &response("= mcp-hil-a1b2c3._mcp._tcp.local TXT! 4500 endpoint=mcp"),
    );
    assert_eq!(board.responder.host().as_str(), "mcp-hil-a1b2c3-3");
    assert_eq!(board.responder.instance().as_str(), "mcp-hil-a1b2c3-2");
    let sent = next_packets(&mut board, 4);
    assert!(
        sent[3]
            .text()
            .contains("= mcp-hil-a1b2c3-2._mcp._tcp.local SRV! 120 0 0 18791 mcp-hil-a1b2c3-3.local\n")
    );
}

/// `mdns/instance-name-utf8`: a new name stays within 63 bytes and whole characters.
#[test]
fn long_names_are_cut_to_make_room_for_the_number() {
    let instance = "ä".repeat(31) + "x"; // 63 bytes
    let host = "h".repeat(63);
    let txt = Txt::new(&TXT_PAIRS).unwrap();
    let mut board = Board::with(Config::new(&host, &instance, 18791, txt).unwrap(), 1).link_up();
    next_packets(&mut board, 1);
    board.receive(ASKER, &response(&format!("= {host}.local A! 120 192.168.4.77")));
    assert_eq!(board.responder.host().as_str(), "h".repeat(61) + "-2");
    next_packets(&mut board, 1);
    board.receive(
        ASKER,
        &response(&format!("= {instance}._mcp._tcp.local TXT! 4500 a=b")),
    );
    assert_eq!(board.responder.instance().as_str(), "ä".repeat(30) + "-2");
    next_packets(&mut board, 4);
    assert_eq!(board.responder.event(), Some(Event::Renamed));
    assert_eq!(board.responder.event(), Some(Event::Announced));
}

/// `mdns/same-rdata-no-conflict`, `mdns/response-from-other-port-ignored`
#[test]
fn what_is_no_conflict_changes_nothing_while_probing() {
    let own = lines(&[
        ("=", &[SERVICES, SERVICE, SRV_RECORD, TXT_RECORD]),
        ("+", &[A_RECORD]),
    ]);
    let other = "= mcp-hil-a1b2c3.local A! 120 192.168.4.77";
    let off_link = SocketAddrV4::new(Ipv4Addr::new(192, 168, 5, 1), 5353);
    for (from, payload) in [
        (ASKER, response(&own)),
        // Our own probe, come back to us.
        (SocketAddrV4::new(BOARD, 5353), query(PROBE)),
        (CLIENT, response(other)),
        (off_link, response(other)),
        // A host that gives the name up, one that says what types there are, and one with another name.
        (ASKER, response("= mcp-hil-a1b2c3.local A! 0 192.168.4.77")),
        (
            ASKER,
            response("= mcp-hil-a1b2c3.local NSEC! 120 mcp-hil-a1b2c3.local"),
        ),
        (
            ASKER,
            response("= other.local A! 120 192.168.4.77\n= _mcp._tcp.local PTR 4500 other._mcp._tcp.local"),
        ),
    ] {
        let mut board = Board::new(1).link_up();
        next_packets(&mut board, 1);
        board.receive(from, &payload);
        board.run(2000);
        assert_eq!(
            board.responder.event(),
            Some(Event::Announced),
            "{}",
            show(&payload)
        );
    }
}

/// Before the first probe nobody knows that we want the name, so what is heard may be our own words of before.
#[test]
fn nothing_is_a_conflict_before_the_first_probe() {
    let mut board = Board::new(1).link_up();
    board.receive(ASKER, &response("= mcp-hil-a1b2c3.local A! 120 192.168.4.1"));
    board.run(2000);
    assert_eq!(board.responder.event(), Some(Event::Announced));
}

/// `mdns/probe-tiebreak`: each line is another host's probe, and who wins by RFC 6762 §8.2.
#[test]
fn a_tie_goes_to_the_records_that_order_last() {
    const WE_WIN: bool = true;
    const WE_LOSE: bool = false;
    for (theirs, outcome) in [
        // Ours is 192.168.4.2: 192.168.4.1 orders before it, 192.168.4.3 and 200.0.0.1 after.
        ("^ mcp-hil-a1b2c3.local A 120 192.168.4.1", WE_WIN),
        ("^ mcp-hil-a1b2c3.local A 120 192.168.4.3", WE_LOSE),
        ("^ MCP-HIL-a1b2c3.LOCAL A 120 200.0.0.1", WE_LOSE),
        // Type decides before data, and a longer list wins over one that it begins with.
        ("^ mcp-hil-a1b2c3.local AAAA 120 fe80::1", WE_LOSE),
        (
            "^ mcp-hil-a1b2c3.local AAAA 120 fe80::1\n^ mcp-hil-a1b2c3.local A 120 192.168.4.2",
            WE_LOSE,
        ),
        ("^ mcp-hil-a1b2c3.local A 120 192.168.4.2", WE_WIN),
        (
            "^ mcp-hil-a1b2c3.local AAAA 120 fe80::1\n^ mcp-hil-a1b2c3.local A 120 192.168.4.1",
            WE_WIN,
        ),
        // TXT (16) comes before SRV (33): the smallest of theirs is compared first, in whatever order they come.
        ("^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 1 a.local", WE_LOSE),
        (
            "^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 9 9 9 z.local
             ^ mcp-hil-a1b2c3._mcp._tcp.local TXT 4500 a",
            WE_WIN,
        ),
        (
            "^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18792 mcp-hil-a1b2c3.local
             ^ mcp-hil-a1b2c3._mcp._tcp.local TXT 4500 endpoint=mcp id=02aabba1b2c3 build=0123abcd",
            WE_LOSE,
        ),
        (
            "^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 18790 mcp-hil-a1b2c3.local
             ^ mcp-hil-a1b2c3._mcp._tcp.local TXT 4500 endpoint=mcp id=02aabba1b2c3 build=0123abcd",
            WE_WIN,
        ),
        // The same but for the TXT, which is missing.
        (
            "^ mcp-hil-a1b2c3._mcp._tcp.local TXT 4500 endpoint=mcp id=02aabba1b2c3 build=0123abcd",
            WE_WIN,
        ),
        // Nothing about our names.
        ("^ other.local A 120 200.0.0.1", WE_WIN),
    ] {
        let mut board = Board::new(1).link_up();
        next_packets(&mut board, 1);
        let asked = board.now;
        let names = "? mcp-hil-a1b2c3._mcp._tcp.local ANY QU\n? mcp-hil-a1b2c3.local ANY QU\n";
        board.receive(ASKER, &query(&format!("{names}{theirs}")));
        let next = next_packets(&mut board, 1);
        let expected = if outcome == WE_WIN { 250 } else { 1000 };
        assert_eq!(next[0].at - asked, expected, "{theirs}");
        // Either way the names are ours in the end if nobody holds them.
        board.run(3000);
        assert_eq!(board.responder.event(), Some(Event::Announced), "{theirs}");
    }
}

/// `mdns/defend-name`
#[test]
fn a_probe_for_our_name_is_answered_at_once_and_for_all_to_hear() {
    let mut board = Board::new(1).at_rest();
    let asked = board.now;
    let sent = board.ask(
        "? mcp-hil-a1b2c3._mcp._tcp.local ANY QU
         ? mcp-hil-a1b2c3.local ANY QU
         ^ mcp-hil-a1b2c3._mcp._tcp.local SRV 120 0 0 80 other.local
         ^ mcp-hil-a1b2c3.local A 120 192.168.4.77",
    );
    assert_eq!(sent.len(), 1);
    assert_eq!((sent[0].at, sent[0].to), (asked, GROUP));
    assert_eq!(
        sent[0].text(),
        lines(&[("=", &[SRV_RECORD, TXT_RECORD, A_RECORD]), ("+", &[HOST_NSEC])])
    );
}

/// RFC 6762 §6: a defence may follow 250 ms after a multicast of the same record.
#[test]
fn every_probe_of_three_is_answered() {
    let mut board = Board::new(1).at_rest();
    let probe = query("? mcp-hil-a1b2c3.local ANY QU\n^ mcp-hil-a1b2c3.local A 120 192.168.4.77");
    let mut sent = Vec::new();
    for _ in 0..3 {
        board.receive(ASKER, &probe);
        sent.extend(board.run(250 - 1));
        board.run(1);
    }
    let gaps: Vec<u64> = sent.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    assert_eq!(gaps, [250, 250]);
}

/// `mdns/conflict-reprobe`: for each unique record.
#[test]
fn a_conflict_makes_an_announced_board_probe_again() {
    for theirs in [
        "= mcp-hil-a1b2c3._mcp._tcp.local SRV! 120 0 0 18792 mcp-hil-a1b2c3.local",
        "= mcp-hil-a1b2c3._mcp._tcp.local SRV! 120 0 0 18791 other.local",
        "= mcp-hil-a1b2c3._mcp._tcp.local TXT! 4500 endpoint=other",
        "= MCP-HIL-a1b2c3.local A! 120 192.168.4.77",
        "+ mcp-hil-a1b2c3.local A! 120 192.168.4.77",
    ] {
        let mut board = Board::new(1).at_rest();
        board.receive(ASKER, &response(theirs));
        let sent = board.run(5000);
        let texts: Vec<String> = sent.iter().map(Sent::text).collect();
        assert_eq!(texts[..3], [PROBE, PROBE, PROBE], "{theirs}");
        assert_eq!(
            texts[3..],
            [announcement(), announcement()],
            "nobody held the name"
        );
    }
}

/// RFC 6762 §9: a name in doubt isn't used, not even in an answer that was on its way.
#[test]
fn a_conflict_stops_the_answers_that_wait() {
    let mut board = Board::new(1).at_rest();
    board.receive(ASKER, &query("? _mcp._tcp.local PTR"));
    board.receive(CLIENT, &query("? _mcp._tcp.local PTR"));
    board.receive(ASKER, &response("= mcp-hil-a1b2c3.local A! 120 192.168.4.77"));
    let sent = board.run(600);
    assert!(
        !sent.is_empty() && sent.iter().all(|sent| sent.text() == PROBE),
        "{sent:?}"
    );
}

/// RFC 6762 §8.1: a query with records in its authority section is a probe of the names that it asks about, and a shared
/// name can't be probed: the answer takes its time.
#[test]
fn a_probe_for_a_shared_name_is_a_query_like_others() {
    let mut board = Board::new(1).at_rest();
    let asked = board.now;
    let sent = board.ask("? _mcp._tcp.local PTR\n^ _mcp._tcp.local PTR 4500 other._mcp._tcp.local");
    assert!((20..=120).contains(&(sent[0].at - asked)));
}

/// `mdns/same-rdata-no-conflict`, `mdns/response-from-other-port-ignored`
#[test]
fn what_is_no_conflict_changes_nothing_once_announced() {
    let own = lines(&[
        ("=", &[SERVICES, SERVICE, SRV_RECORD, TXT_RECORD]),
        ("+", &[A_RECORD, HOST_NSEC]),
    ]);
    for (from, text) in [
        (ASKER, own.as_str()),
        (CLIENT, "= mcp-hil-a1b2c3.local A! 120 192.168.4.77"),
        (
            SocketAddrV4::new(Ipv4Addr::new(8, 8, 8, 8), 5353),
            "= mcp-hil-a1b2c3.local A! 120 192.168.4.77",
        ),
        (ASKER, "= mcp-hil-a1b2c3.local A! 0 192.168.4.77"),
        (ASKER, "= mcp-hil-a1b2c3.local AAAA! 120 fe80::1"),
        (ASKER, "= _mcp._tcp.local PTR 4500 other._mcp._tcp.local"),
        (
            ASKER,
            "= mcp-hil-a1b2c3._mcp._tcp.local SRV! 120 0 0 18791 MCP-HIL-A1B2C3.local",
        ),
    ] {
        let mut board = Board::new(1).at_rest();
        board.receive(from, &response(text));
        assert!(board.run(3000).is_empty(), "{text}");
    }
}

/// RFC 6762 §8.1: after fifteen conflicts within ten seconds five seconds pass before each further attempt.
#[test]
fn a_flood_of_conflicts_slows_the_attempts_down() {
    let mut board = Board::new(1).link_up();
    let mut waits = Vec::new();
    for _ in 0..20 {
        let from = board.now;
        let probe = next_packets(&mut board, 1);
        waits.push(probe[0].at - from);
        let host = board.responder.host();
        board.receive(ASKER, &response(&format!("= {host}.local A! 120 192.168.4.77")));
    }
    assert!(waits[..15].iter().all(|wait| *wait <= 250), "{waits:?}");
    assert_eq!(waits[15..], [5000; 5]);
    assert_eq!(board.responder.host().as_str(), "mcp-hil-a1b2c3-21");

    board.run(10_000);
    board.receive(ASKER, &response("= mcp-hil-a1b2c3-21.local A! 120 192.168.4.77"));
    let from = board.now;
    assert!(
        next_packets(&mut board, 1)[0].at - from <= 250,
        "a success ends the slow-down"
    );
}

/// `mdns/goodbye`: all but the service type, which other boards may still offer.
#[test]
fn a_board_that_leaves_says_so() {
    let mut board = Board::new(1).at_rest();
    board.responder.shutdown();
    assert!(
        board
            .responder
            .deadline()
            .is_some_and(|deadline| deadline <= Millis(board.now))
    );
    let sent = board.run(10_000);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to, GROUP);
    assert_eq!(
        sent[0].text(),
        "= _mcp._tcp.local PTR 0 mcp-hil-a1b2c3._mcp._tcp.local\n\
         = mcp-hil-a1b2c3._mcp._tcp.local SRV! 0 0 0 18791 mcp-hil-a1b2c3.local\n\
         = mcp-hil-a1b2c3._mcp._tcp.local TXT! 0 endpoint=mcp id=02aabba1b2c3 build=0123abcd\n\
         = mcp-hil-a1b2c3.local A! 0 192.168.4.2\n"
    );
    board.receive(ASKER, &query("? _mcp._tcp.local PTR"));
    board.responder.link_up(Millis(board.now), BOARD, 24);
    assert!(board.run(10_000).is_empty(), "gone for good");
}

/// A name that was never ours isn't withdrawn.
#[test]
fn a_board_that_leaves_while_probing_is_silent() {
    let mut board = Board::new(1).link_up();
    next_packets(&mut board, 1);
    board.responder.shutdown();
    assert!(board.run(10_000).is_empty());
}

/// `mdns/goodbye-on-rename`: a board gets another name by leaving and starting anew.
#[test]
fn a_new_name_comes_after_the_goodbye_for_the_old_one() {
    let mut board = Board::new(1).at_rest();
    board.responder.shutdown();
    let goodbye = board.run(0);
    assert!(
        goodbye[0]
            .text()
            .contains("= _mcp._tcp.local PTR 0 mcp-hil-a1b2c3._mcp._tcp.local\n")
    );
    let txt = Txt::new(&TXT_PAIRS).unwrap();
    let mut board = Board::with(Config::new("kitchen", "Kitchen", 18791, txt).unwrap(), 1).link_up();
    let sent = next_packets(&mut board, 4);
    assert!(
        sent[3]
            .text()
            .contains("= _mcp._tcp.local PTR 4500 Kitchen._mcp._tcp.local\n")
    );
}

/// `mdns/reannounce-on-link-change`: the link comes back.
#[test]
fn a_board_that_was_off_the_link_probes_and_announces_again() {
    let mut board = Board::new(1).at_rest();
    board.responder.link_down();
    board.receive(ASKER, &query("? _mcp._tcp.local PTR"));
    assert!(board.run(60_000).is_empty());
    board.responder.link_up(Millis(board.now), BOARD, 24);
    let texts: Vec<String> = board.run(5000).iter().map(Sent::text).collect();
    let (probe, announcement) = (PROBE.to_owned(), announcement());
    assert_eq!(
        texts,
        [
            probe.clone(),
            probe.clone(),
            probe,
            announcement.clone(),
            announcement
        ]
    );
    assert_eq!(board.responder.event(), Some(Event::Announced));
}

/// `mdns/reannounce-on-link-change`, `mdns/txt-update-announced`: a changed record, here the address, is announced with
/// the cache-flush bit.
#[test]
fn a_new_address_is_announced_in_place_of_the_old_one() {
    let mut board = Board::new(1).at_rest();
    board
        .responder
        .link_up(Millis(board.now), Ipv4Addr::new(10, 0, 0, 7), 8);
    let sent = board.run(5000);
    assert!(
        sent[0]
            .text()
            .ends_with("^ mcp-hil-a1b2c3.local A 120 10.0.0.7\n")
    );
    assert!(
        sent[3]
            .text()
            .contains("= mcp-hil-a1b2c3.local A! 120 10.0.0.7\n")
    );
    assert_eq!(sent.len(), 5);
    board.receive(ASKER, &query("? mcp-hil-a1b2c3.local A"));
    assert!(board.run(1000).is_empty(), "192.168.4.1 is no neighbour any more");
}

/// The same address again, as after each renewal of a lease, is no news.
#[test]
fn the_same_address_again_changes_nothing() {
    let mut board = Board::new(1).at_rest();
    board.responder.link_up(Millis(board.now), BOARD, 24);
    assert!(board.run(5000).is_empty());
}

/// `mdns/rescue-record`
#[test]
fn a_record_that_another_host_withdrew_is_told_again() {
    let mut board = Board::new(1).at_rest();
    board.receive(
        ASKER,
        &response("= _services._dns-sd._udp.local PTR 0 _mcp._tcp.local"),
    );
    let sent = board.run(1000);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].text(), lines(&[("=", &[SERVICES])]));
    board.receive(
        ASKER,
        &response("= _mcp._tcp.local PTR 0 mcp-hil-a1b2c3._mcp._tcp.local"),
    );
    assert!(board.run(1000)[0].text().starts_with(&format!("= {SERVICE}\n")));
    board.receive(ASKER, &response("= _mcp._tcp.local PTR 0 other._mcp._tcp.local"));
    assert!(board.run(1000).is_empty(), "not ours");
}

#[test]
fn the_default_name_is_made_of_the_mac() {
    let name = Label::from_mac([0x24, 0x6f, 0x28, 0x0a, 0xb2, 0xc3]);
    assert_eq!(name.as_str(), "mcp-hil-0ab2c3");
}
