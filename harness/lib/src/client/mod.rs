//! The MCP client: one revision, one conversation, over HTTP or standard streams.
//!
//! It sends what a client of its revision must send and takes nothing for granted about the server. What a server
//! does wrong comes back as a [`ClientError`] with the exchange as evidence; judging it is the caller's work.

mod advice;
mod busy;
pub mod compose;
mod detect;
mod exchange;
mod http;
pub mod mirror;
mod stdio;
mod tools;
mod watch;

pub use detect::{Detected, Probe, Sign, connect, judge_http, judge_stdio, probe};
pub use exchange::{Exchange, Reply};
pub use http::HttpWire;
pub use stdio::StdioWire;
pub use watch::Watch;

use crate::fault::Fault;
use crate::message::{self, RequestId};
use crate::revision::{Era, Revision};
use crate::target::Target;
use serde_json::{Value, json};
use std::time::Duration;

/// Time limits of a conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// To have a connection.
    pub connect: Duration,
    /// From the first byte of a request to the end of its answer.
    pub answer: Duration,
    /// How long a standard-streams server must stay quiet to count as not answering.
    pub quiet: Duration,
}

impl Limits {
    /// The usual limits (5 s, 10 s, 250 ms), each times a factor.
    pub fn scaled(factor: f64) -> Self {
        let times = |millis: u64| Duration::from_millis(millis).mul_f64(factor);
        Self {
            connect: times(5_000),
            answer: times(10_000),
            quiet: times(250),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::scaled(1.0)
    }
}

/// How bytes go to the target and come back.
#[derive(Debug)]
pub enum Wire {
    /// HTTP, one exchange a request.
    Http(Box<HttpWire>),
    /// The standard streams of a child process.
    Stdio(Box<StdioWire>),
}

impl Wire {
    /// Gets ready to talk: starts a command; a connection is made with the first request.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] if the command can't be started.
    pub fn open(target: &Target, limits: Limits) -> Result<Self, Fault> {
        Ok(match target {
            Target::Http(endpoint) => Self::Http(Box::new(HttpWire::new(endpoint.clone(), limits))),
            Target::Stdio(command) => Self::Stdio(Box::new(StdioWire::spawn(command, limits)?)),
        })
    }
}

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No whole answer came.
    #[error("{method}: {fault}")]
    Fault {
        /// Method of the request.
        method: String,
        /// What went wrong.
        fault: Fault,
        /// The evidence.
        exchange: Box<Exchange>,
    },
    /// An answer came that is not what the protocol asks for.
    #[error("{method}: {reason}")]
    Unexpected {
        /// Method of the request.
        method: String,
        /// What is wrong with it.
        reason: String,
        /// The evidence.
        exchange: Box<Exchange>,
    },
    /// The server answered with a JSON-RPC error.
    #[error("{method}: the server answered with error {code}")]
    Rpc {
        /// Method of the request.
        method: String,
        /// The error's code.
        code: i64,
        /// The evidence.
        exchange: Box<Exchange>,
    },
}

impl ClientError {
    /// The exchange that went wrong.
    pub fn exchange(&self) -> &Exchange {
        match self {
            Self::Fault { exchange, .. } | Self::Unexpected { exchange, .. } | Self::Rpc { exchange, .. } => {
                exchange
            }
        }
    }

    /// Whether the server took the request over HTTP, refused it in no way, and broke the protocol with its answer: that
    /// can't be read, or is no answer to this request. A refusal, a web page, a body in a content coding (which RFC 9110,
    /// section 12.5.3, lets a server choose) and silence are none of that.
    pub fn is_broken_answer(&self) -> bool {
        let exchange = self.exchange();
        let refuses = matches!(
            exchange.first_status(),
            None | Some(300..=399 | 401 | 403..=405 | 407 | 429 | 501..=504)
        );
        let says = |name: &str, wanted: &dyn Fn(&str) -> bool| {
            let value = exchange.reply().and_then(|reply| reply.header(name));
            value.is_some_and(|value| wanted(&value.to_ascii_lowercase()))
        };
        let is_page = says("content-type", &|media| media.starts_with("text/html"));
        let is_coded = says("content-encoding", &|coding| coding != "identity");
        !matches!(self, Self::Rpc { .. }) && !self.is_unreachable() && !refuses && !is_page && !is_coded
    }

