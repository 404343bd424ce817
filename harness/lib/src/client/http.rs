//! Requests over HTTP: at most one connection is kept open between them.

use super::{Exchange, Limits};
use crate::fault::Fault;
use crate::http::{Connection, Conversation, Piece, Request};
use crate::repeat;
use crate::target::Endpoint;
use std::time::Duration;
use tokio::time::timeout;

/// An endpoint with the connection that was last used.
#[derive(Debug)]
pub struct HttpWire {
    endpoint: Endpoint,
    limits: Limits,
    idle: Option<Connection>,
}

impl HttpWire {
    /// Nothing is connected yet.
    pub const fn new(endpoint: Endpoint, limits: Limits) -> Self {
        Self {
            endpoint,
            limits,
            idle: None,
        }
    }

    /// Where the requests go.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Sends a request and reads its answer, over the open connection if it is still good.
    pub async fn exchange(&mut self, request: &Request) -> Exchange {
        let pieces = [Piece::Bytes(request.to_bytes())];
        let methods = [request.method.clone()];
        let repeat = repeat::curl(&self.endpoint, request);
        if let Some(mut connection) = self.idle.take().filter(Connection::is_reusable) {
            let talk = connection.converse(&pieces, &methods, self.limits.answer).await;
            // a server may close an idle connection just when a request goes out (RFC 9112, 9.3.1): that is no answer
            if !matches!(talk.fault, Some(Fault::Closed { bytes: 0, .. })) {
                return self.keep(connection, talk, repeat);
            }
        }
        match Connection::open(&self.endpoint, self.limits.connect).await {
            Ok(mut connection) => {
                let talk = connection.converse(&pieces, &methods, self.limits.answer).await;
                self.keep(connection, talk, repeat)
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
    /// for the server to close, and says whether it did.
    pub async fn raw(
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
        let mut exchange = Exchange::of(
            connection.converse(pieces, methods, self.limits.answer).await,
            repeat,
        );
        let mut closed = None;
        if let (Some(limit), None) = (closing, &exchange.fault) {
            let (did, extra) = connection.closes_within(limit).await;
            closed = Some(did);
            exchange.received.extend_from_slice(&extra);
            exchange.fault = (!extra.is_empty()).then_some(Fault::Extra(extra.len()));
        }
        (exchange, closed)
    }

    fn keep(&mut self, connection: Connection, talk: Conversation, repeat: String) -> Exchange {
        self.idle = Some(connection);
        Exchange::of(talk, repeat)
    }
}
