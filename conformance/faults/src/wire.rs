//! HTTP/1.1 framing (RFC 9112): what is whole, what is not yet, and what is none of it. Pure.

use crate::ask::Ask;
use crate::headers::Headers;

/// Most header fields of a head that is understood.
const MAX_FIELDS: usize = 100;

/// What bytes hold at their beginning.
#[derive(Debug)]
pub(crate) enum Read<T> {
    /// Not all of it yet.
    Partial,
    /// This, in so many bytes.
    Whole(T, usize),
    /// Something this proxy does not understand; it is passed on as it is.
    Foreign,
}

/// A request, with the length of its head.
pub(crate) fn request(bytes: &[u8]) -> Read<(Ask, usize)> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let head_length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Read::Partial,
        Err(_) => return Read::Foreign,
    };
    let mut ask = Ask {
        method: head.method.unwrap_or_default().to_owned(),
        target: head.path.unwrap_or_default().to_owned(),
        headers: Headers::read(head.headers),
        head: bytes[..head_length].to_owned(),
        ..Ask::default()
    };
    let rest = &bytes[head_length..];
    let body = match framing(&ask.headers) {
        Some(Body::Length(length)) if rest.len() < length => return Read::Partial,
        Some(Body::Length(length)) => (rest[..length].to_owned(), length),
        Some(Body::Chunked) => {
            ask.chunked = true;
            match chunked(rest) {
                Read::Whole(body, used) => (body, used),
                Read::Partial => return Read::Partial,
                Read::Foreign => return Read::Foreign,
            }
        }
        Some(Body::Absent) => (Vec::new(), 0),
        Some(Body::UntilClose) | None => return Read::Foreign,
    };
    ask.body = body.0;
    Read::Whole((ask, head_length), head_length + body.1)
}

/// A request as bytes, its body with its length.
pub(crate) fn write_request(ask: &Ask) -> Vec<u8> {
    let mut headers = ask.headers.clone();
    headers.remove("transfer-encoding");
    if !ask.body.is_empty() || headers.get("content-length").is_some() {
        headers.set("content-length", ask.body.len().to_string());
    }
    let mut out = format!("{} {} HTTP/1.1\r\n", ask.method, ask.target).into_bytes();
    headers.write(&mut out);
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(&ask.body);
    out
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Absent,
    Length(usize),
    Chunked,
    UntilClose,
}

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct AnswerHead {
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Body,
    /// Whether the connection ends with it.
    pub(crate) closes: bool,
}

/// The head of an answer to a request with this method.
pub(crate) fn answer_head(bytes: &[u8], method: &str) -> Read<AnswerHead> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Read::Partial,
        Err(_) => return Read::Foreign,
    };
    let status = head.code.unwrap_or_default();
    let headers = Headers::read(head.headers);
    let bodiless = status < 200 || matches!(status, 204 | 304) || method == "HEAD";
    let body = match framing(&headers) {
        _ if bodiless => Body::Absent,
        Some(Body::Absent) => Body::UntilClose,
        Some(body) => body,
        None => return Read::Foreign,
    };
    let closes = body == Body::UntilClose || headers.has("connection", "close") || head.version == Some(0);
    let head = AnswerHead {
        status,
        headers,
        body,
        closes,
    };
    Read::Whole(head, length)
}

/// None where the fields contradict each other.
fn framing(headers: &Headers) -> Option<Body> {
    let all = |name: &str| {
        headers
            .0
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name))
            .count()
    };
    match (all("transfer-encoding"), all("content-length")) {
        (0, 0) => Some(Body::Absent),
        (0, 1) => {
            let length = headers.get("content-length")?;
            length.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
            length.parse().ok().map(Body::Length)
        }
        (1, 0) => {
            let coding = headers.get("transfer-encoding")?;
            coding.eq_ignore_ascii_case("chunked").then_some(Body::Chunked)
        }
        _ => None,
    }
}

