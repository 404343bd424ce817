//! Unusual but legal announcements.

use crate::fault::{BOTH, Fault, variant};
use crate::mdns::{Said, pointer, record, service, text};
use mcp_hil_conformance::mdns::SERVICE;
use mcp_hil_conformance::mdns::wire::{A, AAAA, IN, NSEC, name, swapped};
use std::time::Duration;

pub const VARIANTS: &[Fault] = &[
    variant(
        "mdns-two-instances",
        BOTH,
        "announces another instance on another port, before the first",
    )
    .zone(|zone| {
        let mut second = zone.instance.clone();
        second[0] = [b"another-", second[0].as_slice()].concat();
        let others = [
            pointer(&name(SERVICE), &second),
            service(&second, zone.port.wrapping_add(1), &zone.host),
            text(&second, &["path=/other"]),
        ];
        zone.records.splice(0..0, others);
    }),
    variant("mdns-other-services", BOTH, "announces a web page as well").zone(|zone| {
        let page = [vec![b"A page. Of mine".to_vec()], name("_http._tcp.local")].concat();
        let others = [
            pointer(&name("_http._tcp.local"), &page),
            pointer(&name(crate::mdns::TYPES), &name("_http._tcp.local")),
            service(&page, 80, &zone.host),
            text(&page, &[""]),
        ];
        zone.records.splice(0..0, others);
    }),
    variant("mdns-subtype", BOTH, "is found by a subtype too").zone(|zone| {
        let subtype = [name("_board._sub"), name(SERVICE)].concat();
        let pointer = pointer(&subtype, &zone.instance);
        zone.records.push(pointer);
    }),
    variant("mdns-ipv6", BOTH, "has IPv6 addresses as well").zone(|zone| {
        for last in [1, 2] {
            let mut address = vec![0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0];
            address.push(last);
            let record = record(&zone.host, AAAA, true, address);
            zone.records.push(record);
        }
    }),
    variant("mdns-two-addresses", BOTH, "has a second IPv4 address").zone(|zone| {
        let second = record(&zone.host, A, true, vec![169, 254, 7, 7]);
        zone.records.insert(0, second);
    }),
    variant(
        "mdns-nsec-absent",
        BOTH,
        "says nothing of records that it has not",
    )
    .tell(|_, _, said| said.retain(|said| said.message.answers.iter().all(|record| record.kind != NSEC))),
    variant(
        "mdns-nsec-along",
        BOTH,
        "says with every answer which records there are",
    )
    .tell(|zone, _, said| {
        for said in said
            .iter_mut()
            .filter(|said| said.message.is_response() && said.message.id == 0)
        {
            let denials = [&zone.host, &zone.instance].map(|owner| zone.denial(owner));
            said.message.additional.extend(denials.into_iter().flatten());
        }
    }),
    variant("mdns-other-lives", BOTH, "lets all records live for 75 s")
        .zone(|zone| zone.records.iter_mut().for_each(|record| record.ttl = 75)),
    variant("mdns-no-flush", BOTH, "never sets the cache-flush bit").tell(|_, _, said| {
        said.iter_mut()
            .flat_map(Said::records)
            .for_each(|record| record.class = IN)
    }),
    variant("mdns-txt-empty", BOTH, "has a TXT record of one empty string").zone(|zone| zone.say(&[""])),
    variant(
        "mdns-txt-keys",
        BOTH,
        "has keys in TXT that nobody knows, without a value and with odd ones",
    )
    .zone(|zone| {
        zone.say(&[
            "txtvers=1",
            "path=/mcp",
            "ready",
            "note=",
            "eq=a=b",
            "Two W=grün",
            "",
        ])
    }),
    variant(
        "mdns-nothing-along-legal",
        BOTH,
        "sends records along with no answer",
    )
    .tell(|_, _, said| said.iter_mut().for_each(|said| said.message.additional.clear())),
    variant(
        "mdns-record-a-packet",
        BOTH,
        "sends every kind of record in a packet of its own, a little apart",
    )
    .tell(|_, _, said| {
        for whole in std::mem::take(said) {
            if !whole.message.is_response() || whole.to.is_some() {
                said.push(whole);
                continue;
            }
            let mut kinds: Vec<_> = whole.message.answers.iter().map(|record| record.kind).collect();
            kinds.dedup();
            for (number, kind) in (0..).zip(kinds) {
                let mut part = whole.clone();
                part.message.answers.retain(|record| record.kind == kind);
                part.message.additional.retain(|_| number == 0);
                part.at += Duration::from_millis(7) * number;
                said.push(part);
            }
        }
    }),
    variant(
        "mdns-name-with-dots",
        BOTH,
        "has dots, spaces and letters beyond ASCII in its instance name",
    )
    .zone(|zone| {
        let mut instance = zone.instance.clone();
        instance[0] = ["Gerät Nr. ".as_bytes(), &instance[0]].concat();
        zone.rename(instance, zone.host.clone());
    }),
    variant("mdns-capitals", BOTH, "writes its names in capitals").zone(|zone| {
        let (instance, host) = (swapped(&zone.instance), swapped(&zone.host));
        zone.rename(instance, host);
    }),
    variant(
        "mdns-unhurried",
        BOTH,
        "answers everything by multicast after 120 ms",
    )
    .tell(|_, heard, said| {
        let probe = heard
            .message
            .as_ref()
            .is_some_and(|message| !message.authorities.is_empty());
        for said in said
            .iter_mut()
            .filter(|said| said.to.is_none() && said.message.is_response() && !probe)
        {
            said.at = said.at.max(heard.at + Duration::from_millis(120));
        }
    }),
    variant(
        "mdns-takes-another-name",
        BOTH,
        "probes for another name after a conflict",
    )
    .tell(|zone, _, said| {
        let mut other = zone.instance.clone();
        other[0].extend(b" (2)");
        for said in said.iter_mut().filter(|said| !said.message.is_response()) {
            let questions = said
                .message
                .questions
                .iter_mut()
                .map(|question| &mut question.name);
            let claims = said.message.authorities.iter_mut().map(|record| &mut record.name);
            questions.chain(claims).for_each(|owner| owner.clone_from(&other));
        }
    }),
];
