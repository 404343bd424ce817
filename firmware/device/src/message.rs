//! JSON-RPC 2.0: from the bytes of a body to a message, and the errors it may be answered with.

use core::fmt;

use serde_json::value::RawValue;

use crate::era::{Era, SUPPORTED};
use crate::json::{Duplicate, Quoted, Text, integer, members, object, string};
use crate::scan::{ScanError, scan};
use crate::{MAX_ANSWER, MAX_ID, MAX_QUOTE};

/// A valid message of a client.
pub(crate) enum Message<'a> {
    Request { id: Id<'a>, call: Call<'a> },
    Notification(Call<'a>),
    Response,
}

/// A method and its parameters.
pub(crate) struct Call<'a> {
    pub method: Text<'a>,
    /// Text of the `params` object, `{}` where it was left out.
    pub params: &'a str,
}

/// The id of a request, to be given back as the same value of the same type.
pub(crate) enum Id<'a> {
    /// Digits as sent.
    Integer(&'a str),
    Text(Text<'a>),
    /// Could not be read.
    Null,
}

impl<'a> Id<'a> {
    fn read(value: &'a RawValue) -> Result<Self, Error<'static>> {
        let text = value.get();
        if text.len() > MAX_ID {
            return Err(Error::LongId);
        }
        if let Some(text) = string(value) {
            return Ok(Id::Text(text));
        }
        if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
            return Ok(Id::Integer(text));
        }
        Err(Error::Invalid(
            "id must be a string or an integer from -2^63 to 2^64-1",
        ))
    }
}

/// Reads a body. An error comes with the id it is to be answered under.
pub(crate) fn read<'a>(body: &'a [u8]) -> Result<Message<'a>, (Id<'a>, Error<'a>)> {
    let root = check(body).map_err(|error| (Id::Null, error))?;
    let [version, id, method, params, result, error] =
        members(root, ["jsonrpc", "id", "method", "params", "result", "error"])
            .map_err(|duplicate| (Id::Null, duplicate.into()))?;
    // A response may carry an error about a message whose id could not be read.
    let is_response = method.is_none() && (result.is_some() || error.is_some());
    let id = id.map(Id::read).transpose();
    let id = if is_response {
        id.ok().flatten()
    } else {
        id.map_err(|error| (Id::Null, error))?
    };
    let invalid = |id: Option<Id<'a>>, what| (id.unwrap_or(Id::Null), Error::Invalid(what));

    if version.and_then(string).is_none_or(|version| version != *"2.0") {
        return Err(invalid(id, "jsonrpc must be the string \"2.0\""));
    }
    if is_response {
        return match (result, error) {
            (Some(_), None) if id.is_some() => Ok(Message::Response),
            (None, Some(error)) if is_error_object(error) => Ok(Message::Response),
            _ => Err(invalid(None, "a response has an id and one of result and error")),
        };
    }
    let Some(method) = method else {
        return Err(invalid(id, "method is missing"));
    };
    let Some(method) = string(method) else {
        return Err(invalid(id, "method must be a string"));
    };
    if result.is_some() || error.is_some() {
        return Err(invalid(id, "a message has either method, or result, or error"));
    }
    let params = match params.map(object) {
        None => "{}",
        Some(Some(params)) => params,
        Some(None) => return Err(invalid(id, "params must be an object")),
    };
    let call = Call { method, params };
    Ok(match id {
        Some(id) => Message::Request { id, call },
        None => Message::Notification(call),
    })
}

fn is_error_object(error: &RawValue) -> bool {
    let fields = object(error).map(|error| members(error, ["code", "message"]));
    matches!(fields, Some(Ok([Some(code), Some(message)])) if integer(code).is_some() && string(message).is_some())
}

/// Checks the grammar of the whole body; the text of its one object.
fn check(body: &[u8]) -> Result<&str, Error<'static>> {
    let text = core::str::from_utf8(body).map_err(|error| Error::NotUtf8 {
        at: error.valid_up_to(),
    })?;
    scan(text)?;
    let root: &RawValue = serde_json::from_str(text).map_err(Error::Syntax)?;
    object(root).ok_or(Error::Invalid(
        "a message is one JSON object; batches are not taken",
    ))
}

/// Everything that is answered as a JSON-RPC error.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error<'a> {
    #[error("not UTF-8 at byte {at}")]
    NotUtf8 { at: usize },
    #[error("not JSON: {0}")]
    Syntax(serde_json::Error),
    #[error("not JSON: {0}")]
    BadString(ScanError),
    #[error("{0}")]
    Bound(ScanError),
    #[error("{0}")]
    Duplicate(#[from] Duplicate),
    #[error("the member {} stands twice in arguments", Quoted(*.0, MAX_QUOTE))]
    DuplicateArgument(Text<'a>),
    #[error("{0}")]
    Invalid(&'static str),
    #[error("id is longer than {MAX_ID} bytes")]
    LongId,
    /// A version header that no legacy revision has.
    #[error("unsupported MCP-Protocol-Version; served here: {Versions}")]
    VersionHeader,
    #[error("unknown method {}", Quoted(*.0, MAX_QUOTE))]
    UnknownMethod(Text<'a>),
    #[error("{0}")]
    Params(&'static str),
    #[error("unknown tool {}; tools/list names all", Quoted(*.0, MAX_QUOTE))]
    UnknownTool(Text<'a>),
    /// A required member of a modern request's `_meta` is missing or of the wrong type.
    #[error("params._meta needs {0}")]
    Meta(&'static str),
    #[error("header mismatch: {header} {problem}")]
    Header {
        header: &'static str,
        problem: &'static str,
    },
    #[error("unsupported protocol version {}", Quoted(*requested, MAX_QUOTE))]
    Version { requested: Text<'a> },
    #[error("answer too large: the limit is {MAX_ANSWER} bytes; use a shorter id")]
    TooLarge,
    #[error("the schema of this tool can't be read: {0}")]
    Schema(serde_json::Error),
}

impl Error<'_> {
    /// Error code of JSON-RPC 2.0 section 5.1 or MCP 2026-07-28 basic/index, Error Codes.
    pub fn code(&self) -> i32 {
        match self {
            Self::NotUtf8 { .. } | Self::Syntax(_) | Self::BadString(_) => -32700,
            Self::Bound(_) | Self::Duplicate(_) | Self::DuplicateArgument(_) => -32600,
            Self::Invalid(_) | Self::LongId | Self::VersionHeader => -32600,
            Self::UnknownMethod(_) => -32601,
            Self::Params(_) | Self::UnknownTool(_) | Self::Meta(_) => -32602,
            Self::TooLarge | Self::Schema(_) => -32603,
            Self::Header { .. } => -32020,
            Self::Version { .. } => -32022,
        }
    }

    /// HTTP status that goes with it.
    pub fn status(&self, era: Era) -> u16 {
        match (self.code(), era) {
            (-32601, Era::Modern) => 404,
            (_, Era::Modern) if matches!(self, Self::Meta(_)) => 400,
            (-32603..=-32601, _) => 200,
            _ => 400,
        }
    }
}

impl From<ScanError> for Error<'_> {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::String { .. } => Self::BadString(error),
            ScanError::TooDeep | ScanError::TooManyValues => Self::Bound(error),
        }
    }
}

struct Versions;

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, version) in SUPPORTED.iter().enumerate() {
            write!(f, "{}{version}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
