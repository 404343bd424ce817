//! Packets as text, and a board to exchange them with.
//!
//! One line a question or record:
//!
//! ```text
//! ? NAME TYPE [QU] [CH|ANY]     question
//! = NAME TYPE[!] TTL DATA       answer; ! is the cache-flush bit
//! ^ NAME TYPE[!] TTL DATA       authority
//! + NAME TYPE[!] TTL DATA       additional
//! ```

use std::collections::HashSet;
use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddrV4};

use mcp_device::Millis;
use mcp_device_net::mdns::{Config, Event, MAX_SENT, Packet, Responder, Txt};
use simple_dns::rdata::{A, AAAA, NSEC, PTR, RData, SRV, TXT};
use simple_dns::{CLASS, Name, PacketFlag, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(224, 0, 0, 251), 5353);
pub const BOARD: Ipv4Addr = Ipv4Addr::new(192, 168, 4, 2);
pub const ASKER: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, 1), 5353);
/// A plain DNS client on the same host as [`ASKER`].
pub const CLIENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 168, 4, 1), 40_000);

pub const TXT_PAIRS: [(&str, &str); 3] = [("endpoint", "mcp"), ("id", "02aabba1b2c3"), ("build", "0123abcd")];

/// Every record of a board at rest, as it goes to the group.
pub const SERVICES: &str = "_services._dns-sd._udp.local PTR 4500 _mcp._tcp.local";
pub const SERVICE: &str = "_mcp._tcp.local PTR 4500 mcp-hil-a1b2c3._mcp._tcp.local";
pub const SRV_RECORD: &str = "mcp-hil-a1b2c3._mcp._tcp.local SRV! 120 0 0 18791 mcp-hil-a1b2c3.local";
pub const TXT_RECORD: &str =
    "mcp-hil-a1b2c3._mcp._tcp.local TXT! 4500 endpoint=mcp id=02aabba1b2c3 build=0123abcd";
pub const A_RECORD: &str = "mcp-hil-a1b2c3.local A! 120 192.168.4.2";
pub const INSTANCE_NSEC: &str =
    "mcp-hil-a1b2c3._mcp._tcp.local NSEC! 4500 mcp-hil-a1b2c3._mcp._tcp.local TXT SRV";
pub const HOST_NSEC: &str = "mcp-hil-a1b2c3.local NSEC! 120 mcp-hil-a1b2c3.local A";

/// Lines of a packet, each with its mark.
pub fn lines(parts: &[(&str, &[&str])]) -> String {
    let all = parts
        .iter()
        .flat_map(|(mark, records)| records.iter().map(move |r| format!("{mark} {r}\n")));
    all.collect()
}

/// A query from text.
pub fn query(text: &str) -> Vec<u8> {
    write(simple_dns::Packet::new_query(0), text)
}

/// A response from text.
pub fn response(text: &str) -> Vec<u8> {
    let mut packet = simple_dns::Packet::new_reply(0);
    packet.set_flags(PacketFlag::AUTHORITATIVE_ANSWER);
    write(packet, text)
}

fn write<'a>(mut packet: simple_dns::Packet<'a>, text: &'a str) -> Vec<u8> {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (mark, rest) = line.split_at(2);
        match mark {
            "? " => packet.questions.push(question(rest)),
            "= " => packet.answers.push(record(rest)),
            "^ " => packet.name_servers.push(record(rest)),
            "+ " => packet.additional_records.push(record(rest)),
            _ => panic!("no such mark: {line}"),
        }
    }
    packet.build_bytes_vec_compressed().unwrap()
}

fn question(text: &str) -> Question<'_> {
    let mut words = text.split(' ');
    let name = Name::new(words.next().unwrap()).unwrap();
    let qtype = match words.next().unwrap() {
        "ANY" => QTYPE::ANY,
        other => QTYPE::TYPE(type_named(other)),
    };
    let mut qu = false;
    let mut class = QCLASS::CLASS(CLASS::IN);
    for word in words {
        match word {
            "QU" => qu = true,
            "CH" => class = QCLASS::CLASS(CLASS::CH),
            "ANY" => class = QCLASS::ANY,
            _ => panic!("no such word: {text}"),
        }
    }
    Question::new(name, qtype, class, qu)
}

