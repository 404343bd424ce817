//! Questions that want another answer than by multicast, and packets that want none.

use crate::fault::{BOTH, Fault, must, must_not, should};
use mcp_hil_conformance::mdns::PORT;
use mcp_hil_conformance::mdns::wire::{ANY, IN, TOP};

/// Kinds of label that are no text: a pointer, and two that are not there.
const KINDS: u8 = 0xc0;

pub const FAULTS: &[Fault] = &[
    must(
        "mdns-old-resolvers-unheard",
        BOTH,
        "mdns/legacy-unicast-response",
        "does not answer from other ports",
    )
    .hear(|_, heard| {
        if heard.is_legacy() {
            heard.drop();
        }
    }),
    must(
        "mdns-old-resolvers-by-multicast",
        BOTH,
        "mdns/legacy-unicast-response",
        "answers other ports by multicast",
    )
    .hear(|_, heard| heard.from.set_port(PORT)),
    must(
        "mdns-old-resolvers-id",
        BOTH,
        "mdns/legacy-unicast-response",
        "answers other ports with ID 0",
    )
    .tell(|_, heard, said| {
        if heard.is_legacy() {
            said.iter_mut().for_each(|said| said.message.id = 0);
        }
    }),
    must(
        "mdns-old-resolvers-question",
        BOTH,
        "mdns/legacy-unicast-response",
        "answers other ports without their question",
    )
    .tell(|_, heard, said| {
        if heard.is_legacy() {
            said.iter_mut().for_each(|said| said.message.questions.clear());
        }
    }),
    should(
        "mdns-old-resolvers-lives",
        BOTH,
        "mdns/ttl-legacy-unicast",
        "answers other ports with records that live for 4500 s",
    )
    .tell(|_, heard, said| {
        if heard.is_legacy() {
            said.iter_mut()
                .flat_map(|said| said.records())
                .for_each(|record| record.ttl = 4500);
        }
    }),
    must_not(
        "mdns-old-resolvers-flush",
        BOTH,
        "mdns/cache-flush-not-legacy",
        "answers other ports with the cache-flush bit",
    )
    .tell(|_, heard, said| {
        if heard.is_legacy() {
            said.iter_mut()
                .flat_map(|said| said.records())
                .for_each(|record| record.class |= TOP);
        }
    }),
    should(
        "mdns-unicast-never",
        BOTH,
        "mdns/qu-unicast-response",
        "answers by multicast what may be answered by unicast",
    )
    .hear(|_, heard| {
        if let Some(message) = heard
            .message
            .as_mut()
            .filter(|message| message.authorities.is_empty())
        {
            message
                .questions
                .iter_mut()
                .for_each(|question| question.class &= !TOP);
        }
    }),
    should(
        "mdns-direct-unheard",
        BOTH,
        "mdns/direct-unicast-query",
        "does not hear what is sent to its address",
    )
    .hear(|_, heard| {
        if heard.is_direct {
            heard.drop();
        }
    }),
    must(
        "mdns-id-demanded",
        BOTH,
        "mdns/query-id-any",
        "answers questions with ID 0 only",
    )
    .hear(|_, heard| {
        if heard.message.as_ref().is_some_and(|message| message.id != 0) && !heard.is_legacy() {
            heard.drop();
        }
    }),
    must(
        "mdns-any-class-unheard",
        BOTH,
        "mdns/qclass-any",
        "does not answer class ANY",
    )
    .hear(|_, heard| heard.keep(|question| question.class & !TOP != ANY)),
    must(
        "mdns-other-class-answered",
        BOTH,
        "mdns/qclass-any",
        "answers any class",
    )
    .hear(|_, heard| {
        if let Some(message) = &mut heard.message {
            message
                .questions
                .iter_mut()
                .for_each(|question| question.class = IN | question.class & TOP);
        }
    }),
    must(
        "mdns-opcode-answered",
        BOTH,
        "mdns/nonzero-opcode-ignored",
        "answers packets of any opcode",
    )
    .hear(|_, heard| {
        if let Some(message) = &mut heard.message {
            message.flags &= !0x7800;
        }
    }),
    must(
        "mdns-rcode-answered",
        BOTH,
        "mdns/nonzero-rcode-ignored",
        "answers packets of any rcode",
    )
    .hear(|_, heard| {
        if let Some(message) = &mut heard.message {
            message.flags &= !0xf;
        }
    }),
    must(
        "mdns-reserved-bits-refused",
        BOTH,
        "mdns/reserved-bits-ignored",
        "does not answer questions with RD, RA, Z, AD or CD",
    )
    .hear(|_, heard| {
        if heard
            .message
            .as_ref()
            .is_some_and(|message| message.flags & 0x1f0 != 0)
        {
            heard.drop();
        }
    }),
    must(
        "mdns-dies-of-noise",
        BOTH,
        "mdns/malformed-packets",
        "answers no more after a packet that is no DNS",
    )
    .hear(|_, heard| {
        heard.is_deadly = heard.message.is_none();
    }),
    must(
        "mdns-dies-of-loop",
        BOTH,
        "mdns/malformed-packets",
        "answers no more after a name that points to itself",
    )
    .hear(|_, heard| {
        heard.is_deadly = heard.bytes.get(12..14) == Some(&[KINDS, 12]);
    }),
    must(
        "mdns-dies-of-counts",
        BOTH,
        "mdns/malformed-packets",
        "answers no more after a packet that counts too many questions",
    )
    .hear(|_, heard| heard.is_deadly = heard.bytes.get(4..6) == Some(&[0xff, 0xff])),
    must(
        "mdns-dies-of-nothing",
        BOTH,
        "mdns/malformed-packets",
        "answers no more after an empty packet",
    )
    .hear(|_, heard| heard.is_deadly = heard.bytes.is_empty()),
    must(
        "mdns-dies-of-odd-label",
        BOTH,
        "mdns/malformed-packets",
        "answers no more after a label of a kind that is not there",
    )
    .hear(|_, heard| {
        heard.is_deadly =
            heard.bytes.len() < 100 && heard.bytes.get(12).is_some_and(|head| head & KINDS == 0x80);
    }),
];
