//! Why the edge refuses a request, with the status that says so.

use thiserror::Error;

/// A refusal: [`Fault::status`] goes into the status line, the message into a plain-text body. The connection is
/// closed afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// Method, target and version are not three words (RFC 9112, 3).
    #[error("the first line must be METHOD TARGET HTTP/1.1, with single spaces")]
    RequestLine,
    /// The version is not `HTTP/1.0` or `HTTP/1.1`.
    #[error("only HTTP/1.1 and HTTP/1.0 are spoken here")]
    Version,
    /// Not a header line, or white space before the colon or the name (RFC 9112, 5.1 and 5.2).
    #[error("a header line must be NAME: VALUE, with no space before the colon and no folding")]
    HeaderName,
    /// A control byte in a header value.
    #[error("a header value holds a control byte")]
    HeaderValue,
    /// A carriage return that no line feed follows.
    #[error("lines must end in CR LF")]
    LineEnding,
    /// More than [`super::MAX_HEADERS`].
    #[error("more than {} headers", super::MAX_HEADERS)]
    TooManyHeaders,
    /// The head is longer than [`super::HEAD_MAX`].
    #[error("the request head is longer than {} bytes", super::HEAD_MAX)]
    HeadTooLong,
    /// The first line alone is longer than [`super::HEAD_MAX`].
    #[error("the request line is longer than {} bytes", super::HEAD_MAX)]
    TargetTooLong,
    /// The target is in none of the forms of RFC 9112, 3.2.
    #[error("the request target must be a path, such as /mcp")]
    Target,
    /// `CONNECT`.
    #[error("this is not a proxy")]
    Connect,
    /// No `Host` (RFC 9112, 3.2).
    #[error("the Host header is missing")]
    HostMissing,
    /// Two or more `Host` lines (RFC 9112, 3.2).
    #[error("more than one Host header")]
    HostRepeated,
    /// `Host` is not `HOST` or `HOST:PORT`.
    #[error("Host must be HOST or HOST:PORT")]
    HostSyntax,
    /// `Host` names something else than this device: the mark of DNS rebinding.
    #[error("Host must be an IP address, localhost or this device's own name")]
    HostForbidden,
    /// `Origin` is not the device's own.
    #[error("Origin must be http or https, with the host and port that Host names")]
    OriginForbidden,
    /// `Content-Length` is not a decimal number.
    #[error("Content-Length must be one decimal number")]
    ContentLength,
    /// Two or more `Content-Length` lines, whatever they say.
    #[error("more than one Content-Length header")]
    ContentLengthRepeated,
    /// Both framings at once (RFC 9112, 6.3).
    #[error("Content-Length and Transfer-Encoding exclude each other")]
    TwoFramings,
    /// `Transfer-Encoding` in HTTP/1.0 (RFC 9112, 6.1).
    #[error("HTTP/1.0 has no Transfer-Encoding")]
    CodingIn10,
    /// `chunked` is not there once, at the end.
    #[error("Transfer-Encoding must be chunked, once")]
    ChunkedNotLast,
    /// A transfer coding other than `chunked` (RFC 9112, 6.1).
    #[error("the only transfer coding known here is chunked")]
    Coding,
    /// `Expect` other than `100-continue` (RFC 9110, 10.1.1).
    #[error("the only expectation known here is 100-continue")]
    Expectation,
    /// The body is over [`super::BODY_MAX`].
    #[error("the body is longer than {} bytes", super::BODY_MAX)]
    BodyTooLong,
    /// A chunk that does not follow RFC 9112, 7.1.
    #[error("a chunk must be SIZE CR LF DATA CR LF, with SIZE in hex")]
    Chunk,
    /// The line of a chunk's size is over [`super::CHUNK_LINE_MAX`].
    #[error("the line of a chunk's size is longer than {} bytes", super::CHUNK_LINE_MAX)]
    ChunkLineTooLong,
    /// A trailer that is no header line.
    #[error("a trailer line must be NAME: VALUE")]
    Trailer,
    /// Trailers over [`super::TRAILERS_MAX`].
    #[error("the trailers are longer than {} bytes", super::TRAILERS_MAX)]
    TrailersTooLong,
    /// The client stopped sending in the middle of a request.
    #[error("the connection ended before the request did")]
    Truncated,
    /// The head took longer than [`super::HEAD_DEADLINE`].
    #[error("the request head took longer than {} s", super::HEAD_DEADLINE.as_secs())]
    HeadSlow,
    /// The body took longer than [`super::BODY_DEADLINE`].
    #[error("the body took longer than {} s", super::BODY_DEADLINE.as_secs())]
    BodySlow,
    /// The half-sent request had to make room for another one.
    #[error("the request was not complete when its place was needed; send it again")]
    Yielded,
    /// No buffer became free in [`super::BUFFER_WAIT`].
    #[error("all buffers are in use; try again")]
    NoBuffer,
    /// The device took longer than [`super::ANSWER_DEADLINE`].
    #[error("the device gave no answer within {} s", super::ANSWER_DEADLINE.as_secs())]
    NoAnswer,
    /// The device's answer breaks the rules of [`mcp_device::Response`].
    #[error("the device's answer is unusable")]
    BadAnswer,
}

impl Fault {
    /// HTTP status code.
    pub fn status(self) -> u16 {
        match self {
            Self::RequestLine
            | Self::HeaderName
            | Self::HeaderValue
            | Self::LineEnding
            | Self::Target
            | Self::HostMissing
            | Self::HostRepeated
            | Self::HostSyntax
            | Self::ContentLength
            | Self::ContentLengthRepeated
            | Self::TwoFramings
            | Self::CodingIn10
            | Self::ChunkedNotLast
            | Self::Chunk
            | Self::ChunkLineTooLong
            | Self::Trailer
            | Self::Truncated => 400,
            Self::HostForbidden | Self::OriginForbidden => 403,
            Self::HeadSlow | Self::BodySlow | Self::Yielded => 408,
            Self::BodyTooLong => 413,
            Self::TargetTooLong => 414,
            Self::Expectation => 417,
            Self::TooManyHeaders | Self::HeadTooLong | Self::TrailersTooLong => 431,
            Self::BadAnswer => 500,
            Self::Connect | Self::Coding => 501,
            Self::NoBuffer | Self::NoAnswer => 503,
            Self::Version => 505,
        }
    }
}
