//! One request and what came back.

use crate::access::Access;
use crate::fault::Fault;
use crate::http::{Answer, Conversation};
use crate::message;
use serde_json::Value;
use std::time::Duration;

/// Most bytes of an answer that are kept to show what is wrong with it.
const MAX_EVIDENCE: usize = 64 << 10;

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
    /// Bytes received; the first 64 KiB where something is wrong with the answer.
    pub received: Vec<u8>,
    /// Bytes received after those, which are not kept.
    pub left_out: usize,
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

    /// The same for a report, which has no use for what was understood of it, without secrets.
    #[must_use]
    pub fn evidence(&self, access: &Access) -> Self {
        Self {
            sent: self.sent.clone(),
            received: self.received.clone(),
            left_out: self.left_out,
            replies: Vec::new(),
            fault: self.fault.clone(),
            time: self.time,
            repeat: self.repeat.clone(),
        }
        .redacted(access)
        .shortened()
    }

    /// Keeps no more of a bad answer than shows what is wrong with it. Comes after [`Self::redacted`], which finds no secret
    /// that is cut in two.
    pub(super) fn cut(self) -> Self {
        if self.fault.is_some() {
            self.shortened()
        } else {
            self
        }
    }

    fn shortened(mut self) -> Self {
        let all = self.received.len();
        if all > MAX_EVIDENCE {
            // not in the middle of a character
            let is_begin = |at: &usize| self.received[*at] & 0xc0 != 0x80;
            let end = (MAX_EVIDENCE - 3..=MAX_EVIDENCE).rfind(is_begin);
            self.received.truncate(end.unwrap_or(MAX_EVIDENCE));
            self.received.shrink_to_fit();
            self.left_out += all - self.received.len();
        }
        self
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
        if !access.has_secrets() {
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
            left_out: 0,
            replies: talk.answers.into_iter().map(Reply::from).collect(),
            fault: talk.fault,
            time: talk.time,
            repeat,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_bad_answer_no_more_is_kept_than_shows_it() {
        let with = |received: Vec<u8>, fault: Option<Fault>| Exchange {
            received,
            fault,
            ..Exchange::default()
        };
        let silent = Some(Fault::Silent(Duration::ZERO));
        let good = with(vec![b'x'; 70_000], None).cut();
        assert_eq!((good.received.len(), good.left_out), (70_000, 0));
        let bad = with(vec![b'x'; 70_000], silent.clone()).cut();
        assert_eq!((bad.received.len(), bad.left_out), (65_536, 4_464));
        let shown = good.evidence(&Access::default());
        assert_eq!((shown.received.len(), shown.left_out), (65_536, 4_464));
        // three bytes a character, and 65536 is no multiple of three
        let text = with("\u{4e16}".repeat(30_000).into_bytes(), silent).cut();
        assert!(std::str::from_utf8(&text.received).is_ok());
        assert_eq!(text.received.len() + text.left_out, 90_000);
    }

    #[test]
    fn a_secret_is_gone_before_it_could_be_cut_in_two() {
        let options = crate::access::Options {
            bearer: Some("a-secret-token".to_owned()),
            ..Default::default()
        };
        let access = Access::new(&options).unwrap();
        let mut received = vec![b' '; MAX_EVIDENCE - 8];
        received.extend_from_slice(b"a-secret-token and more");
        let exchange = Exchange {
            received,
            ..Exchange::default()
        };
        let shown = String::from_utf8(exchange.evidence(&access).received).unwrap();
        assert!(
            shown.trim().starts_with("$MCP_HI") && !shown.contains("a-sec"),
            "{shown}"
        );
    }
}
