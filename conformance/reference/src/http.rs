//! The HTTP edge: connections in, [`Server::answer`] for each request.

mod head;
mod host;
mod stream;

pub(crate) use stream::StreamLogs;

use crate::Server;
use crate::dispatch::{MODERN, Reply, SESSION, Transport, handle, session};
use crate::features::Feature;
use crate::jsonrpc::Kind;
use crate::outlet::Outlet;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{self, HeaderValue, Method, Response, StatusCode, header};
use http_body_util::BodyExt;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// A head that takes longer ends the connection; so does silence between two requests.
const HEAD_DEADLINE: Duration = Duration::from_secs(5);
/// A body that takes longer is answered 408.
const BODY_DEADLINE: Duration = Duration::from_secs(5);
/// How long requests may go on after the stop.
const STOP_DEADLINE: Duration = Duration::from_secs(2);
const EVENT_STREAM: &[u8] = b"text/event-stream";
/// How much of a body over the limit is read and thrown away, so that the client gets to read the 413: closing a
/// socket with unread bytes resets the connection.
const DISCARD_LIMIT: usize = 16 << 20;

impl Server {
    /// Answers one HTTP request, whose body is whole. Does no I/O, and waits only for jobs that were told to stop.
    pub async fn answer(&self, request: &http::Request<Bytes>) -> Response<Bytes> {
        let (method, uri, headers) = (request.method(), request.uri(), request.headers());
        if let Err(refusal) = head::check(method, uri, headers, &self.options.names) {
            return refusal.into_response();
        }
        if request.body().len() > self.options.body_limit {
            return too_large(self.options.body_limit);
        }
        to_response(handle(self, request.body(), &Transport::Http(headers), &Outlet::closed()).await)
    }
}

/// Answers a request with whatever features are on: that may be a stream.
async fn answer(server: Arc<Server>, request: http::Request<Bytes>) -> Response<Body> {
    let features = server.options.features;
    let (method, headers) = (request.method(), request.headers());
    let legacy = headers
        .get("mcp-protocol-version")
        .is_none_or(|version| version != MODERN);
    match head::check(method, request.uri(), headers, &server.options.names) {
        Err(head::Refusal::Method) if legacy && method == Method::GET && features.has(Feature::Streams) => {
            if !head::admits(headers, EVENT_STREAM) {
                return refuse(StatusCode::NOT_ACCEPTABLE, "Accept must admit text/event-stream")
                    .map(Body::from);
            }
            stream::get(&server, headers, features.has(Feature::Sessions))
        }
        Err(head::Refusal::Method)
            if legacy && method == Method::DELETE && features.has(Feature::Sessions) =>
        {
            end_session(&server, headers).map(Body::from)
        }
        Ok(()) if features.any(&Feature::ALL) && request.body().len() <= server.options.body_limit => {
            let admits = head::admits(headers, EVENT_STREAM);
            if !admits {
                return server.answer(&request).await.map(Body::from);
            }
            let polls = String::from_utf8_lossy(request.body()).contains("\"tasks/get\"");
            // 2025-11-25 advises against a stream for a poll.
            let always = features.has(Feature::Streams) && !polls;
            stream::answer(server, request, always).await
        }
        _ => server.answer(&request).await.map(Body::from),
    }
}

/// DELETE (2025-11-25, basic/transports, "Session Management").
fn end_session(server: &Server, headers: &http::HeaderMap) -> Response<Bytes> {
    match session(server, headers) {
        Ok(scope) => {
            server.sessions.end(&scope);
            reply(StatusCode::NO_CONTENT, None, Bytes::new())
        }
        Err(error) if error.kind == Kind::NoSession => refuse(StatusCode::NOT_FOUND, &error.message),
        Err(error) => refuse(StatusCode::BAD_REQUEST, &error.message),
    }
}

