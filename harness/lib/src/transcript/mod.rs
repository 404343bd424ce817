//! Transcripts: what is sent, in order, and what must come back. `fixtures/README.md` is the format's own page.

pub mod captures;
mod check;
mod error;
mod load;
pub mod pattern;
mod raw;

pub use captures::Captures;
pub use error::TranscriptError;
pub use load::{embedded, read};
pub use pattern::Pattern;

use crate::revision::{Era, Revision};
use serde_json::Value;
use std::time::Duration;

/// A scenario, checked.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// File name without `.json`.
    pub name: String,
    /// What the server must do, in one line.
    pub title: String,
    /// Why, and the place in the specification it rests on.
    pub about: String,
    /// Revision spoken.
    pub revision: Revision,
    /// Conditions on the target.
    pub needs: Needs,
    /// Whether the player opens with `initialize`.
    pub handshake: bool,
    /// Whether the point is a time limit, so that limits must not be stretched.
    pub tests_deadline: bool,
    /// What is played.
    pub steps: Vec<Step>,
}

impl Transcript {
    /// `REVISION/NAME`, by which people and reports name it.
    pub fn id(&self) -> String {
        format!("{}/{}", self.revision, self.name)
    }

    /// What only HTTP has and this transcript uses, if any.
    pub fn http_only(&self) -> Option<&'static str> {
        self.steps.iter().flat_map(Step::sends).find_map(Send::http_only)
    }

    /// Whether a step is raw bytes of a connection.
    pub fn has_raw(&self) -> bool {
        let is_raw = |send: &Send| matches!(send.content, Content::Raw(_));
        self.steps.iter().flat_map(Step::sends).any(is_raw)
    }
}

/// Conditions on a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Contract that it must keep, as `mcp-hil/1`.
    pub contract: Option<String>,
    /// Tools that it must offer.
    pub tools: Vec<String>,
    /// `http` or `stdio`.
    pub transport: Option<&'static str>,
}

/// One thing that is done.
#[derive(Clone, Debug)]
pub struct Step {
    /// What it does.
    pub name: String,
    /// How.
    pub action: Action,
}

impl Step {
    fn sends(&self) -> Vec<&Send> {
        match &self.action {
            Action::Exchange { send, .. } | Action::Until { send, .. } => vec![send],
            Action::Together(pairs) => pairs.iter().map(|(send, _)| send).collect(),
            Action::Wait(_) => Vec::new(),
        }
    }
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum Action {
    /// One exchange; with raw bytes, one expectation for each answer.
    Exchange {
        /// What is sent.
        send: Send,
        /// What must come back.
        expect: Vec<Expect>,
    },
    /// Exchanges started at once.
    Together(Vec<(Send, Expect)>),
    /// The same request until it is answered as expected.
    Until {
        /// What is sent.
        send: Send,
        /// What must come back in the end.
        until: Box<Expect>,
        /// Time for all attempts.
        deadline: Duration,
        /// Time from one attempt to the next.
        every: Duration,
    },
    /// A pause.
    Wait(Duration),
}

/// What is sent.
#[derive(Clone, Debug)]
pub struct Send {
    /// The message or the bytes.
    pub content: Content,
    /// Nothing is added but `Host` and the length.
    pub bare: bool,
    /// HTTP method.
    pub method: Option<String>,
    /// Request target.
    pub path: Option<String>,
    /// Headers replaced, or removed.
    pub headers: Vec<(String, Option<String>)>,
    /// Sizes of chunks; empty: `Content-Length`.
    pub chunked: Vec<usize>,
}

impl Send {
    fn http_only(&self) -> Option<&'static str> {
        let newline = match &self.content {
            Content::Message(_) => false,
            Content::Body(text) => text.contains('\n'),
            Content::Bytes(bytes) => bytes.contains(&b'\n'),
            Content::Raw(_) => return Some("raw"),
        };
        let uses = [
            (self.method.is_some(), "method"),
            (self.path.is_some(), "path"),
            (newline, "a body of more than one line"),
        ];
        uses.into_iter().find_map(|(used, what)| used.then_some(what))
    }
}

