//! Answers are written piece by piece into the buffer that the caller lends: nothing grows on the heap.

use core::fmt;
use core::ops::Range;

use serde::{Serialize, Serializer};

use crate::era::{Era, SUPPORTED};
use crate::json::Text;
use crate::message::{Error, Id};

/// The answer does not fit into its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("answer too large")]
pub(crate) struct Full;

/// A bounded buffer of JSON text.
pub(crate) struct Writer<'o> {
    buffer: &'o mut [u8],
    len: usize,
}

impl<'o> Writer<'o> {
    pub fn new(buffer: &'o mut [u8]) -> Self {
        Self { buffer, len: 0 }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn truncate(&mut self, len: usize) {
        self.len = len.min(self.len);
    }

    /// What was written, with the life of the buffer.
    pub fn written(self) -> &'o [u8] {
        &self.buffer[..self.len]
    }

    /// Adds text that is JSON already.
    pub fn raw(&mut self, json: &str) -> Result<(), Full> {
        let room = self.buffer.get_mut(self.len..self.len + json.len()).ok_or(Full)?;
        room.copy_from_slice(json.as_bytes());
        self.len += json.len();
        Ok(())
    }

    /// Adds a value as compact JSON.
    pub fn json(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), Full> {
        self.len += serde_json_core::to_slice(value, &mut self.buffer[self.len..]).map_err(|_| Full)?;
        Ok(())
    }

    /// Adds a text as a JSON string.
    pub fn display(&mut self, text: impl fmt::Display) -> Result<(), Full> {
        self.json(&Displayed(text))
    }

    /// Adds JSON text that stands in this buffer once more, as a string.
    fn again_as_string(&mut self, json: Range<usize>) -> Result<(), Full> {
        let (head, tail) = self.buffer.split_at_mut(self.len);
        let text = core::str::from_utf8(&head[json]).map_err(|_| Full)?;
        self.len += serde_json_core::to_slice(text, tail).map_err(|_| Full)?;
        Ok(())
    }

    /// The head of every answer, up to and with the id.
    fn head(&mut self, id: &Id<'_>) -> Result<(), Full> {
        self.raw(r#"{"jsonrpc":"2.0","id":"#)?;
        match id {
            Id::Integer(digits) => self.raw(digits),
            Id::Text(text) => self.display(text),
            Id::Null => self.raw("null"),
        }
    }

    /// Begins a result; its first member of its own may follow. Ended by [`Self::end_result`].
    pub fn begin_result(&mut self, id: &Id<'_>, era: Era) -> Result<(), Full> {
        self.head(id)?;
        self.raw(r#","result":{"#)?;
        if era == Era::Modern {
            self.raw(r#""resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":"#)?;
            self.json(&SERVER_INFO)?;
            self.raw("}")?;
        }
        Ok(())
    }

    /// Adds the name of the next member of the result.
    pub fn member(&mut self, name: &str) -> Result<(), Full> {
        if !self.buffer[..self.len].ends_with(b"{") {
            self.raw(",")?;
        }
        self.json(name)?;
        self.raw(":")
    }

    /// Adds how long a result may be kept, and by whom (2026-07-28, server/utilities/caching).
    pub fn cache_hints(&mut self) -> Result<(), Full> {
        self.member("ttlMs")?;
        self.raw("60000")?;
        self.member("cacheScope")?;
        self.raw(r#""public""#)
    }

    pub fn end_result(&mut self) -> Result<(), Full> {
        self.raw("}}")
    }

    /// Adds a tool's output: one text part.
    pub fn text(&mut self, text: impl fmt::Display) -> Result<(), Full> {
        self.member("content")?;
        self.raw(r#"[{"type":"text","text":"#)?;
        self.display(text)?;
        self.raw("}]")
    }

    /// Adds a tool's output as `structuredContent`, and the same JSON as a text part.
    pub fn structured(&mut self, output: &impl Serialize) -> Result<(), Full> {
        self.member("structuredContent")?;
        let start = self.len;
        self.json(output)?;
        let json = start..self.len;
        self.member("content")?;
        self.raw(r#"[{"type":"text","text":"#)?;
        self.again_as_string(json)?;
        self.raw("}]")
    }

    /// A whole error answer.
    pub fn error(&mut self, id: &Id<'_>, error: &Error<'_>) -> Result<(), Full> {
        self.head(id)?;
        self.raw(r#","error":{"code":"#)?;
        self.json(&error.code())?;
        self.member("message")?;
        self.display(error)?;
        if let Error::Version { requested } = error {
            self.member("data")?;
            self.json(&Versions {
                supported: SUPPORTED,
                requested: Displayed(requested),
            })?;
        }
        self.end_result()
    }
}

/// Who answers: `Implementation` of the MCP schema.
#[derive(Serialize)]
pub(crate) struct ServerInfo {
    name: &'static str,
    title: &'static str,
    version: &'static str,
}

pub(crate) const SERVER_INFO: ServerInfo = ServerInfo {
    name: "mcp-hil-device",
    title: "MCP HIL device",
    version: env!("CARGO_PKG_VERSION"),
};

/// `data` of the error -32022.
#[derive(Serialize)]
struct Versions<'a> {
    supported: [&'static str; 3],
    requested: Displayed<&'a Text<'a>>,
}

/// Serialises as the string that the value shows itself as, without making that string.
struct Displayed<T>(T);

impl<T: fmt::Display> Serialize for Displayed<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
