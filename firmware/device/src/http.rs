//! What the HTTP edge hands to the device and gets back: borrowed, without an allocation. And the rules of
//! HTTP that belong to the MCP endpoint: path, method and media types.

use crate::MAX_BODY;

/// Path of the MCP endpoint.
pub const ENDPOINT: &str = "/mcp";
/// Methods of the endpoint, as `Allow` lists them.
pub const ALLOW: &str = "POST, OPTIONS";

/// A request whose head has been parsed and whose body has been read whole and de-chunked.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Method token as sent, for example `POST`.
    pub method: &'a str,
    /// Request target in origin form, without the query.
    pub path: &'a str,
    /// Name and value of each header in the order sent; names in any letter case, values without outer white space.
    pub headers: &'a [(&'a str, &'a [u8])],
    /// Body, at most [`crate::MAX_BODY`] bytes.
    pub body: &'a [u8],
}

impl<'a> Request<'a> {
    /// Values of all headers of this name, compared without regard to letter case, in the order sent.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.headers
            .iter()
            .filter(move |(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }
}

/// What the HTTP edge sends back; it adds the framing headers itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Response<'a> {
    /// HTTP status code.
    pub status: u16,
    /// `Content-Type`, none when there is no body.
    pub content_type: Option<&'static str>,
    /// `Allow`, with 405 and for OPTIONS.
    pub allow: Option<&'static str>,
    /// Body bytes, in the answer buffer that the caller lent.
    pub body: &'a [u8],
}

impl Response<'static> {
    /// An answer of HTTP, below JSON-RPC. `why` is for a person with a command-line client.
    fn plain(status: u16, allow: Option<&'static str>, why: &'static str) -> Self {
        let content_type = (!why.is_empty()).then_some("text/plain; charset=utf-8");
        Self {
            status,
            content_type,
            allow,
            body: why.as_bytes(),
        }
    }
}

/// The answer to a request that does not reach JSON-RPC, by contract `mcp-hil/1`.
pub(crate) fn below_json_rpc(request: &Request<'_>) -> Option<Response<'static>> {
    let answer = |status, why| Some(Response::plain(status, None, why));
    if request.path != ENDPOINT {
        return answer(404, "the MCP endpoint is /mcp\n");
    }
    match request.method {
        "POST" => {}
        "OPTIONS" => return Some(Response::plain(204, Some(ALLOW), "")),
        // An answer to HEAD has no body.
        "HEAD" => return Some(Response::plain(405, Some(ALLOW), "")),
        _ => {
            return Some(Response::plain(
                405,
                Some(ALLOW),
                "send JSON-RPC messages by POST\n",
            ));
        }
    }
    if !has_json(request) {
        return answer(415, "Content-Type must be application/json\n");
    }
    if !admits_json(request) {
        return answer(406, "Accept must admit application/json\n");
    }
    if request.body.len() > MAX_BODY {
        return answer(413, "the body is larger than 16384 bytes\n");
    }
    None
}

/// Whether the body is declared as JSON, once: of two types (RFC 9110 section 8.3 has one) another reader may see the other.
fn has_json(request: &Request<'_>) -> bool {
    let mut types = request.values("Content-Type");
    match (types.next(), types.next()) {
        (Some(value), None) => media_type(value).eq_ignore_ascii_case(b"application/json"),
        _ => false,
    }
}

/// Whether an answer in JSON is acceptable (RFC 9110 section 12.5.1: the most specific range that matches decides).
fn admits_json(request: &Request<'_>) -> bool {
    const RANGES: [&[u8]; 3] = [b"*/*", b"application/*", b"application/json"];
    let mut headers = request.values("Accept").peekable();
    if headers.peek().is_none() {
        return true;
    }
    headers
        .flat_map(|value| value.split(|byte| *byte == b','))
        .filter_map(|range| {
            let matched = media_type(range);
            let specificity = RANGES
                .iter()
                .position(|known| matched.eq_ignore_ascii_case(known))?;
            Some((specificity, !has_zero_weight(range)))
        })
        .max()
        .is_some_and(|(_, wanted)| wanted)
}

/// A media type or range without its parameters.
fn media_type(value: &[u8]) -> &[u8] {
    value
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii()
}

/// Whether a range carries `q=0`, which means "not acceptable" (RFC 9110 section 12.4.2).
fn has_zero_weight(range: &[u8]) -> bool {
    range
        .split(|byte| *byte == b';')
        .skip(1)
        .map(<[u8]>::trim_ascii)
        .any(|parameter| {
            let weight = parameter
                .strip_prefix(b"q=")
                .or_else(|| parameter.strip_prefix(b"Q="));
            weight.is_some_and(|weight| {
                weight.starts_with(b"0") && weight.iter().all(|byte| b"0.".contains(byte))
            })
        })
}
