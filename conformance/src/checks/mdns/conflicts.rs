//! Others that claim the board's name. These come last: a board may take another name.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{ANY, IN, Message, Record, SRV, TOP, TXT, name, query, same, write, write_name};
use crate::mdns::{Asked, GROUP, PORT, WAIT};
use std::time::Duration;

/// A board that lost its name probes for one at once, a quarter of a second apart (RFC 6762, 8.1 and 9).
const REPROBES: Duration = Duration::from_millis(3000);

/// A prober that hears nothing for this time probes again, and after three has the name (RFC 6762, 8.1).
const DEFENDS: Duration = Duration::from_millis(250);

pub const CHECKS: &[Check] = &[
    check!("mdns/defends-its-name", BOTH, defend, ["mdns/defend-name"]),
    check!(
        "mdns/own-record-again",
        BOTH,
        same_data,
        ["mdns/same-rdata-no-conflict"]
    ),
    check!("mdns/conflict", BOTH, conflict, ["mdns/conflict-reprobe"]),
];

fn claim(owner: &crate::mdns::wire::Name, class: u16) -> Record {
    let data = [&[0, 0, 0, 0, 0, 9][..], &write_name(&name("another-host.local"))].concat();
    Record {
        name: owner.clone(),
        kind: SRV,
        class,
        ttl: 120,
        data,
    }
}

async fn defend(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    air.rest().await;
    let mut probe = query(&[(&board.instance, ANY)]);
    probe.authorities.push(claim(&board.instance, IN));
    let answered = |asked: &Asked| asked.answers(&board.instance, SRV);
    let (packet, group) = (write(&probe), (GROUP, PORT).into());
    let mut asked = air.ask_now(&packet, group, false, DEFENDS, answered).await?;
    if !answered(&asked) {
        air.rest().await;
        asked = air.ask_now(&packet, group, false, DEFENDS, answered).await?;
    }
    if !answered(&asked) {
        lab.found(
            "mdns/defend-name",
            "a probe for its name is not answered within 250 ms",
            &[&asked.exchange],
        );
    }
    Ok(())
}

/// Whether a packet of the board probes for a name of this service.
fn probes(message: &Message) -> bool {
    !message.is_response() && !message.authorities.is_empty()
}

async fn same_data(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let asked = air
        .ask(&write(&query(&[(&board.instance, TXT)])), |asked| {
            asked.answers(&board.instance, TXT)
        })
        .await?;
    let Some(own) = asked.record(&board.instance, TXT).cloned() else {
        return Err(Stop::Skip(
            "it gives no TXT record, which another check judges".to_owned(),
        ));
    };
    let echo = Message {
        flags: 0x8400,
        answers: vec![own],
        ..Message::default()
    };
    let after = air
        .ask_now(&write(&echo), (GROUP, PORT).into(), false, WAIT, |_| false)
        .await?;
    if after.messages().any(|(_, message)| probes(message)) {
        lab.found(
            "mdns/same-rdata-no-conflict",
            "its own record from another makes it probe",
            &[&after.exchange],
        );
    }
    let mut again = air.find().await?;
    // silence alone is no other name: packets get lost
    for _ in 0..2 {
        if again.is_err() {
            again = air.find().await?;
        }
    }
    let what = match again {
        Ok(again) if same(&again.instance, &board.instance) => return Ok(()),
        Ok(_) => "its own record from another makes it take another name",
        Err(_) => "its own record from another makes it answer no more for its name",
    };
    lab.found("mdns/same-rdata-no-conflict", what, &[&after.exchange]);
    Ok(())
}

async fn conflict(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, board) = open(lab).await?;
    let response = Message {
        flags: 0x8400,
        answers: vec![claim(&board.instance, IN | TOP)],
        ..Message::default()
    };
    let heard = |asked: &Asked| asked.messages().any(|(_, message)| probes(message));
    let (packet, group) = (write(&response), (GROUP, PORT).into());
    let mut asked = air.ask_now(&packet, group, false, REPROBES, heard).await?;
    if !heard(&asked) {
        asked = air.ask_now(&packet, group, false, REPROBES, heard).await?;
    }
    if !heard(&asked) {
        lab.found(
            "mdns/conflict-reprobe",
            "another claims its name, and it does not probe again",
            &[&asked.exchange],
        );
    }
    Ok(())
}
