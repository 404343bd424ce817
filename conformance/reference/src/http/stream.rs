//! Answers as event streams (2025-11-25, basic/transports; 2026-07-28, basic/transports/streamable-http).
//!
//! A modern stream is the request: when the client hangs up, the work ends. A legacy stream goes on without its client,
//! is kept for a while, and can be resumed.

use super::{reply, to_response};
use crate::Server;
use crate::dispatch::{Reply, SESSION, Transport, handle, session};
use crate::outlet::Outlet;
use crate::unique;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A comment goes out after so long a silence, so that nobody takes the connection for dead.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
const COMMENT: &str = ":\n\n";
/// Legacy streams that are kept for those who resume.
const MAX_LOGS: usize = 64;

/// Answers a POST: with JSON, or with a stream if something is said ahead of the answer or `always` asks for it.
pub(super) async fn answer(server: Arc<Server>, request: Request<Bytes>, always: bool) -> Response<Body> {
    let modern = is_modern(request.headers());
    let session = session_of(request.headers());
    let (outlet, said) = Outlet::open();
    let worker = Arc::clone(&server);
    let (parts, body) = request.into_parts();
    // A task of its own, so that it can outlive a legacy client.
    let work =
        tokio::spawn(async move { handle(&worker, &body, &Transport::Http(&parts.headers), &outlet).await });
    let mut talk = Talk {
        said,
        work: AbortOnDrop(work, modern),
        replied: false,
    };
    let first = match talk.next().await {
        Said::Reply(Reply::Message {
            status: StatusCode::OK,
            text,
        }) if always => Said::Notification(text),
        Said::Reply(Reply::Cancelled) => Said::End,
        Said::Reply(reply) => return to_response(reply).map(Body::from),
        other => other,
    };
    if modern {
        let events = stream::unfold((Some(first), talk), modern_event);
        return event_stream(events);
    }
    let log = server.streams.begin(session);
    let sink = Arc::clone(&log);
    tokio::spawn(async move {
        let mut next = first;
        loop {
            match next {
                Said::Notification(text) => sink.push(Some(text)),
                Said::Reply(Reply::Message { text, .. } | Reply::Session { text, .. }) => {
                    sink.push(Some(text))
                }
                Said::Reply(_) | Said::End => break sink.end(),
            }
            next = talk.next().await;
        }
    });
    event_stream(log.events(0))
}

/// Answers a GET: a stream of its own, or the rest of one that was lost.
pub(super) fn get(server: &Server, headers: &HeaderMap, sessions: bool) -> Response<Body> {
    if sessions && let Err(error) = session(server, headers) {
        let status = if headers.contains_key(SESSION) {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::BAD_REQUEST
        };
        return super::refuse(status, &error.message).map(Body::from);
    }
    let session = session_of(headers);
    match headers.get("last-event-id") {
        Some(last) => match last
            .to_str()
            .ok()
            .and_then(|last| server.streams.find(last, session.as_deref()))
        {
            Some((log, from)) => event_stream(log.events(from)),
            None => super::refuse(
                StatusCode::BAD_REQUEST,
                "there is no stream with this Last-Event-ID",
            )
            .map(Body::from),
        },
        None => {
            let log = server.streams.begin(session);
            let sink = Arc::clone(&log);
            let mut closing = server.closing.subscribe();
            tokio::spawn(async move {
                closing.wait_for(|closing| *closing).await.ok();
                sink.end();
            });
            event_stream(log.events(0))
        }
    }
}

fn is_modern(headers: &HeaderMap) -> bool {
    headers
        .get("mcp-protocol-version")
        .is_some_and(|version| version == crate::dispatch::MODERN)
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    headers
        .get(SESSION)
        .and_then(|id| id.to_str().ok())
        .map(str::to_owned)
}

