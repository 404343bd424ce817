//! The endpoint: its path, its methods, and connections that end early.

use super::{NOWHERE, is_event_stream, set, unset};
use crate::check::{BOTH, Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Client, Exchange};
use mcp_hil_harness::http::{Piece, Request};
use mcp_hil_harness::message;
use mcp_hil_harness::revision::Revision;
use serde_json::Value;
use std::time::Duration;

const GET: &str = "2025-11-25/http/get-stream-or-405";
const SINGLE: &str = "2025-11-25/http/single-endpoint-post-get";
const RESPONSES: &str = "2025-11-25/http/get-stream-no-responses";
const CLOSE: &str = "2025-11-25/http/get-close-any-time";
const RESUME: &str = "2025-11-25/http/resume-unknown-id";
const VERSION: &str = "2025-11-25/http/version-header-any-supported";
const ALLOW: &str = "both/http/allow-with-405";
const GET_MODERN: &str = "2026-07-28/http/get-delete-405";
const OLD: &str = "2026-07-28/http/old-sse-transport";
/// How long an open stream is listened to for what must not come.
const LISTEN: Duration = Duration::from_millis(300);

pub const CHECKS: &[Check] = &[
    check!(
        "http/get-legacy",
        LEGACY,
        get,
        [GET, SINGLE, RESPONSES, CLOSE, ALLOW, VERSION]
    )
    .over(Over::Http)
    .with_two_connections(),
    check!("http/last-event-id-unknown", LEGACY, resume, [RESUME]).over(Over::Http),
    check!("http/get-modern", MODERN, get_modern, [GET_MODERN, OLD, ALLOW]).over(Over::Http),
    check!(
        "http/post-modern",
        MODERN,
        post,
        ["2026-07-28/http/single-endpoint-post"]
    )
    .over(Over::Http),
    check!("http/wrong-path", BOTH, wrong_path, ["both/http/wrong-path-404"]).over(Over::Http),
    check!(
        "http/connection-dropped",
        LEGACY,
        dropped,
        ["2025-11-25/lifecycle/http-close-is-shutdown"]
    )
    .over(Over::Http),
];

/// A request without a body, with the session and version of a POST.
pub fn bare(post: &Request, method: &str) -> Request {
    let mut request = Request {
        method: method.to_owned(),
        path: post.path.clone(),
        headers: post.headers.clone(),
        ..Request::default()
    };
    unset(&mut request, "Content-Type");
    unset(&mut request, "Mcp-Method");
    set(&mut request, "Accept", "text/event-stream");
    request
}

async fn bare_request(lab: &mut Lab, method: &str) -> Result<Request, Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    Ok(bare(&lab.post(&message).await?, method))
}

fn is_open_stream(exchange: &Exchange) -> bool {
    exchange
        .reply()
        .is_some_and(|reply| reply.status == Some(200) && is_event_stream(reply))
}

/// RFC 9110, 15.5.6.
fn allows(exchange: &Exchange) -> Result<(), String> {
    match exchange.reply() {
        Some(reply) if reply.status == Some(405) && reply.header("allow").is_none() => {
            Err("405 without Allow".to_owned())
        }
        _ => Ok(()),
    }
}

/// What an open stream brought: its messages and, if one came, a response.
fn heard(exchange: &Exchange) -> impl Iterator<Item = &Value> {
    exchange
        .replies
        .iter()
        .flat_map(|reply| reply.earlier.iter().chain(&reply.message))
}

async fn get(lab: &mut Lab) -> Result<(), Stop> {
    let request = bare_request(lab, "GET").await?;
    // a server may allow one such stream a session
    lab.spoil();
    let (watch, head) = lab.watch(&request).await?;
    lab.note(ALLOW, allows(&head), &head);
    let Some(mut watch) = watch.filter(|_| is_open_stream(&head)) else {
        if let Err(what) = expect::has_status(&head, &[405]) {
            let kind = head.reply().and_then(|reply| reply.header("content-type"));
            let what = format!("GET: {what}, or an event stream; Content-Type {kind:?}");
            lab.found(GET, what.clone(), &[&head]);
            match expect::status(&head) {
                Some(404) => lab.found(SINGLE, what, &[&head]),
                Some(400) => version_on_get(lab, request, &head).await?,
                _ => {}
            }
        }
        return Ok(());
    };
    let call = lab.ask(lab.harmless(), Value::Null).await?;
    let more = lab
        .watch_on(&mut watch, LISTEN, |answer| {
            answer.events.iter().any(message::is_response)
        })
        .await;
    if let Some(response) = heard(&head)
        .chain(heard(&more))
        .find(|message| message::is_response(message))
    {
        let what = format!(
            "the stream of a GET carries a response: {}",
            expect::brief(response)
        );
        lab.found(RESPONSES, what, &[&call, &more]);
    }
    drop(watch);
    let after = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(CLOSE, expect::result(&after), &after);
    Ok(())
}

