//! Which era a server speaks: `server/discover` first, `initialize` only where its answer does not say modern.

use super::advice::advice;
use super::{Client, ClientError, Exchange, Limits};
use crate::fault::Fault;
use crate::message;
use crate::revision::{Era, Revision};
use crate::target::Target;
use serde_json::Value;

/// What the answer to `server/discover` says about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Modern, with the versions it has where the answer lists them.
    Modern(Vec<String>),
    /// Not modern: `initialize` decides.
    NotModern,
}

/// -32020 header mismatch, -32021 missing client capability, -32022 unsupported version: no legacy server has them.
const MODERN_ERRORS: [i64; 3] = [-32020, -32021, -32022];

/// Judges the answer to `server/discover` over HTTP (2026-07-28, Streamable HTTP, "Backward Compatibility").
pub fn judge_http(status: u16, answer: Option<&Value>) -> Sign {
    match answer.and_then(judge_message) {
        Some(sign) => sign,
        None if status == 404 && answer.and_then(message::error_code) == Some(-32601) => {
            Sign::Modern(Vec::new())
        }
        None => Sign::NotModern,
    }
}

/// Judges the answer to `server/discover` over standard streams; none means silence (2026-07-28, stdio, "Backward Compatibility").
pub fn judge_stdio(answer: Option<&Value>) -> Sign {
    answer.and_then(judge_message).unwrap_or(Sign::NotModern)
}

fn judge_message(answer: &Value) -> Option<Sign> {
    let versions = if MODERN_ERRORS.contains(&message::error_code(answer).unwrap_or_default()) {
        answer.pointer("/error/data/supported")
    } else {
        Some(
            answer
                .pointer("/result/supportedVersions")
                .filter(|versions| versions.is_array())?,
        )
    };
    let versions = versions.and_then(Value::as_array).into_iter().flatten();
    Some(Sign::Modern(
        versions.filter_map(Value::as_str).map(str::to_owned).collect(),
    ))
}

/// What a probe found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Detected {
    /// Revisions of ours that the server speaks.
    pub revisions: Vec<Revision>,
    /// Name in its `serverInfo`, if it gave one.
    pub name: Option<String>,
}

/// Why a server could not be placed.
#[derive(Debug, thiserror::Error)]
pub enum Probe {
    /// Nobody is there.
    #[error("{0}")]
    Unreachable(Fault),
    /// It speaks only the HTTP+SSE transport of 2024-11-05.
    #[error("the server speaks only the HTTP+SSE transport of 2024-11-05, which is not supported")]
    HttpSse,
    /// Neither `server/discover` nor `initialize` was answered as MCP asks.
    #[error("{0}")]
    NotMcp(ClientError),
    /// It is MCP, and has no revision in common with us.
    #[error("the server speaks {}; this program has 2025-06-18, 2025-11-25 and 2026-07-28", .0.join(", "))]
    NoCommonRevision(Vec<String>),
}

impl Probe {
    /// What a person can try, where the evidence says something.
    pub fn advice(&self, target: &Target) -> Option<String> {
        advice(target, self)
    }

    /// What is wrong, and on a line of its own what can be tried.
    pub fn report(&self, target: &Target) -> String {
        match self.advice(target) {
            Some(advice) => format!("{self}\ntry: {advice}"),
            None => self.to_string(),
        }
    }
}

/// Finds every revision that a target speaks.
///
/// # Errors
/// [`Probe`].
pub async fn probe(target: &Target, limits: Limits) -> Result<Detected, Probe> {
    let mut found = Detected::default();
    let mut others = Vec::new();
    let modern = discover(target, limits).await?;
    if let Some((Sign::Modern(versions), exchange)) = &modern {
        let ours = versions.iter().filter_map(|version| version.parse().ok());
        found
            .revisions
            .extend(ours.filter(|revision: &Revision| revision.era() == Era::Modern));
        if versions.is_empty() {
            found.revisions.push(Revision::NEWEST_MODERN);
        }
        others.extend(versions.iter().cloned());
        found.name = exchange.message().and_then(server_name);
    }
    for revision in Revision::ALL
        .into_iter()
        .filter(|revision| revision.era() == Era::Legacy)
        .rev()
    {
        let mut client = Client::open(target, revision, limits).map_err(Probe::Unreachable)?;
        let initialized = client.initialize().await;
        client.close().await;
        match initialized {
            Ok((result, _)) => {
                let version = result["protocolVersion"].as_str().unwrap_or_default();
                if version == revision.as_str() {
                    found.revisions.push(revision);
                } else if !others.iter().any(|other| other == version) {
                    others.push(version.to_owned());
                }
                found.name = found
                    .name
                    .or_else(|| result.pointer("/serverInfo/name")?.as_str().map(str::to_owned));
            }
            Err(error) if error.is_unreachable() => return Err(Probe::Unreachable(fault(error))),
            // a modern-only server refuses the handshake, and that settles it for every legacy revision
            Err(_) if modern.as_ref().is_some_and(|(sign, _)| *sign != Sign::NotModern) => break,
            Err(error) if revision == Revision::NEWEST_LEGACY => {
                return Err(if is_http_sse(target, &error, limits).await {
                    Probe::HttpSse
                } else {
                    Probe::NotMcp(error)
                });
            }
            Err(_) => {}
        }
    }
    if found.revisions.is_empty() {
        Err(Probe::NoCommonRevision(others))
    } else {
        Ok(found)
    }
}