    /// Whether there was nobody to talk to.
    pub fn is_unreachable(&self) -> bool {
        matches!(
            self,
            Self::Fault {
                fault: Fault::Unreachable { .. },
                ..
            }
        )
    }
}

/// A conversation with a target in one revision.
#[derive(Debug)]
pub struct Client {
    /// The wire below, for callers that send bytes of their own.
    pub wire: Wire,
    /// What the requests are dressed in.
    pub dress: compose::Dress,
    next_id: u64,
    sessions: Vec<compose::Session>,
}

impl Client {
    /// A client that has said nothing yet. Legacy revisions need [`Client::initialize`] next.
    ///
    /// # Errors
    /// [`Fault::Unreachable`] if a command can't be started.
    pub fn open(target: &Target, revision: Revision, limits: Limits) -> Result<Self, Fault> {
        let wire = Wire::open(target, limits)?;
        Ok(Self {
            wire,
            dress: compose::Dress::new(revision),
            next_id: 1,
            sessions: Vec::new(),
        })
    }

    /// Remembers the sessions that answers in this exchange open, to be ended by [`Client::close`].
    pub fn note_sessions(&mut self, exchange: &Exchange) {
        for session in exchange.replies.iter().filter_map(compose::Session::opened_by) {
            if !self.sessions.contains(&session) {
                self.sessions.push(session);
            }
        }
    }

    /// Ends the sessions that the server opened for this client (2025-11-25, Streamable HTTP, "Session Management", 5):
    /// a board has room for few. A server may refuse that, so the answer does not matter.
    pub async fn close(mut self) {
        if let Wire::Http(wire) = &mut self.wire {
            for session in &self.sessions {
                let request = compose::delete(wire.endpoint(), session);
                wire.leave(&request).await;
            }
        }
    }

    /// Sends a request and gives the answer, whatever it says.
    ///
    /// # Errors
    /// [`ClientError::Fault`] and [`ClientError::Unexpected`]: no answer, one without a message, or one to another id.
    pub async fn exchange(&mut self, method: &str, params: Value) -> Result<Exchange, ClientError> {
        // not a number: transcripts choose their own, and none may be used twice in a session
        let id = format!("mcp-hil-{}", self.next_id);
        self.next_id += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if !params.is_null() {
            request["params"] = params;
        }
        self.dress.add_meta(&mut request);
        let mut exchange = self.send(&request).await;
        let method = method.to_owned();
        if let Some(fault) = exchange.fault.take() {
            return Err(ClientError::Fault {
                method,
                fault: fault.clone(),
                exchange: Box::new(exchange.with_fault(fault)),
            });
        }
        let answer = exchange.message();
        let reason = match answer {
            None => Some(format!(
                "the answer has no JSON-RPC message{}",
                described(&exchange)
            )),
            Some(answer) if !message::is_response(answer) => Some(format!(
                "the answer has neither a result nor an error{}",
                described(&exchange)
            )),
            Some(answer) => {
                let theirs = RequestId::of_message(answer);
                let refused_unread = answer.get("error").is_some() && theirs.is_none();
                (theirs != Some(RequestId::Text(id.clone())) && !refused_unread).then(|| {
                    format!(
                        "request {id:?} was answered with id {}",
                        answer.get("id").unwrap_or(&Value::Null)
                    )
                })
            }
        };
        match reason {
            Some(reason) => Err(ClientError::Unexpected {
                method,
                reason,
                exchange: Box::new(exchange),
            }),
            None => Ok(exchange),
        }
    }

