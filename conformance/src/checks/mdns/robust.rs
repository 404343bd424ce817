//! Packets that must be passed over, and what may be in a question without changing it.

use super::open;
use crate::check::{BOTH, Check, check};
use crate::lab::{Lab, Stop};
use crate::mdns::wire::{PTR, name, query, write};
use crate::mdns::{Asked, GROUP, PORT, SERVICE};
use std::time::Duration;

pub const CHECKS: &[Check] = &[
    check!("mdns/malformed", BOTH, malformed, ["mdns/malformed-packets"]).quoting(&[(
        "mdns/malformed-packets",
        "Multicast DNS messages received with non-zero Response Codes MUST be silently ignored.",
    )]),
    check!(
        "mdns/header-bits",
        BOTH,
        header_bits,
        [
            "mdns/nonzero-opcode-ignored",
            "mdns/nonzero-rcode-ignored",
            "mdns/reserved-bits-ignored"
        ]
    ),
];

fn answered(asked: &Asked) -> bool {
    asked.answers(&name(SERVICE), PTR)
}

/// Packets that are no DNS, or break off.
fn bad_packets() -> Vec<Vec<u8>> {
    let good = write(&query(&[(&name(SERVICE), PTR)]));
    let mut bad = vec![
        Vec::new(),
        vec![0],
        vec![0xff; 12],
        vec![0; 12],
        vec![0xff; 1400],
        [&good[..4], &[0xff; 8][..], &good[12..]].concat(),
    ];
    // cut anywhere
    bad.extend((1..good.len()).step_by(3).map(|length| good[..length].to_vec()));
    // a pointer to itself, to the front, past the end
    for pointer in [[0xc0, 12], [0xc0, 0], [0xff, 0xff]] {
        bad.push([&good[..12], &pointer[..], &[0, 12, 0, 1][..]].concat());
    }
    // a label of a kind that is not there, and one that is too long
    bad.push([&good[..12], &[0x80, 1, 2, 0, 0, 12, 0, 1][..]].concat());
    bad.push([&good[..12], &[63][..], &[b'x'; 10][..]].concat());
    bad
}

async fn malformed(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    let mut last = None;
    for packet in bad_packets() {
        let asked = air
            .ask_now(
                &packet,
                (GROUP, PORT).into(),
                false,
                Duration::from_millis(2),
                |_| false,
            )
            .await?;
        last = Some(asked);
    }
    let asked = air
        .ask(&write(&query(&[(&name(SERVICE), PTR)])), answered)
        .await?;
    let again = if answered(&asked) {
        asked
    } else {
        air.ask(&write(&query(&[(&name(SERVICE), PTR)])), answered)
            .await?
    };
    if !answered(&again) {
        let mut evidence = vec![&again.exchange];
        evidence.extend(last.as_ref().map(|asked| &asked.exchange));
        lab.found(
            "mdns/malformed-packets",
            "after malformed packets it answers no more",
            &evidence,
        );
    }
    let serves = lab.still_serves().await?;
    if let Err(reason) = serves {
        lab.found(
            "mdns/malformed-packets",
            format!("after malformed packets it serves no more: {reason}"),
            &[&again.exchange],
        );
    }
    Ok(())
}

async fn header_bits(lab: &mut Lab) -> Result<(), Stop> {
    let (mut air, _) = open(lab).await?;
    for (flags, row, is_answered, what) in [
        (
            5 << 11,
            "mdns/nonzero-opcode-ignored",
            false,
            "a packet with opcode 5 is answered",
        ),
        (
            3,
            "mdns/nonzero-rcode-ignored",
            false,
            "a packet with rcode 3 is answered",
        ),
        // RD, RA, Z, AD, CD
        (
            0x01f0,
            "mdns/reserved-bits-ignored",
            true,
            "a question with RD, RA, Z, AD and CD set is not answered",
        ),
    ] {
        let mut question = query(&[(&name(SERVICE), PTR)]);
        question.flags = flags;
        let wrong = if is_answered {
            Some(air.ask(&write(&question), answered).await?).filter(|asked| !answered(asked))
        } else {
            air.ask_in_vain(&write(&question), answered).await?
        };
        if let Some(asked) = wrong {
            lab.found(row, what, &[&asked.exchange]);
        }
    }
    Ok(())
}
