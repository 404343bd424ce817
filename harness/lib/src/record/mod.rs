//! Makes a transcript of what a live target answers to a script.
//!
//! The script is played on at least two conversations. What was the same is expected again, what differed is described
//! by a matcher, and the transcript is replayed before it is given out.

mod general;
mod play;
mod script;
mod secret;
mod wording;

pub use script::Script;

use crate::access::Access;
use crate::client::{ClientError, Limits};
use crate::fault::Fault;
use crate::player::{Known, Player};
use crate::report::{Finding, Verdict};
use crate::shown;
use crate::target::Target;
use crate::transcript::{Transcript, TranscriptError};
use general::Notes;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::sleep;

/// Plays that are compared at most, where two do not show all that varies.
const MAX_PLAYS: usize = 4;
/// Between two plays: clocks that show seconds must go on.
const PAUSE: Duration = Duration::from_millis(1100);

/// A transcript, and how it came about.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The transcript file's text.
    pub text: String,
    /// Steps in it.
    pub steps: usize,
    /// Plays that were compared; one more has passed the transcript.
    pub plays: usize,
    /// Pointers, each after its step's name, of values that vary.
    pub varying: Vec<String>,
    /// The same of values that looked like secrets.
    pub redacted: Vec<String>,
}

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The script can't be used.
    #[error(transparent)]
    Script(#[from] TranscriptError),
    /// The script has a credential in it, which would stand in the transcript.
    #[error("{0}: a step sends a credential of this run; leave it out, it goes with every request by itself")]
    SecretSent(String),
    /// A credential came back where no matcher can cover it.
    #[error(
        "the target tells a credential of this run in the name of a member; such an answer can't be recorded"
    )]
    SecretTold,
    /// No answer came.
    #[error("step {step:?}: {fault}")]
    Fault {
        /// Its name.
        step: String,
        /// What went wrong.
        fault: Fault,
    },
    /// The conversation could not begin.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The target chose another revision.
    #[error("asked for {asked}, the target answered with {got:?}")]
    Revision {
        /// The script's.
        asked: String,
        /// The target's.
        got: String,
    },
    /// Nothing is where something was to be captured.
    #[error("step {step:?}: nothing to capture as {name:?} at {pointer}; the answer is {answer}")]
    Capture {
        /// Name of the step.
        step: String,
        /// Name of the capture.
        name: String,
        /// Where it was looked for.
        pointer: String,
        /// What came, in JSON.
        answer: String,
    },
    /// A step that asks again and again never got what it waits for.
    #[error("step {step:?}: not answered as expected within its deadline; the last answer is {answer}")]
    Until {
        /// Name of the step.
        step: String,
        /// What came last, in JSON.
        answer: String,
    },
    /// A play of the transcript fails, whatever was learnt.
    #[error("the target does not answer alike twice, so the transcript fails: step {:?}: {}", .0.step.as_deref().unwrap_or_default(), .0.reason)]
    NotRepeatable(Box<Finding>),
    /// The target does not meet the script's `needs`.
    #[error("the target does not meet the script's needs: {0}")]
    Needs(String),
}

/// Records a script. `known` is what replay would know of the target.
///
/// # Errors
/// [`RecordError`].
pub async fn record(
    target: &Target,
    known: &Known,
    script: &Script,
    deadline_factor: f64,
) -> Result<Recording, RecordError> {
    let access = match target {
        Target::Http(endpoint) => endpoint.access.clone(),
        Target::Stdio(_) => Access::default(),
    };
    if access.is_told_by(&script.text()) {
        return Err(RecordError::SecretSent(script.file.clone()));
    }
    let limits = Limits::scaled(deadline_factor);
    let mut plays = Vec::new();
    loop {
        plays.push(play::play(target, script, limits, deadline_factor).await?);
        sleep(PAUSE).await;
        if plays.len() < 2 {
            continue;
        }
        let mut notes = Notes::default();
        let file = write(script, &plays, &access, &mut notes)?;
        let text = shown::json(&file);
        if access.is_told_by(&text) {
            return Err(RecordError::SecretTold);
        }
        let transcript = Transcript::parse(&script.file, &text)?;
        let mut player = Player::new(target.clone(), known.clone(), deadline_factor);
        match player.play(&transcript).await.verdict {
            Verdict::Pass => {
                return Ok(Recording {
                    text,
                    steps: transcript.steps.len(),
                    plays: plays.len(),
                    varying: notes.varying,
                    redacted: notes.redacted,
                });
            }
            Verdict::Skip(reason) => return Err(RecordError::Needs(reason)),
            Verdict::Fail(findings) | Verdict::Warn(findings) if plays.len() == MAX_PLAYS => {
                let first = findings.into_iter().next().unwrap_or_default();
                return Err(RecordError::NotRepeatable(Box::new(first)));
            }
            Verdict::Fail(_) | Verdict::Warn(_) => {}
            Verdict::Infrastructure(reason) => {
                let fault = Fault::Unreachable {
                    target: target.to_string(),
                    reason,
                };
                return Err(RecordError::Fault {
                    step: "replay".to_owned(),
                    fault,
                });
            }
        }
    }
}

/// The transcript file: the script, with what came in the place of what it leaves out.
fn write(
    script: &Script,
    plays: &[play::Play],
    access: &Access,
    notes: &mut Notes,
) -> Result<Value, RecordError> {
    let mut file = script.head.clone();
    let mut steps = Vec::new();
    for (index, step) in script.steps.iter().enumerate() {
        let mut written = Map::new();
        written.insert("name".to_owned(), step.name.clone().into());
        for (member, value) in &step.rest {
            written.insert(member.clone(), value.clone());
        }
        if let Some(send) = written.get_mut("send")
            && let Some(mirrored) = plays
                .first()
                .and_then(|play| play.steps.get(index)?.mirrored.clone())
            && !mirrored.is_empty()
        {
            let headers = &mut send["headers"];
            if headers.is_null() {
                *headers = json!({});
            }
            for (name, value) in mirrored {
                headers
                    .as_object_mut()
                    .map(|headers| headers.entry(name).or_insert(value.into()));
            }
        }
        if step.is_recorded() {
            let seen: Vec<_> = plays
                .iter()
                .filter_map(|play| {
                    Some((
                        play.steps.get(index)?.reply.as_ref()?,
                        &play.steps.get(index)?.before,
                    ))
                })
                .collect();
            notes.step.clone_from(&step.name);
            let mut expect = general::expect(&seen, access, notes);
            for (name, pointer) in &step.capture {
                let pointer = pointer.as_str().unwrap_or_default();
                let place = expect
                    .get_mut("message")
                    .and_then(|message| message.pointer_mut(pointer));
                let Some(place) = place else {
                    return Err(RecordError::Capture {
                        step: step.name.clone(),
                        name: name.clone(),
                        pointer: pointer.to_owned(),
                        answer: expect.get("message").cloned().unwrap_or_default().to_string(),
                    });
                };
                *place = json!({"$capture": name, "$match": general::kind(seen.iter().filter_map(|(reply, _)| reply.message.as_ref()?.pointer(pointer)))});
            }
            written.insert("expect".to_owned(), expect);
        }
        steps.push(Value::Object(written));
    }
    file.insert("steps".to_owned(), steps.into());
    Ok(file.into())
}