fn to_response(answer: Reply) -> Response<Bytes> {
    match answer {
        Reply::Accepted => reply(StatusCode::ACCEPTED, None, Bytes::new()),
        Reply::Refused(status) => reply(status, None, Bytes::new()),
        Reply::Message { status, text } => reply(status, Some("application/json"), text.into()),
        Reply::Session { id, text } => {
            let mut response = reply(StatusCode::OK, Some("application/json"), text.into());
            // Hex digits, so it is a value.
            if let Ok(id) = HeaderValue::from_str(&id) {
                response.headers_mut().insert(SESSION, id);
            }
            response
        }
        // There is nobody who waits for it, but HTTP wants an end.
        Reply::Cancelled => reply(StatusCode::NO_CONTENT, None, Bytes::new()),
    }
}

/// Serves HTTP/1.1 until `stop` completes, then lets running requests end for up to two seconds.
///
/// # Errors
/// None once it listens: an `accept` that fails is tried again.
pub async fn serve_http(
    listener: TcpListener,
    server: Arc<Server>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (jobs, closing) = (Arc::clone(&server), Arc::clone(&server));
    let mut jobs = std::pin::pin!(jobs.state.run_jobs());
    let service = TowerToHyperService::new(Router::new().fallback(receive).with_state(server));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            never = &mut jobs => match never {},
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Most often out of file descriptors: give connections time to end.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        stream.set_nodelay(true).ok();
        let connection = builder.serve_connection(TokioIo::new(stream), service.clone());
        connections.spawn(graceful.watch(connection));
    }
    drop(listener);
    closing.closing.send_replace(true);
    // What is still running then is aborted as the set is dropped.
    timeout(STOP_DEADLINE, graceful.shutdown()).await.ok();
    Ok(())
}

async fn receive(State(server): State<Arc<Server>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = head::check_coding(&parts.headers) {
        let mut response = refusal.into_response();
        // Where the body would end is not known for sure.
        response
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response.map(Body::from);
    }
    let limit = server.options.body_limit;
    // The body is read also under a head that will be refused, so that the client gets to read why.
    let body = timeout(BODY_DEADLINE, collect(body, limit)).await;
    let refusal = head::check(&parts.method, &parts.uri, &parts.headers, &server.options.names).err();
    let response = match (refusal, body) {
        // Whether a method is one depends on the features.
        (None | Some(head::Refusal::Method), Ok(Ok(body))) => {
            return answer(server, http::Request::from_parts(parts, body)).await;
        }
        (Some(refusal), _) => refusal.into_response(),
        (None, Ok(Err(BodyError::TooLarge))) => too_large(limit),
        (None, Ok(Err(BodyError::Broken))) => refuse(
            StatusCode::BAD_REQUEST,
            "the body ended early or is not framed as said",
        ),
        (None, Err(_)) => refuse(StatusCode::REQUEST_TIMEOUT, "the body did not arrive within 5 s"),
    };
    response.map(Body::from)
}

enum BodyError {
    TooLarge,
    Broken,
}

async fn collect(mut body: Body, limit: usize) -> Result<Bytes, BodyError> {
    let mut bytes = Vec::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else {
            continue;
        };
        length = length.saturating_add(data.len());
        if length <= limit {
            bytes.extend_from_slice(&data);
        } else if length > DISCARD_LIMIT {
            break;
        }
    }
    if length > limit {
        Err(BodyError::TooLarge)
    } else {
        Ok(bytes.into())
    }
}

fn too_large(limit: usize) -> Response<Bytes> {
    refuse(
        StatusCode::PAYLOAD_TOO_LARGE,
        &format!("the body is larger than {limit} bytes"),
    )
}

/// A refusal below JSON-RPC: a status, and one line that tells a person why.
fn refuse(status: StatusCode, reason: &str) -> Response<Bytes> {
    reply(
        status,
        Some("text/plain; charset=utf-8"),
        format!("{reason}\n").into(),
    )
}

fn reply(status: StatusCode, content_type: Option<&'static str>, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if let Some(content_type) = content_type {
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    response
}
