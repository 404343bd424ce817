//! The responder's state: when to probe, announce, answer and say goodbye.

use core::cmp::Ordering;
use core::net::{Ipv4Addr, SocketAddrV4};

use domain::base::iana::{Opcode, Rcode, Rtype};
use domain::base::message::Message;
use domain::base::wire::ParseError;
use heapless::{Deque, Vec};
use mcp_device::Millis;

use super::config::{Config, Label};
use super::link::Link;
use super::query::{Echo, Query};
use super::random::Random;
use super::record::{Owner, Record, Records};
use super::wire::{self, Form, Packet, Writer};
use super::zone::Zone;
use super::{GROUP, MAX_RECEIVED, PORT, tie};

/// Probes sent before a name is ours (RFC 6762 §8.1).
const PROBES: u8 = 3;
/// Between two probes, and the most that the first one waits (RFC 6762 §8.1).
const PROBE_INTERVAL: u64 = 250;
/// Wait of the host that lost a tie between two probing hosts (RFC 6762 §8.2).
const TIE_LOST: u64 = 1000;
/// This many conflicts within [`CONFLICT_WINDOW`] make each further attempt wait [`CONFLICT_WAIT`] (RFC 6762 §8.1).
const CONFLICTS: usize = 15;
const CONFLICT_WINDOW: u64 = 10_000;
const CONFLICT_WAIT: u64 = 5000;
/// Between the two announcements (RFC 6762 §8.3).
const ANNOUNCE_INTERVAL: u64 = 1000;
/// Shortest time between two multicasts of one record, and the same in answers to probes (RFC 6762 §6).
const RATE: u64 = 1000;
const RATE_DEFENCE: u64 = 250;
/// Random wait before an answer that other hosts may give too (RFC 6762 §6).
const SHARED_DELAY: (u64, u64) = (20, 120);
/// Random wait for known answers in further packets (RFC 6762 §7.2).
const TRUNCATED_DELAY: (u64, u64) = (400, 500);
/// Unicast answers, and answers that wait for known answers, at one time.
const REPLIES: usize = 4;

/// What happened; the names are those that the responder has by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Another host has the name that was wanted; a new one is being tried.
    Renamed,
    /// The names are ours, and the first announcement has been handed out.
    Announced,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No link, or shut down before there was anything to withdraw.
    Silent,
    /// Finding out whether the names are free. Nothing is answered.
    Probing { sent: u8, next: Millis },
    /// The names are ours; one more announcement is due.
    Announcing { next: Millis },
    /// The names are ours and announced.
    Established,
    /// A goodbye is due.
    Leaving,
    /// Shut down for good.
    Closed,
}

/// When a record is to be multicast, and when it last was.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    due: Option<Millis>,
    last: Option<Millis>,
}

