//! What answers said, record by record and sender by sender: pure.
//!
//! A resolver's cache drops what does not fit together: an SRV record without a host, an address that a second board
//! overwrote. Here every record is kept as it came, with its sender, until its time to live is over.

use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag, ResourceRecord};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Records kept of one sender, so that a noisy one can't crowd out the others.
const MAX_OF_SENDER: usize = 512;
/// Records kept in all.
const MAX_RECORDS: usize = 16_384;
/// No record is believed for longer.
const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Records of this age or older go when their owner sends a newer set (RFC 6762, 10.2).
const FLUSH_AGE: Duration = Duration::from_secs(1);

/// A domain name. Letter case is kept and means nothing (RFC 6762, 16).
#[derive(Clone, Debug, Eq)]
pub struct Name(Vec<String>);

impl Name {
    /// A name written with dots, as `_mcp._tcp.local`.
    pub fn dotted(text: &str) -> Self {
        let labels = text.split('.').filter(|label| !label.is_empty());
        Self(labels.map(str::to_owned).collect())
    }

    /// An instance of this service. Dots are part of an instance's name (RFC 6763, 4.3).
    pub fn instance(&self, instance: &str) -> Self {
        let labels = std::iter::once(instance.to_owned()).chain(self.0.iter().cloned());
        Self(labels.collect())
    }

    /// What stands before `parent`; none if this name is not below it.
    pub fn below(&self, parent: &Self) -> Option<String> {
        let at = self.0.len().checked_sub(parent.0.len()).filter(|at| *at > 0)?;
        let (own, rest) = self.0.split_at(at);
        same(rest, &parent.0).then(|| own.join("."))
    }

    /// Whether this is the root, which as an SRV target means that there is no host (RFC 2782).
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    fn of(name: &simple_dns::Name<'_>) -> Self {
        let label = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self(name.as_bytes().map(label).collect())
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        same(&self.0, &other.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("."))
    }
}

fn same(one: &[String], other: &[String]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.eq_ignore_ascii_case(b))
}

/// Keys of a TXT record with their values, in order; a key without `=` has none.
pub type Text = Vec<(String, Option<String>)>;

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// PTR.
    Pointer(Name),
    /// SRV.
    Service {
        /// TCP port.
        port: u16,
        /// Target host.
        host: Name,
    },
    /// TXT.
    Text(Text),
    /// A or AAAA.
    Address(IpAddr),
}

/// A record, and who said so.
#[derive(Clone, Debug)]
pub struct Record {
    /// Owner of the record.
    pub name: Name,
    /// What it says.
    pub data: Data,
    /// Source address of the packet; none for what mdns-sd resolved.
    pub sender: Option<IpAddr>,
    /// Our interface that it came in by.
    pub interface: String,
    /// When it came.
    pub at: Instant,
    /// When it is no longer true.
    pub until: Instant,
}

impl Record {
    fn is_of(&self, other: &Self) -> bool {
        self.sender == other.sender && self.interface == other.interface
    }
}

/// Packets that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// How many.
    pub packets: usize,
    /// What is wrong with the last one.
    pub reason: String,
}

/// All that was heard and is still true.
#[derive(Debug, Default)]
pub struct Heard {
    records: Vec<Record>,
    /// PTR records of instances whose SRV record ran out.
    ended: Vec<Record>,
    unreadable: BTreeMap<IpAddr, Unreadable>,
}

impl Heard {
    /// Takes a packet; queries say nothing.
    pub fn packet(&mut self, bytes: &[u8], sender: IpAddr, interface: &str, now: Instant) {
        let packet = match Packet::parse(bytes) {
            Ok(packet) => packet,
            // the QR bit tells a broken answer from somebody's broken query
            Err(_) if bytes.get(2).is_some_and(|flags| flags & 0x80 == 0) => return,
            Err(error) => {
                let of_sender = self.unreadable.entry(sender).or_insert(Unreadable {
                    packets: 0,
                    reason: String::new(),
                });
                of_sender.packets += 1;
                of_sender.reason = error.to_string();
                return;
            }
        };
        if !packet.has_flags(PacketFlag::RESPONSE) {
            return;
        }
        for record in packet.answers.iter().chain(&packet.additional_records) {
            self.record(record, sender, interface, now);
        }
    }

