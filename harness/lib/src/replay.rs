//! Replays a set of transcripts against a target, from finding out what it speaks to the report.

use crate::board::console::Console;
use crate::client::{self, Limits, Probe};
use crate::player::{Known, Player};
use crate::report::{Case, Finding, NOT_PLAYED, Report, Verdict};
use crate::revision::Revision;
use crate::shown;
use crate::target::Target;
use crate::transcript::Transcript;
use futures_util::future::join_all;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Instant;

/// A target, with what is known of it without asking.
#[derive(Clone, Debug)]
pub struct Subject {
    /// What to talk to.
    pub target: Target,
    /// The contract that it is known to keep; none: it is asked what it is.
    pub contract: Option<String>,
    /// Its name, where it is one of several boards.
    pub board: Option<String>,
    /// What it prints, where it is a board whose console is read.
    pub console: Option<Arc<dyn Console>>,
    /// Its own time limits are stretched: transcripts that test one are skipped.
    pub stretched: bool,
}

impl Subject {
    /// A target of which no more is known.
    pub const fn new(target: Target, contract: Option<String>) -> Self {
        Self {
            target,
            contract,
            board: None,
            console: None,
            stretched: false,
        }
    }
}

/// `serverInfo.name` of servers that keep our contract (`fixtures/contract/README.md`).
pub const CONTRACT_NAME: &str = "mcp-hil-device";
/// The contract that they keep.
pub const CONTRACT: &str = "mcp-hil/1";

/// Plays the transcripts in order against each subject, the subjects at the same time, and tells of each as soon as it is
/// done. `target` is what the user named.
pub async fn replay(
    target: &str,
    subjects: &[Subject],
    transcripts: &[Transcript],
    deadline_factor: f64,
    told: impl FnMut(&Case),
) -> Report {
    let started = Instant::now();
    let told = RefCell::new(told);
    let each = subjects.iter().map(|subject| {
        let tell = |played: &Case| told.borrow_mut()(played);
        replay_one(subject, transcripts, deadline_factor, tell)
    });
    let results = join_all(each).await.into_iter().flatten().collect();
    Report {
        command: "replay",
        target: shown::target(target),
        results,
        time: started.elapsed(),
        ..Report::default()
    }
}

async fn replay_one(
    subject: &Subject,
    transcripts: &[Transcript],
    deadline_factor: f64,
    told: impl Fn(&Case),
) -> Vec<Case> {
    let started = Instant::now();
    let mut results: Vec<Case> = Vec::new();
    let mut tell = |mut played: Case| {
        played.board.clone_from(&subject.board);
        told(&played);
        results.push(played);
    };
    match known(subject, Limits::scaled(deadline_factor)).await {
        Ok(known) => {
            let mut player = Player::new(subject.target.clone(), known, deadline_factor)
                .with_console(subject.console.clone());
            let mut unreachable = None;
            for transcript in transcripts {
                let played = if let Some(reason) = &unreachable {
                    unplayed(transcript, Verdict::Infrastructure(String::clone(reason)))
                } else if subject.stretched && transcript.tests_deadline {
                    let reason = "tests a time limit, and those of the target are stretched".to_owned();
                    unplayed(transcript, Verdict::Skip(reason))
                } else {
                    player.play(transcript).await
                };
                if let Verdict::Infrastructure(reason) = &played.verdict {
                    unreachable = Some(reason.clone());
                }
                tell(played);
            }
        }
        Err(probe) => {
            let advice = probe.advice(&subject.target);
            let reason = match probe {
                Probe::Unreachable(_) => probe.report(&subject.target),
                _ => probe.to_string(),
            };
            let verdict = match probe {
                Probe::Unreachable(_) | Probe::HttpSse => None,
                Probe::NotMcp(error) => Some(Finding {
                    advice,
                    ..Finding::plain(
                        "find out what the target speaks",
                        reason.clone(),
                        Some(error.exchange().clone()),
                    )
                }),
                // one of ours among them was offered and not kept to, which is a failure
                Probe::NoCommonRevision(theirs)
                    if theirs.iter().all(|theirs| theirs.parse::<Revision>().is_err()) =>
                {
                    transcripts
                        .iter()
                        .for_each(|transcript| tell(unplayed(transcript, Verdict::Skip(reason.clone()))));
                    return results;
                }
                Probe::NoCommonRevision(_) => Some(Finding::plain(
                    "find out what the target speaks",
                    reason.clone(),
                    None,
                )),
            };
            let rest = match verdict {
                None => Verdict::Infrastructure(reason),
                Some(mut finding) => {
                    if let Some(console) = &subject.console {
                        finding.console = console.since(started);
                    }
                    let time = started.elapsed();
                    let title = "the target answers as an MCP server".to_owned();
                    let verdict = Verdict::Fail(vec![finding]);
                    tell(Case {
                        board: None,
                        stage: None,
                        id: "probe".to_owned(),
                        title,
                        about:
                            "Before any transcript is played, the target is asked which revisions it speaks."
                                .to_owned(),
                        verdict,
                        clauses: Vec::new(),
                        expected: None,
                        exchanges: Vec::new(),
                        time,
                    });
                    Verdict::Skip(format!("{NOT_PLAYED}the probe failed"))
                }
            };
            transcripts
                .iter()
                .for_each(|transcript| tell(unplayed(transcript, rest.clone())));
        }
    }
    results
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

fn unplayed(transcript: &Transcript, verdict: Verdict) -> Case {
    let (id, title) = (transcript.id(), transcript.title.clone());
    Case {
        board: None,
        stage: None,
        id,
        title,
        about: transcript.about.clone(),
        verdict,
        clauses: Vec::new(),
        expected: None,
        exchanges: Vec::new(),
        time: std::time::Duration::ZERO,
    }
}
