//! What multicast questions are answered with.

use super::{air, open};
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{self, A, AAAA, ANY, NSEC, PTR, Record, SRV, TXT, name, query, same, write};
use crate::mdns::{Asked, By, Lost, MAX_PACKET, PORT, SERVICE, TYPES};
use mcp_hil_harness::target::Target;
use std::collections::HashSet;
use std::time::Duration;

/// What is alone on the network answers at once (RFC 6762, 6); the rest is for the network.
const PROMPT: Duration = Duration::from_millis(250);

pub const CHECKS: &[Check] = &[
    check!(
        "mdns/browse",
        BOTH,
        browse,
        [
            "mdns/ptr-answer",
            "mdns/srv-answer",
            "mdns/response-flags",
            "mdns/response-id-zero",
            "mdns/response-no-question",
            "mdns/source-port-5353",
            "mdns/dest-multicast",
            "mdns/qm-multicast-response",
            "mdns/additional-records",
            "mdns/cache-flush-not-shared",
            "mdns/ttl-other-records",
            "mdns/query-id-any",
        ]
    ),
    check!(
        "mdns/instance",
        BOTH,
        instance,
        [
            "mdns/multi-question",
            "mdns/srv-answer",
            "mdns/txt-answer",
            "mdns/a-answer",
            "mdns/rrset-complete",
            "mdns/ttl-host-records",
            "mdns/ttl-other-records",
            "mdns/cache-flush-unique",
            "mdns/srv-priority-weight",
            "mdns/unique-response-prompt",
            "mdns/response-size",
        ]
    ),
    check!("mdns/any", BOTH, any, ["mdns/any-answer"]),
    check!(
        "mdns/missing-type",
        BOTH,
        missing_type,
        ["mdns/nsec-for-missing-type", "mdns/aaaa-answer"]
    ),
    check!(
        "mdns/enumeration",
        BOTH,
        enumeration,
        ["mdns/meta-query", "mdns/cache-flush-not-shared"]
    ),
    check!(
        "mdns/names-of-others",
        BOTH,
        others,
        ["mdns/authoritative-only", "mdns/no-negative-without-nsec"]
    ),
    check!("mdns/qclass", BOTH, qclass, ["mdns/qclass-any"]),
];

async fn browse(lab: &mut Lab) -> Result<(), Stop> {
    let mut air = air(lab)?;
    let board = match air.find().await? {
        Ok(board) => board,
        Err(Lost {
            row: Some(row),
            what,
            exchange,
        }) => {
            lab.found(row, what, &[&exchange]);
            return Ok(());
        }
        Err(lost) => return Err(Stop::Skip(lost.what)),
    };
    let service = name(SERVICE);
    let mut question = query(&[(&service, PTR)]);
    question.id = 0x1234;
    let leads_there = |asked: &Asked| {
        let pointers = asked.pointers(&service);
        pointers.iter().any(|pointer| same(pointer, &board.instance))
    };
    let asked = air.ask(&write(&question), leads_there).await?;
    let evidence = [&asked.exchange];
    if !asked.answers(&service, PTR) {
        lab.found(
            "mdns/query-id-any",
            "a question with an ID is not answered",
            &evidence,
        );
        return Ok(());
    }
    let pointers = asked.pointers(&service);
    if !pointers.iter().any(|pointer| same(pointer, &board.instance)) {
        lab.found(
            "mdns/ptr-answer",
            "the PTR record does not lead to an instance of the service",
            &evidence,
        );
    }
    for (heard, message) in asked.messages() {
        if heard.by == By::Unicast {
            lab.found(
                "mdns/qm-multicast-response",
                "a question for multicast answers is answered by unicast",
                &evidence,
            );
            lab.found("mdns/dest-multicast", "the answer went to us alone", &evidence);
        }
        if heard.from.port() != PORT {
            lab.found(
                "mdns/source-port-5353",
                format!("the answer comes from port {}", heard.from.port()),
                &evidence,
            );
        }
        if message.id != 0 {
            lab.found(
                "mdns/response-id-zero",
                format!("the multicast answer has ID {:#06x}", message.id),
                &evidence,
            );
        }
        if !message.questions.is_empty() {
            lab.found(
                "mdns/response-no-question",
                "the multicast answer repeats the question",
                &evidence,
            );
        }
        // QR and AA set; opcode, TC, RD, RA, Z, AD, CD and rcode zero (RFC 6762, 18)
        if message.flags != 0x8400 {
            lab.found(
                "mdns/response-flags",
                format!(
                    "the flags of the answer are {:#06x}, and 0x8400 is right",
                    message.flags
                ),
                &evidence,
            );
        }
        for record in message
            .records()
            .filter(|record| record.kind == PTR && same(&record.name, &service))
        {
            if record.flushes() {
                lab.found(
                    "mdns/cache-flush-not-shared",
                    "the PTR record, which others share, has the cache-flush bit",
                    &evidence,
                );
            }
            if record.ttl != 4500 {
                lab.found(
                    "mdns/ttl-other-records",
                    format!("the PTR record lives for {} s, and 4500 s is right", record.ttl),
                    &evidence,
                );
            }
        }
    }
    for kind in [SRV, TXT] {
        if asked.record(&board.instance, kind).is_none() {
            let what = format!(
                "the {} record does not come along with the PTR record",
                if kind == SRV { "SRV" } else { "TXT" }
            );
            lab.found("mdns/additional-records", what, &evidence);
        }
    }
    Ok(())
}