/// Whether it is the header with the negotiated version for which a GET gets 400.
async fn version_on_get(lab: &mut Lab, mut request: Request, with: &Exchange) -> Result<(), Stop> {
    unset(&mut request, "MCP-Protocol-Version");
    let (_watch, without) = lab.watch(&request).await?;
    if !matches!(expect::status(&without), None | Some(400)) {
        let what = "GET is refused for the header with the negotiated version";
        lab.found(VERSION, what, &[with, &without]);
    }
    Ok(())
}

/// A stream, or a refusal; and nothing on the stream, which never was.
async fn resume(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = bare_request(lab, "GET").await?;
    set(&mut request, "Last-Event-ID", NOWHERE);
    lab.spoil();
    let (watch, head) = lab.watch(&request).await?;
    if let Some(mut watch) = watch.filter(|_| is_open_stream(&head)) {
        let more = lab
            .watch_on(&mut watch, LISTEN, |answer| {
                answer.events.iter().any(message::is_response)
            })
            .await;
        if let Some(response) = heard(&more).find(|message| message::is_response(message)) {
            let what = format!(
                "an event id that was never given resumes a stream: {}",
                expect::brief(response)
            );
            lab.found(RESUME, what, &[&head, &more]);
        }
    } else if !matches!(expect::status(&head), Some(400..=499)) {
        let what = match (&head.fault, expect::status(&head)) {
            (Some(fault), _) => format!("no answer: {fault}"),
            (None, status) => format!(
                "HTTP status {}, where a stream or 4xx is due",
                status.unwrap_or_default()
            ),
        };
        lab.found(RESUME, what, &[&head]);
    }
    let after = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(RESUME, expect::result(&after), &after);
    Ok(())
}

async fn get_modern(lab: &mut Lab) -> Result<(), Stop> {
    for method in ["GET", "DELETE"] {
        let request = bare_request(lab, method).await?;
        let (watch, head) = lab.watch(&request).await?;
        lab.note(ALLOW, allows(&head), &head);
        let Err(what) = expect::has_status(&head, &[405]) else {
            continue;
        };
        if let Some(mut watch) = watch.filter(|_| is_open_stream(&head)) {
            let more = lab.watch_on(&mut watch, LISTEN, |_| false).await;
            let body = more
                .reply()
                .map(|reply| reply.body.as_slice())
                .unwrap_or_default();
            if String::from_utf8_lossy(body)
                .replace(": ", ":")
                .contains("event:endpoint")
            {
                let what = "GET opens a stream of the transport of 2024-11-05";
                lab.found(OLD, what, &[&more]);
            }
        }
        if !serves_legacy(lab).await? {
            lab.found(GET_MODERN, format!("{method}: {what}"), &[&head]);
        }
    }
    Ok(())
}

/// Whether the server also answers `initialize`.
async fn serves_legacy(lab: &mut Lab) -> Result<bool, Stop> {
    let shared = &lab.shared;
    let mut client = Client::open(&shared.target, Revision::NEWEST_LEGACY, shared.limits)
        .map_err(|fault| Stop::Unreachable(fault.to_string()))?;
    let opened = client.initialize().await;
    client.close().await;
    Ok(opened.is_ok())
}

async fn post(lab: &mut Lab) -> Result<(), Stop> {
    for exchange in lab.offer().opened.clone() {
        let judged = expect::message(&exchange).map(|_| ());
        lab.note("2026-07-28/http/single-endpoint-post", judged, &exchange);
    }
    Ok(())
}

async fn wrong_path(lab: &mut Lab) -> Result<(), Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    let mut request = lab.post(&message).await?;
    request.path = format!("/{NOWHERE}");
    let exchange = lab.deliver(&request).await?;
    let judged = match (&exchange.fault, expect::status(&exchange)) {
        (None, Some(400..=499)) => Ok(()),
        (None, Some(status)) => Err(format!("a POST to another path gets HTTP status {status}")),
        (Some(fault), _) => Err(format!("a POST to another path: {fault}")),
        (None, None) => Err("no answer".to_owned()),
    };
    lab.note("both/http/wrong-path-404", judged, &exchange);
    Ok(())
}

/// A client leaves in the middle of a body, and one before it has read its answer; the next is served.
async fn dropped(lab: &mut Lab) -> Result<(), Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    let whole = lab.post(&message).await?.to_bytes();
    let half = whole[..whole.len() - 8].to_vec();
    for bytes in [half, whole] {
        lab.deliver_raw(&[Piece::Bytes(bytes)], &[], None).await?;
    }
    let row = "2025-11-25/lifecycle/http-close-is-shutdown";
    match lab.another().await {
        Ok(next) => next.close().await,
        Err(Stop::Skip(what) | Stop::Unreachable(what)) => {
            lab.found(row, format!("after two clients had left: {what}"), &[]);
        }
        Err(stop) => return Err(stop),
    }
    Ok(())
}
