//! Replays a set of transcripts against a target, from finding out what it speaks to the report.

use crate::client::{self, Limits, Probe};
use crate::player::{Known, Player};
use crate::report::{Failure, Played, Report, Verdict};
use crate::revision::Revision;
use crate::target::Target;
use crate::transcript::Transcript;
use std::time::Instant;

/// A target, with what is known of it without asking.
#[derive(Clone, Debug)]
pub struct Subject {
    /// As the user named it.
    pub name: String,
    /// What to talk to.
    pub target: Target,
    /// The contract that it is known to keep; none: it is asked what it is.
    pub contract: Option<String>,
}

/// `serverInfo.name` of servers that keep our contract (`fixtures/contract/README.md`).
const CONTRACT_NAME: &str = "mcp-hil-device";
/// The contract that they keep.
pub const CONTRACT: &str = "mcp-hil/1";

/// Plays the transcripts in order and tells of each as soon as it is done.
pub async fn replay(
    subject: &Subject,
    transcripts: &[Transcript],
    deadline_factor: f64,
    mut told: impl FnMut(&Played),
) -> Report {
    let started = Instant::now();
    let mut results: Vec<Played> = Vec::new();
    let mut tell = |played: Played| {
        told(&played);
        results.push(played);
    };
    match known(subject, Limits::scaled(deadline_factor)).await {
        Ok(known) => {
            let mut player = Player::new(subject.target.clone(), known, deadline_factor);
            let mut unreachable = None;
            for transcript in transcripts {
                let played = match &unreachable {
                    None => player.play(transcript).await,
                    Some(reason) => unplayed(transcript, Verdict::Infrastructure(String::clone(reason))),
                };
                if let Verdict::Infrastructure(reason) = &played.verdict {
                    unreachable = Some(reason.clone());
                }
                tell(played);
            }
        }
        Err(probe) => {
            let reason = probe.to_string();
            let verdict = match probe {
                Probe::Unreachable(_) | Probe::HttpSse => None,
                Probe::NotMcp(error) => Some(Failure::plain(
                    "find out what the target speaks",
                    reason.clone(),
                    Some(error.exchange().clone()),
                )),
                Probe::NoCommonRevision(_) => Some(Failure::plain(
                    "find out what the target speaks",
                    reason.clone(),
                    None,
                )),
            };
            let rest = match verdict {
                None => Verdict::Infrastructure(reason),
                Some(failure) => {
                    let time = started.elapsed();
                    let title = "the target answers as an MCP server".to_owned();
                    let verdict = Verdict::Fail(Box::new(failure));
                    tell(Played {
                        id: "probe".to_owned(),
                        title,
                        verdict,
                        exchanges: Vec::new(),
                        time,
                    });
                    Verdict::Skip("not played: the probe failed".to_owned())
                }
            };
            transcripts
                .iter()
                .for_each(|transcript| tell(unplayed(transcript, rest.clone())));
        }
    }
    Report {
        target: subject.name.clone(),
        results,
        time: started.elapsed(),
    }
}

/// What a player must know of the target; asks where the contract is not given.
///
/// # Errors
/// [`Probe`].
pub async fn known(subject: &Subject, limits: Limits) -> Result<Known, Probe> {
    if let Some(contract) = &subject.contract {
        return Ok(Known {
            contract: Some(contract.clone()),
            revisions: Revision::ALL.to_vec(),
        });
    }
    let found = client::probe(&subject.target, limits).await?;
    let contract = (found.name.as_deref() == Some(CONTRACT_NAME)).then(|| CONTRACT.to_owned());
    Ok(Known {
        contract,
        revisions: found.revisions,
    })
}

fn unplayed(transcript: &Transcript, verdict: Verdict) -> Played {
    let (id, title) = (transcript.id(), transcript.title.clone());
    Played {
        id,
        title,
        verdict,
        exchanges: Vec::new(),
        time: std::time::Duration::ZERO,
    }
}
