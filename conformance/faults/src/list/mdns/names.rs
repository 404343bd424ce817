//! Names: what they are made of, their letters, and pointers in them.

use crate::fault::{BOTH, Fault, must};
use crate::mdns::{Heard, Zone};
use mcp_hil_conformance::mdns::wire::{A, Name, PTR, SRV, name, same, write};

pub const FAULTS: &[Fault] = &[
    must(
        "mdns-service-name-long",
        BOTH,
        "mdns/service-name-syntax",
        "puts its instance under a service name of 20 characters",
    )
    .zone(|zone| relabel(zone, 1, b"_mcp-on-a-small-board")),
    must(
        "mdns-service-over-udp",
        BOTH,
        "mdns/service-name-syntax",
        "puts its instance under _udp",
    )
    .zone(|zone| relabel(zone, 2, b"_udp")),
    must(
        "mdns-instance-no-utf8",
        BOTH,
        "mdns/instance-name-utf8",
        "has an instance name that is no UTF-8",
    )
    .zone(|zone| relabel(zone, 0, b"caf\xe9")),
    must(
        "mdns-instance-control",
        BOTH,
        "mdns/instance-name-utf8",
        "has a control character in its instance name",
    )
    .zone(|zone| relabel(zone, 0, b"board\x07")),
    must(
        "mdns-host-elsewhere",
        BOTH,
        "mdns/host-name-local",
        "has its host outside of .local",
    )
    .zone(|zone| zone.rename(zone.instance.clone(), name("board.example.com"))),
    must(
        "mdns-host-unknown",
        BOTH,
        "mdns/host-name-local",
        "names a host that it does not answer for",
    )
    .zone(|zone| {
        let (instance, host) = (zone.instance.clone(), zone.host.clone());
        zone.rename(instance, name("elsewhere.local"));
        zone.of(A).for_each(|record| record.name.clone_from(&host));
    }),
    must(
        "mdns-case-of-service",
        BOTH,
        "mdns/name-case-insensitive",
        "answers the service's name in its own letters only",
    )
    .hear(|zone, heard| exactly(zone, heard, PTR)),
    must(
        "mdns-case-of-instance",
        BOTH,
        "mdns/name-case-insensitive",
        "answers the instance's name in its own letters only",
    )
    .hear(|zone, heard| exactly(zone, heard, SRV)),
    must(
        "mdns-case-of-host",
        BOTH,
        "mdns/name-case-insensitive",
        "answers the host's name in its own letters only",
    )
    .hear(|zone, heard| exactly(zone, heard, A)),
    must(
        "mdns-no-pointers",
        BOTH,
        "mdns/compressed-query-names",
        "does not understand names that point to earlier ones",
    )
    .hear(|_, heard| {
        if heard.is_question()
            && heard
                .message
                .as_ref()
                .is_some_and(|message| write(message) != heard.bytes)
        {
            heard.drop();
        }
    }),
];

fn relabel(zone: &mut Zone, index: usize, label: &[u8]) {
    let mut instance = zone.instance.clone();
    instance[index] = label.to_vec();
    zone.rename(instance, zone.host.clone());
}

/// Keeps questions of a type only where every letter is as in the zone.
fn exactly(zone: &Zone, heard: &mut Heard, kind: u16) {
    let is_own = |asked: &Name| {
        let mut owners = zone.records.iter().map(|record| &record.name);
        owners.any(|owner| owner == asked || !same(owner, asked))
            && !zone
                .records
                .iter()
                .any(|record| same(&record.name, asked) && record.name != *asked)
    };
    heard.keep(|question| question.kind != kind || is_own(&question.name));
}
