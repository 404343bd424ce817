//! Records that are missing or wrong.

use crate::fault::{BOTH, Fault, must, must_not, should};
use crate::mdns::{Heard, Said, TYPES, Zone, record};
use mcp_hil_conformance::mdns::SERVICE;
use mcp_hil_conformance::mdns::wire::{
    A, AAAA, ANY, IN, Message, NSEC, PTR, Question, Record, SRV, TOP, TXT, name, same, write_name,
};

pub const FAULTS: &[Fault] = &[
    must(
        "mdns-service-silent",
        BOTH,
        "mdns/ptr-answer",
        "does not answer who offers the service",
    )
    .hear(|_, heard| heard.keep(|question| !same(&question.name, &name(SERVICE)))),
    must(
        "mdns-pointer-astray",
        BOTH,
        "mdns/ptr-answer",
        "points to an instance that is not there, and tells of its own",
    )
    .tell(|zone, _, said| {
        let astray = write_name(&other_instance(zone));
        each(said, |record| {
            if record.kind == PTR && same(&record.name, &name(SERVICE)) {
                record.data.clone_from(&astray);
            }
        });
    }),
    must("mdns-no-srv", BOTH, "mdns/srv-answer", "has no SRV record").zone(|zone| zone.without(SRV)),
    must(
        "mdns-srv-wrong-port",
        BOTH,
        "mdns/srv-answer",
        "announces another port than it serves on",
    )
    .zone(|zone| {
        let port = zone.port.wrapping_add(1).to_be_bytes();
        zone.of(SRV)
            .for_each(|record| record.data[4..6].copy_from_slice(&port));
    }),
    must("mdns-no-txt", BOTH, "mdns/txt-answer", "has no TXT record").zone(|zone| zone.without(TXT)),
    must("mdns-no-address", BOTH, "mdns/a-answer", "has no A record").zone(|zone| zone.without(A)),
    must(
        "mdns-wrong-address",
        BOTH,
        "mdns/a-answer",
        "announces an address that it has not",
    )
    .zone(|zone| zone.of(A).for_each(|record| record.data = vec![192, 0, 2, 1])),
    must(
        "mdns-addresses-apart",
        BOTH,
        "mdns/rrset-complete",
        "announces two addresses in packets of their own, each as the only one",
    )
    .zone(|zone| {
        let second = record(&zone.host, A, true, vec![169, 254, 7, 7]);
        zone.records.push(second);
    })
    .tell(addresses_apart),
    must(
        "mdns-any-is-srv",
        BOTH,
        "mdns/any-answer",
        "answers a question for everything with SRV alone",
    )
    .hear(|_, heard| {
        if let Some(message) = heard
            .message
            .as_mut()
            .filter(|message| message.authorities.is_empty())
        {
            for question in message
                .questions
                .iter_mut()
                .filter(|question| question.kind == ANY)
            {
                question.kind = SRV;
            }
        }
    }),
    must(
        "mdns-first-question-only",
        BOTH,
        "mdns/multi-question",
        "answers the first question of a packet only",
    )
    .hear(|_, heard| {
        if let Some(message) = &mut heard.message {
            message.questions.truncate(1);
        }
    }),
    should(
        "mdns-no-types",
        BOTH,
        "mdns/meta-query",
        "does not answer which types of service there are",
    )
    .zone(|zone| zone.records.retain(|record| !same(&record.name, &name(TYPES)))),
    should(
        "mdns-nothing-along",
        BOTH,
        "mdns/additional-records",
        "sends no record along with an answer",
    )
    .tell(|_, _, said| said.iter_mut().for_each(|said| said.message.additional.clear())),
    should(
        "mdns-srv-weighted",
        BOTH,
        "mdns/srv-priority-weight",
        "gives its only target a weight",
    )
    .zone(|zone| zone.of(SRV).for_each(|record| record.data[3] = 9)),
    should(
        "mdns-host-lives-long",
        BOTH,
        "mdns/ttl-host-records",
        "lets A and SRV live for 4500 s",
    )
    .zone(|zone| {
        zone.of(A).for_each(|record| record.ttl = 4500);
        zone.of(SRV).for_each(|record| record.ttl = 4500);
    }),
    should(
        "mdns-pointer-lives-short",
        BOTH,
        "mdns/ttl-other-records",
        "lets PTR live for 120 s",
    )
    .zone(|zone| zone.of(PTR).for_each(|record| record.ttl = 120)),
    should(
        "mdns-txt-lives-short",
        BOTH,
        "mdns/ttl-other-records",
        "lets TXT live for 60 s",
    )
    .zone(|zone| zone.of(TXT).for_each(|record| record.ttl = 60)),
    should(
        "mdns-no-denial",
        BOTH,
        "mdns/nsec-for-missing-type",
        "keeps silent about records that its names have not",
    )
    .tell(|_, _, said| said.retain(|said| said.message.answers.iter().all(|record| record.kind != NSEC))),
    should(
        "mdns-aaaa-short",
        BOTH,
        "mdns/aaaa-answer",
        "has an IPv6 address of four bytes",
    )
    .zone(|zone| {
        let short = record(&zone.host, AAAA, true, vec![127, 0, 0, 1]);
        zone.records.push(short);
    }),
    must(
        "mdns-answers-any-host",
        BOTH,
        "mdns/authoritative-only",
        "gives its address for every host",
    )
    .tell(|zone, heard, said| {
        let address = zone.address.octets().to_vec();
        claim(zone, heard, said, |question| {
            (question.kind == A).then(|| record(&question.name, A, true, address.clone()))
        });
    }),
    must(
        "mdns-answers-any-service",
        BOTH,
        "mdns/authoritative-only",
        "says it offers every service",
    )
    .tell(|zone, heard, said| {
        let instance = write_name(&zone.instance);
        claim(zone, heard, said, |question| {
            (question.kind == PTR).then(|| record(&question.name, PTR, false, instance.clone()))
        });
    }),
    must_not(
        "mdns-no-such-name",
        BOTH,
        "mdns/no-negative-without-nsec",
        "answers names of others with NXDOMAIN",
    )
    .tell(|zone, heard, said| deny(zone, heard, said, 0x8403)),
    must_not(
        "mdns-empty-answer",
        BOTH,
        "mdns/no-negative-without-nsec",
        "answers names of others with nothing",
    )
    .tell(|zone, heard, said| deny(zone, heard, said, 0x8400)),
    should(
        "mdns-srv-no-flush",
        BOTH,
        "mdns/cache-flush-unique",
        "sends SRV without the cache-flush bit",
    )
    .tell(|_, _, said| {
        each(said, |record| {
            if record.kind == SRV {
                record.class &= !TOP;
            }
        })
    }),
    must_not(
        "mdns-pointer-flushes",
        BOTH,
        "mdns/cache-flush-not-shared",
        "sends the service's PTR with the cache-flush bit",
    )
    .tell(|_, _, said| flush(said, SERVICE)),
    must_not(
        "mdns-types-flush",
        BOTH,
        "mdns/cache-flush-not-shared",
        "sends the PTR of service types with the cache-flush bit",
    )
    .tell(|_, _, said| flush(said, TYPES)),
];

