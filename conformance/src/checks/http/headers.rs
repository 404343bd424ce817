//! Headers that both eras have, and those of legacy requests.

use super::{set, unset};
use crate::check::{Check, LEGACY, MODERN, Over, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::http::Request;
use mcp_hil_harness::revision::Era;
use serde_json::Value;

const VERSION: &str = "MCP-Protocol-Version";

pub const CHECKS: &[Check] = &[
    check!(
        "http/version-header-invalid",
        LEGACY,
        version_invalid,
        ["2025-11-25/http/version-header-invalid-400"]
    )
    .over(Over::Http),
    check!(
        "http/version-header-negotiated",
        LEGACY,
        version_negotiated,
        ["2025-11-25/http/version-header-any-supported"]
    )
    .over(Over::Http),
    check!(
        "http/version-header-absent",
        LEGACY,
        version_absent,
        ["2025-11-25/http/version-header-absent-default"]
    )
    .over(Over::Http),
    check!(
        "http/header-names-legacy",
        LEGACY,
        header_names,
        ["2025-11-25/http/header-names-case-insensitive"]
    )
    .over(Over::Http),
    check!(
        "http/header-names-modern",
        MODERN,
        header_names,
        ["2026-07-28/http/header-names-case-insensitive"]
    )
    .over(Over::Http),
    check!(
        "http/accept-legacy",
        LEGACY,
        accept,
        ["2025-11-25/http/accept-variants"]
    )
    .over(Over::Http),
    check!(
        "http/accept-modern",
        MODERN,
        accept,
        ["2026-07-28/http/accept-variants"]
    )
    .over(Over::Http),
    check!(
        "http/content-type-legacy",
        LEGACY,
        content_type,
        ["2025-11-25/http/content-type-json"]
    )
    .over(Over::Http),
    check!(
        "http/content-type-modern",
        MODERN,
        content_type,
        ["2026-07-28/http/content-type-json"]
    )
    .over(Over::Http),
];

/// The POST of the request that every server serves.
async fn harmless(lab: &mut Lab) -> Result<Request, Stop> {
    let message = lab.request(lab.harmless(), Value::Null);
    lab.post(&message).await
}

async fn version_invalid(lab: &mut Lab) -> Result<(), Stop> {
    for version in ["1999-01-01", "no-version"] {
        let mut request = harmless(lab).await?;
        set(&mut request, VERSION, version);
        let exchange = lab.deliver(&request).await?;
        let judged =
            expect::has_status(&exchange, &[400]).map_err(|what| format!("{VERSION}: {version}: {what}"));
        lab.note("2025-11-25/http/version-header-invalid-400", judged, &exchange);
    }
    Ok(())
}

async fn version_negotiated(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = harmless(lab).await?;
    set(&mut request, VERSION, lab.revision().as_str());
    let exchange = lab.deliver(&request).await?;
    let row = "2025-11-25/http/version-header-any-supported";
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

async fn version_absent(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = harmless(lab).await?;
    unset(&mut request, VERSION);
    let exchange = lab.deliver(&request).await?;
    let row = "2025-11-25/http/version-header-absent-default";
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

/// The same request with the names of all headers in small letters, and in capitals.
async fn header_names(lab: &mut Lab) -> Result<(), Stop> {
    let row = match lab.era() {
        Era::Legacy => "2025-11-25/http/header-names-case-insensitive",
        Era::Modern => "2026-07-28/http/header-names-case-insensitive",
    };
    for change in [str::to_ascii_lowercase, str::to_ascii_uppercase] {
        let mut request = harmless(lab).await?;
        for (name, _) in &mut request.headers {
            *name = change(name);
        }
        let exchange = lab.deliver(&request).await?;
        lab.note(row, expect::result(&exchange), &exchange);
    }
    Ok(())
}

/// A header whose writings all mean the same.
async fn same(lab: &mut Lab, row: &'static str, name: &str, writings: &[&str]) -> Result<(), Stop> {
    for writing in writings {
        let mut request = harmless(lab).await?;
        set(&mut request, name, writing);
        let exchange = lab.deliver(&request).await?;
        let judged = expect::result(&exchange).map_err(|what| format!("{name}: {writing}: {what}"));
        lab.note(row, judged, &exchange);
    }
    Ok(())
}

async fn accept(lab: &mut Lab) -> Result<(), Stop> {
    let writings = [
        "text/event-stream;q=0.9 ,application/json;q=1.0",
        "Application/JSON, TEXT/event-stream",
    ];
    let row = match lab.era() {
        Era::Legacy => "2025-11-25/http/accept-variants",
        Era::Modern => "2026-07-28/http/accept-variants",
    };
    same(lab, row, "Accept", &writings).await
}

async fn content_type(lab: &mut Lab) -> Result<(), Stop> {
    let writings = [
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
        "Application/Json",
    ];
    let row = match lab.era() {
        Era::Legacy => "2025-11-25/http/content-type-json",
        Era::Modern => "2026-07-28/http/content-type-json",
    };
    same(lab, row, "Content-Type", &writings).await
}
