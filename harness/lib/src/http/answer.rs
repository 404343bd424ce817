//! Reads answers from a connection's bytes (RFC 9112): pure, any split.

use crate::{message, sse};
use serde_json::Value;
use std::time::Duration;

/// Most bytes that the body of an answer may have.
pub const MAX_ANSWER: usize = 8 << 20;
/// Most bytes that one answer may take on the wire, with interim answers, heads and framing.
pub const MAX_RAW: usize = 2 * MAX_ANSWER;
/// Most bytes of a head, of the trailers, or of the line before a chunk.
const MAX_HEAD: usize = 256 << 10;
/// Characters of a bad line or event that are shown.
const MAX_SHOWN: usize = 200;
/// Most messages of an event stream, which take more memory than their text.
const MAX_EVENTS: usize = 10_000;
/// Most header fields of an answer.
const MAX_HEADERS: usize = 100;

/// One final answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// Header fields in the order sent; names as sent.
    pub headers: Vec<(String, String)>,
    /// Body without its transfer coding.
    pub body: Vec<u8>,
    /// JSON values of an event stream's `message` events, in order; empty for any other body.
    pub events: Vec<Value>,
    /// What an event stream that ended without a response may be asked for again by.
    pub resume: Option<Resume>,
    /// Whether the connection can't carry another request after this answer.
    pub closes: bool,
}

/// How to ask for the rest of an event stream (2025-11-25, Streamable HTTP, "Resumability and Redelivery").
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resume {
    /// Id of the last event.
    pub last_event_id: String,
    /// How long to wait before, if the server said it.
    pub retry: Option<Duration>,
}

impl Answer {
    /// Value of the first header of this name, in any letter case.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Whether the body is an event stream.
    pub fn is_event_stream(&self) -> bool {
        is_event_stream(&self.headers)
    }
}

fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(n, _)| n.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}

fn is_event_stream(headers: &[(String, String)]) -> bool {
    let kind = header(headers, "content-type").unwrap_or_default();
    kind.split(';')
        .next()
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// What makes the bytes no HTTP/1.1 answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The first line is no status line.
    #[error("the answer is not HTTP/1.1: {0}")]
    Head(httparse::Error),
    /// The answer begins as HTTP, and a later line of its head is no header field (RFC 9112, section 5).
    #[error("line {line} of the answer's head breaks HTTP/1.1: {error} in {text:?}")]
    Field {
        /// Counted from 1, the status line.
        line: usize,
        /// What is wrong with it.
        error: httparse::Error,
        /// Its first characters.
        text: String,
    },
    /// `Content-Length` is not a number.
    #[error("Content-Length {0:?} is not a number of bytes")]
    Length(String),
    /// Two fields `Content-Length` say different lengths (RFC 9112, section 6.3).
    #[error("there is Content-Length {0:?} and Content-Length {1:?}")]
    Lengths(String, String),
    /// A transfer coding other than `chunked`.
    #[error("Transfer-Encoding {0:?}: only chunked is understood")]
    Coding(String),
    /// The chunked coding is broken.
    #[error("the chunked body has a bad chunk at byte {0} of the answer")]
    Chunk(usize),
    /// Over [`MAX_ANSWER`], or twice that on the wire.
    #[error("the answer has more than {MAX_ANSWER} bytes, or more than {MAX_RAW} with its framing")]
    TooLarge,
    /// A head, trailers or the line before a chunk without end.
    #[error("the answer has a head with more than {MAX_HEAD} bytes")]
    LargeHead,
    /// Messages without end before the response.
    #[error("the event stream has more than {MAX_EVENTS} messages and no response")]
    ManyEvents,
    /// An event that should hold a message does not hold JSON.
    #[error("an event of the stream is not JSON: {0}")]
    Event(String),
}

#[derive(Debug)]
enum Framing {
    Empty,
    Length(usize),
    Chunked,
    UntilClose,
}

#[derive(Debug)]
struct Partial {
    answer: Answer,
    framing: Framing,
    stream: Option<sse::Parser>,
}

/// Takes bytes in any split and gives the answers in them.
#[derive(Debug, Default)]
pub struct AnswerReader {
    buffer: Vec<u8>,
    /// Bytes of `buffer` that have been understood.
    used: usize,
    /// Bytes that have been understood and are no longer in `buffer`.
    dropped: usize,
    /// Where the answer that is being read began, counted as `dropped` is.
    began: usize,
    partial: Option<Partial>,
    ended: bool,
    /// Whether an event stream is read on after its first response.
    reads_on: bool,
}

impl AnswerReader {
    /// Takes bytes that arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.used);
        self.dropped += std::mem::take(&mut self.used);
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that no more bytes will come.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Bytes that no answer has taken yet.
    pub fn rest(&self) -> &[u8] {
        &self.buffer[self.used..]
    }