/// An answer that can't go out with the multicast ones yet, or at all.
#[derive(Clone, Debug)]
struct Reply {
    asker: SocketAddrV4,
    due: Millis,
    records: Records,
    /// Known answers of this asker may still come and take records away.
    waiting: bool,
    via: Via,
    /// What a legacy answer repeats.
    echo: Echo,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Via {
    Multicast,
    Unicast,
    Legacy,
}

/// Answers for one host with one service on one link.
///
/// The caller hands in packets and time, sends what [`Responder::transmit`] gives until it gives nothing, and comes
/// back at [`Responder::deadline`].
#[derive(Clone, Debug)]
pub struct Responder {
    config: Config,
    zone: Zone,
    /// The numbers in the present names; 1 means no number.
    host_number: u16,
    instance_number: u16,
    link: Link,
    phase: Phase,
    slots: [Slot; Record::ALL.len()],
    replies: Vec<Reply, REPLIES>,
    conflicts: Deque<Millis, CONFLICTS>,
    /// Too many conflicts: attempts are far apart until one succeeds.
    throttled: bool,
    random: Random,
    renamed: bool,
    announcing: bool,
    announced: bool,
}

impl Responder {
    /// A responder without a link; `seed` should differ between boards and between starts.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            zone: Zone::new(config.host, config.instance, Ipv4Addr::UNSPECIFIED),
            config,
            host_number: 1,
            instance_number: 1,
            link: Link {
                address: Ipv4Addr::UNSPECIFIED,
                prefix: 32,
            },
            phase: Phase::Silent,
            slots: Default::default(),
            replies: Vec::new(),
            conflicts: Deque::new(),
            throttled: false,
            random: Random::new(seed),
            renamed: false,
            announcing: false,
            announced: false,
        }
    }

    /// Host name without `.local`, as it is now.
    pub fn host(&self) -> Label {
        self.zone.host
    }

    /// Service instance name, as it is now.
    pub fn instance(&self) -> Label {
        self.zone.instance
    }

    /// The link is there with this address, or has a new one: the names are probed and announced again.
    pub fn link_up(&mut self, now: Millis, address: Ipv4Addr, prefix: u8) {
        let link = Link { address, prefix };
        if self.phase == Phase::Closed
            || self.phase == Phase::Leaving
            || self.link == link && self.phase != Phase::Silent
        {
            return;
        }
        self.link = link;
        self.zone.address = address;
        self.start_probing(now);
    }

    /// The link is gone: nothing is sent until it is back.
    pub fn link_down(&mut self) {
        self.forget_answers();
        self.phase = match self.phase {
            Phase::Leaving | Phase::Closed => Phase::Closed,
            _ => Phase::Silent,
        };
    }

    /// Withdraws the records; the goodbye is the last packet. It may come sooner than a second after an announcement.
    pub fn shutdown(&mut self) {
        self.forget_answers();
        self.phase = match self.phase {
            Phase::Announcing { .. } | Phase::Established | Phase::Leaving => Phase::Leaving,
            Phase::Silent | Phase::Probing { .. } | Phase::Closed => Phase::Closed,
        };
    }

    /// What happened since the last call.
    pub fn event(&mut self) -> Option<Event> {
        if core::mem::take(&mut self.renamed) {
            Some(Event::Renamed)
        } else if core::mem::take(&mut self.announced) {
            Some(Event::Announced)
        } else {
            None
        }
    }

    /// When [`Responder::transmit`] must be called again at the latest, if nothing is received before.
    pub fn deadline(&self) -> Option<Millis> {
        let phase = match self.phase {
            Phase::Probing { next, .. } | Phase::Announcing { next } => Some(next),
            Phase::Leaving => Some(Millis(0)),
            Phase::Silent | Phase::Established | Phase::Closed => None,
        };
        let replies = self.replies.iter().map(|reply| reply.due);
        let slots = self.slots.iter().filter_map(|slot| slot.due);
        phase.into_iter().chain(replies).chain(slots).min()
    }

    /// Takes a UDP payload that came to port 5353. What is malformed, or from elsewhere than the link, is ignored.
    pub fn receive(&mut self, now: Millis, from: SocketAddrV4, payload: &[u8]) {
        let listening = matches!(
            self.phase,
            Phase::Probing { .. } | Phase::Announcing { .. } | Phase::Established
        );
        if !listening || payload.len() > MAX_RECEIVED || !self.link.has(*from.ip()) || from.port() == 0 {
            return;
        }
        let Ok(message) = Message::from_slice(payload) else {
            return;
        };
        let header = message.header();
        if header.opcode() != Opcode::QUERY || header.rcode() != Rcode::NOERROR {
            return;
        }
        // A malformed packet has no effect: each of these reads all it needs before it changes anything.
        let _ = match (header.qr(), self.phase) {
            (true, _) if from.port() != PORT => Ok(()),
            (true, Phase::Probing { sent, .. }) => self.hear_while_probing(now, sent, message),
            (true, _) => self.hear(now, message),
            (false, Phase::Probing { .. }) => self.compete(now, message),
            (false, _) => self.answer(now, from, message),
        };
    }

    /// Fills `packet` with the next packet to send at this time and says where to; nothing when there is none.
    pub fn transmit(&mut self, now: Millis, packet: &mut Packet) -> Option<SocketAddrV4> {
        match self.phase {
            Phase::Leaving => {
                self.phase = Phase::Closed;
                self.writer()
                    .response(packet, Form::Goodbye, Records::WITHDRAWN, Records::NONE);
                return Some(GROUP);
            }
            Phase::Probing { sent, next } if next <= now && sent < PROBES => {
                self.phase = Phase::Probing {
                    sent: sent + 1,
                    next: after(now, PROBE_INTERVAL),
                };
                self.writer().probe(packet);
                return Some(GROUP);
            }
            Phase::Probing { next, .. } if next <= now => {
                self.throttled = false;
                self.announcing = true;
                self.schedule(Records::ANNOUNCED, now, RATE);
                self.phase = Phase::Announcing {
                    next: after(now, ANNOUNCE_INTERVAL),
                };
            }
            Phase::Announcing { next } if next <= now => {
                self.schedule(Records::ANNOUNCED, now, RATE);
                self.phase = Phase::Established;
            }
            _ => {}
        }
        while let Some(at) = self.replies.iter().position(|reply| reply.due <= now) {
            let reply = self.replies.swap_remove(at);
            let form = match reply.via {
                Via::Multicast => {
                    self.schedule(reply.records, now, RATE);
                    continue;
                }
                Via::Unicast => Form::Answer,
                Via::Legacy => Form::Legacy(&reply.echo),
            };
            self.writer()
                .response(packet, form, reply.records, reply.records.additional());
            return Some(reply.asker);
        }
        self.multicast(now, packet)
    }

    /// Writes the multicast answers that are due, if there are any.
    fn multicast(&mut self, now: Millis, packet: &mut Packet) -> Option<SocketAddrV4> {
        let answers = Record::ALL
            .into_iter()
            .filter(|record| self.slots[*record as usize].due.is_some_and(|due| due <= now))
            .collect::<Records>();
        if answers.is_empty() {
            return None;
        }
        let additional = answers
            .additional()
            .iter()
            .filter(|r| self.earliest(*r, RATE) <= now)
            .collect::<Records>();
        for record in answers.and(additional).iter() {
            self.slots[record as usize] = Slot {
                due: None,
                last: Some(now),
            };
        }
        if answers.has(Record::Service) && core::mem::take(&mut self.announcing) {
            self.announced = true;
        }
        self.writer().response(packet, Form::Answer, answers, additional);
        Some(GROUP)
    }

    /// Answers a query.
    fn answer(&mut self, now: Millis, from: SocketAddrV4, message: &Message<[u8]>) -> Result<(), ParseError> {
        let query = Query::parse(message, &self.zone, &self.config)?;
        for reply in self
            .replies
            .iter_mut()
            .filter(|reply| reply.waiting && reply.asker == from)
        {
            reply.records = reply.records.without(query.known);
            if query.truncated {
                reply.due = after(now, self.random.between(TRUNCATED_DELAY.0, TRUNCATED_DELAY.1));
            }
        }
        self.replies.retain(|reply| !reply.records.is_empty());

        let mut multicast = query.multicast.without(query.known);
        let unicast = query.unicast.without(query.known);
        let legacy = from.port() != PORT;
        let defence = query.probe && !legacy;
        let all = multicast.and(unicast);
        let delay = if query.truncated {
            self.random.between(TRUNCATED_DELAY.0, TRUNCATED_DELAY.1)
        } else if defence || !all.iter().any(Record::shared) {
            0
        } else {
            self.random.between(SHARED_DELAY.0, SHARED_DELAY.1)
        };
        let reply = |records, via| Reply {
            asker: from,
            due: after(now, delay),
            records,
            waiting: query.truncated,
            via,
            echo: query.echo.clone(),
        };

        if legacy {
            // Where there is no room the client's resolver asks again.
            let _ = self.hold(reply(all, Via::Legacy));
            return Ok(());
        }
        if defence {
            // By multicast even to a QU probe: everyone who wants the name must hear, and another process on the
            // asker's host can't take the packet away.
            self.schedule(all, now, RATE_DEFENCE);
            return Ok(());
        }
        let recent = unicast.iter().all(|record| self.recently_multicast(record, now));
        if !recent || !self.hold(reply(unicast, Via::Unicast)) {
            multicast = multicast.and(unicast);
        }
        if !query.truncated || !self.hold(reply(multicast, Via::Multicast)) {
            self.schedule(multicast, after(now, delay), RATE);
        }
        Ok(())
    }

    /// Hears another host's response once the names are ours.
    fn hear(&mut self, now: Millis, message: &Message<[u8]>) -> Result<(), ParseError> {
        let mut conflict = false;
        let mut rescued = Records::NONE;
        let mut answered = Records::NONE;
        for theirs in wire::records(message.answer()?, &self.zone)
            .chain(wire::records(message.additional()?, &self.zone))
        {
            let theirs = theirs?;
            let Some(record) = Record::find(theirs.owner, theirs.rtype) else {
                continue;
            };
            if !self.zone.same_rdata(record, &theirs.rdata, &self.config) {
                let unique = !record.shared() && theirs.rtype != Rtype::NSEC;
                conflict |= unique && theirs.ttl > 0;
            } else if theirs.ttl == 0 {
                rescued = rescued.and(Records::of(record));
            } else if theirs.ttl >= record.ttl() {
                answered = answered.and(Records::of(record));
            }
        }
        if conflict {
            // Both hosts believe the name is theirs: probing settles whose it is (RFC 6762 §9).
            self.note_conflict(now);
            self.start_probing(now);
            return Ok(());
        }
        if self.phase == Phase::Established {
            // Another host said the same just now (RFC 6762 §7.4).
            for record in answered.iter() {
                self.slots[record as usize].due = None;
            }
        }
        // Another host withdrew what is still true of us (RFC 6762 §10.1).
        let delay = self.random.between(SHARED_DELAY.0, SHARED_DELAY.1);
        self.schedule(rescued, after(now, delay), RATE);
        Ok(())
    }

    /// Hears a response while probing: anything else of a name that we want means that it is taken.
    fn hear_while_probing(
        &mut self,
        now: Millis,
        sent: u8,
        message: &Message<[u8]>,
    ) -> Result<(), ParseError> {
        if sent == 0 {
            return Ok(());
        }
        let mut host = false;
        let mut instance = false;
        for theirs in wire::records(message.answer()?, &self.zone)
            .chain(wire::records(message.additional()?, &self.zone))
        {
            let theirs = theirs?;
            let ours = Record::find(theirs.owner, theirs.rtype)
                .is_some_and(|record| self.zone.same_rdata(record, &theirs.rdata, &self.config));
            let taken = !ours && theirs.ttl > 0 && theirs.rtype != Rtype::NSEC;
            host |= taken && theirs.owner == Owner::Host;
            instance |= taken && theirs.owner == Owner::Instance;
        }
        if !host && !instance {
            return Ok(());
        }
        let next = |number: u16| number.checked_add(1).unwrap_or(2);
        let mut names = (self.zone.host, self.zone.instance);
        if host {
            self.host_number = next(self.host_number);
            names.0 = self.config.host.numbered(self.host_number);
        }
        if instance {
            self.instance_number = next(self.instance_number);
            names.1 = self.config.instance.numbered(self.instance_number);
        }
        self.zone = Zone::new(names.0, names.1, self.zone.address);
        self.renamed = true;
        self.note_conflict(now);
        self.start_probing(now);
        Ok(())
    }

    /// Settles a tie with a host that probes for the same name at the same time (RFC 6762 §8.2).
    fn compete(&mut self, now: Millis, message: &Message<[u8]>) -> Result<(), ParseError> {
        let mut lost = false;
        for owner in [Owner::Instance, Owner::Host] {
            lost |= tie::order(owner, message, &self.zone, &self.config)? == Ordering::Less;
        }
        if lost {
            self.phase = Phase::Probing {
                sent: 0,
                next: after(now, TIE_LOST),
            };
        }
        Ok(())
    }

    fn start_probing(&mut self, now: Millis) {
        let wait = if self.throttled {
            CONFLICT_WAIT
        } else {
            self.random.between(0, PROBE_INTERVAL)
        };
        self.forget_answers();
        self.phase = Phase::Probing {
            sent: 0,
            next: after(now, wait),
        };
    }

    fn note_conflict(&mut self, now: Millis) {
        if self.conflicts.is_full() {
            self.conflicts.pop_front();
        }
        let _ = self.conflicts.push_back(now);
        let oldest = self.conflicts.front().map_or(0, |first| first.0);
        self.throttled |= self.conflicts.is_full() && now.0.saturating_sub(oldest) <= CONFLICT_WINDOW;
    }

    fn forget_answers(&mut self) {
        self.replies.clear();
        for slot in &mut self.slots {
            slot.due = None;
        }
        self.announcing = false;
    }

    /// Keeps a reply for later; false when there is no room.
    fn hold(&mut self, reply: Reply) -> bool {
        reply.records.is_empty() || self.replies.push(reply).is_ok()
    }

    /// Has records multicast at `due`, or later where they were multicast less than `gap` before.
    fn schedule(&mut self, records: Records, due: Millis, gap: u64) {
        for record in records.iter() {
            let due = due.max(self.earliest(record, gap));
            let slot = &mut self.slots[record as usize];
            slot.due = Some(slot.due.map_or(due, |earlier| earlier.min(due)));
        }
    }

    fn earliest(&self, record: Record, gap: u64) -> Millis {
        self.slots[record as usize]
            .last
            .map_or(Millis(0), |last| after(last, gap))
    }

    /// Within a quarter of the time to live, so that caches on the link are fresh (RFC 6762 §5.4).
    fn recently_multicast(&self, record: Record, now: Millis) -> bool {
        let last = self.slots[record as usize].last;
        last.is_some_and(|last| now < after(last, u64::from(record.ttl()) * 1000 / 4))
    }

    fn writer(&self) -> Writer<'_> {
        Writer {
            zone: &self.zone,
            config: &self.config,
        }
    }
}

fn after(time: Millis, wait: u64) -> Millis {
    Millis(time.0.saturating_add(wait))
}
