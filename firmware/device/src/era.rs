//! Which of the two wire eras a request belongs to, and what a modern one must carry.
//! Source: MCP 2026-07-28 basic/versioning and basic/transports/streamable-http.

use alloc::borrow::Cow;
use alloc::string::String;

use base64::{Engine, prelude::BASE64_STANDARD};

use crate::Request;
use crate::json::{Text, members, object, string};
use crate::message::{Call, Error};

/// Revisions with the `initialize` handshake, newest first.
pub(crate) const LEGACY: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// Revision that says everything in each request.
pub(crate) const MODERN: &str = "2026-07-28";
/// All revisions, newest first.
pub(crate) const SUPPORTED: [&str; 3] = [MODERN, LEGACY[0], LEGACY[1]];

const VERSION_HEADER: &str = "MCP-Protocol-Version";
const METHOD_HEADER: &str = "Mcp-Method";
const NAME_HEADER: &str = "Mcp-Name";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The two ways of speaking MCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` first; plain results.
    Legacy,
    /// Version and capabilities in each request; `resultType` and server identity in each result.
    Modern,
}

impl Era {
    /// The era that the headers alone tell; enough for what has no `_meta`.
    pub fn of_headers(request: &Request<'_>) -> Self {
        match request
            .values(VERSION_HEADER)
            .any(|value| value == MODERN.as_bytes())
        {
            true => Self::Modern,
            false => Self::Legacy,
        }
    }

    /// The era of a request or notification.
    ///
    /// # Errors
    /// With the era they are to be answered in: a `_meta` that can't be read, and a version header that
    /// names no revision of the device where no `_meta` names one either.
    pub fn of_call<'a>(
        request: &Request<'_>,
        call: &Call<'a>,
    ) -> Result<(Self, Meta<'a>), (Self, Error<'a>)> {
        let by_header = Self::of_headers(request);
        let meta = Meta::read(call.params).map_err(|error| (by_header, error))?;
        if by_header == Self::Modern || meta.names_version {
            return Ok((Self::Modern, meta));
        }
        let mut versions = request.values(VERSION_HEADER);
        let known = match versions.next() {
            None => true,
            Some(first) => {
                LEGACY.iter().any(|version| version.as_bytes() == first)
                    && versions.all(|other| other == first)
            }
        };
        if known {
            Ok((Self::Legacy, meta))
        } else {
            Err((Self::Legacy, Error::VersionHeader))
        }
    }
}

/// What the device reads of `params._meta`.
pub(crate) struct Meta<'a> {
    names_version: bool,
    version: Option<Text<'a>>,
    has_capabilities: bool,
}

impl<'a> Meta<'a> {
    fn read(params: &'a str) -> Result<Self, Error<'a>> {
        let [meta] = members(params, ["_meta"])?;
        let meta = match meta.map(object) {
            None => "{}",
            Some(Some(meta)) => meta,
            Some(None) => return Err(Error::Meta("to be an object")),
        };
        let [version, capabilities] = members(meta, [META_VERSION, META_CAPABILITIES])?;
        Ok(Self {
            names_version: version.is_some(),
            version: version.and_then(string),
            has_capabilities: capabilities.and_then(object).is_some(),
        })
    }

    /// Checks that a modern request is complete, agrees with its headers and names the modern revision, in the
    /// order in which the errors take precedence.
    pub fn check(self, request: &Request<'_>, call: &Call<'a>) -> Result<(), Error<'a>> {
        let Some(version) = self.version else {
            return Err(Error::Meta("the string io.modelcontextprotocol/protocolVersion"));
        };
        if !self.has_capabilities {
            return Err(Error::Meta(
                "the object io.modelcontextprotocol/clientCapabilities",
            ));
        }
        agrees(request, VERSION_HEADER, |value| version == *value)?;
        agrees(request, METHOD_HEADER, |value| call.method == *value)?;
        if call.method == *"tools/call" {
            let [name] = members(call.params, ["name"])?;
            let name = name.and_then(string);
            // Where neither has a name they agree, and the missing name is the clearer fault.
            if name.is_some() || request.values(NAME_HEADER).next().is_some() {
                agrees(request, NAME_HEADER, |value| {
                    let name = name.as_ref();
                    name.is_some_and(|name| decoded(value).is_some_and(|value| *name == *value))
                })?;
            }
        }
        if version != *MODERN {
            return Err(Error::Version { requested: version });
        }
        Ok(())
    }
}

/// Checks that a header is there and that each of its copies agrees with the body.
fn agrees(
    request: &Request<'_>,
    header: &'static str,
    same: impl Fn(&str) -> bool,
) -> Result<(), Error<'static>> {
    let error = |problem| Err(Error::Header { header, problem });
    let mut values = request.values(header).peekable();
    if values.peek().is_none() {
        return error("is missing");
    }
    for value in values {
        let plain = value.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
        match core::str::from_utf8(value) {
            Ok(value) if plain && same(value) => {}
            Ok(_) if plain => return error("differs from the body"),
            _ => return error("has characters that a header can't carry"),
        }
    }
    Ok(())
}

/// A header value without its Base64 form `=?base64?…?=`; none where that form does not hold text in Base64.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?)
            .ok()
            .map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}
