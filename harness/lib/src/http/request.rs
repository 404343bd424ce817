//! Writes a request as the bytes that go out: pure.

use std::fmt::Write as _;

/// A request with every header said; only the framing is added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Method token.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Header fields in order, `Host` among them.
    pub headers: Vec<(String, String)>,
    /// Body bytes.
    pub body: Vec<u8>,
    /// Sizes of the chunks, the last repeated; empty: `Content-Length`.
    pub chunked: Vec<usize>,
}

impl Request {
    /// The bytes on the wire. A framing header that the caller gave is left as it is.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        let framing = if self.chunked.is_empty() {
            "Content-Length"
        } else {
            "Transfer-Encoding"
        };
        if !self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(framing))
        {
            if !self.chunked.is_empty() {
                head.push_str("Transfer-Encoding: chunked\r\n");
            } else if !self.body.is_empty() || self.method == "POST" {
                let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
            }
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        if self.chunked.is_empty() {
            bytes.extend_from_slice(&self.body);
        } else {
            self.write_chunks(&mut bytes);
        }
        bytes
    }

    fn write_chunks(&self, bytes: &mut Vec<u8>) {
        let mut rest = self.body.as_slice();
        let last = self.chunked.last().copied().unwrap_or(rest.len());
        let mut sizes = self.chunked.iter().copied().chain(std::iter::repeat(last));
        while !rest.is_empty() {
            let size = sizes.next().unwrap_or(rest.len()).clamp(1, rest.len());
            let (chunk, after) = rest.split_at(size);
            bytes.extend_from_slice(format!("{size:x}\r\n").as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
            rest = after;
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
    }
}

/// The methods of the requests in raw bytes, as far as they can be read: an answer's framing depends on them
/// (HEAD has no body). Broken requests end the list.
pub fn methods(mut bytes: &[u8]) -> Vec<String> {
    let mut methods = Vec::new();
    loop {
        let mut fields = [httparse::EMPTY_HEADER; 100];
        let mut head = httparse::Request::new(&mut fields);
        let Ok(httparse::Status::Complete(length)) = head.parse(bytes) else {
            return methods;
        };
        methods.push(head.method.unwrap_or_default().to_owned());
        let body = head
            .headers
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case("content-length"))
            .and_then(|field| {
                std::str::from_utf8(field.value)
                    .ok()?
                    .trim()
                    .parse::<usize>()
                    .ok()
            })
            .unwrap_or(0);
        let chunked = head
            .headers
            .iter()
            .any(|field| field.name.eq_ignore_ascii_case("transfer-encoding"));
        let Some(mut rest) = length.checked_add(body).and_then(|end| bytes.get(end..)) else {
            return methods;
        };
        if chunked {
            let Some(end) = rest.windows(5).position(|window| window == b"0\r\n\r\n") else {
                return methods;
            };
            rest = &rest[end + 5..];
        }
        bytes = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(body: &str, chunked: &[usize]) -> String {
        let request = Request {
            method: "POST".into(),
            path: "/mcp".into(),
            headers: vec![("Host".into(), "h".into())],
            body: body.into(),
            chunked: chunked.into(),
        };
        String::from_utf8(request.to_bytes()).unwrap()
    }

    #[test]
    fn the_length_is_in_bytes() {
        assert_eq!(
            post("\u{00fc}", &[]),
            "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n\u{00fc}"
        );
    }

    #[test]
    fn the_last_chunk_size_is_repeated() {
        let head = "POST /mcp HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(
            post("abcdef", &[1, 2]),
            format!("{head}1\r\na\r\n2\r\nbc\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n")
        );
    }

    #[test]
    fn methods_of_pipelined_requests_are_found() {
        let raw = b"HEAD / HTTP/1.1\r\nHost: h\r\n\r\nPOST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiPUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n";
        assert_eq!(methods(raw), ["HEAD", "POST", "PUT", "GET"]);
        assert_eq!(methods(b"garbage"), [] as [&str; 0]);
    }
}
