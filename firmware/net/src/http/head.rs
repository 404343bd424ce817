//! Parses and judges a request head (RFC 9112), over `httparse`.

use httparse::{EMPTY_HEADER, Error, Status};
use mcp_device::Request;

use super::fault::Fault;
use super::host::Hosts;
use super::{BODY_MAX, MAX_HEADERS};

/// How the body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// So many bytes; 0 where there is no body.
    Length(usize),
    /// Chunked transfer coding.
    Chunked,
}

/// What the connection must know of a head; names and values stay in its buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    /// Bytes of the head with its empty line.
    pub len: usize,
    pub framing: Framing,
    pub http10: bool,
    pub keep_alive: bool,
    /// The method is `HEAD`: the answer has no body.
    pub bodiless: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub expects_continue: bool,
}

/// Names and values, as [`Request`] wants them.
pub type HeaderSlots<'a> = [(&'a str, &'a [u8]); MAX_HEADERS];

/// Judges the head at the front of `bytes`; none while it isn't complete. The answer depends on the bytes up to the
/// head's end only, not on how they arrived.
pub(super) fn parse(bytes: &[u8], hosts: &Hosts<'_>) -> Result<Option<Head>, Fault> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let len = match request.parse(bytes) {
        Ok(Status::Complete(len)) => len,
        Ok(Status::Partial) => return Ok(None),
        Err(error) => return Err(fault(error, bytes)),
    };
    let (Some(method), Some(path), Some(version)) = (request.method, request.path, request.version) else {
        return Err(Fault::RequestLine);
    };
    let target = Target::parse(method, path)?;
    let headers = Headers(request.headers);
    judge_host(&headers, &target, hosts)?;
    let http10 = version == 0;
    let framing = framing(&headers, http10)?;
    // An HTTP/1.0 client can't mean it (RFC 9110, 10.1.1).
    let expects_continue = !http10 && expectation(&headers)?;
    if matches!(framing, Framing::Length(length) if length > BODY_MAX) {
        return Err(Fault::BodyTooLong);
    }
    let keep_alive = if http10 {
        headers.lists("connection", "keep-alive") && !headers.lists("connection", "close")
    } else {
        !headers.lists("connection", "close")
    };
    Ok(Some(Head {
        len,
        framing,
        http10,
        keep_alive,
        bodiless: method == "HEAD",
        expects_continue: expects_continue && framing != Framing::Length(0),
    }))
}

/// The request in `head`, which [`parse`] has accepted.
pub(super) fn request<'a>(
    head: &'a [u8],
    body: &'a [u8],
    slots: &'a mut HeaderSlots<'a>,
) -> Option<Request<'a>> {
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    request.parse(head).ok()?;
    let method = request.method?;
    let path = Target::parse(method, request.path?).ok()?.path;
    let count = request.headers.len();
    for (slot, header) in slots.iter_mut().zip(request.headers.iter()) {
        *slot = (header.name, header.value.trim_ascii());
    }
    Some(Request {
        method,
        path,
        headers: slots.get(..count)?,
        body,
    })
}

/// The request target (RFC 9112, 3.2).
struct Target<'a> {
    /// Of the absolute form.
    authority: Option<&'a str>,
    /// Without the query; `*` for the server as a whole.
    path: &'a str,
}

impl<'a> Target<'a> {
    fn parse(method: &str, target: &'a str) -> Result<Self, Fault> {
        if method == "CONNECT" {
            return Err(Fault::Connect);
        }
        if target.bytes().any(|b| !b.is_ascii_graphic() || b == b'#') {
            return Err(Fault::Target);
        }
        if target == "*" && method == "OPTIONS" {
            return Ok(Self {
                authority: None,
                path: target,
            });
        }
        let (authority, rest) = match target.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => {
                let (authority, path) = rest.find(['/', '?']).map_or((rest, ""), |at| rest.split_at(at));
                (Some(authority), path)
            }
            _ if target.starts_with('/') => (None, target),
            _ => return Err(Fault::Target),
        };
        let path = rest.split('?').next().unwrap_or(rest);
        Ok(Self {
            authority,
            path: if path.is_empty() { "/" } else { path },
        })
    }
}

