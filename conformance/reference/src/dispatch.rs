//! From the bytes of a message to the answer: which era it belongs to, and what becomes of it.

mod context;
mod legacy;
mod modern;
mod subscriptions;
mod tasks;

pub(crate) use context::Context;

use crate::features::Feature;
use crate::json::{Json, quote};
use crate::jsonrpc::{Error, Kind, Message, Request, RequestId, response};
use crate::outlet::Outlet;
use crate::scope::Scope;
use crate::{Server, official, tools};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Largest answer to a request, as JSON-RPC text in bytes.
const MAX_ANSWER: usize = 16384;

const SERVER_NAME: &str = "mcp-hil-device";
const SERVER_TITLE: &str = "MCP HIL device";
const INSTRUCTIONS: &str = "Microcontroller board with an LED, sensors and a log. \
                            Call device_info to see which board answers.";
/// Revisions that begin with `initialize`, newest first.
const LEGACY: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// The revision whose requests say it themselves.
pub(crate) const MODERN: &str = "2026-07-28";
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// The extension of 2026-07-28.
const TASKS: &str = "io.modelcontextprotocol/tasks";
/// Header of legacy sessions.
pub(crate) const SESSION: &str = "mcp-session-id";
const META_NOT_OBJECT: &str = "params._meta must be an object";

/// What came with the message besides its bytes.
pub(crate) enum Transport<'a> {
    Http(&'a HeaderMap),
    Stdio {
        /// Whether this stream has seen a successful `initialize`.
        initialized: &'a AtomicBool,
        scope: &'a Arc<Scope>,
    },
}

