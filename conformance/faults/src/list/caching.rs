//! Hints for caches (2026-07-28).

use super::{remove, result, result_of};
use crate::fault::{Fault, MODERN, must, must_not};
use serde_json::json;

pub(super) const FAULTS: &[Fault] = &[
    must(
        "list-without-ttl",
        MODERN,
        "2026-07-28/caching/tools-list-hints",
        "leaves ttlMs out of lists",
    )
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            remove(list, "ttlMs");
        }
    }),
    must(
        "list-without-scope",
        MODERN,
        "2026-07-28/caching/tools-list-hints",
        "leaves cacheScope out of lists",
    )
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            remove(list, "cacheScope");
        }
    }),
    must(
        "discover-without-hints",
        MODERN,
        "2026-07-28/caching/discover-hints",
        "leaves the hints out of discovery",
    )
    .say(|ask, message| {
        if let Some(result) = result_of(ask, message, "server/discover") {
            remove(result, "ttlMs");
            remove(result, "cacheScope");
        }
    }),
    must(
        "ttl-negative",
        MODERN,
        "2026-07-28/caching/ttl-non-negative-integer",
        "gives a negative ttlMs",
    )
    .say(|_, message| {
        if let Some(result) = result(message).filter(|result| result.get("ttlMs").is_some()) {
            result["ttlMs"] = json!(-1);
        }
    }),
    must(
        "ttl-text",
        MODERN,
        "2026-07-28/caching/ttl-non-negative-integer",
        "gives ttlMs as a text",
    )
    .say(|_, message| {
        if let Some(result) = result(message).filter(|result| result.get("ttlMs").is_some()) {
            result["ttlMs"] = json!("60000");
        }
    }),
    must(
        "ttl-fraction",
        MODERN,
        "2026-07-28/caching/ttl-non-negative-integer",
        "gives ttlMs with a fraction",
    )
    .say(|_, message| {
        if let Some(result) = result(message).filter(|result| result.get("ttlMs").is_some()) {
            result["ttlMs"] = json!(60.5);
        }
    }),
    must(
        "scope-invented",
        MODERN,
        "2026-07-28/caching/scope-enum",
        "gives the scope shared",
    )
    .say(|_, message| {
        if let Some(result) = result(message).filter(|result| result.get("cacheScope").is_some()) {
            result["cacheScope"] = json!("shared");
        }
    }),
    must(
        "later-pages-without-hints",
        MODERN,
        "2026-07-28/caching/hints-on-every-page",
        "gives hints on the first page only",
    )
    .say(|ask, message| {
        if let Some(list) =
            result_of(ask, message, "tools/list").filter(|_| ask.params()["cursor"].is_string())
        {
            remove(list, "ttlMs");
            remove(list, "cacheScope");
        }
    }),
    must(
        "scope-changes",
        MODERN,
        "2026-07-28/caching/same-scope-on-pages",
        "makes later pages private",
    )
    .say(|ask, message| {
        if let Some(list) =
            result_of(ask, message, "tools/list").filter(|_| ask.params()["cursor"].is_string())
        {
            list["cacheScope"] = json!("private");
        }
    }),
    must_not(
        "input-cached",
        MODERN,
        "2026-07-28/caching/input-required-no-hints",
        "lets caches keep an interim result",
    )
    .needs(&["input-required"])
    .say(|_, message| super::interim(message, |result| result["ttlMs"] = json!(1000))),
];