async fn instance(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let questions = query(&[(&board.instance, SRV), (&board.instance, TXT), (&board.host, A)]);
    let complete = |asked: &Asked| {
        asked.record(&board.instance, SRV).is_some()
            && asked.record(&board.instance, TXT).is_some()
            && asked.record(&board.host, A).is_some()
    };
    let asked = air.ask(&write(&questions), complete).await?;
    let evidence = [&asked.exchange];
    for (owner, kind, row, what) in [
        (&board.instance, SRV, "mdns/srv-answer", "SRV"),
        (&board.instance, TXT, "mdns/txt-answer", "TXT"),
        (&board.host, A, "mdns/a-answer", "A"),
    ] {
        let Some(record) = asked.record(owner, kind) else {
            lab.found(
                row,
                format!(
                    "the question for {what} of {} is not answered",
                    wire::shown(owner)
                ),
                &evidence,
            );
            lab.found(
                "mdns/multi-question",
                format!("of three questions in a packet, {what} is not answered"),
                &evidence,
            );
            continue;
        };
        if !record.flushes() {
            lab.found(
                "mdns/cache-flush-unique",
                format!("the {what} record has no cache-flush bit"),
                &evidence,
            );
        }
        let (right, row) = if kind == TXT {
            (4500, "mdns/ttl-other-records")
        } else {
            (120, "mdns/ttl-host-records")
        };
        if record.ttl != right {
            lab.found(
                row,
                format!(
                    "the {what} record lives for {} s, and {right} s is right",
                    record.ttl
                ),
                &evidence,
            );
        }
    }
    if let Some((priority, weight, port, host)) = asked.record(&board.instance, SRV).and_then(Record::service)
    {
        if (priority, weight) != (0, 0) {
            lab.found(
                "mdns/srv-priority-weight",
                format!("priority {priority}, weight {weight}"),
                &evidence,
            );
        }
        if let Target::Http(endpoint) = &lab.shared.target
            && endpoint.port != port
        {
            lab.found(
                "mdns/srv-answer",
                format!("it announces port {port}, and serves on {}", endpoint.port),
                &evidence,
            );
        }
        if !same(&host, &board.host) {
            lab.found(
                "mdns/srv-answer",
                "the SRV record changed between two questions",
                &evidence,
            );
        }
    }
    let addresses: Vec<_> = asked
        .messages()
        .flat_map(|(_, message)| message.records())
        .filter(|record| record.kind == A && same(&record.name, &board.host))
        .collect();
    if !addresses.is_empty()
        && !addresses
            .iter()
            .any(|record| record.data == board.address.octets())
    {
        lab.found(
            "mdns/a-answer",
            format!("{} is not among its A records", board.address),
            &evidence,
        );
    }
    // who replaces what is known of a name tells all of it at once
    let count = |message: &wire::Message| {
        let of_host =
            |record: &&Record| record.kind == A && record.flushes() && same(&record.name, &board.host);
        message
            .records()
            .filter(of_host)
            .map(|record| record.data.clone())
            .collect::<HashSet<_>>()
    };
    let mut sets: Vec<_> = asked.messages().map(|(_, message)| count(message)).collect();
    let alone = air.ask(&write(&query(&[(&board.host, A)])), |_| false).await?;
    sets.extend(alone.messages().map(|(_, message)| count(message)));
    sets.retain(|set| !set.is_empty());
    if sets.iter().any(|set| *set != sets[0]) {
        lab.found(
            "mdns/rrset-complete",
            "A records with the cache-flush bit come apart, each as if it were the only one",
            &[&asked.exchange, &alone.exchange],
        );
    }
    if let Some(first) = asked.heard.first()
        && first.after > PROMPT
    {
        lab.found(
            "mdns/unique-response-prompt",
            format!("the first answer takes {} ms", first.after.as_millis()),
            &evidence,
        );
    }
    if let Some(long) = asked.heard.iter().find(|heard| heard.bytes.len() > MAX_PACKET) {
        lab.found(
            "mdns/response-size",
            format!(
                "an answer has {} bytes, and {MAX_PACKET} is the limit",
                long.bytes.len()
            ),
            &evidence,
        );
    }
    Ok(())
}