/// One chunk at the beginning: its data, empty for the last one, whose trailers are passed over.
pub(crate) fn one_chunk(bytes: &[u8]) -> Read<Vec<u8>> {
    let (line, size) = match httparse::parse_chunk_size(bytes) {
        Ok(httparse::Status::Complete((line, size))) => (line, size),
        Ok(httparse::Status::Partial) => return Read::Partial,
        Err(_) => return Read::Foreign,
    };
    let Ok(size) = usize::try_from(size) else {
        return Read::Foreign;
    };
    let rest = &bytes[line..];
    if size == 0 {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        return match httparse::parse_headers(rest, &mut fields) {
            Ok(httparse::Status::Complete((used, _))) => Read::Whole(Vec::new(), line + used),
            Ok(httparse::Status::Partial) => Read::Partial,
            Err(_) => Read::Foreign,
        };
    }
    match size.checked_add(2) {
        Some(end) if rest.len() < end => Read::Partial,
        Some(end) if &rest[size..end] == b"\r\n" => Read::Whole(rest[..size].to_owned(), line + end),
        _ => Read::Foreign,
    }
}

/// A whole chunked body.
pub(crate) fn chunked(bytes: &[u8]) -> Read<Vec<u8>> {
    let (mut body, mut used) = (Vec::new(), 0);
    loop {
        match one_chunk(&bytes[used..]) {
            Read::Whole(piece, length) => {
                used += length;
                if piece.is_empty() {
                    return Read::Whole(body, used);
                }
                body.extend_from_slice(&piece);
            }
            Read::Partial => return Read::Partial,
            Read::Foreign => return Read::Foreign,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_whole_with_the_last_byte_of_its_body() {
        let text = b"POST /mcp HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}GET";
        let Read::Whole((ask, head), used) = request(text) else {
            panic!("not whole")
        };
        assert_eq!(
            (ask.method.as_str(), &*ask.body, used),
            ("POST", &b"{}"[..], text.len() - 3)
        );
        assert_eq!(head, used - 2);
        assert!(matches!(request(&text[..text.len() - 4]), Read::Partial));
    }

    #[test]
    fn a_chunked_request_loses_its_coding() {
        let text =
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nT: x\r\n\r\n";
        let Read::Whole((ask, _), used) = request(text) else {
            panic!("not whole")
        };
        assert_eq!((&*ask.body, used), (&b"{}"[..], text.len()));
        let sent = write_request(&ask);
        assert!(
            sent.ends_with(b"content-length: 2\r\n\r\n{}"),
            "{}",
            String::from_utf8_lossy(&sent)
        );
    }

    #[test]
    fn what_is_ambiguous_is_passed_on() {
        for head in [
            "Content-Length: -1",
            "Content-Length: 1\r\nContent-Length: 2",
            "Content-Length: 1\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: gzip",
        ] {
            let text = format!("POST / HTTP/1.1\r\n{head}\r\n\r\n");
            assert!(matches!(request(text.as_bytes()), Read::Foreign), "{head}");
        }
        assert!(matches!(request(b"\x16\x03\x01"), Read::Foreign));
    }

    #[test]
    fn the_body_of_an_answer_is_known_by_its_head() {
        let body = |head: &str, method: &str| match answer_head(
            format!("HTTP/1.1 {head}\r\n\r\n").as_bytes(),
            method,
        ) {
            Read::Whole(head, _) => head.body,
            _ => panic!("not whole"),
        };
        assert_eq!(body("202 Accepted\r\nContent-Length: 0", "POST"), Body::Length(0));
        assert_eq!(body("204 No Content", "POST"), Body::Absent);
        assert_eq!(body("200 OK\r\nContent-Length: 5", "HEAD"), Body::Absent);
        assert_eq!(
            body("200 OK\r\nTransfer-Encoding: chunked", "POST"),
            Body::Chunked
        );
        assert_eq!(body("200 OK", "POST"), Body::UntilClose);
    }
}
