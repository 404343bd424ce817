//! Who may ask: `Origin`, `Host`, sessions of others, and answers that nobody asked for.

use crate::check::{BOTH, Check, LEGACY, MODERN, Over, check};
use crate::checks::http::{bare, set};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::http::Request;
use mcp_hil_harness::revision::Era;
use serde_json::{Value, json};

const FOREIGN_2025: &str = "2025-11-25/http/origin-foreign-rejected";
const FOREIGN_2026: &str = "2026-07-28/http/origin-foreign-rejected";
const STATUS_2025: &str = "2025-11-25/http/origin-invalid-403";
const STATUS_2026: &str = "2026-07-28/http/origin-invalid-403";
const METHODS: &str = "2025-11-25/http/origin-checked-every-method";
const ALIKE: &str = "2026-07-28/http/origin-null";
const ABSENT_2025: &str = "2025-11-25/http/origin-absent-ok";
const ABSENT_2026: &str = "2026-07-28/http/origin-absent-ok";
const HOST: &str = "both/security/host-header-validated";
const UNSOLICITED: &str = "2026-07-28/mrtr/unsolicited-responses";
const SENSITIVE: &str = "2026-07-28/tools/x-mcp-header-not-sensitive";
const NO_OAUTH: &str = "both/security/stdio-no-oauth";
const EVIL: &str = "evil.example.com";

pub const CHECKS: &[Check] = &[
    check!(
        "security/origin-legacy",
        LEGACY,
        foreign,
        [FOREIGN_2025, STATUS_2025]
    )
    .over(Over::Http),
    check!(
        "security/origin-modern",
        MODERN,
        foreign,
        [FOREIGN_2026, STATUS_2026]
    )
    .over(Over::Http),
    check!("security/origin-of-get", LEGACY, methods, [METHODS]).over(Over::Http),
    check!("security/origin-alike", MODERN, alike, [ALIKE]).over(Over::Http),
    check!("security/no-origin-legacy", LEGACY, absent, [ABSENT_2025]).over(Over::Http),
    check!("security/no-origin-modern", MODERN, absent, [ABSENT_2026]).over(Over::Http),
    check!("security/host", BOTH, host, [HOST]).over(Over::Http),
    check!("security/unsolicited-input", MODERN, unsolicited, [UNSOLICITED]),
    check!("security/header-of-a-secret", MODERN, sensitive, [SENSITIVE]),
    check!("security/no-token", BOTH, no_token, [NO_OAUTH]).over(Over::Stdio),
];

async fn harmless(lab: &mut Lab) -> Result<Request, Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    lab.post(&message).await
}

/// That a request from a foreign page was not done.
fn kept_out(exchange: &Exchange) -> Result<(), String> {
    match exchange.message().filter(|answer| answer.get("result").is_some()) {
        Some(answer) => Err(format!("served: {}", expect::brief(answer))),
        None => Ok(()),
    }
}

/// The right `Host` with the `Origin` of another site: in a conversation that is open, and as the first thing said.
async fn foreign(lab: &mut Lab) -> Result<(), Stop> {
    let (row, status) = match lab.era() {
        Era::Legacy => (FOREIGN_2025, STATUS_2025),
        Era::Modern => (FOREIGN_2026, STATUS_2026),
    };
    let mut request = harmless(lab).await?;
    set(&mut request, "Origin", &format!("http://{EVIL}"));
    let exchange = lab.deliver(&request).await?;
    lab.note(row, kept_out(&exchange), &exchange);
    lab.note(status, expect::has_status(&exchange, &[403]), &exchange);
    if lab.era() == Era::Modern {
        return Ok(());
    }
    let mut stranger = lab.stranger()?;
    let params = json!({"protocolVersion": lab.revision().as_str(), "capabilities": {}, "clientInfo": {"name": "evil", "version": "1"}});
    let message = lab.request("initialize", params);
    let body = message.to_string().into_bytes();
    let endpoint = lab.endpoint()?.clone();
    let mut request =
        mcp_hil_harness::client::compose::post(&endpoint, &stranger.dress, Some(&message), body);
    set(&mut request, "Origin", &format!("http://{EVIL}"));
    let exchange = lab.deliver_as(&mut stranger, &request).await;
    stranger.close().await;
    let exchange = exchange?;
    lab.note(row, kept_out(&exchange), &exchange);
    lab.note(status, expect::has_status(&exchange, &[403]), &exchange);
    Ok(())
}

/// GET and DELETE from a foreign page. The session is not that of a client of ours, so that none is lost.
async fn methods(lab: &mut Lab) -> Result<(), Stop> {
    for method in ["GET", "DELETE"] {
        let mut request = bare(&harmless(lab).await?, method);
        if method == "DELETE" && lab.offer().session {
            set(&mut request, "Mcp-Session-Id", "mcp-hil-nowhere");
        }
        set(&mut request, "Origin", &format!("http://{EVIL}"));
        let (_watch, exchange) = lab.watch(&request).await?;
        // a session that nobody opened may be looked for first
        let due = if method == "DELETE" && lab.offer().session {
            &[403, 404][..]
        } else {
            &[403]
        };
        let judged = expect::has_status(&exchange, due).map_err(|what| format!("{method}: {what}"));
        lab.note(METHODS, judged, &exchange);
    }
    Ok(())
}

