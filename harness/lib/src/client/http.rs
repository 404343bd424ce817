//! Requests over HTTP: at most one connection is kept open between them.

use super::busy::Patience;
use super::{Exchange, Limits, compose};
use crate::fault::Fault;
use crate::http::answer::{MAX_RAW, Resume};
use crate::http::{Answer, Connection, Conversation, Malformed, Piece, Request};
use crate::message;
use crate::repeat;
use crate::target::Endpoint;
use serde_json::Value;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

/// Between two polls, whatever the server says.
const SHORTEST_POLL: Duration = Duration::from_millis(10);

/// An endpoint with the connection that was last used.
#[derive(Debug)]
pub struct HttpWire {
    endpoint: Endpoint,
    limits: Limits,
    idle: Option<Box<Connection>>,
    /// The last session that the server opened here.
    session: Option<String>,
}

impl HttpWire {
    /// Nothing is connected yet.
    pub const fn new(endpoint: Endpoint, limits: Limits) -> Self {
        Self {
            endpoint,
            limits,
            idle: None,
            session: None,
        }
    }

    /// Where the requests go.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and reads its answer, over the open connection if it is still good. A server that is busy and says
    /// for how long is asked again.
    pub async fn exchange(&mut self, request: &Request) -> Exchange {
        let mut patience = Patience::new(self.limits.answer);
        let exchange = loop {
            let exchange = self.send(request).await;
            if !patience.wait(&exchange).await {
                break exchange;
            }
        };
        let opened = exchange.reply().and_then(|reply| reply.header("mcp-session-id"));
        if let Some(opened) = opened {
            self.session = Some(opened.to_owned());
        }
        exchange
    }

    async fn send(&mut self, request: &Request) -> Exchange {
        let repeat = repeat::curl(&self.endpoint, request, self.session.as_deref());
        if let Some(mut connection) = self.idle.take()
            && connection.is_reusable()
        {
            let talk = self
                .converse(&mut connection, request, request, self.limits.answer)
                .await;
            // a server may close an idle connection just when a request goes out (RFC 9112, 9.3.1): that is no answer
            if !matches!(talk.fault, Some(Fault::Closed { bytes: 0, .. })) {
                return self.keep(*connection, request, talk, repeat).await;
            }
        }
        match Connection::open(&self.endpoint, self.limits.connect).await {
            Ok(mut connection) => {
                let talk = self
                    .converse(&mut connection, request, request, self.limits.answer)
                    .await;
                self.keep(connection, request, talk, repeat).await
            }
            Err(fault) => Exchange {
                fault: Some(fault),
                repeat,
                ..Exchange::default()
            },
        }
    }

    /// Sends a last request whose answer does not matter, and waits for it a tenth of the usual time at most: its arrival
    /// must come before that of whatever is sent next.
    pub async fn leave(&mut self, request: &Request) {
        let _ = timeout(self.limits.answer / 10, self.exchange(request)).await;
    }

    /// Sends raw pieces over a connection of their own and reads one answer for each method. With `closing`, also waits
    /// for the server to close, and says whether it did; after the last chunk of an event stream it is not waited for.
    pub async fn raw(
        &mut self,
        pieces: &[Piece],
        methods: &[String],
        closing: Option<Duration>,
    ) -> (Exchange, Option<bool>) {
        let mut patience = Patience::new(self.limits.answer);
        loop {
            let told = self.raw_once(pieces, methods, closing).await;
            if !patience.wait(&told.0).await {
                return told;
            }
        }
    }

    async fn raw_once(
        &mut self,
        pieces: &[Piece],
        methods: &[String],
        closing: Option<Duration>,
    ) -> (Exchange, Option<bool>) {
        // a board has few sockets: the idle one must not hold a place
        self.idle = None;
        let repeat = repeat::netcat(&self.endpoint, pieces);
        let mut connection = match Connection::open(&self.endpoint, self.limits.connect).await {
            Ok(connection) => connection,
            Err(fault) => {
                return (
                    Exchange {
                        fault: Some(fault),
                        repeat,
                        ..Exchange::default()
                    },
                    None,
                );
            }
        };
        let talk = connection
            .converse(pieces, methods, self.limits.answer, |_| {})
            .await;
        let is_stream = talk.answers.last().is_some_and(Answer::is_event_stream);
        let mut exchange = self.evidence(talk, repeat);
        let mut closed = None;
        if let (Some(limit), None) = (closing, &exchange.fault) {
            let ended = |extra: &[u8]| is_stream && has_last_chunk(&exchange.received, extra);
            let (did, extra) = connection.closes_within(limit, ended).await;
            closed = Some(did);
            exchange.received.extend_from_slice(&extra);
            // after the response a stream has at least its last chunk
            exchange.fault = (!extra.is_empty() && !is_stream).then_some(Fault::Extra(extra.len()));
        }
        (exchange, closed)
    }

    /// Sends a request and reads its answer. What the server asks in an event stream meanwhile is answered with POSTs of
    /// their own, in the dress of another request (2025-11-25, Streamable HTTP, "Sending Messages to the Server").
    async fn converse(
        &self,
        connection: &mut Connection,
        request: &Request,
        dressed: &Request,
        limit: Duration,
    ) -> Conversation {
        let (pieces, methods) = ([Piece::Bytes(request.to_bytes())], [request.method.clone()]);
        let (sender, mut asked) = mpsc::unbounded_channel();
        // where a server may not ask, it fails for that once its answer is there
        let tell = move |message: &Value| {
            if let Some(ours) = message::reply_to(message) {
                let _ = sender.send(ours);
            }
        };
        let talk = connection.converse(&pieces, &methods, limit, tell);
        let replies = async {
            while let Some(ours) = asked.recv().await {
                self.post(&compose::reply(&self.endpoint, dressed, &ours)).await;
            }
        };
        // the first ends the second: it drops the sender, after which only what is under way remains
        tokio::join!(talk, replies).0
    }

