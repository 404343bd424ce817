//! Answers that the asker knows, and how often a record may be sent.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{IN, Message, Name, PTR, Record, SRV, name, query, write, write_name};
use crate::mdns::{Asked, By, GROUP, PORT, SERVICE, WAIT};
use std::time::Duration;

/// A shared record waits for 20 to 120 ms (RFC 6762, 6); the rest is for the network.
const SHARED_DELAY: Duration = Duration::from_millis(400);

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
    let asked = air
        .ask(&write(&with_answer(4500, &board.instance)), answered)
        .await?;
    if answered(&asked) {
        lab.found(
            "mdns/known-answer-suppression",
            "it answers what the asker knows",
            &[&asked.exchange],
        );
    }
    let asked = air
        .ask(&write(&with_answer(1500, &board.instance)), answered)
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
    let asked = air.ask(&write(&with_answer(4500, &other)), answered).await?;
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
    air.rest().await;
    let packet = write(&query(&[(&board.instance, SRV)]));
    let answered = |asked: &Asked| asked.answers(&board.instance, SRV);
    let first = air
        .ask_now(&packet, (GROUP, PORT).into(), false, WAIT, answered)
        .await?;
    let again = air
        .ask_now(
            &packet,
            (GROUP, PORT).into(),
            false,
            Duration::from_millis(500),
            answered,
        )
        .await?;
    let multicast = |asked: &Asked| asked.heard.iter().any(|heard| heard.by == By::Multicast);
    if answered(&first) && answered(&again) && multicast(&again) {
        let what = format!(
            "the same record is multicast again after {} ms",
            again.exchange.time.as_millis()
        );
        lab.found(
            "mdns/multicast-rate-limit",
            what,
            &[&first.exchange, &again.exchange],
        );
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
    // it is by chance from 20 to 120 ms: three answers at once are none
    if times.len() == 3 && times.iter().all(|(after, _)| *after < Duration::from_millis(8)) {
        let exchange = &times[0].1.exchange;
        lab.found(
            "mdns/shared-response-delay",
            "a record that others may share is answered without delay",
            &[exchange],
        );
    }
    Ok(())
}
