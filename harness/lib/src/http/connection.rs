//! One TCP connection: writes and reads at the same time, keeps every byte, and always ends by a deadline.

use super::stream::{self, Stream};
use super::{Answer, AnswerReader};
use crate::fault::Fault;
use crate::target::Endpoint;
use serde_json::Value;
use std::io::ErrorKind;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, sleep, timeout, timeout_at};

/// A part of what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Bytes.
    Bytes(Vec<u8>),
    /// A pause, with nothing sent.
    Pause(Duration),
}

/// What went over the wire, and what was understood of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// Bytes that the system took.
    pub sent: Vec<u8>,
    /// Bytes that came.
    pub received: Vec<u8>,
    /// Whole answers in order.
    pub answers: Vec<Answer>,
    /// Why there are fewer than were waited for, or what else was wrong.
    pub fault: Option<Fault>,
    /// From the first byte sent to the end of the last answer.
    pub time: Duration,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    authority: String,
    reader: AnswerReader,
    last_used: Instant,
    reusable: bool,
}

/// How long an idle connection is trusted. Longer, and the server's idle limit could cut it under a request.
const TRUSTED_IDLE: Duration = Duration::from_secs(2);

impl Connection {
    /// Connects, by `limit` at the latest.
    ///
    /// # Errors
    /// [`Fault::Unreachable`].
    pub async fn open(endpoint: &Endpoint, limit: Duration) -> Result<Self, Fault> {
        let unreachable = |reason: String| Fault::Unreachable {
            target: endpoint.authority.clone(),
            reason,
        };
        let stream = timeout(limit, Stream::open(endpoint))
            .await
            .map_err(|_| unreachable(format!("no connection within {} s", limit.as_secs_f64())))?
            .map_err(unreachable)?;
        Ok(Self {
            stream,
            authority: endpoint.authority.clone(),
            reader: AnswerReader::default(),
            last_used: Instant::now(),
            reusable: true,
        })
    }

    /// Whether another request may go over this connection. Sees a close that has already arrived.
    pub fn is_reusable(&mut self) -> bool {
        self.reusable && self.last_used.elapsed() < TRUSTED_IDLE && self.stream.is_quiet()
    }

    /// Sends the pieces and reads one answer for each method, by `limit` after the start, pauses not counted.
    /// Messages of an event stream that is still open are told as they come.
    pub async fn converse(
        &mut self,
        pieces: &[Piece],
        methods: &[String],
        limit: Duration,
        tell: impl Fn(&Value),
    ) -> Conversation {
        let pauses: Duration = pieces
            .iter()
            .map(|piece| {
                if let Piece::Pause(time) = piece {
                    *time
                } else {
                    Duration::ZERO
                }
            })
            .sum();
        let started = Instant::now();
        let deadline = started + limit + pauses;
        let mut talk = Conversation::default();
        let (mut from, mut to) = tokio::io::split(&mut self.stream);
        let mut buffer = vec![0; 16 << 10];
        let mut writing = Box::pin(write(&mut to, pieces, &mut talk.sent));
        let mut written = false;
        let mut told = 0;
        let fault = loop {
            match next_answer(&mut self.reader, methods, &mut talk.answers) {
                Ok(true) if written || !methods.is_empty() => break None,
                Ok(_) => {}
                Err(fault) => break Some(fault),
            }
            let events = self.reader.events_so_far();
            events.iter().skip(told).for_each(&tell);
            told = events.len();
            let read = tokio::select! {
                // a server may answer and close while the rest of a long body is still on its way
                biased;
                read = timeout_at(deadline, from.read(&mut buffer)) => read,
                () = &mut writing, if !written => {
                    written = true;
                    continue;
                }
            };
            let bytes = talk.received.len();
            match read {
                Ok(Ok(0)) => {
                    self.reader.end();
                    if !matches!(
                        next_answer(&mut self.reader, methods, &mut talk.answers),
                        Ok(true)
                    ) {
                        break Some(Fault::Closed {
                            bytes,
                            reset: false,
                            note: String::new(),
                        });
                    }
                }
                Ok(Ok(count)) => {
                    talk.received.extend_from_slice(&buffer[..count]);
                    self.reader.feed(&buffer[..count]);
                }
                // a certificate that the server does not take tells nothing about what it would have answered
                Ok(Err(error))
                    if bytes == 0
                        && let Some(fault) = stream::refused(&self.authority, &error) =>
                {
                    break Some(fault);
                }
                Ok(Err(error)) => {
                    let note = format!("; {error}");
                    break Some(Fault::Closed {
                        bytes,
                        reset: error.kind() == ErrorKind::ConnectionReset,
                        note,
                    });
                }
                Err(_) if bytes == 0 => break Some(Fault::Silent(limit)),
                Err(_) => break Some(Fault::Slow { after: limit, bytes }),
            }
        };
        drop(writing);
        talk.time = started.elapsed();
        let extra = self.reader.rest().len();
        let closes = talk.answers.last().is_none_or(|answer| answer.closes);
        talk.fault = fault.or((extra > 0 && !closes).then_some(Fault::Extra(extra)));
        self.reusable = written && !closes && talk.fault.is_none();
        self.last_used = Instant::now();
        talk
    }

