//! HTTP status of modern errors.

use crate::check::{Check, MODERN, Over, check};
use crate::expect::{self, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::{Exchange, compose};
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "http/missing-meta-status",
        MODERN,
        missing_meta,
        ["2026-07-28/base/meta-required-fields-http-400"]
    )
    .over(Over::Http),
    check!(
        "http/unknown-method-status",
        MODERN,
        unknown_method,
        ["2026-07-28/http/method-not-found-404"]
    )
    .over(Over::Http),
    check!(
        "http/unadvertised-feature-status",
        MODERN,
        unadvertised,
        ["2026-07-28/http/unadvertised-feature-404"]
    )
    .over(Over::Http),
];

async fn missing_meta(lab: &mut Lab) -> Result<(), Stop> {
    for member in [compose::META_CAPABILITIES, compose::META_VERSION] {
        let mut message = lab.request(lab.harmless(), json!({}));
        if let Some(meta) = message["params"]["_meta"].as_object_mut() {
            meta.remove(member);
        }
        let exchange = lab.send(&message).await?;
        let judged =
            expect::has_status(&exchange, &[400]).map_err(|what| format!("without {member}: {what}"));
        lab.note("2026-07-28/base/meta-required-fields-http-400", judged, &exchange);
    }
    Ok(())
}

/// Status 404 with a message that tells it from that of a wrong path.
fn not_found(exchange: &Exchange) -> Result<(), String> {
    expect::error(exchange, &[METHOD_NOT_FOUND])?;
    expect::has_status(exchange, &[404])
}

async fn unknown_method(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.ask("mcp-hil/nowhere", Value::Null).await?;
    lab.note(
        "2026-07-28/http/method-not-found-404",
        not_found(&exchange),
        &exchange,
    );
    Ok(())
}

/// A request of each feature: the capability, the method, its parameters.
pub fn features() -> Vec<(&'static str, &'static str, Value)> {
    let completion = json!({
        "ref": {"type": "ref/prompt", "name": "mcp-hil-nowhere"},
        "argument": {"name": "x", "value": ""}
    });
    vec![
        ("tools", "tools/list", json!({})),
        ("prompts", "prompts/list", json!({})),
        ("resources", "resources/list", json!({})),
        ("completions", "completion/complete", completion),
    ]
}

async fn unadvertised(lab: &mut Lab) -> Result<(), Stop> {
    for (capability, method, params) in features() {
        if lab.offer().has(capability) {
            continue;
        }
        let exchange = lab.ask(method, params).await?;
        let judged = not_found(&exchange).map_err(|what| format!("{method}: {what}"));
        lab.note("2026-07-28/http/unadvertised-feature-404", judged, &exchange);
    }
    Ok(())
}
