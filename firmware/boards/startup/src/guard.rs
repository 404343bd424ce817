//! Lets nobody in without the board's bearer token (RFC 6750).

use mcp_device::{Millis, Request, Response};
use mcp_device_net::http::Handler;

/// A handler behind a token. Its requests are answered 401 unless they carry `Authorization: Bearer TOKEN`, whatever
/// they ask for. The edge has checked `Host` and `Origin` before, and has read the body.
pub struct Guarded<'t, H> {
    handler: H,
    token: Option<&'t str>,
}

impl<'t, H> Guarded<'t, H> {
    /// Without a token everyone is let in.
    pub fn new(handler: H, token: Option<&'t str>) -> Self {
        Self { handler, token }
    }

    /// What is guarded.
    pub fn inner(&self) -> &H {
        &self.handler
    }
}

impl<H: Handler> Handler for Guarded<'_, H> {
    async fn handle<'a>(&self, now: Millis, request: &Request<'_>, answer: &'a mut [u8]) -> Response<'a> {
        match self.token {
            Some(token) if !carries(request, token) => refusal(request),
            _ => self.handler.handle(now, request, answer).await,
        }
    }
}

/// Whether the request has exactly one `Authorization`, with this token. The scheme's letter case does not matter
/// (RFC 9110, 11.1).
fn carries(request: &Request<'_>, token: &str) -> bool {
    const SCHEME: &[u8] = b"Bearer";
    let mut values = request.values("Authorization");
    let (Some(value), None) = (values.next(), values.next()) else {
        return false;
    };
    let Some((scheme, rest)) = value.split_at_checked(SCHEME.len()) else {
        return false;
    };
    scheme.eq_ignore_ascii_case(SCHEME)
        && rest.starts_with(b" ")
        && are_equal(rest.trim_ascii(), token.as_bytes())
}

/// Compares in a time that depends on the offered length only, so that nobody can find the token byte by byte.
fn are_equal(offered: &[u8], token: &[u8]) -> bool {
    let mut difference = u8::from(offered.len() != token.len());
    for (byte, wanted) in offered.iter().zip(token.iter().cycle()) {
        difference |= core::hint::black_box(byte ^ wanted);
    }
    difference == 0 && !token.is_empty()
}

fn refusal(request: &Request<'_>) -> Response<'static> {
    let bodiless = request.method == "HEAD";
    Response {
        status: 401,
        content_type: (!bodiless).then_some("text/plain; charset=utf-8"),
        allow: None,
        body: if bodiless {
            b""
        } else {
            b"this board wants `Authorization: Bearer TOKEN`\n"
        },
    }
}
