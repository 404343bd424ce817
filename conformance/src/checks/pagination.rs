//! Lists in pages.

use crate::check::{BOTH, Check, LEGACY, check};
use crate::expect::{self, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::http::Piece;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Most pages of the second walk.
const MAX_AGAIN: usize = 5;

pub const CHECKS: &[Check] = &[
    check!(
        "pagination/walk",
        BOTH,
        walk,
        [
            "both/pagination/next-cursor-string",
            "both/pagination/terminates",
            "both/pagination/complete-no-duplicates",
        ]
    ),
    check!(
        "pagination/cursor-again",
        BOTH,
        again,
        [
            "both/pagination/cursor-stable",
            "both/pagination/cursor-cross-connection"
        ]
    ),
    check!(
        "pagination/bad-cursor",
        BOTH,
        bad,
        [
            "both/pagination/invalid-cursor-32602",
            "both/pagination/invalid-cursor-graceful"
        ]
    ),
    check!(
        "pagination/cursor-no-text",
        BOTH,
        no_text,
        ["both/pagination/cursor-wrong-type"]
    )
    .quoting(&[(
        "both/pagination/cursor-wrong-type",
        "Invalid cursors **SHOULD** result in an error with code -32602 (Invalid params).",
    )]),
    check!(
        "pagination/tasks-bad-cursor",
        LEGACY,
        tasks_bad,
        ["2025-11-25/tasks/list-bad-cursor"]
    ),
];

fn names(exchange: &Exchange) -> Vec<String> {
    let tools = expect::result(exchange)
        .ok()
        .and_then(|result| result["tools"].as_array().cloned())
        .unwrap_or_default();
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

/// The walk that was made before the checks.
async fn walk(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let pages = lab.offer().pages.clone();
    for page in &pages {
        if let Some(cursor) = expect::result(page)
            .ok()
            .and_then(|result| result.get("nextCursor"))
            .filter(|cursor| !cursor.is_string())
        {
            lab.found(
                "both/pagination/next-cursor-string",
                format!("nextCursor is {cursor}; the last page leaves it out"),
                &[page],
            );
        }
    }
    let trouble = lab
        .offer()
        .list_trouble
        .clone()
        .filter(|trouble| trouble.contains("cursor \"") || trouble.contains("no end"));
    if let (Some(trouble), Some(last)) = (trouble, pages.last()) {
        lab.found("both/pagination/terminates", trouble, &[last]);
        return Ok(());
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for (number, page) in pages.iter().enumerate() {
        for name in names(page) {
            if let Some(earlier) = seen
                .insert(name.clone(), number)
                .filter(|earlier| *earlier != number)
            {
                let what = format!(
                    "tool {name:?} is on page {} and on page {}",
                    earlier + 1,
                    number + 1
                );
                lab.found("both/pagination/complete-no-duplicates", what, &[page]);
                return Ok(());
            }
        }
    }
    // a second walk along the cursors of the first
    for (number, page) in pages.iter().enumerate().skip(1).take(MAX_AGAIN) {
        let cursor = expect::result(&pages[number - 1]).map(|result| result["nextCursor"].clone());
        let exchange = lab
            .ask("tools/list", json!({"cursor": cursor.unwrap_or_default()}))
            .await?;
        if expect::result(&exchange).is_ok() && names(&exchange) != names(page) {
            let what = format!("a second walk gives other tools on page {}", number + 1);
            lab.found("both/pagination/complete-no-duplicates", what, &[page, &exchange]);
            break;
        }
    }
    Ok(())
}

/// The cursor that the first page gives.
fn first_cursor(lab: &Lab) -> Result<Value, Stop> {
    lab.needs("tools")?;
    let first = lab
        .offer()
        .pages
        .first()
        .and_then(|page| expect::result(page).ok()?.get("nextCursor").cloned());
    first.ok_or_else(|| Stop::Skip("the list of tools has one page".to_owned()))
}

async fn again(lab: &mut Lab) -> Result<(), Stop> {
    let cursor = first_cursor(lab)?;
    let second = lab.offer().pages.get(1).map(names).unwrap_or_default();
    for _ in 0..2 {
        let exchange = lab.ask("tools/list", json!({"cursor": cursor})).await?;
        let page = expect::result(&exchange).map(|_| names(&exchange));
        let Some(page) = lab.note("both/pagination/cursor-stable", page, &exchange) else {
            return Ok(());
        };
        if page != second {
            lab.found(
                "both/pagination/cursor-stable",
                "the same cursor gives another page",
                &[&exchange],
            );
            return Ok(());
        }
    }
    let request = lab.request("tools/list", json!({"cursor": cursor}));
    let exchange = if lab.endpoint().is_ok() {
        let bytes = lab.post(&request).await?.to_bytes();
        lab.deliver_raw(&[Piece::Bytes(bytes)], &["POST"], None).await?.0
    } else {
        // the conversation of the walk was another one
        let mut other = lab.another().await?;
        let exchange = lab.send_as(&mut other, &request).await?;
        other.close().await;
        exchange
    };
    lab.note(
        "both/pagination/cursor-cross-connection",
        expect::result(&exchange).map(drop),
        &exchange,
    );
    Ok(())
}

async fn bad(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let mut cursors = vec!["bogus".to_owned(), "\u{1f600}".repeat(100)];
    if let Ok(Value::String(good)) = first_cursor(lab) {
        cursors.push(format!("{good}x"));
    }
    for cursor in cursors {
        let exchange = lab.ask("tools/list", json!({"cursor": cursor})).await?;
        lab.note(
            "both/pagination/invalid-cursor-32602",
            expect::error(&exchange, &[INVALID_PARAMS]),
            &exchange,
        );
        if exchange.fault.is_some() || matches!(expect::status(&exchange), Some(500..)) {
            lab.found(
                "both/pagination/invalid-cursor-graceful",
                "a bad cursor brings the server into trouble",
                &[&exchange],
            );
        }
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note(
        "both/pagination/invalid-cursor-graceful",
        expect::result(&next),
        &next,
    );
    Ok(())
}

async fn no_text(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    for cursor in [json!(5), json!({}), json!(true)] {
        let exchange = lab.ask("tools/list", json!({"cursor": cursor})).await?;
        lab.note(
            "both/pagination/cursor-wrong-type",
            expect::error(&exchange, &[INVALID_PARAMS]),
            &exchange,
        );
    }
    Ok(())
}

async fn tasks_bad(lab: &mut Lab) -> Result<(), Stop> {
    if lab.offer().capabilities().pointer("/tasks/list").is_none() {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.list\"".to_owned(),
        ));
    }
    let exchange = lab.ask("tasks/list", json!({"cursor": "bogus"})).await?;
    lab.note(
        "2025-11-25/tasks/list-bad-cursor",
        expect::error(&exchange, &[INVALID_PARAMS]),
        &exchange,
    );
    Ok(())
}