    /// What there is of the answer that is being read, once its head is whole.
    pub fn so_far(&self) -> Option<&Answer> {
        self.partial.as_ref().map(|partial| &partial.answer)
    }

    /// The messages so far in the event stream that is being read.
    pub fn events_so_far(&self) -> &[Value] {
        self.partial
            .as_ref()
            .map_or(&[], |partial| &partial.answer.events)
    }

    /// The next whole answer to a request with this method, or none until more bytes come. An event
    /// stream is whole with the first response in it.
    ///
    /// # Errors
    /// [`Malformed`]; nothing more can be read then.
    pub fn next(&mut self, method: &str) -> Result<Option<Answer>, Malformed> {
        let next = self.next_whole(method)?;
        if next.is_some() {
            self.began = self.dropped + self.used;
        } else if self.dropped + self.buffer.len() - self.began > MAX_RAW {
            return Err(Malformed::TooLarge);
        }
        Ok(next)
    }

    fn next_whole(&mut self, method: &str) -> Result<Option<Answer>, Malformed> {
        while self.partial.is_none() {
            let Some(partial) = self.head(method)? else {
                return self.small_rest().map(|()| None);
            };
            // 1xx is not the answer (RFC 9110, 15.2); 101 can't come, nothing asks for it
            if partial.answer.status >= 200 {
                self.partial = Some(partial);
            }
        }
        let Some(mut partial) = self.partial.take() else {
            return Ok(None);
        };
        if self.body(&mut partial)? {
            return Ok(Some(partial.answer));
        }
        if partial.answer.body.len() > MAX_ANSWER {
            return Err(Malformed::TooLarge);
        }
        self.partial = Some(partial);
        Ok(None)
    }

    /// What is not whole yet, and is no body, may be no longer than a head.
    fn small_rest(&self) -> Result<(), Malformed> {
        if self.rest().len() > MAX_HEAD {
            Err(Malformed::LargeHead)
        } else {
            Ok(())
        }
    }

    fn head(&mut self, method: &str) -> Result<Option<Partial>, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut fields);
        let length = match head
            .parse(&self.buffer[self.used..])
            .map_err(|error| bad_head(&self.buffer[self.used..], error))?
        {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => return Ok(None),
        };
        let status = head.code.unwrap_or_default();
        let one_zero = head.version == Some(0);
        let headers: Vec<_> = head
            .headers
            .iter()
            .map(|field| {
                (
                    field.name.to_owned(),
                    String::from_utf8_lossy(field.value).into_owned(),
                )
            })
            .collect();
        self.used += length;
        let framing = framing(status, &headers, method)?;
        let connection = header(&headers, "connection")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let closes = connection.contains("close")
            || matches!(framing, Framing::UntilClose)
            || (one_zero && !connection.contains("keep-alive"));
        let stream = is_event_stream(&headers).then(sse::Parser::default);
        Ok(Some(Partial {
            answer: Answer {
                status,
                headers,
                closes,
                ..Answer::default()
            },
            framing,
            stream,
        }))
    }

    /// Moves body bytes into the answer; true when it is whole.
    fn body(&mut self, partial: &mut Partial) -> Result<bool, Malformed> {
        loop {
            let before = partial.answer.body.len();
            let whole = self.body_piece(partial)?;
            let piece = &partial.answer.body[before..];
            let progressed = !piece.is_empty();
            if let Some(parser) = &mut partial.stream {
                for event in parser.feed(piece) {
                    if event.kind != "message" || event.data.is_empty() {
                        continue;
                    }
                    let value = serde_json::from_str(&event.data).map_err(|error| {
                        let shown: String = event.data.chars().take(MAX_SHOWN).collect();
                        Malformed::Event(format!("{error} in {shown:?}"))
                    })?;
                    let last = message::is_response(&value);
                    if partial.answer.events.len() == MAX_EVENTS {
                        return Err(Malformed::ManyEvents);
                    }
                    partial.answer.events.push(value);
                    if last && !self.reads_on {
                        // what follows in the stream is of no interest, so the connection can't be used again
                        partial.answer.closes |= !whole;
                        return Ok(true);
                    }
                }
            }
            if let (true, Some(parser)) = (whole, &partial.stream) {
                partial.answer.resume = (!parser.last_event_id.is_empty()).then(|| Resume {
                    last_event_id: parser.last_event_id.clone(),
                    retry: parser.retry.map(Duration::from_millis),
                });
            }
            if whole || !progressed {
                return Ok(whole);
            }
        }
    }

    fn body_piece(&mut self, partial: &mut Partial) -> Result<bool, Malformed> {
        let rest = &self.buffer[self.used..];
        match partial.framing {
            Framing::Empty => Ok(true),
            Framing::Length(length) => {
                let take = rest.len().min(length.saturating_sub(partial.answer.body.len()));
                partial.answer.body.extend_from_slice(&rest[..take]);
                self.used += take;
                Ok(partial.answer.body.len() == length)
            }
            Framing::UntilClose => {
                partial.answer.body.extend_from_slice(rest);
                self.used = self.buffer.len();
                Ok(self.ended)
            }
            Framing::Chunked => {
                let bad = || Malformed::Chunk(self.dropped + self.used);
                let (size_line, size) = match httparse::parse_chunk_size(rest) {
                    Ok(httparse::Status::Complete((line, size))) => {
                        (line, usize::try_from(size).map_err(|_| bad())?)
                    }
                    Ok(httparse::Status::Partial) => return self.small_rest().map(|()| false),
                    Err(_) => return Err(bad()),
                };
                if size > MAX_ANSWER {
                    return Err(Malformed::TooLarge);
                }
                if size == 0 {
                    return self.trailers(size_line);
                }
                let end = size_line + size;
                let Some(after) = rest.get(end..end + 2) else {
                    return Ok(false);
                };
                if after != b"\r\n" {
                    return Err(bad());
                }
                partial.answer.body.extend_from_slice(&rest[size_line..end]);
                self.used += end + 2;
                Ok(false)
            }
        }
    }

    fn trailers(&mut self, from: usize) -> Result<bool, Malformed> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        match httparse::parse_headers(&self.buffer[self.used + from..], &mut fields) {
            Ok(httparse::Status::Complete((length, _))) => {
                self.used += from + length;
                Ok(true)
            }
            Ok(httparse::Status::Partial) => self.small_rest().map(|()| false),
            Err(_) => Err(Malformed::Chunk(self.dropped + self.used + from)),
        }
    }
}