    /// Posts over a connection of its own, within a tenth of the usual time; the answer has nothing to tell.
    async fn post(&self, request: &Request) {
        let limit = self.limits.answer / 10;
        if let Ok(mut connection) = Connection::open(&self.endpoint, limit).await {
            let (pieces, methods) = ([Piece::Bytes(request.to_bytes())], [request.method.clone()]);
            connection.converse(&pieces, &methods, limit, |_| {}).await;
        }
    }

    /// Asks for the rest of an answer whose event stream the server ended before the response, after the time that it
    /// wants (2025-11-25, Streamable HTTP, "Sending Messages to the Server", 6).
    async fn poll(&self, request: &Request, talk: &mut Conversation) {
        let deadline = Instant::now() + self.limits.answer.saturating_sub(talk.time);
        while let (None, [answer]) = (&talk.fault, talk.answers.as_mut_slice())
            && !answer.events.last().is_some_and(message::is_response)
            && let Some(resume) = answer.resume.take()
            && let Some(get) = compose::resume(request, &resume.last_event_id)
        {
            let wait = resume.retry.unwrap_or(self.limits.answer / 10).max(SHORTEST_POLL);
            let left = deadline.saturating_duration_since(Instant::now());
            if wait >= left {
                sleep(left).await;
                talk.fault = Some(Fault::Slow {
                    after: self.limits.answer,
                    bytes: talk.received.len(),
                });
                break;
            }
            sleep(wait).await;
            let left = left - wait;
            let more = match Connection::open(&self.endpoint, left.min(self.limits.connect)).await {
                Ok(mut connection) => self.converse(&mut connection, &get, request, left).await,
                Err(fault) => Conversation {
                    fault: Some(fault),
                    ..Conversation::default()
                },
            };
            talk.sent.extend(more.sent);
            talk.received.extend(more.received);
            talk.fault = more.fault;
            if talk.received.len() > MAX_RAW {
                talk.fault = Some(Malformed::TooLarge.into());
            }
            // what is no event stream ends the polling: then there was no response
            for more in more.answers.into_iter().filter(Answer::is_event_stream) {
                answer.body.extend(more.body);
                answer.events.extend(more.events);
                answer.resume = more.resume.map(|next| Resume {
                    retry: next.retry.or(resume.retry),
                    ..next
                });
            }
        }
    }

    async fn keep(
        &mut self,
        connection: Connection,
        request: &Request,
        mut talk: Conversation,
        repeat: String,
    ) -> Exchange {
        if talk.answers.iter().all(|answer| answer.resume.is_none()) {
            self.idle = Some(Box::new(connection));
            return self.evidence(talk, repeat);
        }
        // a board has few sockets: this one must not hold a place
        drop(connection);
        let before = (talk.time, Instant::now());
        self.poll(request, &mut talk).await;
        talk.time = before.0 + before.1.elapsed();
        self.evidence(talk, repeat)
    }

    /// An exchange that can be shown to anybody.
    fn evidence(&self, talk: Conversation, repeat: String) -> Exchange {
        Exchange::of(talk, repeat).redacted(&self.endpoint.access).cut()
    }
}

/// Whether a chunked body that came in two parts is over (RFC 9112, section 7.1).
fn has_last_chunk(first: &[u8], rest: &[u8]) -> bool {
    const LAST: &[u8] = b"\r\n0\r\n\r\n";
    let tail = &first[first.len().saturating_sub(LAST.len())..];
    [tail, rest].concat().ends_with(LAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_chunk_is_seen_however_it_is_split() {
        let body = b"6\r\ndata:0\r\n0\r\n\r\n";
        for at in 0..=body.len() {
            assert!(has_last_chunk(&body[..at], &body[at..]), "split at {at}");
        }
        assert!(!has_last_chunk(b"6\r\ndata:0\r\n0\r\n", b""));
        // an event's own line ends
        assert!(!has_last_chunk(b"data: 0\r\n\r\n", b"\r\n"));
    }

    #[tokio::test]
    async fn a_last_chunk_that_comes_later_is_nothing_extra() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let server = async {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            let event = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            let begin = format!("{head}{:x}\r\n{event}\r\n", event.len());
            stream.write_all(begin.as_bytes()).await.unwrap();
            sleep(Duration::from_millis(50)).await;
            stream.write_all(b"0\r\n\r\n").await.unwrap();
            stream
        };
        let mut wire = HttpWire::new(Endpoint::parse(&url).unwrap(), Limits::scaled(1.0));
        let piece = [Piece::Bytes(b"POST".to_vec())];
        let methods = ["POST".to_owned()];
        let asked = wire.raw(&piece, &methods, Some(Duration::from_secs(5)));
        let ((exchange, closed), _stream) = tokio::join!(asked, server);
        assert!(exchange.fault.is_none(), "{:?}", exchange.fault);
        assert!(exchange.received.ends_with(b"0\r\n\r\n"));
        assert_eq!(closed, Some(false));
        assert!(exchange.message().is_some());
    }
}