    /// Takes what somebody else resolved; it is true until [`Self::forget`].
    pub fn resolved(&mut self, name: Name, data: Data, interface: &str, now: Instant) {
        self.keep(Record {
            name,
            data,
            sender: None,
            interface: interface.to_owned(),
            at: now,
            until: now + MAX_TTL,
        });
    }

    /// Forgets what somebody else resolved of an instance.
    pub fn forget(&mut self, instance: &Name) {
        self.records.retain(|record| {
            let about = record.name == *instance
                || matches!(&record.data, Data::Pointer(target) if target == instance);
            record.sender.is_some() || !about
        });
    }

    /// What is true now. An instance ends with its SRV record, of 120 s, and not with the PTR record, of 75 min, that
    /// names it (RFC 6762, 10): a board that was killed is gone.
    pub fn records(&mut self, now: Instant) -> &[Record] {
        let is_over = |record: &mut Record| record.until <= now;
        self.ended.retain(|record| record.until > now);
        let over: Vec<Record> = self.records.extract_if(.., is_over).collect();
        for service in over
            .iter()
            .filter(|record| matches!(record.data, Data::Service { .. }))
        {
            let names_it = |record: &mut Record| {
                record.is_of(service)
                    && matches!(&record.data, Data::Pointer(target) if *target == service.name)
            };
            self.ended.extend(self.records.extract_if(.., names_it));
        }
        &self.records
    }

    /// Who sent packets that could not be read.
    pub const fn unreadable(&self) -> &BTreeMap<IpAddr, Unreadable> {
        &self.unreadable
    }

    fn record(&mut self, record: &ResourceRecord<'_>, sender: IpAddr, interface: &str, now: Instant) {
        let data = match &record.rdata {
            RData::PTR(target) => Data::Pointer(Name::of(&target.0)),
            RData::SRV(service) => Data::Service {
                port: service.port,
                host: Name::of(&service.target),
            },
            RData::TXT(text) => Data::Text(
                text.iter_raw()
                    .map(|(key, value)| (lossy(key), value.map(lossy)))
                    .collect(),
            ),
            RData::A(address) => Data::Address(IpAddr::V4(address.address.into())),
            RData::AAAA(address) => Data::Address(IpAddr::V6(address.address.into())),
            _ => return,
        };
        let name = Name::of(&record.name);
        if record.cache_flush {
            self.records.retain(|old| {
                let replaced = old.sender == Some(sender)
                    && old.interface == interface
                    && old.name == name
                    && std::mem::discriminant(&old.data) == std::mem::discriminant(&data)
                    && now.duration_since(old.at) >= FLUSH_AGE;
                !replaced
            });
        }
        let ttl = Duration::from_secs(record.ttl.into()).min(MAX_TTL);
        self.keep(Record {
            name,
            data,
            sender: Some(sender),
            interface: interface.to_owned(),
            at: now,
            until: now + ttl,
        });
    }

    /// The newest of equal records tells how long they are true; a goodbye (RFC 6762, 10.1) is true for no time.
    fn keep(&mut self, record: Record) {
        if matches!(record.data, Data::Service { .. }) {
            let names_it =
                |old: &mut Record| matches!(&old.data, Data::Pointer(target) if *target == record.name);
            self.records.extend(self.ended.extract_if(.., names_it));
        }
        let of_sender = |old: &Record| old.is_of(&record);
        self.records
            .retain(|old| !(of_sender(old) && old.name == record.name && old.data == record.data));
        let crowded = self.records.len() >= MAX_RECORDS
            || self.records.iter().filter(|old| of_sender(old)).count() >= MAX_OF_SENDER;
        if !crowded {
            self.records.push(record);
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use simple_dns::rdata::{A, PTR, SRV};
    use simple_dns::{CLASS, Name as Wire};

    const SENDER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 5));

    fn packet(ttl: u32, flush: bool, name: &str, rdata: RData<'_>) -> Vec<u8> {
        let mut packet = Packet::new_reply(0);
        let record =
            ResourceRecord::new(Wire::new_unchecked(name), CLASS::IN, ttl, rdata).with_cache_flush(flush);
        packet.answers.push(record);
        packet.build_bytes_vec().unwrap()
    }

    fn pointer(ttl: u32) -> Vec<u8> {
        let target = RData::PTR(PTR(Wire::new_unchecked("a._mcp._tcp.local")));
        packet(ttl, false, "_mcp._tcp.local", target)
    }

