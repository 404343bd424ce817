//! A board whose endpoint is known beforehand, as where mDNS does not get from there to here: it is asked who it is.

use super::find::Clues;
use crate::bench::failure::{Failure, Kind};
use crate::board::identity::Identity;
use crate::client::{Detected, Limits, Probe, probe};
use crate::fault::seconds;
use crate::replay::CONTRACT_NAME;
use crate::target::{Endpoint, Target};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// How often it is asked until it answers.
const AGAIN: Duration = Duration::from_millis(100);

/// Waits until MCP is spoken there, for ever if it is not.
pub async fn answers(endpoint: &Endpoint, factor: f64) {
    let target = Target::Http(endpoint.clone());
    while probe(&target, Limits::scaled(factor)).await.is_err() {
        sleep(AGAIN).await;
    }
}

/// What became known of a board.
pub struct Known {
    /// For people.
    pub note: String,
    /// Why it is not proved that it runs what was started; none: it is.
    pub unproved: Option<&'static str>,
}

/// Has the board at its endpoint prove that it is this one, with this build. One that does not speak MCP by `limit` does not.
///
/// # Errors
/// [`Kind::WrongBoard`], [`Kind::OldFirmware`], [`Kind::Refused`], [`Kind::NotMcp`].
pub async fn ask(
    board: &str,
    endpoint: &Endpoint,
    clues: &Clues,
    build: Option<&str>,
    limit: Duration,
    factor: f64,
) -> Result<Known, Failure> {
    let failed = |kind, cause: String| Failure::new(kind, board, cause);
    let target = Target::Http(endpoint.clone());
    let end = Instant::now() + limit;
    let found = loop {
        match probe(&target, Limits::scaled(factor)).await {
            Ok(found) => break found,
            // what it speaks instead is for the report
            Err(Probe::NoCommonRevision(_)) => break Detected::default(),
            // an emulator's forwarded port takes connections before its guest does, and ends them
            Err(_) if Instant::now() < end => sleep(AGAIN).await,
            Err(Probe::Unreachable(fault)) => {
                let within = seconds(&limit);
                let cause = format!("nothing answers at {endpoint} within {within}: {fault}");
                return Err(failed(Kind::Refused, cause));
            }
            Err(other) => return Err(failed(Kind::NotMcp, format!("{endpoint}: {other}"))),
        }
    };
    let ours = found.name.as_deref() == Some(CONTRACT_NAME);
    let identity = match ours {
        false => None,
        true => Identity::ask(&target, Limits::scaled(factor)).await.ok(),
    };
    judge(endpoint, identity, clues, build).map_err(|(kind, cause)| failed(kind, cause))
}

/// Pure.
fn judge(
    endpoint: &Endpoint,
    identity: Option<Identity>,
    clues: &Clues,
    build: Option<&str>,
) -> Result<Known, (Kind, String)> {
    let Some(identity) = identity else {
        return Ok(Known {
            note: format!("at {endpoint}, where it is known to be"),
            unproved: Some("the board tells no build id"),
        });
    };
    if let (Some(wanted), Some(found)) = (&clues.mac, &identity.mac)
        && !wanted.eq_ignore_ascii_case(found)
    {
        let cause = format!("at {endpoint} answers the board {found}, not {wanted}");
        return Err((Kind::WrongBoard, cause));
    }
    let unproved = match build {
        None => Some("the file has no build id to compare with"),
        Some(_) if identity.build_id.is_empty() => Some("the board tells no build id"),
        Some(wanted) if wanted.eq_ignore_ascii_case(&identity.build_id) => None,
        Some(wanted) => {
            let running = identity.build_id;
            let cause = format!("build {wanted} was started, and build {running} answers");
            return Err((Kind::OldFirmware, cause));
        }
    };
    Ok(Known {
        note: format!("{} at {endpoint}", identity.name),
        unproved,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(mac: &str, running: &str, build: Option<&str>) -> Result<Option<&'static str>, (Kind, String)> {
        let identity = Identity {
            name: "mcp-hil-0d250a".to_owned(),
            mac: Some(mac.to_owned()),
            build_id: running.to_owned(),
        };
        let clues = Clues {
            mac: Some("02:00:0a:0d:25:0a".to_owned()),
            ..Clues::default()
        };
        let endpoint = Endpoint::parse("http://127.0.0.1:4000/mcp").unwrap();
        judge(&endpoint, Some(identity), &clues, build).map(|known| known.unproved)
    }

    #[test]
    fn a_board_must_be_the_one_and_run_the_build() {
        assert_eq!(judged("02:00:0A:0D:25:0A", "FF01", Some("ff01")), Ok(None));
        assert_eq!(
            judged("02:00:0a:0d:25:0b", "ff01", Some("ff01")),
            Err((
                Kind::WrongBoard,
                "at http://127.0.0.1:4000/mcp answers the board 02:00:0a:0d:25:0b, not 02:00:0a:0d:25:0a"
                    .to_owned()
            ))
        );
        assert_eq!(
            judged("02:00:0a:0d:25:0a", "ff02", Some("ff01")),
            Err((
                Kind::OldFirmware,
                "build ff01 was started, and build ff02 answers".to_owned()
            ))
        );
        let unproved = |running, build| judged("02:00:0a:0d:25:0a", running, build).unwrap();
        assert_eq!(
            unproved("ff02", None),
            Some("the file has no build id to compare with")
        );
        assert_eq!(unproved("", Some("ff01")), Some("the board tells no build id"));
    }
}
