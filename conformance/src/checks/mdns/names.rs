//! Names: their syntax, and that letters don't matter.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::SERVICE;
use crate::mdns::wire::{self, A, PTR, SRV, name, query, swapped, write};

pub const CHECKS: &[Check] = &[
    check!(
        "mdns/names",
        BOTH,
        names,
        [
            "mdns/service-name-syntax",
            "mdns/instance-name-utf8",
            "mdns/host-name-local"
        ]
    ),
    check!(
        "mdns/letter-case",
        BOTH,
        letter_case,
        ["mdns/name-case-insensitive"]
    ),
    check!(
        "mdns/compressed-questions",
        BOTH,
        compressed,
        ["mdns/compressed-query-names"]
    ),
];

async fn names(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let service = name(SERVICE);
    let asked = air
        .ask(&write(&query(&[(&service, PTR)])), |asked| {
            asked.answers(&service, PTR)
        })
        .await?;
    let evidence = [&asked.exchange];
    let pointers = asked
        .messages()
        .flat_map(|(_, message)| &message.answers)
        .filter(|record| record.kind == PTR);
    for pointer in pointers.filter_map(wire::Record::pointer) {
        let rest: Vec<_> = pointer.iter().skip(1).cloned().collect();
        if !wire::same(&rest, &service) {
            lab.found(
                "mdns/service-name-syntax",
                format!("the PTR record leads to {}", wire::shown(&pointer)),
                &evidence,
            );
        }
        let first = pointer.first().cloned().unwrap_or_default();
        let is_text =
            std::str::from_utf8(&first).is_ok_and(|text| !text.chars().any(|c| c.is_ascii_control()));
        if first.is_empty() || first.len() > 63 || !is_text {
            lab.found(
                "mdns/instance-name-utf8",
                format!("the instance name is {:?}", String::from_utf8_lossy(&first)),
                &evidence,
            );
        }
    }
    let is_local = board.host.len() > 1
        && board
            .host
            .last()
            .is_some_and(|label| label.eq_ignore_ascii_case(b"local"));
    if !is_local {
        lab.found(
            "mdns/host-name-local",
            format!("its host is {:?}", wire::shown(&board.host)),
            &evidence,
        );
        return Ok(());
    }
    let asked = air
        .ask(&write(&query(&[(&board.host, A)])), |asked| {
            asked.record(&board.host, A).is_some()
        })
        .await?;
    if asked.record(&board.host, A).is_none() {
        lab.found(
            "mdns/host-name-local",
            format!("its host {:?} has no address", wire::shown(&board.host)),
            &[&asked.exchange],
        );
    }
    Ok(())
}

async fn letter_case(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    for (owner, kind) in [(name(SERVICE), PTR), (board.instance, SRV), (board.host, A)] {
        let asked = air
            .ask(&write(&query(&[(&swapped(&owner), kind)])), |asked| {
                asked.answers(&owner, kind)
            })
            .await?;
        if !asked.answers(&owner, kind) {
            let what = format!("{} is not answered", wire::shown(&swapped(&owner)));
            lab.found("mdns/name-case-insensitive", what, &[&asked.exchange]);
        }
    }
    Ok(())
}

/// The second question points into the name of the first.
async fn compressed(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let service = name(SERVICE);
    let mut packet = write(&query(&[(&service, PTR)]));
    packet[5] = 2;
    let first = board.instance.first().cloned().unwrap_or_default();
    packet.push(u8::try_from(first.len()).unwrap_or(0));
    packet.extend(&first);
    // the name of the service begins after the header
    packet.extend([0xc0, 12]);
    packet.extend(SRV.to_be_bytes());
    packet.extend(wire::IN.to_be_bytes());
    let asked = air
        .ask(&packet, |asked| asked.record(&board.instance, SRV).is_some())
        .await?;
    if asked.record(&board.instance, SRV).is_none() {
        lab.found(
            "mdns/compressed-query-names",
            "a question with a compressed name is not answered",
            &[&asked.exchange],
        );
    }
    Ok(())
}
