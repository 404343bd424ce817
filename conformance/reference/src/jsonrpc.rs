//! JSON-RPC 2.0 as MCP narrows it: no batches, ids are strings or integers, `params` is an object.

use crate::json::{Json, ReadError};

/// Longest request id, in bytes of JSON: every answer repeats it.
const MAX_ID: usize = 15360;

/// The id of a request, returned as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestId {
    String(String),
    Signed(i64),
    Unsigned(u64),
}

impl RequestId {
    pub(crate) fn read(value: &Json) -> Option<Self> {
        match value {
            Json::String(text) if value.to_string().len() <= MAX_ID => Some(Self::String(text.clone())),
            Json::Number(number) => {
                let text = number.text();
                text.parse()
                    .map(Self::Unsigned)
                    .or_else(|_| text.parse().map(Self::Signed))
                    .ok()
            }
            _ => None,
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        match self {
            Self::String(text) => text.as_str().into(),
            Self::Signed(value) => Json::Number((*value).into()),
            Self::Unsigned(value) => (*value).into(),
        }
    }
}

/// A request. `params` is an object, empty where the message has none.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) id: RequestId,
    pub(crate) method: String,
    pub(crate) params: Json,
}

/// A message from the client.
#[derive(Debug)]
pub(crate) enum Message {
    Request(Request),
    Notification {
        method: String,
        params: Json,
    },
    /// An answer to what the server asked; an error may come without an id.
    Response {
        id: Option<RequestId>,
        outcome: Result<Json, Json>,
    },
}

/// What an error means; the code and the HTTP status follow from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    /// A modern request without what every modern request carries in `_meta`.
    InvalidMeta,
    HeaderMismatch,
    UnsupportedVersion,
    /// The client lacks a capability that the request needs.
    MissingCapability,
    /// A session id that is none, or no longer.
    NoSession,
    /// There is no such resource, in legacy.
    NoResource,
    /// No room for what was asked; it may be asked again.
    Busy,
    /// The answer is larger than an answer may be.
    TooLarge,
}

impl Kind {
    pub(crate) fn code(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest | Self::NoSession => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams | Self::InvalidMeta => -32602,
            Self::HeaderMismatch => -32020,
            Self::UnsupportedVersion => -32022,
            Self::MissingCapability => -32021,
            Self::NoResource => -32002,
            Self::TooLarge | Self::Busy => -32603,
        }
    }
}

/// An error that the client is told.
#[derive(Debug)]
pub(crate) struct Error {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    pub(crate) data: Option<Json>,
}

impl Error {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            data: None,
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        let kind = if let ReadError::Syntax(_) = error {
            Kind::ParseError
        } else {
            Kind::InvalidRequest
        };
        Self::new(kind, error.to_string())
    }
}

impl Message {
    /// Judges the envelope. The error goes with the id, where one could be read.
    pub(crate) fn read(json: Json) -> Result<Self, (Option<RequestId>, Error)> {
        let Json::Object(mut members) = json else {
            return Err((
                None,
                invalid("a message is one JSON object; there are no batches"),
            ));
        };
        let mut take = |name: &str| {
            let at = members.iter().position(|(member, _)| member == name)?;
            Some(members.swap_remove(at).1)
        };
        let raw_id = take("id");
        let id = raw_id.as_ref().and_then(RequestId::read);
        let fail = |reason: &str| Err((id.clone(), invalid(reason)));

        if take("jsonrpc").as_ref().and_then(Json::as_str) != Some("2.0") {
            return fail("jsonrpc must be \"2.0\"");
        }
        let method = take("method");
        let (result, error) = (take("result"), take("error"));
        let is_response = result.is_some() || error.is_some();
        if is_response && method.is_some() {
            return fail("a message has either a method, or a result or an error");
        }
        if is_response {
            return match (result, error) {
                (Some(result), None) if id.is_some() => Ok(Self::Response {
                    id,
                    outcome: Ok(result),
                }),
                (None, Some(error)) if is_error_object(&error) => Ok(Self::Response {
                    id,
                    outcome: Err(error),
                }),
                _ => Err((None, invalid("a response has an id and either result or error"))),
            };
        }
        if raw_id.is_some() && id.is_none() {
            return fail("id must be a string of at most 15360 bytes or an integer of at most 64 bits");
        }
        let Some(Json::String(method)) = method else {
            return fail("method must be a string");
        };
        let params = match take("params") {
            None => Json::Object(Vec::new()),
            Some(params @ Json::Object(_)) => params,
            Some(_) => return fail("params must be an object"),
        };
        Ok(match id {
            Some(id) => Self::Request(Request { id, method, params }),
            None => Self::Notification { method, params },
        })
    }
}