    #[test]
    fn a_record_is_true_for_its_time_to_live() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        heard.packet(&pointer(2), SENDER, "eth0", now);
        assert_eq!(heard.records(now + Duration::from_millis(1999)).len(), 1);
        assert_eq!(heard.records(now + Duration::from_secs(2)).len(), 0);
    }

    #[test]
    fn an_answer_renews_and_a_goodbye_ends_a_record() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        heard.packet(&pointer(2), SENDER, "eth0", now);
        heard.packet(&pointer(2), SENDER, "eth0", now + Duration::from_secs(1));
        assert_eq!(heard.records(now + Duration::from_millis(2500)).len(), 1);
        heard.packet(&pointer(0), SENDER, "eth0", now + Duration::from_millis(2600));
        assert_eq!(heard.records(now + Duration::from_millis(2600)).len(), 0);
    }

    #[test]
    fn an_instance_ends_with_its_service_record_and_comes_back_with_it() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        let after = |seconds| now + Duration::from_secs(seconds);
        let service = || {
            let target = Wire::new_unchecked("a.local");
            let (priority, weight, port) = (0, 0, 1);
            packet(
                120,
                true,
                "a._mcp._tcp.local",
                RData::SRV(SRV {
                    priority,
                    weight,
                    port,
                    target,
                }),
            )
        };
        heard.packet(&pointer(4500), SENDER, "eth0", now);
        assert_eq!(heard.records(after(200)).len(), 1, "it may be described yet");
        heard.packet(&service(), SENDER, "eth0", after(200));
        assert_eq!(heard.records(after(319)).len(), 2);
        assert_eq!(heard.records(after(320)).len(), 0);
        heard.packet(&service(), SENDER, "eth0", after(330));
        assert_eq!(heard.records(after(330)).len(), 2);
    }

    #[test]
    fn a_newer_set_replaces_an_older_one_of_the_same_sender_only() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        let address = |last| {
            packet(
                120,
                true,
                "a.local",
                RData::A(A::from(std::net::Ipv4Addr::new(10, 0, 0, last))),
            )
        };
        heard.packet(&address(5), SENDER, "eth0", now);
        heard.packet(&address(6), IpAddr::from([10, 0, 0, 6]), "eth0", now);
        // one set may come in several packets
        heard.packet(&address(7), SENDER, "eth0", now + Duration::from_millis(999));
        assert_eq!(heard.records(now).len(), 3);
        heard.packet(&address(8), SENDER, "eth0", now + Duration::from_millis(1999));
        let left: Vec<_> = heard
            .records(now)
            .iter()
            .map(|record| record.data.clone())
            .collect();
        assert_eq!(
            left,
            [6, 8].map(|last| Data::Address(IpAddr::from([10, 0, 0, last])))
        );
    }

    #[test]
    fn a_packet_that_cannot_be_read_is_counted_and_hides_nothing() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        heard.packet(&pointer(120), SENDER, "eth0", now);
        let mut cut = pointer(120);
        cut.truncate(20);
        heard.packet(&cut, SENDER, "eth0", now);
        assert_eq!(heard.unreadable()[&SENDER].packets, 1);
        assert_eq!(heard.records(now).len(), 1);
        let query = Packet::new_query(0).build_bytes_vec().unwrap();
        heard.packet(&query[..5], SENDER, "eth0", now);
        assert_eq!(heard.unreadable()[&SENDER].packets, 1);
    }

    #[test]
    fn a_noisy_sender_leaves_room_for_others() {
        let (mut heard, now) = (Heard::default(), Instant::now());
        for number in 0..=u16::try_from(MAX_OF_SENDER).unwrap() {
            let [high, low] = number.to_be_bytes();
            let address = RData::A(A::from(std::net::Ipv4Addr::new(10, 1, high, low)));
            heard.packet(&packet(120, false, "noisy.local", address), SENDER, "eth0", now);
        }
        heard.packet(&pointer(120), IpAddr::from([10, 0, 0, 6]), "eth0", now);
        assert_eq!(heard.records(now).len(), MAX_OF_SENDER + 1);
    }

    #[test]
    fn names_are_equal_in_any_letter_case_and_keep_dots_of_an_instance() {
        let service = Name::dotted("_mcp._tcp.local.");
        let instance = service.instance("My.Board");
        assert_eq!(
            instance.below(&Name::dotted("_MCP._TCP.LOCAL")).as_deref(),
            Some("My.Board")
        );
        assert_ne!(instance, Name::dotted("My.Board._mcp._tcp.local"));
        assert_eq!(service.below(&service), None);
    }
}