    /// Sends bytes and reads one answer until `enough` says so of what there is of it, it ends, or the time is over, which
    /// is no fault once the head is there. May be called again with nothing to send, to read on.
    pub async fn watch(
        &mut self,
        bytes: &[u8],
        method: &str,
        limit: Duration,
        enough: impl Fn(&Answer) -> bool,
    ) -> Conversation {
        let started = Instant::now();
        let deadline = started + limit;
        let mut talk = Conversation::default();
        let mut buffer = vec![0; 16 << 10];
        self.reusable = false;
        // an error is no fault here: what counts is whether an answer comes
        if let Ok(Ok(())) = timeout_at(deadline, self.stream.write_all(bytes)).await {
            talk.sent.extend_from_slice(bytes);
        }
        let mut open = true;
        talk.fault = loop {
            match self.reader.next(method) {
                Ok(Some(answer)) => {
                    talk.answers.push(answer);
                    break None;
                }
                Ok(None) if self.reader.so_far().is_some_and(&enough) => break None,
                Ok(None) if open => {}
                Ok(None) => {
                    break Some(Fault::Closed {
                        bytes: talk.received.len(),
                        reset: false,
                        note: String::new(),
                    });
                }
                Err(malformed) => break Some(malformed.into()),
            }
            match timeout_at(deadline, self.stream.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => {
                    open = false;
                    self.reader.end();
                }
                Ok(Ok(count)) => {
                    talk.received.extend_from_slice(&buffer[..count]);
                    self.reader.feed(&buffer[..count]);
                }
                Err(_) if self.reader.so_far().is_some() => break None,
                Err(_) => break Some(Fault::Silent(limit)),
            }
        };
        if talk.answers.is_empty() {
            talk.answers.extend(self.reader.so_far().cloned());
        }
        talk.time = started.elapsed();
        self.last_used = Instant::now();
        talk
    }

    /// Whether the server closes within a time; also bytes that it sends before. Once `enough` says so of these, it is
    /// waited no longer.
    pub async fn closes_within(
        &mut self,
        limit: Duration,
        enough: impl Fn(&[u8]) -> bool,
    ) -> (bool, Vec<u8>) {
        let deadline = Instant::now() + limit;
        let mut extra = Vec::new();
        let mut buffer = [0; 1024];
        loop {
            if enough(&extra) {
                return (false, extra);
            }
            match timeout_at(deadline, self.stream.read(&mut buffer)).await {
                Ok(Ok(0) | Err(_)) => return (true, extra),
                Ok(Ok(count)) => extra.extend_from_slice(&buffer[..count]),
                Err(_) => return (false, extra),
            }
            if extra.len() > super::answer::MAX_ANSWER {
                return (false, extra);
            }
        }
    }
}

/// Takes the answers that are there; true when there is one for each method.
fn next_answer(
    reader: &mut AnswerReader,
    methods: &[String],
    answers: &mut Vec<Answer>,
) -> Result<bool, Fault> {
    while let Some(method) = methods.get(answers.len()) {
        match reader.next(method)? {
            Some(answer) => answers.push(answer),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Writes the pieces. An error is no fault here: what counts is whether an answer comes.
async fn write(to: &mut (impl AsyncWrite + Unpin), pieces: &[Piece], sent: &mut Vec<u8>) {
    for piece in pieces {
        match piece {
            Piece::Pause(time) => sleep(*time).await,
            Piece::Bytes(bytes) => {
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    match to.write(rest).await {
                        Ok(0) | Err(_) => return,
                        Ok(count) => {
                            sent.extend_from_slice(&rest[..count]);
                            rest = &rest[count..];
                        }
                    }
                }
                if to.flush().await.is_err() {
                    return;
                }
            }
        }
    }
}
