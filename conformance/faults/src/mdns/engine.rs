//! A responder that has its names already and answers as RFC 6762 asks, before and after a fault: packets in, packets
//! out, no clock and no socket.

use super::zone::Zone;
use crate::fault::Hooks;
use mcp_hil_conformance::mdns::PORT;
use mcp_hil_conformance::mdns::wire::{
    ANY, IN, Message, PTR, Question, Record, SRV, TOP, query, read, same, write,
};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

/// A record is multicast at most once in this time (RFC 6762, 6).
const PAUSE: Duration = Duration::from_secs(1);
/// Between two probes (RFC 6762, 8.1).
const PROBING: Duration = Duration::from_millis(250);
/// QR and AA.
const RESPONSE: u16 = 0x8400;
/// More known answers follow.
const TRUNCATED: u16 = 0x0200;
/// A record in an answer to old resolvers lives no longer (RFC 6762, 6.7), seconds.
const LEGACY_LIFE: u32 = 10;

/// A packet as it came.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// What it says; none if it is no DNS.
    pub message: Option<Message>,
    /// Its sender.
    pub from: SocketAddr,
    /// When, since the start.
    pub at: Duration,
    /// It was sent to this board alone.
    pub is_direct: bool,
    /// Nothing is held to have been multicast of late.
    pub is_rested: bool,
    /// The responder does not survive it.
    pub is_deadly: bool,
}

impl Heard {
    /// Asked with an old resolver's port.
    pub fn is_legacy(&self) -> bool {
        self.from.port() != PORT
    }

    /// Whether it asks, and does not claim or answer.
    pub fn is_question(&self) -> bool {
        self.message
            .as_ref()
            .is_some_and(|message| !message.is_response() && message.authorities.is_empty())
    }

    /// Keeps some of the questions.
    pub fn keep(&mut self, keep: impl FnMut(&Question) -> bool) {
        if let Some(message) = &mut self.message {
            message.questions.retain(keep);
        }
    }

    /// As if it had not come.
    pub fn drop(&mut self) {
        self.message = None;
    }
}

/// A packet to be sent.
#[derive(Clone, Debug)]
pub struct Said {
    /// When, since the start.
    pub at: Duration,
    /// To one asker; without, to the group.
    pub to: Option<SocketAddr>,
    /// From another port than 5353.
    pub from_other_port: bool,
    /// What is said.
    pub message: Message,
}

impl Said {
    fn is_as(&self, other: &Self) -> bool {
        let place = |said: &Self| (said.at, said.to, said.from_other_port);
        place(self) == place(other) && write(&self.message) == write(&other.message)
    }

    /// Whether it has a record that others may have too.
    pub fn is_shared(&self) -> bool {
        self.message.answers.iter().any(|record| record.kind == PTR)
    }

    /// Every record that is said.
    pub fn records(&mut self) -> impl Iterator<Item = &mut Record> {
        self.message
            .answers
            .iter_mut()
            .chain(&mut self.message.additional)
    }
}

/// A board's responder.
#[derive(Clone, Debug)]
pub struct Engine {
    good: Zone,
    zone: Zone,
    hooks: Hooks,
    /// What was multicast and when.
    multicast: Vec<(Record, Duration)>,
    queue: Vec<Said>,
    probing_until: Duration,
    is_dead: bool,
    /// How often the fault changed what is said.
    pub changed: u64,
}

impl Engine {
    /// The responder of a zone, broken by the hooks of a fault.
    pub fn new(good: Zone, hooks: Hooks) -> Self {
        let mut zone = good.clone();
        if let Some(hook) = hooks.zone {
            hook(&mut zone);
        }
        Self {
            good,
            zone,
            hooks,
            multicast: Vec::new(),
            queue: Vec::new(),
            probing_until: Duration::ZERO,
            is_dead: false,
            changed: 0,
        }
    }

    /// Hears a packet.
    pub fn hear(&mut self, bytes: &[u8], from: SocketAddr, is_direct: bool, now: Duration) {
        // the link of this board (RFC 6762, 11); no other tests are on it
        let link = |address: Ipv4Addr| address.octets()[..3].to_vec();
        let is_near = matches!(from.ip(), IpAddr::V4(asker) if asker != self.zone.address && link(asker) == link(self.zone.address));
        if self.is_dead || !is_near {
            return;
        }
        let heard = Heard {
            bytes: bytes.to_vec(),
            message: read(bytes).ok(),
            from,
            at: now,
            is_direct,
            is_rested: false,
            is_deadly: false,
        };
        let mut good = Self {
            zone: self.good.clone(),
            hooks: Hooks::default(),
            ..self.clone()
        };
        good.take(heard.clone(), now);
        self.take(heard, now);
        let is_same = self.is_dead == good.is_dead
            && self.queue.len() == good.queue.len()
            && self
                .queue
                .iter()
                .zip(&good.queue)
                .all(|(one, other)| one.is_as(other));
        self.changed += u64::from(!is_same);
    }

    /// What is to be sent now.
    pub fn due(&mut self, now: Duration) -> Vec<Said> {
        self.queue.extract_if(.., |said| said.at <= now).collect()
    }

    /// When something is to be sent next.
    pub fn next(&self) -> Option<Duration> {
        self.queue.iter().map(|said| said.at).min()
    }