/// Asks `server/discover`. None: no answer that can be judged.
async fn discover(target: &Target, limits: Limits) -> Result<Option<(Sign, Exchange)>, Probe> {
    // silence on standard streams means legacy, and is no reason to wait as long as for an answer that is due
    let limits = match target {
        Target::Stdio(_) => Limits {
            answer: limits.answer / 4,
            ..limits
        },
        Target::Http(_) => limits,
    };
    let mut client = Client::open(target, Revision::NEWEST_MODERN, limits).map_err(Probe::Unreachable)?;
    let exchange = match client.exchange("server/discover", Value::Null).await {
        Ok(exchange) => exchange,
        Err(error) if error.is_unreachable() => return Err(Probe::Unreachable(fault(error))),
        Err(ClientError::Unexpected { exchange, .. }) => *exchange,
        Err(_) => return Ok(None),
    };
    let sign = match (target, exchange.reply().and_then(|reply| reply.status)) {
        (Target::Http(_), Some(status)) => judge_http(status, exchange.message()),
        _ => judge_stdio(exchange.message()),
    };
    Ok(Some((sign, exchange)))
}

fn server_name(answer: &Value) -> Option<String> {
    let info = answer
        .get("result")?
        .get("_meta")?
        .get("io.modelcontextprotocol/serverInfo")?;
    info.get("name")?.as_str().map(str::to_owned)
}

fn fault(error: ClientError) -> Fault {
    match error {
        ClientError::Fault { fault, .. } => fault,
        other => Fault::Unreachable {
            target: String::new(),
            reason: other.to_string(),
        },
    }
}

/// Whether a server that refuses to be POSTed to opens an event stream whose first event names another endpoint.
async fn is_http_sse(target: &Target, error: &ClientError, limits: Limits) -> bool {
    let status = error.exchange().reply().and_then(|reply| reply.status);
    let (Target::Http(endpoint), Some(400..=499)) = (target, status) else {
        return false;
    };
    let mut wire = super::HttpWire::new(
        endpoint.clone(),
        Limits {
            answer: limits.answer / 4,
            ..limits
        },
    );
    let mut headers = super::compose::first_headers(endpoint);
    headers.push(("Accept".to_owned(), "text/event-stream".to_owned()));
    let request = crate::http::Request {
        method: "GET".to_owned(),
        path: endpoint.path.clone(),
        headers,
        ..Default::default()
    };
    // the stream stays open, so what counts is what came before the deadline
    let exchange = wire.exchange(&request).await;
    let text = String::from_utf8_lossy(&exchange.received).to_ascii_lowercase();
    text.contains("text/event-stream") && text.contains("event: endpoint")
}

/// A client in the newest era that the target speaks, ready for requests.
///
/// # Errors
/// [`Probe`].
pub async fn connect(target: &Target, limits: Limits) -> Result<Client, Probe> {
    let found = probe(target, limits).await?;
    let revision = found
        .revisions
        .into_iter()
        .max()
        .unwrap_or(Revision::NEWEST_LEGACY);
    let mut client = Client::open(target, revision, limits).map_err(Probe::Unreachable)?;
    if revision.era() == Era::Legacy {
        client.initialize().await.map_err(Probe::NotMcp)?;
    }
    Ok(client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn error(code: i64) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "x"}})
    }

    #[test]
    fn a_discover_result_is_modern() {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"supportedVersions": ["2026-07-28"]}});
        assert_eq!(
            judge_http(200, Some(&answer)),
            Sign::Modern(vec!["2026-07-28".into()])
        );
        assert_eq!(
            judge_stdio(Some(&answer)),
            Sign::Modern(vec!["2026-07-28".into()])
        );
    }

    #[test]
    fn a_modern_error_never_falls_back() {
        for code in [-32020, -32021, -32022] {
            assert_eq!(judge_http(400, Some(&error(code))), Sign::Modern(vec![]));
            assert_eq!(judge_stdio(Some(&error(code))), Sign::Modern(vec![]));
        }
        let mut unsupported = error(-32022);
        unsupported["error"]["data"] = json!({"supported": ["2027-01-01"], "requested": "2026-07-28"});
        assert_eq!(
            judge_http(400, Some(&unsupported)),
            Sign::Modern(vec!["2027-01-01".into()])
        );
    }

    #[test]
    fn method_not_found_is_modern_only_with_404() {
        assert_eq!(judge_http(404, Some(&error(-32601))), Sign::Modern(vec![]));
        for status in [200, 400] {
            assert_eq!(judge_http(status, Some(&error(-32601))), Sign::NotModern);
        }
        assert_eq!(judge_stdio(Some(&error(-32601))), Sign::NotModern);
    }

    #[test]
    fn everything_else_asks_for_initialize() {
        assert_eq!(judge_http(200, Some(&error(-32600))), Sign::NotModern);
        assert_eq!(judge_http(404, None), Sign::NotModern);
        assert_eq!(
            judge_http(200, Some(&json!({"jsonrpc": "2.0", "id": 1, "result": {}}))),
            Sign::NotModern
        );
        assert_eq!(judge_stdio(None), Sign::NotModern);
    }
}
