//! Known answers, how often a record is sent, and others that claim the name.

use crate::fault::{BOTH, Fault, must, must_not, should};
use crate::mdns::{Heard, Said};
use mcp_hil_conformance::mdns::wire::{PTR, Record, write_name};
use std::time::Duration;

pub const FAULTS: &[Fault] = &[
    must_not(
        "mdns-known-answers-unread",
        BOTH,
        "mdns/known-answer-suppression",
        "answers what the asker knows",
    )
    .hear(|_, heard| {
        if heard.is_question()
            && let Some(message) = heard
                .message
                .as_mut()
                .filter(|message| !message.questions.is_empty())
        {
            message.answers.clear();
        }
    }),
    must(
        "mdns-known-answers-for-ever",
        BOTH,
        "mdns/known-answer-low-ttl",
        "takes known answers that run out for good",
    )
    .hear(|_, heard| known(heard, |record| record.ttl = record.ttl.max(4500))),
    must(
        "mdns-known-answers-of-any",
        BOTH,
        "mdns/known-answer-different-rdata",
        "takes known answers of others for its own",
    )
    .hear(|zone, heard| {
        known(heard, |record| {
            if record.kind == PTR {
                record.data = write_name(&zone.instance);
            }
        });
    }),
    should(
        "mdns-known-answers-not-awaited",
        BOTH,
        "mdns/known-answer-tc",
        "does not wait for known answers that follow",
    )
    .hear(|_, heard| {
        if let Some(message) = &mut heard.message {
            message.flags &= !0x200;
        }
    })
    .tell(|_, heard, said| {
        // before they can come
        said.iter_mut().for_each(|said| said.at = said.at.min(heard.at));
    }),
    must_not(
        "mdns-answers-always",
        BOTH,
        "mdns/multicast-rate-limit",
        "multicasts a record as often as it is asked for",
    )
    .hear(|_, heard| heard.is_rested = true),
    must(
        "mdns-name-undefended",
        BOTH,
        "mdns/defend-name",
        "keeps silent when another probes for its name",
    )
    .hear(|_, heard| {
        if heard
            .message
            .as_ref()
            .is_some_and(|message| !message.authorities.is_empty())
        {
            heard.drop();
        }
    }),
    must(
        "mdns-name-defended-late",
        BOTH,
        "mdns/defend-name",
        "answers probes for its name after 800 ms",
    )
    .tell(|_, heard, said| {
        if heard
            .message
            .as_ref()
            .is_some_and(|message| !message.authorities.is_empty())
        {
            said.iter_mut()
                .for_each(|said| said.at = heard.at + Duration::from_millis(800));
        }
    }),
    must(
        "mdns-conflict-unheard",
        BOTH,
        "mdns/conflict-reprobe",
        "does not care that another has its name",
    )
    .hear(|_, heard| {
        if heard
            .message
            .as_ref()
            .is_some_and(|message| message.is_response())
        {
            heard.drop();
        }
    }),
    must(
        "mdns-conflict-announced",
        BOTH,
        "mdns/conflict-reprobe",
        "announces again and does not probe when another has its name",
    )
    .tell(|_, _, said| said.retain(|said: &Said| said.message.is_response())),
    must_not(
        "mdns-own-record-fought",
        BOTH,
        "mdns/same-rdata-no-conflict",
        "takes its own record from another for a conflict",
    )
    .hear(|_, heard| {
        if let Some(message) = heard.message.as_mut().filter(|message| message.is_response()) {
            message.answers.iter_mut().for_each(|record| record.data.push(0));
        }
    }),
];

fn known(heard: &mut Heard, change: impl FnMut(&mut Record)) {
    if heard.is_question()
        && let Some(message) = &mut heard.message
    {
        message.answers.iter_mut().for_each(change);
    }
}