fn event_stream(
    events: impl stream::Stream<Item = Result<String, Infallible>> + Send + 'static,
) -> Response<Body> {
    let mut response =
        reply(StatusCode::OK, Some("text/event-stream"), Bytes::new()).map(|_| Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// What comes of a request, in order.
enum Said {
    Notification(String),
    Reply(Reply),
    End,
}

struct Talk {
    said: UnboundedReceiver<String>,
    work: AbortOnDrop,
    replied: bool,
}

impl Talk {
    async fn next(&mut self) -> Said {
        if self.replied {
            return Said::End;
        }
        tokio::select! {
            biased;
            // None when the work is done: it held the other end.
            Some(text) = self.said.recv() => Said::Notification(text),
            reply = self.work.reply() => {
                self.replied = true;
                reply.map_or(Said::End, Said::Reply)
            }
        }
    }
}

/// Work, which a modern client ends by hanging up.
struct AbortOnDrop(JoinHandle<Reply>, bool);

impl AbortOnDrop {
    /// To be called until it gives the reply; none if the work failed.
    async fn reply(&mut self) -> Option<Reply> {
        (&mut self.0).await.ok()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if self.1 {
            self.0.abort();
        }
    }
}

async fn modern_event(
    (first, mut talk): (Option<Said>, Talk),
) -> Option<(Result<String, Infallible>, (Option<Said>, Talk))> {
    let said = match first {
        Some(said) => said,
        None => tokio::select! {
            said = talk.next() => said,
            () = sleep(KEEP_ALIVE) => return Some((Ok(COMMENT.to_owned()), (None, talk))),
        },
    };
    match said {
        Said::Notification(text) => Some((Ok(event(None, &text)), (None, talk))),
        Said::Reply(Reply::Message { text, .. } | Reply::Session { text, .. }) => {
            Some((Ok(event(None, &text)), (Some(Said::End), talk)))
        }
        Said::Reply(_) | Said::End => None,
    }
}

fn event(id: Option<&str>, data: &str) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {data}\n\n")
}

/// A legacy stream: what was sent on it, the priming event first.
#[derive(Debug)]
pub(crate) struct Log {
    id: String,
    session: Option<String>,
    state: watch::Sender<LogState>,
}

#[derive(Debug, Default)]
struct LogState {
    events: Vec<String>,
    ended: bool,
}

impl Log {
    fn push(&self, text: Option<String>) {
        self.state.send_modify(|state| {
            let id = format!("{}.{}", self.id, state.events.len());
            state
                .events
                .push(event(Some(&id), text.as_deref().unwrap_or_default()));
        });
    }

    fn end(&self) {
        self.state.send_modify(|state| state.ended = true);
    }

    /// The events from this one on, as they come.
    fn events(
        self: &Arc<Self>,
        from: usize,
    ) -> impl stream::Stream<Item = Result<String, Infallible>> + Send + use<> {
        let state = self.state.subscribe();
        // The log is held, so that it lives as long as somebody listens.
        stream::unfold(
            (Arc::clone(self), state, from),
            |(log, mut state, next)| async move {
                let text = tokio::select! {
                    ready = state.wait_for(|state| state.events.len() > next || state.ended) => {
                        let event = ready.ok()?.events.get(next).cloned();
                        Some(event?)
                    }
                    () = sleep(KEEP_ALIVE) => None,
                };
                Some(match text {
                    Some(text) => (Ok(text), (log, state, next + 1)),
                    None => (Ok(COMMENT.to_owned()), (log, state, next)),
                })
            },
        )
    }
}

/// The legacy streams that can be resumed, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct StreamLogs(Mutex<Vec<Arc<Log>>>);

impl StreamLogs {
    fn begin(&self, session: Option<String>) -> Arc<Log> {
        let log = Arc::new(Log {
            id: unique::id(),
            session,
            state: watch::Sender::default(),
        });
        log.push(None);
        let mut logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if logs.len() == MAX_LOGS {
            logs.remove(0);
        }
        logs.push(Arc::clone(&log));
        log
    }

    /// The stream of an event, and the number of the event after it. Only the session it was sent in may have it.
    fn find(&self, event: &str, session: Option<&str>) -> Option<(Arc<Log>, usize)> {
        let (id, number) = event.rsplit_once('.')?;
        let number: usize = number.parse().ok()?;
        let logs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let log = logs
            .iter()
            .find(|log| log.id == id && log.session.as_deref() == session)?;
        (number < log.state.borrow().events.len()).then(|| (Arc::clone(log), number + 1))
    }
}
