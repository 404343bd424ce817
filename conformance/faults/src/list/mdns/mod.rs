//! What a board announces by mDNS, broken in one way; a group a file.

mod answers;
mod asked;
mod known;
mod names;
mod responses;
mod txt;
mod variants;

use crate::fault::Fault;

pub(super) use variants::VARIANTS;

pub(super) const FAULTS: &[&[Fault]] = &[
    answers::FAULTS,
    responses::FAULTS,
    asked::FAULTS,
    known::FAULTS,
    names::FAULTS,
    txt::FAULTS,
];
