//! An answer, as faults see, rewrite and make it.

use crate::headers::Headers;
use serde_json::{Value, json};
use std::time::Duration;

/// How the body of an answer goes out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Framing {
    /// With its length in bytes, or none where the status has no body.
    #[default]
    Sized,
    /// With this as its length.
    SizedAs(usize),
    /// In chunks of this size.
    Chunked(usize),
    /// Ended by the end of the connection.
    UntilClose,
    /// With its length, and the connection ends after so many bytes of it.
    Cut(usize),
    /// Nothing is sent, and the connection stays.
    Never,
    /// Nothing is sent, and the connection ends.
    Drop,
    /// The whole is sent in pieces of so many bytes, a millisecond apart.
    Pieces(usize),
    /// An event stream that stays open after its last event.
    HeldOpen,
    /// In one chunk, with its length as well.
    ChunkedAndSized,
    /// With its length, and a head whose lines end in LF alone.
    BareLines,
}

/// One answer. Over stdio only the body counts, and that nothing is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) framing: Framing,
    pub(crate) delay: Duration,
}

impl Reply {
    fn new(status: u16, media_type: Option<&str>, body: Vec<u8>) -> Self {
        let mut headers = Headers::default();
        if let Some(media_type) = media_type {
            headers.set("content-type", media_type);
        }
        Self {
            status,
            headers,
            body,
            framing: Framing::default(),
            delay: Duration::ZERO,
        }
    }

    /// Says as its length the number of characters, which with more than ASCII in it is too small.
    pub(crate) fn size_in_characters(&mut self) {
        let characters = String::from_utf8_lossy(&self.body).chars().count();
        if characters < self.body.len() {
            self.framing = Framing::SizedAs(characters);
            self.headers.set("connection", "close");
        }
    }

    pub(crate) fn json(status: u16, value: &Value) -> Self {
        Self::new(status, Some("application/json"), value.to_string().into_bytes())
    }

    pub(crate) fn text(status: u16, media_type: &str, text: &str) -> Self {
        Self::new(status, Some(media_type), text.as_bytes().to_owned())
    }

    pub(crate) fn empty(status: u16) -> Self {
        Self::new(status, None, Vec::new())
    }

    pub(crate) fn result(id: &Value, result: Value) -> Self {
        Self::json(200, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    pub(crate) fn error(status: u16, id: &Value, code: i64, message: &str) -> Self {
        let error = json!({ "code": code, "message": message });
        Self::json(status, &json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    /// An answer that isn't one.
    pub(crate) fn framed(framing: Framing) -> Self {
        Self {
            framing,
            ..Self::empty(200)
        }
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.headers.media_type() == "text/event-stream"
    }

    /// Rewrites the body as JSON, if it is JSON.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        if let Ok(before) = serde_json::from_slice::<Value>(&self.body) {
            let mut value = before.clone();
            edit(&mut value);
            if value != before {
                self.body = value.to_string().into_bytes();
            }
        }
    }

    /// The code of the error it tells; none if it tells none.
    pub(crate) fn code(&self) -> Option<i64> {
        let json: Value = serde_json::from_slice(&self.body).ok()?;
        json["error"]["code"].as_i64()
    }

    /// Head and body as they go out in one piece, whatever `framing` is; `Content-Length` and `Transfer-Encoding` are
    /// made to say it.
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut headers = self.headers.clone();
        headers.remove("content-length");
        headers.remove("transfer-encoding");
        let bodiless = self.status < 200 || matches!(self.status, 204 | 304);
        match self.framing {
            Framing::SizedAs(length) => headers.set("content-length", length.to_string()),
            Framing::Chunked(_) | Framing::HeldOpen => headers.set("transfer-encoding", "chunked"),
            Framing::ChunkedAndSized => {
                headers.set("transfer-encoding", "chunked");
                headers.set("content-length", self.body.len().to_string());
            }
            Framing::UntilClose => headers.set("connection", "close"),
            _ if bodiless => {}
            _ => headers.set("content-length", self.body.len().to_string()),
        }
        let mut out = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status)).into_bytes();
        headers.write(&mut out);
        out.extend_from_slice(b"\r\n");
        if self.framing == Framing::BareLines {
            out.retain(|byte| *byte != b'\r');
        }
        match self.framing {
            Framing::Chunked(size) => {
                for piece in self.body.chunks(size.max(1)) {
                    chunk(piece, &mut out);
                }
                out.extend_from_slice(b"0\r\n\r\n");
            }
            Framing::ChunkedAndSized => {
                chunk(&self.body, &mut out);
                out.extend_from_slice(b"0\r\n\r\n");
            }
            // the end of the stream does not come
            Framing::HeldOpen if !self.body.is_empty() => chunk(&self.body, &mut out),
            Framing::HeldOpen => {}
            Framing::Cut(length) => out.extend_from_slice(&self.body[..length.min(self.body.len())]),
            _ => out.extend_from_slice(&self.body),
        }
        out
    }
}

/// One chunk (RFC 9112, 7.1).
pub(crate) fn chunk(piece: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
    out.extend_from_slice(piece);
    out.extend_from_slice(b"\r\n");
}

/// A reason phrase for the status codes in use; clients ignore it.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        202 => "Accepted",
        204 => "No Content",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}
