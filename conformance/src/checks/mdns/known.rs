//! Answers that the asker knows, and how often a record may be sent.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{IN, Message, Name, PTR, Record, SRV, name, query, same, write, write_name};
use crate::mdns::{Asked, By, GROUP, PORT, SERVICE, WAIT};
use std::time::Duration;
use tokio::time::Instant;

/// A shared record waits for 20 to 120 ms (RFC 6762, 6); the rest is for the network.
const SHARED_DELAY: Duration = Duration::from_millis(400);

/// What is answered sooner did not wait for 20 ms by any clock: boards count in steps of up to 10 ms.
const EARLY: Duration = Duration::from_millis(10);

/// A record is multicast at most once in this time (RFC 6762, 6).
const SECOND: Duration = Duration::from_millis(1000);

pub const CHECKS: &[Check] = &[
    check!(
        "mdns/known-answers",
        BOTH,
        known,
        [
            "mdns/known-answer-suppression",
            "mdns/known-answer-low-ttl",
            "mdns/known-answer-different-rdata",
        ]
    ),
    check!(
        "mdns/known-answers-follow",
        BOTH,
        follow,
        ["mdns/known-answer-tc"]
    ),
    check!("mdns/rate", BOTH, rate, ["mdns/multicast-rate-limit"]),
    check!("mdns/shared-delay", BOTH, delay, ["mdns/shared-response-delay"]),
];

/// A question for the service with an answer that is known.
fn with_answer(ttl: u32, instance: &Name) -> Message {
    let service = name(SERVICE);
    let mut question = query(&[(&service, PTR)]);
    question.answers.push(Record {
        name: service,
        kind: PTR,
        class: IN,
        ttl,
        data: write_name(instance),
    });
    question
}

fn answered(asked: &Asked) -> bool {
    asked.answers(&name(SERVICE), PTR)
}

async fn known(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let told = |asked: &Asked| {
        let pointers = asked.pointers(&name(SERVICE));
        pointers.iter().any(|pointer| same(pointer, &board.instance))
    };
    let service = name(SERVICE);
    let asked = air.ask(&write(&query(&[(&service, PTR)])), told).await?;
    let life = asked.record(&service, PTR).map_or(4500, |record| record.ttl);
    let packet = write(&with_answer(life, &board.instance));
    if let Some(asked) = air.ask_in_vain(&packet, told).await? {
        lab.found(
            "mdns/known-answer-suppression",
            "it answers what the asker knows",
            &[&asked.exchange],
        );
    }
    let asked = air
        .ask(&write(&with_answer(life / 3, &board.instance)), answered)
        .await?;
    if !answered(&asked) {
        lab.found(
            "mdns/known-answer-low-ttl",
            "it does not answer, though what is known runs out",
            &[&asked.exchange],
        );
    }
    let mut other = board.instance.clone();
    other[0] = b"another-board".to_vec();
    let asked = air.ask(&write(&with_answer(life, &other)), answered).await?;
    if !answered(&asked) {
        lab.found(
            "mdns/known-answer-different-rdata",
            "it does not answer, though another board is known",
            &[&asked.exchange],
        );
    }
    Ok(())
}

/// A truncated question whose known answers come in a second packet (RFC 6762, 7.2).
async fn follow(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    air.rest().await;
    let service = name(SERVICE);
    let mut first = query(&[(&service, PTR)]);
    first.flags = 0x0200;
    let mut second = with_answer(4500, &board.instance);
    second.questions.clear();
    let none = |_: &Asked| false;
    let asked = air
        .ask_now(
            &write(&first),
            (GROUP, PORT).into(),
            false,
            Duration::from_millis(20),
            none,
        )
        .await?;
    let after = air
        .ask_now(&write(&second), (GROUP, PORT).into(), false, WAIT, answered)
        .await?;
    if answered(&asked) || answered(&after) {
        let what = "it does not wait for the known answers that follow a truncated question";
        lab.found("mdns/known-answer-tc", what, &[&asked.exchange, &after.exchange]);
    }
    Ok(())
}

async fn rate(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let packet = write(&query(&[(&board.instance, SRV)]));
    let multicast = |asked: &Asked| asked.heard.iter().any(|heard| heard.by == By::Multicast);
    // two times out of two, for a packet may wait somewhere
    let mut evidence = None;
    for _ in 0..2 {
        air.rest().await;
        let started = Instant::now();
        let group = (GROUP, PORT).into();
        let first = air.ask_now(&packet, group, false, WAIT, multicast).await?;
        let limit = SECOND.saturating_sub(started.elapsed());
        let again = air.ask_now(&packet, group, false, limit, multicast).await?;
        if !multicast(&first) || !multicast(&again) {
            return Ok(());
        }
        // the first went out after we asked for it
        let apart = started.elapsed();
        if apart >= SECOND {
            return Ok(());
        }
        evidence = Some((first, again, apart));
    }
    if let Some((first, again, apart)) = evidence {
        let what = format!(
            "the same record is multicast again within {} ms",
            apart.as_millis()
        );
        let row = "mdns/multicast-rate-limit";
        lab.found(row, what, &[&first.exchange, &again.exchange]);
    }
    Ok(())
}

async fn delay(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    let packet = write(&query(&[(&name(SERVICE), PTR)]));
    let mut times = Vec::new();
    for _ in 0..3 {
        let asked = air.ask(&packet, answered).await?;
        match asked.heard.first() {
            Some(first) if first.after > SHARED_DELAY => {
                lab.found(
                    "mdns/shared-response-delay",
                    format!("an answer takes {} ms", first.after.as_millis()),
                    &[&asked.exchange],
                );
                return Ok(());
            }
            Some(first) => times.push((first.after, asked)),
            None => {}
        }
    }
    // it is by chance from 20 to 120 ms, and one of three may have been due to another asker
    let mut early = times.iter().filter(|(after, _)| *after < EARLY);
    if let (Some(_), Some((_, asked))) = (early.next(), early.next()) {
        let exchange = &asked.exchange;
        lab.found(
            "mdns/shared-response-delay",
            "a record that others may share is answered without delay",
            &[exchange],
        );
    }
    Ok(())
}