fn other_instance(zone: &Zone) -> Vec<Vec<u8>> {
    let mut other = zone.instance.clone();
    other[0] = b"nobody".to_vec();
    other
}

fn each(said: &mut [Said], mut change: impl FnMut(&mut Record)) {
    said.iter_mut().flat_map(Said::records).for_each(&mut change);
}

/// Sets the cache-flush bit, except for old resolvers.
fn flush(said: &mut [Said], owner: &str) {
    for said in said.iter_mut().filter(|said| said.message.id == 0) {
        for record in said.records().filter(|record| same(&record.name, &name(owner))) {
            record.class |= TOP;
        }
    }
}

/// A packet for each address.
fn addresses_apart(_: &Zone, _: &Heard, said: &mut Vec<Said>) {
    let whole = std::mem::take(said);
    for packet in whole {
        let is_address = |record: &Record| record.kind == A;
        let mut addresses = packet.message.answers.iter().filter(|record| is_address(record));
        let count = addresses.clone().count();
        if count < 2 {
            let mut packet = packet;
            let first = packet
                .message
                .additional
                .iter()
                .find(|record| is_address(record))
                .cloned();
            packet
                .message
                .additional
                .retain(|record| !is_address(record) || Some(record) == first.as_ref());
            said.push(packet);
            continue;
        }
        let others: Vec<_> = packet
            .message
            .answers
            .iter()
            .filter(|record| !is_address(record))
            .cloned()
            .collect();
        for (number, address) in addresses.by_ref().enumerate() {
            let mut part = packet.clone();
            part.message.answers = vec![address.clone()];
            if number == 0 {
                part.message.answers.extend(others.clone());
            }
            said.push(part);
        }
    }
}

/// A response in the place of silence.
fn instead(heard: &Heard, said: &mut Vec<Said>, flags: u16, answers: Vec<Record>) {
    let message = Message {
        flags,
        answers,
        ..Message::default()
    };
    said.push(Said {
        at: heard.at,
        to: None,
        from_other_port: false,
        message,
    });
}

/// Questions for names that are not the board's.
fn foreign<'h>(zone: &Zone, heard: &'h Heard) -> Vec<&'h Question> {
    let questions = heard.message.iter().filter(|_| heard.is_question());
    let own = |question: &&Question| {
        zone.records
            .iter()
            .any(|record| same(&record.name, &question.name))
    };
    questions
        .flat_map(|message| &message.questions)
        .filter(|question| question.class == IN && !own(question))
        .collect()
}

fn claim(zone: &Zone, heard: &Heard, said: &mut Vec<Said>, of: impl Fn(&Question) -> Option<Record>) {
    let answers: Vec<_> = foreign(zone, heard).into_iter().filter_map(of).collect();
    if !answers.is_empty() {
        instead(heard, said, 0x8400, answers);
    }
}

fn deny(zone: &Zone, heard: &Heard, said: &mut Vec<Said>, flags: u16) {
    if !foreign(zone, heard).is_empty() {
        instead(heard, said, flags, Vec::new());
    }
}
