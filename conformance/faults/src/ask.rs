//! A message of the client, as faults see and rewrite it.

use crate::headers::Headers;
use mcp_hil_harness::revision::{Era, Revision};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What a fault remembers between exchanges, over all connections.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<BTreeMap<String, Value>>);

impl Memory {
    pub(crate) fn get(&self, key: &str) -> Option<Value> {
        self.lock().get(key).cloned()
    }

    /// Gives what was there before.
    pub(crate) fn set(&self, key: &str, value: impl Into<Value>) -> Option<Value> {
        self.lock().insert(key.to_owned(), value.into())
    }

    /// Adds one, and gives the sum.
    pub(crate) fn count(&self, key: &str) -> u64 {
        let mut values = self.lock();
        let count = values.get(key).and_then(Value::as_u64).unwrap_or_default() + 1;
        values.insert(key.to_owned(), count.into());
        count
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Value>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One message from the client, and how it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    /// HTTP method; empty over stdio.
    pub(crate) method: String,
    /// HTTP target.
    pub(crate) target: String,
    pub(crate) headers: Headers,
    /// Request line and header fields as they were sent.
    pub(crate) head: Vec<u8>,
    /// Body without transfer coding, or line without its end.
    pub(crate) body: Vec<u8>,
    /// Where in the body a read ended before its end; empty for a chunked one.
    pub(crate) cuts: Vec<usize>,
    pub(crate) chunked: bool,
    /// It was there before the answer to the request ahead of it was sent.
    pub(crate) pipelined: bool,
    /// Requests on this connection before this one.
    pub(crate) earlier: u32,
    /// Requests of other connections that were waiting for an answer when this one came.
    pub(crate) concurrent: u64,
    pub(crate) memory: Arc<Memory>,
}

impl Ask {
    /// The body as JSON; null where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Rewrites the body as JSON, if it is JSON.
    pub(crate) fn edit(&mut self, edit: impl FnOnce(&mut Value)) {
        if let Ok(before) = serde_json::from_slice::<Value>(&self.body) {
            let mut value = before.clone();
            edit(&mut value);
            if value != before {
                self.body = value.to_string().into_bytes();
            }
        }
    }

    /// The JSON-RPC method; empty where there is none.
    pub(crate) fn rpc(&self) -> String {
        self.json()["method"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn is(&self, rpc: &str) -> bool {
        self.rpc() == rpc
    }

    pub(crate) fn id(&self) -> Value {
        self.json()["id"].clone()
    }

    /// Whether it is a JSON-RPC request.
    pub(crate) fn is_request(&self) -> bool {
        let json = self.json();
        json["method"].is_string() && json.get("id").is_some()
    }

    /// Whether it is a JSON-RPC notification.
    pub(crate) fn is_notification(&self) -> bool {
        let json = self.json();
        json["method"].is_string() && json.get("id").is_none()
    }

    pub(crate) fn params(&self) -> Value {
        self.json()["params"].clone()
    }

    /// The tool that is called; empty where none is.
    pub(crate) fn tool(&self) -> String {
        let tool = self.params()["name"].as_str().unwrap_or_default().to_owned();
        if self.is("tools/call") {
            tool
        } else {
            String::new()
        }
    }

    /// A member of `params._meta` under the prefix of the protocol.
    pub(crate) fn meta(&self, name: &str) -> Value {
        self.params()["_meta"][format!("io.modelcontextprotocol/{name}")].clone()
    }

    pub(crate) fn is_stdio(&self) -> bool {
        self.method.is_empty()
    }

    /// The era it belongs to, where that can be told.
    pub(crate) fn era(&self) -> Option<Era> {
        let json = self.json();
        if json["params"]["_meta"].get(META_VERSION).is_some() {
            return Some(Era::Modern);
        }
        if let Some(version) = self.headers.get("mcp-protocol-version") {
            let modern = version == Revision::NEWEST_MODERN.as_str();
            return Some(if modern { Era::Modern } else { Era::Legacy });
        }
        let legacy = json.is_object() || self.headers.get("mcp-session-id").is_some();
        legacy.then_some(Era::Legacy)
    }

    /// What is compared to see whether a hook changed it.
    pub(crate) fn parts(&self) -> (&str, &str, &Headers, &[u8]) {
        (&self.method, &self.target, &self.headers, &self.body)
    }
}
