//! How a response looks, where it goes and when.

use crate::fault::{BOTH, Fault, must, must_not, should};
use crate::mdns::Said;
use mcp_hil_conformance::mdns::wire::{Record, TOP};
use std::time::Duration;

/// Type of the record that makes a packet large; nobody looks at it (RFC 1035, 3.3.10).
const NULL: u16 = 10;

pub const FAULTS: &[Fault] = &[
    must(
        "mdns-not-authoritative",
        BOTH,
        "mdns/response-flags",
        "answers without AA",
    )
    .tell(|_, _, said| flags(said, 0x8000)),
    must(
        "mdns-truncated-flag",
        BOTH,
        "mdns/response-flags",
        "answers with TC",
    )
    .tell(|_, _, said| flags(said, 0x8600)),
    must(
        "mdns-recursion-flags",
        BOTH,
        "mdns/response-flags",
        "answers with RD and RA",
    )
    .tell(|_, _, said| flags(said, 0x8580)),
    must(
        "mdns-response-opcode",
        BOTH,
        "mdns/response-flags",
        "answers with opcode 2",
    )
    .tell(|_, _, said| flags(said, 0x9400)),
    must(
        "mdns-response-rcode",
        BOTH,
        "mdns/response-flags",
        "answers with rcode 2",
    )
    .tell(|_, _, said| flags(said, 0x8402)),
    must(
        "mdns-response-id",
        BOTH,
        "mdns/response-id-zero",
        "repeats the ID of the question",
    )
    .tell(|_, heard, said| {
        let id = heard.message.as_ref().map_or(0, |message| message.id);
        multicast(said).for_each(|said| said.message.id = id);
    }),
    must_not(
        "mdns-response-question",
        BOTH,
        "mdns/response-no-question",
        "repeats the question in multicast answers",
    )
    .tell(|_, heard, said| {
        if let Some(message) = &heard.message {
            multicast(said).for_each(|said| said.message.questions.clone_from(&message.questions));
        }
    }),
    must(
        "mdns-other-port",
        BOTH,
        "mdns/source-port-5353",
        "answers from another port",
    )
    .tell(|_, _, said| said.iter_mut().for_each(|said| said.from_other_port = true)),
    must(
        "mdns-always-unicast",
        BOTH,
        "mdns/qm-multicast-response",
        "answers every question by unicast",
    )
    .tell(|_, heard, said| {
        multicast(said).for_each(|said| said.to = Some(heard.from));
    }),
    must(
        "mdns-unicast-besides",
        BOTH,
        "mdns/dest-multicast",
        "sends what it multicasts to the asker as well, first",
    )
    .tell(|_, heard, said| {
        let mut copies: Vec<_> = multicast(said).map(|said| said.clone()).collect();
        for copy in &mut copies {
            copy.to = Some(heard.from);
            copy.at = heard.at;
        }
        said.splice(0..0, copies);
    }),
    must(
        "mdns-huge",
        BOTH,
        "mdns/response-size",
        "answers with more than 9000 bytes",
    )
    .tell(|_, _, said| {
        for said in multicast(said) {
            let padding = Record {
                name: vec![b"padding".to_vec(), b"local".to_vec()],
                kind: NULL,
                class: 1 | TOP,
                ttl: 120,
                data: vec![0; 9100],
            };
            said.message.additional.push(padding);
        }
    }),
    should(
        "mdns-unique-slow",
        BOTH,
        "mdns/unique-response-prompt",
        "waits half a second with records that are its own",
    )
    .tell(|_, heard, said| {
        let unique = multicast(said).filter(|said| !said.is_shared());
        unique.for_each(|said| said.at = heard.at + Duration::from_millis(500));
    }),
    should(
        "mdns-shared-at-once",
        BOTH,
        "mdns/shared-response-delay",
        "sends shared records without delay",
    )
    .tell(|_, heard, said| {
        multicast(said).for_each(|said| said.at = heard.at);
    }),
    should(
        "mdns-shared-slow",
        BOTH,
        "mdns/shared-response-delay",
        "waits 700 ms with shared records",
    )
    .tell(|_, heard, said| {
        let shared = multicast(said).filter(|said| said.is_shared());
        shared.for_each(|said| said.at = heard.at + Duration::from_millis(700));
    }),
];

/// Responses that go to everybody.
fn multicast(said: &mut [Said]) -> impl Iterator<Item = &mut Said> {
    said.iter_mut()
        .filter(|said| said.to.is_none() && said.message.is_response())
}

fn flags(said: &mut [Said], flags: u16) {
    multicast(said).for_each(|said| said.message.flags = flags);
}