fn type_named(name: &str) -> TYPE {
    match name {
        "A" => TYPE::A,
        "AAAA" => TYPE::AAAA,
        "PTR" => TYPE::PTR,
        "SRV" => TYPE::SRV,
        "TXT" => TYPE::TXT,
        "NSEC" => TYPE::NSEC,
        "MX" => TYPE::MX,
        _ => panic!("no such type: {name}"),
    }
}

fn record(text: &str) -> ResourceRecord<'_> {
    let words: Vec<&str> = text.splitn(4, ' ').collect();
    let [name, rtype, ttl, data] = words[..] else {
        panic!("four words: {text}")
    };
    let (rtype, flush) = rtype
        .strip_suffix('!')
        .map_or((rtype, false), |rtype| (rtype, true));
    let name = Name::new(name).unwrap();
    let data = match type_named(rtype) {
        TYPE::A => RData::A(A::from(data.parse::<Ipv4Addr>().unwrap())),
        TYPE::AAAA => RData::AAAA(AAAA::from(data.parse::<std::net::Ipv6Addr>().unwrap())),
        TYPE::PTR => RData::PTR(PTR(Name::new(data).unwrap())),
        TYPE::SRV => {
            let words: Vec<&str> = data.split(' ').collect();
            RData::SRV(SRV {
                priority: words[0].parse().unwrap(),
                weight: words[1].parse().unwrap(),
                port: words[2].parse().unwrap(),
                target: Name::new(words[3]).unwrap(),
            })
        }
        TYPE::TXT => RData::TXT(
            data.split(' ')
                .fold(TXT::new(), |txt, s| txt.with_string(s).unwrap()),
        ),
        TYPE::NSEC => RData::NSEC(NSEC {
            next_name: Name::new(data).unwrap(),
            type_bit_maps: Vec::new(),
        }),
        other => panic!("no such record: {other:?}"),
    };
    ResourceRecord::new(name, CLASS::IN, ttl.parse().unwrap(), data).with_cache_flush(flush)
}

/// A packet as text; fails where the flags aren't those of a query or response that we may send.
pub fn show(bytes: &[u8]) -> String {
    let packet = simple_dns::Packet::parse(bytes).unwrap();
    assert_eq!(bytes[2] & 0x7b, 0, "opcode, TC and RD are 0: {bytes:02x?}");
    assert_eq!(bytes[3], 0, "RA, Z, AD, CD and rcode are 0: {bytes:02x?}");
    let response = packet.has_flags(PacketFlag::RESPONSE);
    assert_eq!(
        packet.has_flags(PacketFlag::AUTHORITATIVE_ANSWER),
        response,
        "AA goes with QR"
    );
    let mut text = String::new();
    for question in &packet.questions {
        let qtype = match question.qtype {
            QTYPE::TYPE(rtype) => format!("{rtype:?}"),
            other => format!("{other:?}"),
        };
        let qu = if question.unicast_response { " QU" } else { "" };
        writeln!(text, "? {} {qtype}{qu}", question.qname).unwrap();
    }
    let sections = [
        ('=', &packet.answers),
        ('^', &packet.name_servers),
        ('+', &packet.additional_records),
    ];
    for (mark, records) in sections {
        for record in records {
            writeln!(text, "{mark} {}", show_record(record)).unwrap();
        }
    }
    text
}

fn show_record(record: &ResourceRecord<'_>) -> String {
    assert_eq!(record.class, CLASS::IN);
    let data = match &record.rdata {
        RData::A(a) => Ipv4Addr::from(a.address).to_string(),
        RData::PTR(name) => name.0.to_string(),
        RData::SRV(srv) => format!("{} {} {} {}", srv.priority, srv.weight, srv.port, srv.target),
        RData::TXT(txt) => {
            let strings = txt.iter_raw().map(|(key, value)| match value {
                Some(value) => format!(
                    "{}={}",
                    String::from_utf8_lossy(key),
                    String::from_utf8_lossy(value)
                ),
                None => String::from_utf8_lossy(key).into_owned(),
            });
            strings.collect::<Vec<_>>().join(" ")
        }
        RData::NSEC(nsec) => {
            let types = nsec.type_bit_maps.iter().flat_map(|block| {
                let bits = (0..block.bitmap.len() * 8)
                    .filter(|bit| block.bitmap[bit / 8] & (0x80 >> (bit % 8)) != 0);
                bits.map(|bit| {
                    format!(
                        "{:?}",
                        TYPE::from(u16::from(block.window_block) * 256 + bit as u16)
                    )
                })
            });
            format!("{} {}", nsec.next_name, types.collect::<Vec<_>>().join(" "))
        }
        other => format!("{other:?}"),
    };
    let flush = if record.cache_flush { "!" } else { "" };
    format!(
        "{} {:?}{flush} {} {data}",
        record.name,
        record.rdata.type_code(),
        record.ttl
    )
}

