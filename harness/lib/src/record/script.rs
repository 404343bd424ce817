//! A script: a transcript that leaves out what is to be recorded.

use crate::transcript::{Transcript, TranscriptError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What is played.
#[derive(Clone, Debug)]
pub struct Script {
    /// Path, for messages.
    pub file: String,
    /// Everything but the steps, as it goes into the transcript.
    pub(super) head: Map<String, Value>,
    pub(super) steps: Vec<Step>,
    /// The same as a transcript that expects nothing.
    pub(super) draft: Transcript,
}

/// One step.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Step {
    pub name: String,
    /// Values of the answer that later steps use: a JSON Pointer by the name of each.
    #[serde(default)]
    pub capture: Map<String, Value>,
    /// `send`, `wait_ms`, `until` and the like, as a transcript has them.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

impl Step {
    /// Whether its answer is recorded.
    pub fn is_recorded(&self) -> bool {
        self.rest.contains_key("send") && !self.rest.contains_key("until")
    }
}

impl Script {
    /// Reads a script.
    ///
    /// # Errors
    /// [`TranscriptError`] with the place.
    pub fn parse(file: &str, text: &str) -> Result<Self, TranscriptError> {
        let bad = |at: &str, problem: String| TranscriptError::Shape {
            file: file.to_owned(),
            at: at.to_owned(),
            problem,
        };
        let mut head: Map<String, Value> =
            serde_json::from_str(text).map_err(|error| bad("", error.to_string()))?;
        head.shift_remove("$schema");
        let steps = head
            .shift_remove("steps")
            .ok_or_else(|| bad("/steps: ", "there must be steps".to_owned()))?;
        let mut draft = head.clone();
        let mut drafts = Vec::new();
        let steps: Vec<Step> =
            serde_json::from_value(steps).map_err(|error| bad("/steps: ", error.to_string()))?;
        for (index, step) in steps.iter().enumerate() {
            for member in ["expect", "together"] {
                if step.rest.contains_key(member) {
                    let problem = format!("a script has no {member:?}: each answer is recorded");
                    return Err(bad(&format!("/steps/{index}: "), problem));
                }
            }
            if step
                .rest
                .get("send")
                .is_some_and(|send| send.get("raw").is_some())
            {
                return Err(bad(
                    &format!("/steps/{index}/send: "),
                    "raw connections are not recorded".to_owned(),
                ));
            }
            let mut captured = Vec::new();
            for (name, pointer) in &step.capture {
                let place = format!("/steps/{index}/capture/{name}: ");
                if !step.is_recorded() {
                    return Err(bad(
                        &place,
                        "only a step with send alone captures; until has $capture".to_owned(),
                    ));
                }
                if !pointer.as_str().is_some_and(|pointer| pointer.starts_with('/')) {
                    return Err(bad(
                        &place,
                        "give a JSON Pointer into the message, as \"/result/nextCursor\"".to_owned(),
                    ));
                }
                captured.push(json!({"$capture": name}));
            }
            let mut written = step.rest.clone();
            written.insert("name".to_owned(), step.name.clone().into());
            if step.is_recorded() {
                captured.push(json!({"$optional": {"$any": true}}));
                written.insert("expect".to_owned(), json!({"message": {"$oneOf": captured}}));
            }
            drafts.push(Value::Object(written));
        }
        draft.insert("steps".to_owned(), drafts.into());
        let draft = Transcript::parse(file, &Value::Object(draft).to_string())?;
        Ok(Self {
            file: file.to_owned(),
            head,
            steps,
            draft,
        })
    }

    /// What is sent, and everything else that goes into the transcript.
    pub(super) fn text(&self) -> String {
        let steps: Vec<_> = self
            .steps
            .iter()
            .map(|step| Value::Object(step.rest.clone()).to_string())
            .collect();
        format!("{}{}", Value::Object(self.head.clone()), steps.join(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(step: &Value) -> String {
        let text = json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [step]}).to_string();
        Script::parse("s.json", &text).unwrap_err().to_string()
    }

    #[test]
    fn what_a_script_can_not_have_is_named() {
        let send = json!({"message": {"id": 1}});
        for (step, problem) in [
            (
                json!({"name": "s", "send": send, "expect": {"status": 200}}),
                "/steps/0: a script has no \"expect\"",
            ),
            (
                json!({"name": "s", "send": {"raw": ["x"]}}),
                "/steps/0/send: raw connections",
            ),
            (
                json!({"name": "s", "send": send, "capture": {"a": "b"}}),
                "/steps/0/capture/a: give a JSON Pointer",
            ),
            (
                json!({"name": "s", "send": {"message": {"a": "${x}"}}}),
                "/steps/0/send/message/a: no earlier step captures",
            ),
            (json!({"name": "s", "sends": send}), "/steps/0"),
            (
                json!({"name": "w", "wait_ms": 1, "capture": {"a": "/b"}}),
                "only a step with send alone",
            ),
        ] {
            let error = error(&step);
            assert!(error.contains(problem), "{error}\nhas no {problem}");
        }
    }
}
