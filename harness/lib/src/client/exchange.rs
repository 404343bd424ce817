//! One request and what came back.

use crate::access::Access;
use crate::fault::Fault;
use crate::http::{Answer, Conversation};
use crate::message;
use serde_json::Value;
use std::time::Duration;

/// What came back, as far as it was understood.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// HTTP status; none over standard streams.
    pub status: Option<u16>,
    /// HTTP header fields.
    pub headers: Vec<(String, String)>,
    /// Body, or the line.
    pub body: Vec<u8>,
    /// The JSON-RPC answer: the body, or the response in an event stream.
    pub message: Option<Value>,
    /// Why a body that is there holds no message.
    pub unreadable: Option<String>,
    /// Messages before the answer in an event stream or on standard output.
    pub earlier: Vec<Value>,
    /// The server ended the event stream before the response, and wants to be asked for the rest.
    pub resumes: bool,
}

impl Reply {
    /// Value of the first header of this name, in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }
}

impl From<Answer> for Reply {
    fn from(mut answer: Answer) -> Self {
        let mut reply = Self {
            status: Some(answer.status),
            ..Self::default()
        };
        if answer.is_event_stream() {
            reply.message = answer.events.pop_if(|event| message::is_response(event));
            reply.earlier = answer.events;
            reply.resumes = reply.message.is_none() && answer.resume.is_some();
            if reply.message.is_none() {
                reply.unreadable = Some("the event stream ended without a response".to_owned());
            }
        } else if !answer.body.is_empty() {
            match serde_json::from_slice(&answer.body) {
                Ok(message) => reply.message = Some(message),
                Err(error) => reply.unreadable = Some(not_json(&answer, &error)),
            }
        }
        reply.headers = answer.headers;
        reply.body = answer.body;
        reply
    }
}

/// Why a body is no JSON text.
fn not_json(answer: &Answer, error: &serde_json::Error) -> String {
    match answer.header("content-encoding") {
        _ if answer.body.starts_with(b"\xef\xbb\xbf") => {
            "the body begins with a byte order mark, which is no JSON (RFC 8259, section 8.1)".to_owned()
        }
        Some(coding) if !coding.eq_ignore_ascii_case("identity") => {
            format!("the body is in a content coding, {coding:?}, which is not read here")
        }
        _ => format!("the body is not JSON: {error}"),
    }
}

/// One request (or one raw connection) with every byte, the answers and the time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchange {
    /// Bytes sent.
    pub sent: Vec<u8>,
    /// Bytes received.
    pub received: Vec<u8>,
    /// Whole answers; one for all but raw connections.
    pub replies: Vec<Reply>,
    /// Why there are fewer answers than requests.
    pub fault: Option<Fault>,
    /// From the first byte sent to the last received.
    pub time: Duration,
    /// A shell line that repeats the exchange.
    pub repeat: String,
}

impl Exchange {
    /// The first answer.
    pub fn reply(&self) -> Option<&Reply> {
        self.replies.first()
    }

    /// The message of the first answer.
    pub fn message(&self) -> Option<&Value> {
        self.reply()?.message.as_ref()
    }

    /// Status of the first answer, also of one of which no more than the first line can be read; none if what came is no
    /// HTTP.
    pub fn first_status(&self) -> Option<u16> {
        let of_reply = self.reply().and_then(|reply| reply.status);
        of_reply.or_else(|| {
            let line = self.received.strip_prefix(b"HTTP/1.")?.get(..5)?;
            std::str::from_utf8(line).ok()?.get(2..)?.parse().ok()
        })
    }

    pub(super) fn with_fault(self, fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..self
        }
    }

    /// The same with the bytes and the shell line free of secrets.
    #[must_use]
    pub fn redacted(self, access: &Access) -> Self {
        if !access.has_credentials() {
            return self;
        }
        Self {
            sent: access.redact_bytes(self.sent),
            received: access.redact_bytes(self.received),
            repeat: access.redact(&self.repeat),
            ..self
        }
    }

    pub(super) fn of(talk: Conversation, repeat: String) -> Self {
        Self {
            sent: talk.sent,
            received: talk.received,
            replies: talk.answers.into_iter().map(Reply::from).collect(),
            fault: talk.fault,
            time: talk.time,
            repeat,
        }
    }
}