fn invalid(reason: &str) -> Error {
    Error::new(Kind::InvalidRequest, reason)
}

fn is_error_object(error: &Json) -> bool {
    error.get("code").and_then(Json::as_integer).is_some()
        && error.get("message").and_then(Json::as_str).is_some()
}

/// The text of a response, compact and without a line break.
pub(crate) fn response(id: Option<&RequestId>, outcome: &Result<Json, Error>) -> String {
    let id = id.map_or(Json::Null, RequestId::to_json);
    let (name, value) = match outcome {
        Ok(result) => ("result", result.clone()),
        Err(error) => {
            let code = Json::Number(i64::from(error.kind.code()).into());
            let mut members = vec![
                ("code".to_owned(), code),
                ("message".to_owned(), (&*error.message).into()),
            ];
            members.extend(error.data.clone().map(|data| ("data".to_owned(), data)));
            ("error", Json::Object(members))
        }
    };
    Json::object([("jsonrpc", "2.0".into()), ("id", id), (name, value)]).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Message, (Option<RequestId>, Error)> {
        Message::read(Json::read(text.as_bytes()).unwrap())
    }

    #[test]
    fn ids_come_back_as_they_were_sent() {
        for id in [
            "\"1\"",
            "\"\"",
            "\"é\\u0000\"",
            "0",
            "-1",
            "9007199254740993",
            "-9223372036854775808",
            "18446744073709551615",
        ] {
            let Ok(Message::Request(request)) =
                read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
            else {
                panic!("{id} refused");
            };
            let text = response(Some(&request.id), &Ok(Json::Null));
            assert_eq!(text, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":null}}"#));
        }
    }

    #[test]
    fn other_ids_are_refused_without_an_id() {
        for id in [
            "null",
            "1.5",
            "1.0",
            "1e2",
            "true",
            "[]",
            "{}",
            "18446744073709551616",
            "-9223372036854775809",
        ] {
            let Err((None, error)) = read(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#)) else {
                panic!("{id} accepted");
            };
            assert_eq!(error.kind.code(), -32600, "{id}");
        }
    }

    #[test]
    fn an_id_has_at_most_15360_bytes_of_json() {
        let message = |len| format!(r#"{{"jsonrpc":"2.0","id":"{}","method":"m"}}"#, "i".repeat(len));
        assert!(matches!(read(&message(15358)), Ok(Message::Request(_))));
        assert!(matches!(read(&message(15359)), Err((None, error)) if error.kind.code() == -32600));
    }

    #[test]
    fn a_bad_envelope_is_refused_with_the_id_it_has() {
        for text in [
            r#"{"id":7,"method":"m"}"#,
            r#"{"jsonrpc":"1.0","id":7,"method":"m"}"#,
            r#"{"jsonrpc":2.0,"id":7,"method":"m"}"#,
            r#"{"jsonrpc":"2.0","id":7}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":null}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","error":{"code":-1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":null}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}"#,
        ] {
            let Err((Some(id), error)) = read(text) else {
                panic!("{text}")
            };
            assert_eq!(
                (id, error.kind.code()),
                (RequestId::Unsigned(7), -32600),
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_object_is_no_message() {
        for text in [
            "[]",
            "null",
            "\"x\"",
            "1",
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
        ] {
            assert!(matches!(read(text), Err((None, _))), "{text}");
        }
    }

    #[test]
    fn notifications_and_responses_are_told_from_requests() {
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","method":"n"}"#),
            Ok(Message::Notification { .. })
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            Ok(Message::Response { .. })
        ));
        assert!(matches!(
            read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#),
            Ok(Message::Response { .. })
        ));
        for text in [
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"-1","message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-1,"message":"no"}}"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn error_texts_are_escaped() {
        let error = Error::new(Kind::MethodNotFound, "no method \"a\"\n");
        assert_eq!(
            response(None, &Err(error)),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no method \"a\"\n"}}"#
        );
    }
}
