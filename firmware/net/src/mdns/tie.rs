//! Which of two hosts that probe for one name at the same time may go on (RFC 6762 §8.2).

use core::cmp::Ordering;

use domain::base::message::Message;
use domain::base::wire::ParseError;

use super::config::Config;
use super::record::{Owner, Record};
use super::wire;
use super::zone::{Rdata, Zone};

/// Type and data; the class is IN on both sides.
type Key = (u16, Rdata);

/// How our records of this name order against those that a probe proposes for it: `Less` loses, and `Equal` is no
/// conflict, as where the probe isn't about the name.
pub(super) fn order(
    owner: Owner,
    message: &Message<[u8]>,
    zone: &Zone,
    config: &Config,
) -> Result<Ordering, ParseError> {
    if least_after(None, owner, message, zone)?.is_none() {
        return Ok(Ordering::Equal);
    }
    // Ours in the order of their types.
    let ours = [Record::Address, Record::Txt, Record::Srv]
        .into_iter()
        .filter(|record| record.owner() == owner);
    let mut last = None;
    for record in ours {
        let ours = (record.rtype().to_int(), zone.rdata(record, config));
        match least_after(last.as_ref(), owner, message, zone)? {
            Some(theirs) if theirs == ours => last = Some(ours),
            Some(theirs) => return Ok(ours.cmp(&theirs)),
            None => return Ok(Ordering::Greater),
        }
    }
    Ok(least_after(last.as_ref(), owner, message, zone)?.map_or(Ordering::Equal, |_| Ordering::Less))
}

/// Walks their records in order without room to sort them.
fn least_after(
    last: Option<&Key>,
    owner: Owner,
    message: &Message<[u8]>,
    zone: &Zone,
) -> Result<Option<Key>, ParseError> {
    let mut least = None;
    for theirs in wire::records(message.authority()?, zone) {
        let theirs = theirs?;
        let key = (theirs.rtype.to_int(), theirs.rdata);
        if theirs.owner == owner && Some(&key) > last && least.as_ref().is_none_or(|least| key < *least) {
            least = Some(key);
        }
    }
    Ok(least)
}
