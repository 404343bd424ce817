//! Answers by unicast.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{IN, PTR, SRV, TOP, name, query, write};
use crate::mdns::{Asked, By, GROUP, PORT, SERVICE, WAIT};

pub const CHECKS: &[Check] = &[
    check!("mdns/unicast-wanted", BOTH, wanted, ["mdns/qu-unicast-response"]),
    check!(
        "mdns/legacy",
        BOTH,
        legacy,
        [
            "mdns/legacy-unicast-response",
            "mdns/ttl-legacy-unicast",
            "mdns/cache-flush-not-legacy"
        ]
    ),
    check!(
        "mdns/asked-directly",
        BOTH,
        directly,
        ["mdns/direct-unicast-query"]
    ),
];

async fn wanted(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let mut question = query(&[(&board.instance, SRV)]);
    // what was not multicast for a quarter of its life may be multicast (RFC 6762, 5.4): now it was
    let recent = write(&question);
    let answered = |asked: &Asked| asked.answers(&board.instance, SRV);
    air.ask(&recent, answered).await?;
    question.questions[0].class = IN | TOP;
    let alone = |asked: &Asked| asked.heard.iter().any(|heard| heard.by == By::Unicast);
    let (packet, group) = (write(&question), (GROUP, PORT).into());
    let mut asked = air.ask_now(&packet, group, false, WAIT, alone).await?;
    if !alone(&asked) {
        asked = air.ask_now(&packet, group, false, WAIT, alone).await?;
    }
    if !asked.heard.iter().any(|heard| heard.by == By::Unicast) {
        lab.found(
            "mdns/qu-unicast-response",
            "a question for a unicast answer gets none",
            &[&asked.exchange],
        );
    }
    Ok(())
}

/// A question from another port, as `dig` asks.
async fn legacy(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    air.rest().await;
    let service = name(SERVICE);
    let mut question = query(&[(&service, PTR)]);
    question.id = 0x4d43;
    let alone = |asked: &Asked| asked.heard.iter().any(|heard| heard.by == By::Unicast);
    let (packet, group) = (write(&question), (GROUP, PORT).into());
    let mut asked = air.ask_now(&packet, group, true, WAIT, alone).await?;
    if !alone(&asked) {
        air.rest().await;
        asked = air.ask_now(&packet, group, true, WAIT, alone).await?;
    }
    let evidence = [&asked.exchange];
    let Some((_, message)) = asked.messages().find(|(heard, _)| heard.by == By::Unicast) else {
        lab.found(
            "mdns/legacy-unicast-response",
            "a question from another port is not answered by unicast",
            &evidence,
        );
        return Ok(());
    };
    if message.id != question.id || message.questions.len() != 1 {
        let what = format!(
            "the answer has ID {:#06x} and {} questions",
            message.id,
            message.questions.len()
        );
        lab.found("mdns/legacy-unicast-response", what, &evidence);
    }
    if let Some(record) = message.records().find(|record| record.ttl > 10) {
        lab.found(
            "mdns/ttl-legacy-unicast",
            format!("a record lives for {} s, more than 10 s", record.ttl),
            &evidence,
        );
    }
    if message.records().any(|record| record.flushes()) {
        lab.found(
            "mdns/cache-flush-not-legacy",
            "a record has the cache-flush bit",
            &evidence,
        );
    }
    Ok(())
}

async fn directly(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let packet = write(&query(&[(&board.instance, SRV)]));
    air.rest().await;
    let asked = air
        .ask_now(&packet, (board.address, PORT).into(), false, WAIT, |asked| {
            asked.answers(&board.instance, SRV)
        })
        .await?;
    if !asked.answers(&board.instance, SRV) {
        lab.found(
            "mdns/direct-unicast-query",
            "a question sent to the board's address is not answered",
            &[&asked.exchange],
        );
    }
    Ok(())
}
