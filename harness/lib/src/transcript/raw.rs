//! The file's shape for serde, before it is checked.

use super::error::TranscriptError;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    pub title: String,
    pub about: String,
    pub revision: String,
    #[serde(default)]
    pub needs: Needs,
    #[serde(default = "yes")]
    pub handshake: bool,
    #[serde(default)]
    pub tests_deadline: bool,
    pub steps: Vec<Step>,
}

const fn yes() -> bool {
    true
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needs {
    pub contract: Option<String>,
    #[serde(default)]
    pub tools: Vec<String>,
    pub transport: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub name: String,
    pub send: Option<Send>,
    pub expect: Option<Value>,
    pub together: Option<Vec<Pair>>,
    pub until: Option<Expect>,
    pub deadline_ms: Option<u64>,
    pub every_ms: Option<u64>,
    pub wait_ms: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pair {
    pub send: Send,
    pub expect: Expect,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    // a message of null is a message
    #[serde(default, deserialize_with = "there")]
    pub message: Option<Value>,
    pub body: Option<String>,
    pub body_base64: Option<String>,
    pub repeat_body: Option<Repeat>,
    pub raw: Option<Vec<Value>>,
    #[serde(default)]
    pub bare: bool,
    pub method: Option<String>,
    pub path: Option<String>,
    #[serde(default)]
    pub headers: Map<String, Value>,
    #[serde(default)]
    pub chunked: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    pub head: String,
    pub unit: String,
    pub count: usize,
    pub tail: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    #[serde(default, deserialize_with = "there")]
    pub status: Option<Value>,
    #[serde(default)]
    pub headers: Map<String, Value>,
    #[serde(default, deserialize_with = "there")]
    pub message: Option<Value>,
    #[serde(default, deserialize_with = "there")]
    pub body: Option<Value>,
    pub closed: Option<bool>,
    pub extra: Option<String>,
}

/// Keeps a `null` that is there apart from a member that is not.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Reads the text; the error has the JSON Pointer, line and column.
pub fn parse(file: &str, text: &str) -> Result<Transcript, TranscriptError> {
    let shape = |at: String, problem: String| TranscriptError::Shape {
        file: file.to_owned(),
        at,
        problem,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let transcript = serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| shape(pointer(error.path()), error.into_inner().to_string()))?;
    reader
        .end()
        .map_err(|error| shape(String::new(), error.to_string()))?;
    Ok(transcript)
}

fn pointer(path: &Path) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => text.push_str(&format!("/{index}")),
            Segment::Map { key } => text.push_str(&format!("/{}", super::pattern::escape(key))),
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    if text.is_empty() {
        text
    } else {
        format!("{text}: ")
    }
}
