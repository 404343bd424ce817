//! mDNS and DNS-SD (RFC 6762, RFC 6763): what a board says of itself on the network. Asked once a run, one check at a time.

mod answers;
mod conflicts;
mod known;
mod names;
mod robust;
mod txt;
mod unicast;

use crate::check::Check;
use crate::lab::{Lab, Stop};
use crate::mdns::{Air, Board};

pub const CHECKS: &[&[Check]] = &[
    answers::CHECKS,
    names::CHECKS,
    txt::CHECKS,
    unicast::CHECKS,
    known::CHECKS,
    robust::CHECKS,
    conflicts::CHECKS,
];

/// Sockets on the interface that the user named, and the board's names.
async fn open(lab: &Lab) -> Result<(Air, Board), Stop> {
    let mut air = air(lab)?;
    let board = air.board().await?;
    Ok((air, board))
}

/// Sockets on the interface that the user named.
fn air(lab: &Lab) -> Result<Air, Stop> {
    let Some(interface) = &lab.shared.interface else {
        return Err(Stop::Skip(
            "mDNS is checked on the interface that --mdns names".to_owned(),
        ));
    };
    Air::open(interface, lab.endpoint()?, &lab.shared.seen)
}