/// A packet that a board sent.
#[derive(Clone)]
pub struct Sent {
    /// Milliseconds.
    pub at: u64,
    pub to: SocketAddrV4,
    pub bytes: Vec<u8>,
}

impl Sent {
    pub fn text(&self) -> String {
        show(&self.bytes)
    }

    /// What the records are of: mark, name and type of each line.
    pub fn heads(&self) -> HashSet<String> {
        let text = self.text();
        text.lines()
            .map(|line| line.splitn(4, ' ').take(3).collect::<Vec<_>>().join(" "))
            .collect()
    }
}

impl std::fmt::Debug for Sent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\n{} ms to {}:\n{}", self.at, self.to, self.text())
    }
}

/// A responder with its clock.
pub struct Board {
    pub responder: Responder,
    pub now: u64,
}

impl Board {
    /// A board without a link.
    pub fn new(seed: u64) -> Self {
        let txt = Txt::new(&TXT_PAIRS).unwrap();
        Self::with(
            Config::new("mcp-hil-a1b2c3", "mcp-hil-a1b2c3", 18791, txt).unwrap(),
            seed,
        )
    }

    pub fn with(config: Config, seed: u64) -> Self {
        Self {
            responder: Responder::new(config, seed),
            now: 0,
        }
    }

    /// Connects to 192.168.4.0/24.
    pub fn link_up(mut self) -> Self {
        self.responder.link_up(Millis(self.now), BOARD, 24);
        self
    }

    /// Announced, and quiet for so long that nothing is held back by rate.
    pub fn at_rest(self) -> Self {
        let mut board = self.link_up();
        board.run(5000);
        assert_eq!(board.responder.event(), Some(Event::Announced));
        assert_eq!(board.responder.deadline(), None);
        board
    }

    pub fn receive(&mut self, from: SocketAddrV4, payload: &[u8]) {
        self.responder.receive(Millis(self.now), from, payload);
    }

    /// What is sent right now.
    pub fn sent_now(&mut self) -> Vec<Sent> {
        let mut sent = Vec::new();
        let mut packet = Packet::new();
        while let Some(to) = self.responder.transmit(Millis(self.now), &mut packet) {
            assert!(packet.len() <= MAX_SENT);
            sent.push(Sent {
                at: self.now,
                to,
                bytes: packet.to_vec(),
            });
            assert!(sent.len() < 100, "the board never stops sending: {sent:?}");
        }
        sent
    }

    /// Lets time pass, and wakes the board at its deadlines only.
    pub fn run(&mut self, ms: u64) -> Vec<Sent> {
        let end = self.now + ms;
        let mut sent = self.sent_now();
        while let Some(Millis(deadline)) = self.responder.deadline().filter(|deadline| deadline.0 <= end) {
            assert!(deadline > self.now, "a deadline in the past with nothing to send");
            self.now = deadline;
            sent.extend(self.sent_now());
        }
        self.now = end;
        sent
    }

    /// The answers to one query from [`ASKER`], in the order sent.
    pub fn ask(&mut self, question: &str) -> Vec<Sent> {
        self.receive(ASKER, &query(question));
        self.run(2000)
    }

    /// The only answer to one query, which goes to the group, as text.
    pub fn group_answer(&mut self, question: &str) -> String {
        let sent = self.ask(question);
        let [answer] = &sent[..] else {
            panic!("one answer to {question}: {sent:?}")
        };
        assert_eq!(answer.to, GROUP);
        answer.text()
    }
}