/// Origins that begin with, or look like, the server's own.
async fn alike(lab: &mut Lab) -> Result<(), Stop> {
    let host = lab.endpoint()?.host.clone();
    for origin in ["null".to_owned(), format!("http://{host}.{EVIL}")] {
        let mut request = harmless(lab).await?;
        set(&mut request, "Origin", &origin);
        let exchange = lab.deliver(&request).await?;
        let judged =
            expect::has_status(&exchange, &[403]).map_err(|what| format!("Origin: {origin}: {what}"));
        lab.note(ALIKE, judged, &exchange);
    }
    Ok(())
}

async fn absent(lab: &mut Lab) -> Result<(), Stop> {
    let row = match lab.era() {
        Era::Legacy => ABSENT_2025,
        Era::Modern => ABSENT_2026,
    };
    let request = harmless(lab).await?;
    let exchange = lab.deliver(&request).await?;
    if expect::status(&exchange) == Some(403) {
        lab.found(row, "a request without Origin gets 403", &[&exchange]);
    }
    Ok(())
}

/// The name of another site in `Host`, without an `Origin`: what a browser sends after DNS rebinding.
async fn host(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = harmless(lab).await?;
    let port = lab.endpoint()?.port;
    for header in &mut request.headers {
        if header.0.eq_ignore_ascii_case("host") {
            header.1 = format!("{EVIL}:{port}");
        }
    }
    let exchange = lab.deliver(&request).await?;
    let judged = match (&exchange.fault, expect::status(&exchange)) {
        (None, Some(400..=499)) => Ok(()),
        (None, Some(status)) => Err(format!("Host: {EVIL} gets HTTP status {status}")),
        (fault, _) => Err(format!(
            "Host: {EVIL} gets no answer: {}",
            fault.as_ref().map(ToString::to_string).unwrap_or_default()
        )),
    };
    lab.note(HOST, judged, &exchange);
    Ok(())
}

/// A first call that brings answers to questions never asked, and a state never given.
async fn unsolicited(lab: &mut Lab) -> Result<(), Stop> {
    let tool = lab.callable()?.remove(0);
    let params = json!({
        "name": tool.name,
        "arguments": {},
        "inputResponses": {"mcp-hil": {"action": "accept", "content": {"admin": true}}},
        "requestState": "mcp-hil-invented"
    });
    let exchange = lab.ask("tools/call", params).await?;
    let judged = expect::message(&exchange).map(|_| ());
    lab.note(UNSOLICITED, judged, &exchange);
    if let Some(status @ 500..) = expect::status(&exchange) {
        lab.found(UNSOLICITED, format!("HTTP status {status}"), &[&exchange]);
    }
    let params = json!({
        "name": "mcp-hil-nowhere",
        "arguments": {},
        "inputResponses": {"mcp-hil": {"action": "accept", "content": {"admin": true}}},
        "requestState": "mcp-hil-invented"
    });
    let exchange = lab.ask("tools/call", params).await?;
    let done = exchange
        .message()
        .and_then(|answer| answer.get("result"))
        .filter(|result| result["isError"] != true);
    if let Some(result) = done {
        let what = format!("a tool that is not there is served: {}", expect::brief(result));
        lab.found(UNSOLICITED, what, &[&exchange]);
    }
    let after = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(UNSOLICITED, expect::result(&after), &after);
    Ok(())
}

async fn sensitive(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let pages = lab.offer().pages.clone();
    let mut seen = Vec::new();
    for tool in &lab.offer().tools {
        annotated(tool.input_schema(), &mut seen);
    }
    if seen.is_empty() {
        return Err(Stop::Skip("no tool has a parameter with x-mcp-header".to_owned()));
    }
    if let Some(name) = seen.iter().find(|name| is_secret(name)) {
        let what = format!("the parameter {name:?} goes into a header");
        lab.found(SENSITIVE, what, &pages.iter().take(1).collect::<Vec<_>>());
    }
    Ok(())
}

/// Names of the properties with `x-mcp-header`, at any depth.
fn annotated(schema: &Value, names: &mut Vec<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if property.get("x-mcp-header").is_some() {
            names.push(name.clone());
        }
        annotated(property, names);
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace(['-', '_'], "");
    [
        "password",
        "passwd",
        "secret",
        "apikey",
        "accesstoken",
        "privatekey",
    ]
    .iter()
    .any(|word| name.contains(word))
        || matches!(name.as_str(), "token" | "key" | "pin")
}

async fn no_token(lab: &mut Lab) -> Result<(), Stop> {
    let method = if lab.offer().has("tools") {
        "tools/list"
    } else {
        lab.harmless()
    };
    let exchange = lab.ask(method, json!({})).await?;
    lab.note(NO_OAUTH, expect::result(&exchange), &exchange);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        for name in ["password", "api_key", "accessToken", "token", "KEY"] {
            assert!(is_secret(name), "{name}");
        }
        for name in ["region", "keyboard", "tokens_used", "monkey"] {
            assert!(!is_secret(name), "{name}");
        }
        let schema =
            json!({"properties": {"a": {"properties": {"password": {"x-mcp-header": "P"}}}, "token": {}}});
        let mut names = Vec::new();
        annotated(&schema, &mut names);
        assert_eq!(names, ["password"]);
    }
}
