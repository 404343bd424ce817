//! An answer that is read as it comes: event streams stay open for as long as the server likes.

use super::busy::Patience;
use super::{Exchange, Limits};
use crate::fault::Fault;
use crate::http::{Answer, Connection, Request};
use crate::repeat;
use crate::target::Endpoint;
use std::time::Duration;

/// A request over a connection of its own whose answer may stay open. Dropping it closes the connection.
#[derive(Debug)]
pub struct Watch {
    connection: Connection,
    method: String,
    repeat: String,
}

impl Watch {
    /// Sends a request and reads until the head of an event stream is there, or all of any other answer.
    ///
    /// # Errors
    /// [`Fault::Unreachable`].
    pub async fn open(
        endpoint: &Endpoint,
        request: &Request,
        limits: Limits,
    ) -> Result<(Self, Exchange), Fault> {
        let mut patience = Patience::new(limits.answer);
        loop {
            let opened = Self::open_once(endpoint, request, limits).await?;
            if !patience.wait(&opened.1).await {
                return Ok(opened);
            }
        }
    }

    async fn open_once(
        endpoint: &Endpoint,
        request: &Request,
        limits: Limits,
    ) -> Result<(Self, Exchange), Fault> {
        let mut watch = Self {
            connection: Connection::open(endpoint, limits.connect).await?,
            method: request.method.clone(),
            repeat: repeat::curl(endpoint, request, None),
        };
        let exchange = watch
            .read(&request.to_bytes(), limits.answer, Answer::is_event_stream)
            .await;
        Ok((watch, exchange))
    }

    /// Reads on until `enough` says so of all of the answer that is there, the answer ends, or the time is over, which is
    /// no fault. The reply holds all of the answer so far; its messages, but for a response, are in
    /// [`earlier`](super::Reply::earlier).
    pub async fn more(&mut self, limit: Duration, enough: impl Fn(&Answer) -> bool) -> Exchange {
        self.read(&[], limit, enough).await
    }

    async fn read(&mut self, bytes: &[u8], limit: Duration, enough: impl Fn(&Answer) -> bool) -> Exchange {
        let talk = self.connection.watch(bytes, &self.method, limit, enough).await;
        Exchange::of(talk, self.repeat.clone()).cut()
    }
}
