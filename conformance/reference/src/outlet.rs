//! Where notifications go that belong to a request, ahead of its answer.

use crate::json::Json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// The way to the client of one request; closed where it takes nothing but the answer.
#[derive(Clone, Debug)]
pub(crate) struct Outlet(Option<UnboundedSender<String>>);

impl Outlet {
    pub(crate) fn closed() -> Self {
        Self(None)
    }

    /// An open one, and what comes out of it: one message a text.
    pub(crate) fn open() -> (Self, UnboundedReceiver<String>) {
        let (sender, receiver) = unbounded_channel();
        (Self(Some(sender)), receiver)
    }

    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Sends a request, whose answer comes in a message of its own.
    pub(crate) fn request(&self, id: &str, method: &str, params: Json) {
        if let Some(sender) = &self.0 {
            let message = Json::object([
                ("jsonrpc", "2.0".into()),
                ("id", id.into()),
                ("method", method.into()),
                ("params", params),
            ]);
            sender.send(message.to_string()).ok();
        }
    }

    /// Sends a notification. One that nobody takes is lost, as notifications may be.
    pub(crate) fn notify(&self, method: &str, params: Json) {
        if let Some(sender) = &self.0 {
            let message = Json::object([
                ("jsonrpc", "2.0".into()),
                ("method", method.into()),
                ("params", params),
            ]);
            sender.send(message.to_string()).ok();
        }
    }
}