    fn take(&mut self, mut heard: Heard, now: Duration) {
        if let Some(hook) = self.hooks.hear {
            hook(&self.zone, &mut heard);
        }
        if heard.is_deadly {
            self.is_dead = true;
            self.queue.clear();
            return;
        }
        let mut said = match &heard.message {
            Some(message) if message.flags & 0x780f != 0 => Vec::new(),
            Some(message) if message.is_response() => self.conflict(message, &heard, now),
            Some(message) if message.questions.is_empty() => {
                self.forget(message);
                Vec::new()
            }
            Some(message) if now >= self.probing_until => self.answer(message, &heard, now),
            _ => Vec::new(),
        };
        if let Some(hook) = self.hooks.tell {
            hook(&self.zone, &heard, &mut said);
        }
        for said in &said {
            if said.to.is_none() && said.message.is_response() {
                for record in said.message.records() {
                    self.multicast.retain(|(known, _)| !is_same(known, record));
                    self.multicast.push((record.clone(), said.at));
                }
            }
        }
        self.queue.extend(said);
    }

    /// Another's record that differs from ours: we probe for the name again (RFC 6762, 9), and keep it if nobody objects.
    fn conflict(&mut self, message: &Message, heard: &Heard, now: Duration) -> Vec<Said> {
        let ours = |other: &Record| {
            let mut own = self
                .zone
                .records
                .iter()
                .filter(|own| own.flushes() && own.kind == other.kind && same(&own.name, &other.name));
            own.clone().next().is_some() && own.all(|own| own.data != other.data)
        };
        let lost = message.answers.iter().any(|other| other.ttl > 0 && ours(other));
        if !lost || heard.is_legacy() || now < self.probing_until {
            return Vec::new();
        }
        self.probing_until = now + 3 * PROBING;
        let mut probe = query(&[(&self.zone.instance, ANY)]);
        probe.questions[0].class |= TOP;
        probe.authorities = self
            .zone
            .records
            .iter()
            .filter(|record| record.kind == SRV)
            .cloned()
            .collect();
        probe
            .authorities
            .iter_mut()
            .for_each(|record| record.class &= !TOP);
        let announcement = Message {
            flags: RESPONSE,
            answers: self.zone.records.clone(),
            ..Message::default()
        };
        let probes = (0..3).map(|round| (PROBING * round, &probe));
        let announcements = [(3 * PROBING, &announcement), (3 * PROBING + PAUSE, &announcement)];
        let said = probes.chain(announcements).map(|(after, message)| Said {
            at: now + after,
            to: None,
            from_other_port: false,
            message: message.clone(),
        });
        said.collect()
    }

    /// Known answers that follow a truncated question (RFC 6762, 7.2).
    fn forget(&mut self, message: &Message) {
        for said in &mut self.queue {
            said.message.answers.retain(|answer| !knows(message, answer));
        }
        self.queue
            .retain(|said| !said.message.answers.is_empty() || !said.message.is_response());
    }

    fn answer(&self, message: &Message, heard: &Heard, now: Duration) -> Vec<Said> {
        let mut answers: Vec<Record> = Vec::new();
        for question in &message.questions {
            if ![IN, ANY].contains(&(question.class & !TOP)) {
                continue;
            }
            let mut found: Vec<_> = self
                .zone
                .records
                .iter()
                .filter(|record| {
                    same(&record.name, &question.name) && [record.kind, ANY].contains(&question.kind)
                })
                .cloned()
                .collect();
            if found.is_empty() {
                found.extend(self.zone.denial(&question.name));
            }
            found.retain(|record| !answers.contains(record) && !knows(message, record));
            answers.extend(found);
        }
        let is_probe = !message.authorities.is_empty();
        let wants_unicast =
            heard.is_direct || message.questions.iter().all(|question| question.class & TOP != 0);
        let known = answers
            .iter()
            .all(|record| self.was_multicast(record, Duration::from_secs(record.ttl.into()) / 4, now));
        let is_alone = heard.is_legacy() || wants_unicast && known && !is_probe;
        if !is_alone && !is_probe && !heard.is_rested {
            answers.retain(|record| !self.was_multicast(record, PAUSE, now));
        }
        if answers.is_empty() {
            return Vec::new();
        }
        let mut additional: Vec<Record> = Vec::new();
        for record in answers.iter().flat_map(|answer| self.zone.along_with(answer)) {
            let is_new = is_alone || heard.is_rested || !self.was_multicast(&record, PAUSE, now);
            if is_new && !answers.contains(&record) && !additional.contains(&record) {
                additional.push(record);
            }
        }
        // by chance, which is the clock's
        let chance = Duration::from_millis(u64::from(now.subsec_micros() % 101));
        let is_shared = answers
            .iter()
            .any(|record| !record.flushes() && record.kind == PTR);
        let after = if message.flags & TRUNCATED != 0 {
            Duration::from_millis(400) + chance
        } else if is_shared && !heard.is_legacy() {
            Duration::from_millis(20) + chance
        } else {
            Duration::ZERO
        };
        let mut response = Message {
            flags: RESPONSE,
            answers,
            additional,
            ..Message::default()
        };
        if heard.is_legacy() {
            response.id = message.id;
            response.questions.clone_from(&message.questions);
            for record in response.answers.iter_mut().chain(&mut response.additional) {
                record.class &= !TOP;
                record.ttl = record.ttl.min(LEGACY_LIFE);
            }
        }
        vec![Said {
            at: now + after,
            to: is_alone.then_some(heard.from),
            from_other_port: false,
            message: response,
        }]
    }

    fn was_multicast(&self, record: &Record, within: Duration, now: Duration) -> bool {
        let known = self.multicast.iter().find(|(known, _)| is_same(known, record));
        known.is_some_and(|(_, at)| now < *at + within)
    }
}

/// Whether two records say the same, however long they live.
fn is_same(one: &Record, other: &Record) -> bool {
    one.kind == other.kind && same(&one.name, &other.name) && one.data == other.data
}

/// Whether a packet tells an answer that has half its life before it (RFC 6762, 7.1).
fn knows(message: &Message, answer: &Record) -> bool {
    let mut answers = message.answers.iter();
    answers.any(|known| is_same(known, answer) && known.ttl >= answer.ttl / 2)
}