/// The message or the bytes of a request.
#[derive(Clone, Debug)]
pub enum Content {
    /// A message, in which captures are filled in.
    Message(Value),
    /// Text, in which captures are filled in.
    Body(String),
    /// Bytes as they stand.
    Bytes(Vec<u8>),
    /// A whole connection.
    Raw(Vec<RawPiece>),
}

/// Part of a raw connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawPiece {
    /// Text, in which captures, `${host}` and `${path}` are filled in.
    Text(String),
    /// Bytes as they stand.
    Bytes(Vec<u8>),
    /// A pause.
    Pause(Duration),
}

/// What must come back.
#[derive(Clone, Debug, Default)]
pub struct Expect {
    /// HTTP status.
    pub status: Option<Pattern>,
    /// HTTP headers.
    pub headers: Vec<(String, Pattern)>,
    /// The JSON-RPC answer.
    pub message: Option<Pattern>,
    /// The body as text.
    pub body: Option<Pattern>,
    /// Whether the server closes the connection.
    pub closed: Option<bool>,
}

impl Expect {
    /// Whether no message may come.
    pub fn wants_silence(&self) -> bool {
        matches!(self.message, Some(Pattern::Absent))
    }
}

impl Transcript {
    /// Reads a transcript from its text; `file` is for messages and gives the name.
    ///
    /// # Errors
    /// [`TranscriptError`], with the place.
    pub fn parse(file: &str, text: &str) -> Result<Self, TranscriptError> {
        let raw = raw::parse(file, text)?;
        check::transcript(file, raw).map_err(|fault| fault.in_file(file))
    }

