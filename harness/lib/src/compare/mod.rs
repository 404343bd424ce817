//! What two targets answered to one transcript, against each other: pure.
//!
//! Left out is only what a step's matchers cover, and what must differ from server to server: MAC address, chip, uptime,
//! heap, ids, and the wording of errors. The text of a tool's own error (`isError`) is compared.

mod answers;
mod mask;
mod mutate;

pub use answers::{Answered, answers};
pub use mask::{VARYING, mask, steady};
pub use mutate::{Mutations, mutations};

use crate::client::Reply;
use crate::diff;
use crate::report::style::Style;
use crate::report::{Case, Finding, Verdict, escape};
use crate::transcript::{Captures, Expect, Pattern, Transcript};
use serde_json::{Map, Value};

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// No difference, in so many answers.
    Alike(usize),
    /// The differences, in order.
    Different(Vec<Difference>),
    /// Not compared: one side does not meet the transcript's conditions.
    Skipped(String),
    /// Not compared: there was nobody to talk to.
    Infrastructure(String),
}

/// A step that was answered in two ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Name of the step.
    pub step: String,
    /// The first target's answer, or what became of the step.
    pub left: String,
    /// The second's.
    pub right: String,
}

impl Difference {
    /// Line by line, for a terminal.
    pub fn render(&self, names: [&str; 2], style: Style) -> String {
        diff::render_named(&escape(&self.left), &escape(&self.right), names, style)
    }
}

/// Compares two plays of a transcript.
pub fn compare(transcript: &Transcript, left: &Case, right: &Case) -> Compared {
    for (side, played) in [("first", left), ("second", right)] {
        match &played.verdict {
            Verdict::Skip(reason) => return Compared::Skipped(format!("{side} target: {reason}")),
            Verdict::Infrastructure(reason) => {
                return Compared::Infrastructure(format!("{side} target: {reason}"));
            }
            Verdict::Pass | Verdict::Fail(_) | Verdict::Warn(_) => {}
        }
    }
    let (lefts, rights) = (answers(transcript, left), answers(transcript, right));
    let mut differences: Vec<_> = lefts
        .iter()
        .zip(&rights)
        .filter_map(|(left, right)| {
            let [left_shown, right_shown] = comparable_pair(left, right);
            (left_shown != right_shown).then(|| Difference {
                step: left.step.to_owned(),
                left: format!("{left_shown:#}\n"),
                right: format!("{right_shown:#}\n"),
            })
        })
        .collect();
    // what no answer shows: none came, the connection was closed, the answer has not the shape of its revision
    let ends = [left, right].map(|played| end(&played.verdict));
    if differences.is_empty() && ends[0] != ends[1] {
        let step = [left, right]
            .into_iter()
            .find_map(|played| failure(&played.verdict));
        let [left, right] = ends;
        differences.push(Difference {
            step: step.and_then(|failure| failure.step.clone()).unwrap_or_default(),
            left,
            right,
        });
    }
    if differences.is_empty() {
        Compared::Alike(lefts.len())
    } else {
        Compared::Different(differences)
    }
}

fn failure(verdict: &Verdict) -> Option<&Finding> {
    verdict.findings().first()
}

/// How a play ended, without anything that varies.
fn end(verdict: &Verdict) -> String {
    failure(verdict).map_or_else(
        || "as the transcript expects\n".to_owned(),
        |failure| {
            let reason = failure.reason.lines().next().unwrap_or_default();
            let mut text = format!(
                "ends with step {:?}: {reason}\n",
                failure.step.as_deref().unwrap_or_default()
            );
            for mismatch in &failure.mismatches {
                text.push_str(&format!("{}: {}\n", mismatch.pointer, mismatch.got));
            }
            text
        },
    )
}

/// Both answers as they are compared; without HTTP, where one of them came over standard streams.
fn comparable_pair(left: &Answered<'_>, right: &Answered<'_>) -> [Value; 2] {
    let http = [left, right]
        .iter()
        .all(|answered| answered.reply.status.is_some());
    [left, right].map(|answered| {
        let mut shown = comparable(answered);
        if let Some(members) = shown.as_object_mut().filter(|_| !http) {
            // an empty body is no line
            members.retain(|name, value| name == "message" || name == "body" && *value != "");
        }
        shown
    })
}

/// An answer as it is compared: status, the headers that say something, and the message without what varies.
pub fn comparable(answered: &Answered<'_>) -> Value {
    let Answered { expect, reply, .. } = answered;
    let mut shown = Map::new();
    // where servers may answer so or so, what goes with the status goes with the choice
    let status_is_free = matches!(expect.status, Some(Pattern::Matcher { .. }));
    if let Some(status) = reply.status.filter(|_| !status_is_free) {
        shown.insert("status".to_owned(), status.into());
        for name in ["content-type", "allow"] {
            let refusal = name == "content-type" && reply.message.is_none();
            if let Some(value) = reply.header(name).filter(|_| !refusal) {
                shown.insert(name.to_owned(), value.into());
            }
        }
    }
    match &reply.message {
        Some(_) if status_is_free && expect.message.is_none() => {}
        Some(message) => {
            shown.insert("message".to_owned(), without_varying(message, expect));
        }
        // the text of a refusal is free
        None if reply.status.is_some_and(|status| status >= 400) => {}
        None => {
            shown.insert("body".to_owned(), String::from_utf8_lossy(&reply.body).into());
        }
    }
    let mut shown = Value::Object(shown);
    shown.sort_all_objects();
    shown
}

fn without_varying(message: &Value, expect: &Expect) -> Value {
    let mut message = message.clone();
    if let Some(pattern) = &expect.message {
        mask(&mut message, pattern, &Captures::default());
    }
    let mut message = steady(&message);
    if let Some(wording) = message
        .pointer_mut("/error/message")
        .filter(|wording| wording.is_string())
    {
        *wording = "<message>".into();
    }
    message
}

/// An answer with another reply.
fn with<'a>(answered: &Answered<'a>, reply: &'a Reply) -> Answered<'a> {
    Answered { reply, ..*answered }
}
