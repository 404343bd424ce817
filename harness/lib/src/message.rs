//! The little of JSON-RPC 2.0 that a client must know of a message.

use serde_json::{Value, json};
use std::fmt;

/// The id of a request: a string or an integer, kept apart (MCP allows no other).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RequestId {
    /// A string id.
    Text(String),
    /// An integer id; 64 bits hold every id that JSON libraries read exactly.
    Number(i128),
}

impl RequestId {
    /// The id that a JSON value stands for; none for a fraction, `1.0`, `null` and everything else.
    pub fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number
                .as_i64()
                .map(i128::from)
                .or_else(|| number.as_u64().map(i128::from))
                .map(Self::Number),
            _ => None,
        }
    }

    /// The id of a message, if it has a valid one.
    pub fn of_message(message: &Value) -> Option<Self> {
        message.get("id").and_then(Self::of)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

/// Whether a message answers a request: it has a `result` or an `error`, and is neither request nor notification.
pub fn is_response(message: &Value) -> bool {
    message.get("method").is_none() && (message.get("result").is_some() || message.get("error").is_some())
}

/// What this client answers to a request of a legacy server: it has no capability, so only `ping` has a result
/// (2025-11-25, basic/utilities/ping). None if the message is no request.
pub fn reply_to(request: &Value) -> Option<Value> {
    let (method, id) = (method(request)?, request.get("id")?);
    Some(if method == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let error = json!({"code": -32601, "message": "Method not found"});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    })
}

/// The method of a request or notification.
pub fn method(message: &Value) -> Option<&str> {
    message.get("method").and_then(Value::as_str)
}

/// The code of an error response.
pub fn error_code(message: &Value) -> Option<i64> {
    message.pointer("/error/code").and_then(Value::as_i64)
}