/// What the transport sends back.
#[derive(Debug)]
pub(crate) enum Reply {
    /// Nothing but an acknowledgement: there is no JSON-RPC answer to a notification or a response.
    Accepted,
    /// A notification that can't be taken: over HTTP this status and no body, since nobody waits for an answer.
    Refused(StatusCode),
    /// One JSON-RPC response; over HTTP with this status.
    Message { status: StatusCode, text: String },
    /// The same, and the id of the session that it begins.
    Session { id: String, text: String },
    /// A request that the client cancelled: it gets no response.
    Cancelled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// Answers one message. Notifications that belong to it go through the outlet, ahead of the answer.
pub(crate) async fn handle(
    server: &Server,
    body: &[u8],
    transport: &Transport<'_>,
    outlet: &Outlet,
) -> Reply {
    let message = match read(body) {
        Ok(message) => message,
        Err((id, error)) => return refuse(server, id.as_ref(), error),
    };
    let era = match era(&message, transport) {
        Ok(era) => era,
        Err(_) if matches!(message, Message::Notification { .. }) => {
            return Reply::Refused(StatusCode::BAD_REQUEST);
        }
        Err((id, error)) => return refuse(server, id.as_ref(), error),
    };
    let scope = match (scope(server, era, &message, transport), &message) {
        (Ok(scope), _) => scope,
        (Err(error), Message::Request(request)) => return refuse(server, Some(&request.id), error),
        (Err(error), _) => return Reply::Refused(status(&error, era)),
    };
    match (era, message) {
        (era, Message::Request(request)) => {
            let running = scope.begin(request.id.to_json().to_string());
            let context = Context {
                server,
                era,
                scope: &scope,
                outlet,
                id: &request.id,
            };
            tokio::select! {
                biased;
                reply = respond(&context, &request, transport) => reply,
                () = running.cancelled() => Reply::Cancelled,
            }
        }
        (Era::Modern, Message::Response { .. }) => {
            let reason = format!("a {MODERN} client sends no responses");
            reply(Era::Modern, None, &Err(Error::new(Kind::InvalidRequest, reason)))
        }
        (_, Message::Notification { method, params }) => {
            let cancelled = params.get("requestId").and_then(RequestId::read);
            if let Some(id) = cancelled.filter(|_| method == "notifications/cancelled") {
                scope.cancel(&id.to_json().to_string());
            }
            Reply::Accepted
        }
        (Era::Legacy, Message::Response { id, outcome }) => {
            if let Some(RequestId::String(id)) = id {
                scope.answered(&id, outcome);
            }
            Reply::Accepted
        }
    }
}

/// What a message belongs to: its stream, or over HTTP its session, where legacy clients must have one.
fn scope(
    server: &Server,
    era: Era,
    message: &Message,
    transport: &Transport<'_>,
) -> Result<Arc<Scope>, Error> {
    let headers = match transport {
        Transport::Stdio { scope, .. } => return Ok(Arc::clone(scope)),
        Transport::Http(headers) => headers,
    };
    let begins = matches!(message, Message::Request(request) if request.method == "initialize");
    if era == Era::Modern || begins || !server.options.features.has(Feature::Sessions) {
        return Ok(Arc::clone(&server.common));
    }
    session(server, headers)
}

/// The session that a legacy request names.
pub(crate) fn session(server: &Server, headers: &HeaderMap) -> Result<Arc<Scope>, Error> {
    let id = headers.get(SESSION);
    let id = id.ok_or_else(|| {
        Error::new(
            Kind::InvalidRequest,
            "MCP-Session-Id is missing; initialize gives one",
        )
    })?;
    let scope = server.sessions.get(id.as_bytes());
    scope.ok_or_else(|| Error::new(Kind::NoSession, "there is no such session; begin with initialize"))
}

/// Answers a message that can't be served, and counts it if somebody waits for the answer.
fn refuse(server: &Server, id: Option<&RequestId>, error: Error) -> Reply {
    if id.is_some() {
        server.state.count(true);
    }
    reply(Era::Legacy, id, &Err(error))
}

fn read(body: &[u8]) -> Result<Message, (Option<RequestId>, Error)> {
    let json = Json::read(body).map_err(|error| (None, error.into()))?;
    Message::read(json)
}

async fn respond(context: &Context<'_>, request: &Request, transport: &Transport<'_>) -> Reply {
    let Context { server, era, .. } = *context;
    let outcome = match era {
        Era::Legacy => legacy::answer(context, request, transport).await,
        Era::Modern => modern::answer(context, request, transport).await,
    };
    let finish = match era {
        Era::Legacy => |result| result,
        Era::Modern => modern::complete,
    };
    let mut outcome = outcome.map(finish);
    if response(Some(&request.id), &outcome).len() > MAX_ANSWER {
        outcome = if outcome.is_ok() && request.method == "tools/call" {
            Ok(finish(tools::too_large(MAX_ANSWER)))
        } else {
            let message = format!("answer too large: the limit is {MAX_ANSWER} bytes; use a shorter id");
            Err(Error::new(Kind::TooLarge, message))
        };
    }
    server.state.count(outcome.is_err());
    let over_http = matches!(transport, Transport::Http(_));
    if outcome.is_ok() && request.method == "initialize" && context.has(Feature::Sessions) && over_http {
        let text = response(Some(&request.id), &outcome);
        let id = server.sessions.begin(request.params.get("capabilities"));
        return Reply::Session { id, text };
    }
    reply(era, Some(&request.id), &outcome)
}

/// Which era a message belongs to. A legacy version header that this server doesn't have is an error.
fn era(message: &Message, transport: &Transport<'_>) -> Result<Era, (Option<RequestId>, Error)> {
    let (id, params) = match message {
        Message::Request(request) => (Some(&request.id), Some(&request.params)),
        Message::Notification { params, .. } => (None, Some(params)),
        Message::Response { .. } => (None, None),
    };
    let meta = params.and_then(|params| params.get("_meta"));
    if meta.is_some_and(|meta| meta.get(META_VERSION).is_some()) {
        return Ok(Era::Modern);
    }
    let Transport::Http(headers) = transport else {
        return Ok(Era::Legacy);
    };
    if matches!(message, Message::Notification { .. }) && !is_object_or_absent(meta) {
        return Err((None, Error::new(Kind::InvalidMeta, META_NOT_OBJECT)));
    }
    let versions: Vec<_> = headers
        .get_all("mcp-protocol-version")
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    match versions[..] {
        [] => Ok(Era::Legacy),
        [version] if version == MODERN.as_bytes() => Ok(Era::Modern),
        [version] if LEGACY.iter().any(|known| known.as_bytes() == version) => Ok(Era::Legacy),
        _ => {
            let got = versions
                .iter()
                .map(|version| String::from_utf8_lossy(version))
                .collect::<Vec<_>>()
                .join(", ");
            let message = format!(
                "unsupported MCP-Protocol-Version {}; this server has {}",
                quote(&got),
                supported()
            );
            Err((id.cloned(), Error::new(Kind::InvalidRequest, message)))
        }
    }
}

fn is_object_or_absent(member: Option<&Json>) -> bool {
    member.is_none_or(|member| member.as_object().is_some())
}

/// Every revision, newest first.
fn supported() -> Json {
    std::iter::once(MODERN).chain(LEGACY).map(Json::from).collect()
}

fn capabilities(context: &Context<'_>) -> Json {
    let none = || Json::object([]);
    let tools = if context.era == Era::Modern && context.has(Feature::Subscriptions) {
        Json::object([("listChanged", true.into())])
    } else {
        none()
    };
    let mut capabilities = Json::object([("tools", tools)]);
    if context.has(Feature::Logging) {
        capabilities = capabilities.with("logging", none());
    }
    if context.has(Feature::Official) {
        for (name, capability) in official::capabilities(context.era) {
            capabilities = capabilities.with(name, capability);
        }
    }
    if context.has(Feature::Tasks) {
        capabilities = match context.era {
            Era::Legacy => {
                let call = Json::object([("tools", Json::object([("call", none())]))]);
                let tasks = Json::object([("cancel", none()), ("requests", call)]);
                let listed = context.has(Feature::Sessions);
                capabilities.with("tasks", if listed { tasks.with("list", none()) } else { tasks })
            }
            Era::Modern => capabilities.with("extensions", Json::object([(TASKS, none())])),
        };
    }
    capabilities
}

fn server_info() -> Json {
    let version = env!("CARGO_PKG_VERSION");
    Json::object([
        ("name", SERVER_NAME.into()),
        ("title", SERVER_TITLE.into()),
        ("version", version.into()),
    ])
}

fn method_not_found(method: &str) -> Error {
    Error::new(Kind::MethodNotFound, format!("no method {}", quote(method)))
}

fn reply(era: Era, id: Option<&RequestId>, outcome: &Result<Json, Error>) -> Reply {
    Reply::Message {
        status: outcome
            .as_ref()
            .map_or_else(|error| status(error, era), |_| StatusCode::OK),
        text: response(id, outcome),
    }
}

fn status(error: &Error, era: Era) -> StatusCode {
    match (error.kind, era) {
        (Kind::MethodNotFound, Era::Modern) | (Kind::NoSession, _) => StatusCode::NOT_FOUND,
        // A legacy client reads 404 as "session gone".
        (Kind::MethodNotFound | Kind::InvalidParams | Kind::NoResource | Kind::TooLarge | Kind::Busy, _) => {
            StatusCode::OK
        }
        _ => StatusCode::BAD_REQUEST,
    }
}

/// The answer to a message that was too long to be read.
pub(crate) fn oversized(limit: usize) -> Reply {
    let error = Error::new(
        Kind::InvalidRequest,
        format!("the message is larger than {limit} bytes"),
    );
    reply(Era::Legacy, None, &Err(error))
}
