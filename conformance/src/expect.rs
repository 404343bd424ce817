//! What an answer must be: pure. Each function gives what it found, or says what is wrong.

use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::Value;

/// Text that is not JSON (JSON-RPC 2.0, 5.1).
pub const PARSE_ERROR: i64 = -32700;
/// JSON that is no request (JSON-RPC 2.0, 5.1).
pub const INVALID_REQUEST: i64 = -32600;
/// A method that is not there (JSON-RPC 2.0, 5.1).
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Parameters that the method can't take (JSON-RPC 2.0, 5.1).
pub const INVALID_PARAMS: i64 = -32602;

/// Headers that say something else than the body (2026-07-28, Streamable HTTP, "Server Validation").
pub const HEADER_MISMATCH: i64 = -32020;
/// A version that the server does not implement (2026-07-28, Versioning).
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The JSON-RPC message of the answer, whatever it says.
///
/// # Errors
/// There is no answer, or it holds no message.
pub fn message(exchange: &Exchange) -> Result<&Value, String> {
    if let Some(fault) = &exchange.fault {
        return Err(format!("no answer: {fault}"));
    }
    let Some(reply) = exchange.reply() else {
        return Err("no answer".to_owned());
    };
    reply.message.as_ref().ok_or_else(|| {
        let status = reply
            .status
            .map(|status| format!(", HTTP status {status}"))
            .unwrap_or_default();
        let why = reply.unreadable.as_deref().unwrap_or("it is empty");
        format!("the answer has no JSON-RPC message: {why}{status}")
    })
}

/// The result of a request that must succeed.
///
/// # Errors
/// No answer, or an error.
pub fn result(exchange: &Exchange) -> Result<&Value, String> {
    let message = message(exchange)?;
    message
        .get("result")
        .ok_or_else(|| format!("answered without a result: {}", brief(message)))
}

/// The error of a request that must be refused with one of these codes.
///
/// # Errors
/// No answer, a result, or another code.
pub fn error<'a>(exchange: &'a Exchange, codes: &[i64]) -> Result<&'a Value, String> {
    let message = message(exchange)?;
    let wanted = codes.iter().map(i64::to_string).collect::<Vec<_>>().join(" or ");
    let Some(error) = message.get("error") else {
        return Err(format!(
            "answered without an error, where {wanted} is due: {}",
            brief(message)
        ));
    };
    match message::error_code(message) {
        Some(code) if codes.contains(&code) => Ok(error),
        _ => Err(format!(
            "error code {}, where {wanted} is due",
            error.get("code").unwrap_or(&Value::Null)
        )),
    }
}

/// The error of a request that must be refused, with whatever code.
///
/// # Errors
/// No answer, a result, or no code.
pub fn any_error(exchange: &Exchange) -> Result<(), String> {
    let message = message(exchange)?;
    match message::error_code(message) {
        Some(_) => Ok(()),
        None => Err(format!(
            "answered without an error, where one is due: {}",
            brief(message)
        )),
    }
}

/// An answer that refuses: a JSON-RPC error of any code, or over HTTP a status of 4xx without a result.
///
/// # Errors
/// No answer, or a result, or a status that says success or trouble of the server's own.
pub fn refused(exchange: &Exchange) -> Result<(), String> {
    if let Some(fault) = &exchange.fault {
        return Err(format!("no answer: {fault}"));
    }
    let message = exchange.message();
    if let Some(message) = message.filter(|message| message.get("result").is_some()) {
        return Err(format!("served: {}", brief(message)));
    }
    match (status(exchange), message.and_then(|message| message.get("error"))) {
        (_, Some(_)) | (Some(400..=499), None) => Ok(()),
        (Some(status), None) => Err(format!("HTTP status {status} and no error")),
        (None, None) => Err("neither a result nor an error".to_owned()),
    }
}

/// A refusal for a reason: an error with one of these codes, or over HTTP a bare 4xx, which gives none.
///
/// # Errors
/// No answer, a result, or another code.
pub fn refused_as(exchange: &Exchange, codes: &[i64]) -> Result<(), String> {
    let is_bare = exchange.message().is_none() && matches!(status(exchange), Some(400..=499));
    if exchange.fault.is_none() && is_bare {
        return Ok(());
    }
    error(exchange, codes).map(|_| ())
}

/// That nothing answers a notification: over HTTP 202 or a refusal, without a JSON-RPC response in it that has an id.
///
/// # Errors
/// There is a response, or no HTTP answer at all.
pub fn unanswered(exchange: &Exchange) -> Result<(), String> {
    if let Some(fault) = &exchange.fault {
        return Err(fault.to_string());
    }
    let answers = exchange.replies.iter().filter_map(|reply| reply.message.as_ref());
    match answers
        .into_iter()
        .find(|message| !message["id"].is_null() || message.get("result").is_some())
    {
        Some(message) => Err(format!("a notification was answered: {}", brief(message))),
        None => Ok(()),
    }
}

/// A request that must be served: a result, or an error that the server gives after it has understood the message, which
/// none of `codes` is.
///
/// # Errors
/// No answer, an error with one of the codes, or an HTTP status of trouble below JSON-RPC.
pub fn understood(exchange: &Exchange, codes: &[i64]) -> Result<(), String> {
    let message = message(exchange)?;
    match (message.get("result"), message::error_code(message)) {
        (Some(_), _) => Ok(()),
        (None, Some(code)) if !codes.contains(&code) => Ok(()),
        _ => Err(format!("refused: {}", brief(message))),
    }
}

/// An HTTP status.
///
/// # Errors
/// No answer, or another status.
pub fn has_status(exchange: &Exchange, wanted: &[u16]) -> Result<(), String> {
    let list = || wanted.iter().map(u16::to_string).collect::<Vec<_>>().join(" or ");
    match (&exchange.fault, status(exchange)) {
        (_, Some(status)) if wanted.contains(&status) => Ok(()),
        (_, Some(status)) => Err(format!("HTTP status {status}, where {} is due", list())),
        (Some(fault), None) => Err(format!("no answer: {fault}")),
        (None, None) => Err(format!("no answer, where HTTP status {} is due", list())),
    }
}

/// The message that an exchange sent: in the body of a plain HTTP request, or the line.
pub fn sent_message(exchange: &Exchange) -> Option<Value> {
    let head = exchange.sent.windows(4).position(|window| window == b"\r\n\r\n");
    serde_json::from_slice(&exchange.sent[head.map_or(0, |end| end + 4)..]).ok()
}

/// Whether the request said in its `_meta` that it is of 2026-07-28: a server of both eras may take others for legacy ones,
/// and `initialize` whatever it says.
pub fn is_modern(exchange: &Exchange) -> bool {
    let sent = String::from_utf8_lossy(&exchange.sent);
    sent.contains(r#""io.modelcontextprotocol/protocolVersion":"2026-07-28""#)
        && !sent.contains(r#""method":"initialize""#)
}

/// HTTP status of the answer; none over standard streams.
pub fn status(exchange: &Exchange) -> Option<u16> {
    exchange.reply().and_then(|reply| reply.status)
}

/// What came before the first brace, in lower case: the head of an answer that was not read to its end.
pub fn head(exchange: &Exchange) -> String {
    let head = exchange.received.split(|byte| *byte == b'{').next();
    String::from_utf8_lossy(head.unwrap_or_default()).to_ascii_lowercase()
}

/// A message, cut to fit a line.
pub fn brief(message: &Value) -> String {
    const MAX: usize = 160;
    let text = message.to_string();
    match text.char_indices().nth(MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