async fn any(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let both = |asked: &Asked| asked.answers(&board.instance, SRV) && asked.answers(&board.instance, TXT);
    let asked = air.ask(&write(&query(&[(&board.instance, ANY)])), both).await?;
    if !both(&asked) {
        lab.found(
            "mdns/any-answer",
            "a question for everything is not answered with SRV and TXT",
            &[&asked.exchange],
        );
    }
    Ok(())
}

/// AAAA of a host: an address, or the word that there is none.
async fn missing_type(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let said = |asked: &Asked| {
        asked.record(&board.host, AAAA).is_some() || asked.record(&board.host, NSEC).is_some()
    };
    let asked = air.ask(&write(&query(&[(&board.host, AAAA)])), said).await?;
    if !said(&asked) {
        lab.found(
            "mdns/nsec-for-missing-type",
            "AAAA is answered neither with an address nor with NSEC",
            &[&asked.exchange],
        );
    }
    if let Some(record) = asked.record(&board.host, AAAA)
        && record.data.len() != 16
    {
        lab.found(
            "mdns/aaaa-answer",
            format!("an AAAA record has {} bytes", record.data.len()),
            &[&asked.exchange],
        );
    }
    Ok(())
}

async fn enumeration(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    let all = name(TYPES);
    let asked = air
        .ask(&write(&query(&[(&all, PTR)])), |asked| asked.answers(&all, PTR))
        .await?;
    let service = name(SERVICE);
    let named = asked
        .messages()
        .flat_map(|(_, message)| &message.answers)
        .filter_map(Record::pointer)
        .any(|pointer| same(&pointer, &service));
    if !named {
        lab.found(
            "mdns/meta-query",
            "the question for all types of service is not answered with _mcp._tcp.local",
            &[&asked.exchange],
        );
    }
    let mut records = asked.messages().flat_map(|(_, message)| &message.answers);
    if records.any(|record| record.kind == PTR && record.flushes() && same(&record.name, &all)) {
        lab.found(
            "mdns/cache-flush-not-shared",
            "the PTR record of service types, which others share, has the cache-flush bit",
            &[&asked.exchange],
        );
    }
    Ok(())
}

async fn others(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    for (owner, kind) in [
        ("no-such-board._mcp._tcp.local", SRV),
        ("no-such-host.local", A),
        ("_ipp._tcp.local", PTR),
    ] {
        let owner = name(owner);
        let packet = write(&query(&[(&owner, kind)]));
        let Some(asked) = air.ask_in_vain(&packet, |asked| !asked.heard.is_empty()).await? else {
            continue;
        };
        let evidence = [&asked.exchange];
        for (_, message) in asked.messages() {
            if message.flags & 0xf != 0 {
                lab.found(
                    "mdns/no-negative-without-nsec",
                    format!("a name of others is answered with rcode {}", message.flags & 0xf),
                    &evidence,
                );
            }
            let claims = message.answers.iter().any(|record| same(&record.name, &owner));
            if claims {
                lab.found(
                    "mdns/authoritative-only",
                    format!("it answers for {}, which is not its own", wire::shown(&owner)),
                    &evidence,
                );
            }
            if message.answers.is_empty()
                && message.flags & 0xf == 0
                && !message.records().any(|record| record.kind == NSEC)
            {
                lab.found(
                    "mdns/no-negative-without-nsec",
                    "a name of others is answered with nothing",
                    &evidence,
                );
            }
        }
    }
    Ok(())
}

async fn qclass(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    let service = name(SERVICE);
    let answered = |asked: &Asked| asked.answers(&service, PTR);
    let mut question = query(&[(&service, PTR)]);
    question.questions[0].class = 255;
    let asked = air.ask(&write(&question), answered).await?;
    if !answered(&asked) {
        let what = "a question for any class is not answered";
        lab.found("mdns/qclass-any", what, &[&asked.exchange]);
    }
    question.questions[0].class = 3;
    if let Some(asked) = air.ask_in_vain(&write(&question), answered).await? {
        let what = "a question for class CH is answered";
        lab.found("mdns/qclass-any", what, &[&asked.exchange]);
    }
    Ok(())
}