/// Every message of an event stream in the bytes that a connection received, also what came after the response.
pub fn messages(received: &[u8]) -> Vec<Value> {
    let mut reader = AnswerReader {
        reads_on: true,
        ..AnswerReader::default()
    };
    reader.feed(received);
    reader.end();
    match reader.next("POST") {
        Ok(Some(answer)) => answer.events,
        _ => reader.events_so_far().to_vec(),
    }
}

/// Where a head that does not parse is wrong: in the first line up to which it does not.
fn bad_head(bytes: &[u8], error: httparse::Error) -> Malformed {
    let parses = |bytes| {
        let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
        httparse::Response::new(&mut fields).parse(bytes).is_ok()
    };
    let mut end = 0;
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        end += line.len();
        if !parses(&bytes[..end]) {
            let text = String::from_utf8_lossy(line);
            let text = text.trim_end().chars().take(MAX_SHOWN).collect();
            let line = index + 1;
            return if line == 1 {
                Malformed::Head(error)
            } else {
                Malformed::Field { line, error, text }
            };
        }
    }
    Malformed::Head(error)
}

/// How the body's length is told (RFC 9112, 6.3).
fn framing(status: u16, headers: &[(String, String)], method: &str) -> Result<Framing, Malformed> {
    if method.eq_ignore_ascii_case("HEAD") || status < 200 || status == 204 || status == 304 {
        return Ok(Framing::Empty);
    }
    if let Some(coding) = header(headers, "transfer-encoding") {
        return if coding.trim().eq_ignore_ascii_case("chunked") {
            Ok(Framing::Chunked)
        } else {
            Err(Malformed::Coding(coding.to_owned()))
        };
    }
    let mut lengths = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let Some((_, first)) = lengths.next() else {
        return Ok(Framing::UntilClose);
    };
    if let Some((_, other)) = lengths.find(|(_, other)| other != first) {
        return Err(Malformed::Lengths(first.clone(), other.clone()));
    }
    let digits = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
    let bad = || Malformed::Length(first.clone());
    if !digits {
        return Err(bad());
    }
    let length = first.parse().map_err(|_| bad())?;
    if length > MAX_ANSWER {
        Err(Malformed::TooLarge)
    } else {
        Ok(Framing::Length(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(bytes: &[u8], method: &str) -> Result<Option<Answer>, Malformed> {
        let mut reader = AnswerReader::default();
        reader.feed(bytes);
        reader.end();
        reader.next(method)
    }

    fn body(bytes: &str) -> String {
        let answer = read(bytes.as_bytes(), "POST").unwrap().unwrap();
        String::from_utf8(answer.body).unwrap()
    }

    #[test]
    fn a_length_counts_bytes_and_leaves_the_rest() {
        let mut reader = AnswerReader::default();
        reader.feed("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\u{00fc}xHTTP".as_bytes());
        assert_eq!(reader.next("POST").unwrap().unwrap().body, "\u{00fc}".as_bytes());
        assert_eq!(reader.rest(), b"xHTTP");
    }

    #[test]
    fn chunks_with_extensions_and_trailers_are_joined() {
        assert_eq!(
            body(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n"
            ),
            "abcd"
        );
    }

    #[test]
    fn without_a_length_the_body_ends_with_the_connection() {
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nall of it"), "all of it");
    }

    #[test]
    fn head_and_no_content_have_no_body() {
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n";
        assert_eq!(read(head, "HEAD").unwrap().unwrap().body, b"");
        assert_eq!(
            read(b"HTTP/1.1 204 No Content\r\n\r\n", "OPTIONS")
                .unwrap()
                .unwrap()
                .body,
            b""
        );
    }

    #[test]
    fn an_interim_answer_is_passed_over() {
        let answer = read(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
            "POST",
        );
        assert_eq!(answer.unwrap().unwrap().status, 202);
    }

    #[test]
    fn any_split_gives_the_same_answers() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nHTTP/1.1 404 N\r\nContent-Length: 1\r\n\r\n!";
        for cut in 0..bytes.len() {
            let mut reader = AnswerReader::default();
            let mut statuses = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                reader.feed(part);
                while let Some(answer) = reader.next("POST").unwrap() {
                    statuses.push((answer.status, answer.body));
                }
            }
            assert_eq!(
                statuses,
                [(200, b"hi".to_vec()), (404, b"!".to_vec())],
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn an_event_stream_is_whole_with_its_response() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        let note = r#"data: {"jsonrpc":"2.0","method":"notifications/progress"}"#;
        let last = r#"data: {"jsonrpc":"2.0","id":1,"result":{}}"#;
        let events = format!("{note}\n\n{last}\n\n");
        let mut reader = AnswerReader::default();
        reader.feed(format!("{head}{:x}\r\n{events}\r\n", events.len()).as_bytes());
        let answer = reader.next("POST").unwrap().unwrap();
        assert_eq!(answer.events[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
        assert!(answer.closes);
    }

    #[test]
    fn messages_without_end_are_no_answer() {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        let stream = |notes: usize| {
            let note = "data: {\"method\":\"x\"}\n\n".repeat(notes);
            read(
                format!("{head}{note}data: {{\"id\":1,\"result\":0}}\n\n").as_bytes(),
                "POST",
            )
        };
        assert_eq!(stream(MAX_EVENTS - 1).unwrap().unwrap().events.len(), MAX_EVENTS);
        assert_eq!(stream(MAX_EVENTS), Err(Malformed::ManyEvents));
    }

    #[test]
    fn bad_framing_is_named() {
        let with = |field: &str| read(format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\n").as_bytes(), "POST");
        assert_eq!(with("Content-Length: -1"), Err(Malformed::Length("-1".into())));
        assert_eq!(
            with("Content-Length: 1\r\nContent-Length: 2"),
            Err(Malformed::Lengths("1".into(), "2".into()))
        );
        assert_eq!(
            with("Transfer-Encoding: gzip"),
            Err(Malformed::Coding("gzip".into()))
        );
        assert_eq!(with("Content-Length: 99999999999"), Err(Malformed::TooLarge));
        assert_eq!(
            with("Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
            Err(Malformed::Chunk(47))
        );
        assert!(matches!(read(b"<html>", "POST"), Err(Malformed::Head(_))));
    }

    #[test]
    fn a_stream_is_read_on_after_its_response_where_that_is_asked_for() {
        let stream =
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n\
            1b\r\ndata: {\"id\":1,\"result\":{}}\n\r\n16\r\n\ndata: {\"method\":\"a\"}\n\r\n1\r\n\n\r\n";
        assert_eq!(
            messages(stream),
            [json!({"id": 1, "result": {}}), json!({"method": "a"})]
        );
        assert_eq!(read(stream, "POST").unwrap().unwrap().events.len(), 1);
    }

    #[test]
    fn a_line_of_the_head_that_is_no_field_is_shown() {
        let said = |field: &str| {
            let text = format!("HTTP/1.1 401 No\r\nDate: x\r\n{field}\r\nLater: y\r\n\r\n");
            read(text.as_bytes(), "POST").unwrap_err().to_string()
        };
        let line = "line 3 of the answer's head breaks HTTP/1.1: invalid header";
        assert_eq!(said("X-A : b"), format!("{line} name in \"X-A : b\""));
        assert_eq!(
            said("X-A: a\u{1}b"),
            format!("{line} value in \"X-A: a\\u{{1}}b\"")
        );
        let folded = "line 4 of the answer's head breaks HTTP/1.1: invalid header name in \"  more\"";
        assert_eq!(said("X-A: b\r\n  more"), folded);
    }
}