    /// Whether the player opens with a legacy handshake.
    pub fn opens_with_handshake(&self) -> bool {
        self.handshake && self.revision.era() == Era::Legacy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A transcript with this step.
    fn with(step: &Value) -> String {
        json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [step]}).to_string()
    }

    fn error(text: &str) -> String {
        Transcript::parse("folder/bad.json", text)
            .unwrap_err()
            .to_string()
    }

    fn error_in(step: Value) -> String {
        error(&with(&step))
    }

    #[test]
    fn every_built_in_transcript_is_read() {
        let transcripts = embedded().unwrap();
        assert!(transcripts.len() > 100, "{}", transcripts.len());
    }

    #[test]
    fn a_bad_file_is_named_with_the_place() {
        assert_eq!(
            error("{\n \"title\": \"x\",\n}"),
            "folder/bad.json: trailing comma at line 3 column 1; fixtures/README.md tells the format"
        );
        let text = with(&json!({"name": "s", "send": {"mesage": {}}, "expect": {}}));
        assert!(
            error(&text).starts_with("folder/bad.json: /steps/0/send/mesage: unknown field `mesage`"),
            "{}",
            error(&text)
        );
        assert!(
            error(&format!("{} x", with(&json!({"name": "w", "wait_ms": 1}))))
                .contains("trailing characters")
        );
    }

    #[test]
    fn what_can_not_be_is_named_with_its_pointer() {
        let send = json!({"message": {}});
        let cases = [
            (
                json!({"name": "s", "send": send}),
                "/steps/0: a step is send with expect",
            ),
            (
                json!({"name": "s", "send": {}, "expect": {"status": 200}}),
                "/steps/0/send: give exactly one of message",
            ),
            (
                json!({"name": "s", "send": send, "expect": {}}),
                "/steps/0/expect: nothing is expected here",
            ),
            (
                json!({"name": "s", "send": send, "expect": [{"status": 200}]}),
                "/steps/0/expect: a list of answers goes with raw",
            ),
            (
                json!({"name": "s", "send": send, "expect": {"closed": true}}),
                "/steps/0: closed goes with raw only",
            ),
            (
                json!({"name": "s", "send": {"message": {"a": {"$use": "x"}}}, "expect": {"status": 1}}),
                "/steps/0/send/message/a: no earlier step captures",
            ),
            (
                json!({"name": "s", "send": send, "expect": {"message": {"$regex": "("}}}),
                "/steps/0/expect/message/$regex: regex parse error",
            ),
            (
                json!({"name": "s", "send": send, "expect": {"message": {"$schema": {"type": 1}}}}),
                "/steps/0/expect/message/$schema: ",
            ),
            (
                json!({"name": "s", "send": {"body_base64": "?"}, "expect": {"status": 1}}),
                "/steps/0/send/body_base64: not Base64",
            ),
            (
                json!({"name": "s", "send": {"message": {}, "headers": {"A\nB": "x"}}, "expect": {"status": 1}}),
                "/steps/0/send/headers/A\nB: give a string",
            ),
            (
                json!({"name": "s", "send": {"raw": [7]}, "expect": {"status": 1}}),
                "/steps/0/send/raw/0: give a string",
            ),
            (
                json!({"name": "s", "together": [{"send": send, "expect": {"status": 1}}]}),
                "/steps/0: a step is",
            ),
            (
                json!({"name": "s", "send": {"raw": ["x"]}, "expect": []}),
                "/steps/0/expect: give an answer",
            ),
            (
                json!({"name": "s", "together": [{"send": send, "expect": {"status": 1}},
                    {"send": send, "expect": {"status": 1, "closed": true}}]}),
                "/steps/0/together/1/expect: closed goes with raw only",
            ),
            (
                json!({"name": "s", "send": send, "until": {"status": 1, "closed": false},
                    "deadline_ms": 1, "every_ms": 1}),
                "/steps/0/until: closed goes with raw only",
            ),
        ];
        for (step, problem) in cases {
            let error = error_in(step);
            assert!(error.contains(problem), "{error}\nhas no {problem}");
        }
        let beyond = r#"{"name": "s", "send": {"message": {}}, "expect": {"message": 18446744073709551617}}"#;
        assert!(error_in(serde_json::from_str(beyond).unwrap()).contains("beyond 64 bits"));
    }

    #[test]
    fn no_wait_is_longer_than_an_hour_and_no_connection_sends_more_than_64_mib() {
        let hour = 3_600_000_u64;
        let until = |deadline: u64, every: u64| json!({"name": "s", "send": {"message": {}}, "until": {"status": 1}, "deadline_ms": deadline, "every_ms": every});
        let pause = |millis: u64| json!({"name": "s", "send": {"raw": ["x", {"pause_ms": millis}]}, "expect": {"status": 1}});
        let wait = |millis: u64| json!({"name": "s", "wait_ms": millis});
        let cases = [
            (wait(hour), wait(hour + 1), "/steps/0/wait_ms"),
            (until(hour, 1), until(hour + 1, 1), "/steps/0/deadline_ms"),
            (until(1, hour), until(1, hour + 1), "/steps/0/every_ms"),
            (pause(hour), pause(hour + 1), "/steps/0/send/raw/1"),
        ];
        for (good, bad, place) in cases {
            assert!(Transcript::parse("t.json", &with(&good)).is_ok(), "{place}");
            let error = error_in(bad);
            assert!(
                error.contains(&format!("{place}: no more than 3600000 ms (an hour)")),
                "{error}"
            );
        }
        let raw = |count: u64| {
            let piece = json!({"repeat": "x", "count": count});
            json!({"name": "s", "send": {"raw": [piece, "x", piece]}, "expect": {"status": 1}})
        };
        assert!(Transcript::parse("t.json", &with(&raw((32 << 20) - 1))).is_ok());
        assert!(error_in(raw(32 << 20)).contains("/steps/0/send/raw/2: more than 67108864 bytes"));
    }

    #[test]
    fn a_capture_is_known_to_later_steps_only() {
        let capture = json!({"name": "a", "send": {"message": {}}, "expect": {"message": {"$capture": "x"}}});
        let using = json!({"name": "b", "send": {"message": "${x}"}, "expect": {"message": {"$use": "x"}}});
        let text = |steps: Value| {
            json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": steps}).to_string()
        };
        assert!(Transcript::parse("t.json", &text(json!([capture, using]))).is_ok());
        assert!(Transcript::parse("t.json", &text(json!([using, capture]))).is_err());
    }

    #[test]
    fn the_modern_revision_has_no_handshake() {
        let mut transcript: Value = serde_json::from_str(&with(&json!({"name": "w", "wait_ms": 1}))).unwrap();
        transcript["revision"] = json!("2026-07-28");
        assert!(
            !Transcript::parse("t.json", &transcript.to_string())
                .unwrap()
                .opens_with_handshake()
        );
        transcript["handshake"] = json!(false);
        assert!(error(&transcript.to_string()).contains("/handshake"));
    }
}