/// Header lines, asked by name.
struct Headers<'h, 'b>(&'h [httparse::Header<'b>]);

impl<'b> Headers<'_, 'b> {
    fn all(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.0
            .iter()
            .filter(move |h| h.name.eq_ignore_ascii_case(name))
            .map(|h| h.value.trim_ascii())
    }

    /// Elements of a header that is a comma-separated list, over all its lines.
    fn elements(&self, name: &str) -> impl Iterator<Item = &'b [u8]> {
        self.all(name)
            .flat_map(|value| value.split(|b| *b == b','))
            .map(|element| element.trim_ascii())
            .filter(|element| !element.is_empty())
    }

    fn lists(&self, name: &str, token: &str) -> bool {
        self.elements(name)
            .any(|element| element.eq_ignore_ascii_case(token.as_bytes()))
    }

    fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }
}

fn judge_host(headers: &Headers<'_, '_>, target: &Target<'_>, hosts: &Hosts<'_>) -> Result<(), Fault> {
    let mut lines = headers.all("host");
    let host = lines.next().ok_or(Fault::HostMissing)?;
    if lines.next().is_some() {
        return Err(Fault::HostRepeated);
    }
    let mut authority = hosts.check(host)?;
    // A target in absolute form overrules Host (RFC 9112, 3.2.2), but must not be a way round the rule.
    if let Some(target) = target.authority {
        authority = hosts.check(target.as_bytes())?;
    }
    if headers.all("origin").all(|origin| authority.is_origin(origin)) {
        Ok(())
    } else {
        Err(Fault::OriginForbidden)
    }
}

/// RFC 9112, 6.3, at its strictest: whatever two readers could understand in two ways is refused.
fn framing(headers: &Headers<'_, '_>, http10: bool) -> Result<Framing, Fault> {
    let mut lengths = headers.all("content-length");
    let length = lengths.next();
    if lengths.next().is_some() {
        return Err(Fault::ContentLengthRepeated);
    }
    if headers.has("transfer-encoding") {
        if length.is_some() {
            return Err(Fault::TwoFramings);
        }
        if http10 {
            return Err(Fault::CodingIn10);
        }
        let is_chunked = |coding: &[u8]| coding.eq_ignore_ascii_case(b"chunked");
        if !headers.elements("transfer-encoding").all(is_chunked) {
            return Err(Fault::Coding);
        }
        return match headers.elements("transfer-encoding").count() {
            1 => Ok(Framing::Chunked),
            _ => Err(Fault::ChunkedNotLast),
        };
    }
    let Some(digits) = length else {
        return Ok(Framing::Length(0));
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Fault::ContentLength);
    }
    // A number too long for the type is a number all the same: the body is too long, not the header malformed.
    let value = digits.iter().fold(0_usize, |sum, d| {
        sum.saturating_mul(10).saturating_add(usize::from(d - b'0'))
    });
    Ok(Framing::Length(value))
}

fn expectation(headers: &Headers<'_, '_>) -> Result<bool, Fault> {
    if headers
        .elements("expect")
        .any(|e| !e.eq_ignore_ascii_case(b"100-continue"))
    {
        return Err(Fault::Expectation);
    }
    Ok(headers.has("expect"))
}

fn fault(error: Error, bytes: &[u8]) -> Fault {
    match error {
        Error::HeaderName => Fault::HeaderName,
        Error::HeaderValue => Fault::HeaderValue,
        Error::NewLine => Fault::LineEnding,
        Error::TooManyHeaders => Fault::TooManyHeaders,
        Error::Version if names_http(bytes) => Fault::Version,
        Error::Version | Error::Token | Error::Status => Fault::RequestLine,
    }
}

/// Whether the third word of the first line begins like a version of HTTP.
fn names_http(bytes: &[u8]) -> bool {
    let line = bytes.trim_ascii_start();
    let word = line.split(|b| *b == b' ').nth(2).unwrap_or_default();
    word.strip_prefix(b"HTTP/")
        .and_then(|rest| rest.first())
        .is_some_and(u8::is_ascii_digit)
}
