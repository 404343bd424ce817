//! Writes the head of an answer.

use core::fmt::{self, Write};

use super::HEAD_ROOM;
use super::fault::Fault;

/// What a head says besides the status.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields {
    pub status: u16,
    pub content_type: Option<&'static str>,
    pub allow: Option<&'static str>,
    pub length: usize,
    pub close: bool,
    /// HTTP/1.0 keeps a connection only when told so.
    pub http10: bool,
}

/// A head of at most [`HEAD_ROOM`] bytes.
pub type HeadText = heapless::String<HEAD_ROOM>;

/// The head with its empty line; an error when it is over [`HEAD_ROOM`].
pub(super) fn head(fields: &Fields) -> Result<HeadText, fmt::Error> {
    let mut out = HeadText::new();
    write!(out, "HTTP/1.1 {} {}\r\n", fields.status, reason(fields.status))?;
    if let Some(content_type) = fields.content_type {
        write!(out, "content-type: {content_type}\r\n")?;
    }
    if let Some(allow) = fields.allow {
        write!(out, "allow: {allow}\r\n")?;
    }
    // RFC 9110, 8.6: none with 204.
    if fields.status != 204 {
        write!(out, "content-length: {}\r\n", fields.length)?;
    }
    // RFC 9110, 11.6.1.
    if fields.status == 401 {
        out.write_str("www-authenticate: Bearer\r\n")?;
    }
    if fields.status == 503 {
        out.write_str("retry-after: 1\r\n")?;
    }
    if fields.close {
        out.write_str("connection: close\r\n")?;
    } else if fields.http10 {
        out.write_str("connection: keep-alive\r\n")?;
    }
    out.write_str("\r\n")?;
    Ok(out)
}

/// The whole answer to a fault, written to the front of `out`; its length. `bodiless` leaves the text out (HEAD).
pub(super) fn refusal(fault: Fault, bodiless: bool, out: &mut [u8]) -> usize {
    let mut text = heapless::String::<128>::new();
    // A text that were too long would arrive cut short, which still says more than none.
    let _ = writeln!(text, "{fault}");
    let fields = Fields {
        status: fault.status(),
        content_type: Some("text/plain; charset=utf-8"),
        allow: None,
        length: text.len(),
        close: true,
        http10: false,
    };
    let Ok(head) = head(&fields) else { return 0 };
    let body = if bodiless { "" } else { &text };
    let whole = head.bytes().chain(body.bytes());
    out.iter_mut().zip(whole).map(|(to, from)| *to = from).count()
}

/// Reason phrase (RFC 9110, 15). Nobody reads it but people.
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
        406 => "Not Acceptable",
        408 => "Request Timeout",
        413 => "Content Too Large",
        414 => "URI Too Long",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}

#[cfg(test)]
mod tests {
    use super::{Fields, head};

    #[test]
    fn who_must_authenticate_is_told_how() {
        let fields = Fields {
            status: 401,
            content_type: None,
            allow: None,
            length: 0,
            close: false,
            http10: false,
        };
        let text = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nwww-authenticate: Bearer\r\n\r\n";
        assert_eq!(head(&fields).as_deref(), Ok(text), "RFC 9110, 11.6.1");
    }
}