    /// Sends a request and gives its result.
    ///
    /// # Errors
    /// Those of [`Client::exchange`], and [`ClientError::Rpc`].
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, ClientError> {
        let exchange = self.exchange(method, params).await?;
        let answer = exchange.message().unwrap_or(&Value::Null);
        let method = method.to_owned();
        if let Some(result) = answer.get("result") {
            return Ok(result.clone());
        }
        match message::error_code(answer) {
            Some(code) => Err(ClientError::Rpc {
                method,
                code,
                exchange: Box::new(exchange),
            }),
            None => {
                let reason = "the error has no integer code".to_owned();
                Err(ClientError::Unexpected {
                    method,
                    reason,
                    exchange: Box::new(exchange),
                })
            }
        }
    }

    /// The legacy handshake: `initialize` with this client's revision, then `notifications/initialized`. Gives the
    /// result of `initialize`; its `protocolVersion` may be another than asked for, then nothing more is sent.
    ///
    /// # Errors
    /// Those of [`Client::request`].
    pub async fn initialize(&mut self) -> Result<(Value, Vec<Exchange>), ClientError> {
        let revision = self.dress.revision;
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {},
            "clientInfo": compose::client_info(),
        });
        let exchange = self.exchange("initialize", params).await?;
        self.note_sessions(&exchange);
        let answer = exchange.message().unwrap_or(&Value::Null);
        let method = "initialize".to_owned();
        let Some(result) = answer.get("result").cloned() else {
            let code = message::error_code(answer).unwrap_or_default();
            return Err(ClientError::Rpc {
                method,
                code,
                exchange: Box::new(exchange),
            });
        };
        let Some(version) = result.get("protocolVersion").and_then(Value::as_str) else {
            let reason = "the result has no protocolVersion".to_owned();
            return Err(ClientError::Unexpected {
                method,
                reason,
                exchange: Box::new(exchange),
            });
        };
        let mut exchanges = vec![exchange];
        if version == revision.as_str() {
            let session = exchanges[0]
                .reply()
                .and_then(|reply| reply.header("mcp-session-id"))
                .map(str::to_owned);
            self.dress.handshake_done(session);
            let method = "notifications/initialized".to_owned();
            let mut exchange = self.send(&json!({"jsonrpc": "2.0", "method": method})).await;
            if let Some(fault) = exchange.fault.take() {
                return Err(ClientError::Fault {
                    method,
                    fault: fault.clone(),
                    exchange: Box::new(exchange.with_fault(fault)),
                });
            }
            if let Some(status) = exchange
                .reply()
                .and_then(|reply| reply.status)
                .filter(|status| *status >= 300)
            {
                let reason = format!("refused with HTTP status {status}");
                return Err(ClientError::Unexpected {
                    method,
                    reason,
                    exchange: Box::new(exchange),
                });
            }
            exchanges.push(exchange);
        }
        Ok((result, exchanges))
    }

    /// Sends a message as it stands, in the headers of this client. Over standard streams nothing is waited for after a
    /// notification: an answer to it, which there may not be, shows as one to the next request.
    pub async fn send(&mut self, message: &Value) -> Exchange {
        let body = message.to_string().into_bytes();
        let wants_answer = message.get("id").is_some() && message::method(message).is_some();
        match &mut self.wire {
            Wire::Http(wire) => {
                let request = compose::post(wire.endpoint(), &self.dress, Some(message), body);
                wire.exchange(&request).await
            }
            Wire::Stdio(wire) if wants_answer => wire.exchange(&body, true).await,
            Wire::Stdio(wire) => wire.notify(&body).await,
        }
    }

    /// The era of this conversation.
    pub fn era(&self) -> Era {
        self.dress.revision.era()
    }
}

/// What tells a login page, a redirect or another server from one that speaks MCP; nothing over standard streams.
fn described(exchange: &Exchange) -> String {
    let Some((reply, status)) = exchange.reply().and_then(|reply| Some((reply, reply.status?))) else {
        return String::new();
    };
    let mut text = format!(": HTTP status {status}");
    for name in ["Location", "Content-Type", "Content-Encoding"] {
        if let Some(value) = reply.header(name) {
            text.push_str(&format!(", {name} {value:?}"));
        }
    }
    if let Some(why) = &reply.unreadable {
        text.push_str(&format!("; {why}"));
    }
    text
}
