//! How long and by whom results may be kept (2026-07-28, Caching).

use crate::check::{Check, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use serde_json::Value;

pub const CHECKS: &[Check] = &[
    check!(
        "caching/discover",
        MODERN,
        discover,
        [
            "2026-07-28/caching/discover-hints",
            "2026-07-28/caching/ttl-non-negative-integer",
            "2026-07-28/caching/scope-enum",
        ]
    ),
    check!(
        "caching/tools-list",
        MODERN,
        list,
        [
            "2026-07-28/caching/tools-list-hints",
            "2026-07-28/caching/hints-on-every-page",
            "2026-07-28/caching/same-scope-on-pages",
            "2026-07-28/caching/ttl-non-negative-integer",
            "2026-07-28/caching/scope-enum",
        ]
    ),
];

/// Notes what is wrong with the hints of a result; `row` is for hints that are not there.
fn judge(lab: &mut Lab, row: &'static str, exchange: &Exchange) {
    let Ok(result) = expect::result(exchange) else {
        return;
    };
    match result.get("ttlMs") {
        None => lab.found(row, "the result has no ttlMs", &[exchange]),
        Some(ttl) if ttl.as_u64().is_none() => {
            lab.found(
                "2026-07-28/caching/ttl-non-negative-integer",
                format!("ttlMs is {ttl}"),
                &[exchange],
            );
        }
        Some(_) => {}
    }
    match result.get("cacheScope") {
        None => lab.found(row, "the result has no cacheScope", &[exchange]),
        Some(scope) if scope != "public" && scope != "private" => {
            lab.found(
                "2026-07-28/caching/scope-enum",
                format!("cacheScope is {scope}"),
                &[exchange],
            );
        }
        Some(_) => {}
    }
}

async fn discover(lab: &mut Lab) -> Result<(), Stop> {
    let exchange = lab.ask("server/discover", Value::Null).await?;
    judge(lab, "2026-07-28/caching/discover-hints", &exchange);
    Ok(())
}

async fn list(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let pages = lab.offer().pages.clone();
    let mut first_scope = None;
    for (number, page) in pages.iter().enumerate() {
        let row = if number == 0 {
            "2026-07-28/caching/tools-list-hints"
        } else {
            "2026-07-28/caching/hints-on-every-page"
        };
        judge(lab, row, page);
        let Some(scope) = expect::result(page)
            .ok()
            .and_then(|result| result.get("cacheScope"))
        else {
            continue;
        };
        if *first_scope.get_or_insert_with(|| scope.clone()) != *scope {
            lab.found(
                "2026-07-28/caching/same-scope-on-pages",
                format!("page {} has cacheScope {scope}", number + 1),
                &[page],
            );
        }
    }
    Ok(())
}
