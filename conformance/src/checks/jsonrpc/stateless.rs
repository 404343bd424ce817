//! Modern requests stand alone: nothing said before, and no connection, matters.

use crate::arguments;
use crate::check::{Check, MODERN, check};
use crate::expect::{self, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::client::compose::META_CAPABILITIES;
use serde_json::{Value, json};

/// How often two calls are made at once.
const SAME_ID: usize = 3;

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/not-remembered",
        MODERN,
        not_remembered,
        ["2026-07-28/base/stateless-no-prior-context"]
    ),
    check!(
        "jsonrpc/first-request",
        MODERN,
        first_request,
        [
            "2026-07-28/base/stateless-no-prior-context",
            "2026-07-28/base/stateless-any-connection"
        ]
    ),
    check!(
        "jsonrpc/same-id-twice",
        MODERN,
        same_id,
        ["2026-07-28/base/same-id-on-separate-connections"]
    )
    .with_two_connections(),
    check!(
        "jsonrpc/interleaved",
        MODERN,
        interleaved,
        ["2026-07-28/base/stateless-multiplexed-conversations"]
    ),
];

/// `tools/list` as the first thing that is said, and its second page in a conversation of its own.
async fn first_request(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let mut stranger = lab.stranger()?;
    let request = lab.request("tools/list", json!({}));
    let exchange = lab.send_as(&mut stranger, &request).await?;
    stranger.close().await;
    let result = lab.must(
        "2026-07-28/base/stateless-no-prior-context",
        expect::result(&exchange).cloned(),
        &exchange,
    )?;
    let Some(cursor) = result.get("nextCursor").cloned() else {
        return Ok(());
    };
    let mut stranger = lab.stranger()?;
    let request = lab.request("tools/list", json!({"cursor": cursor}));
    let exchange = lab.send_as(&mut stranger, &request).await?;
    stranger.close().await;
    lab.note(
        "2026-07-28/base/stateless-any-connection",
        expect::result(&exchange),
        &exchange,
    );
    Ok(())
}

/// Two calls of one tool whose results differ, and each time in the same way.
struct Pair {
    calls: [Value; 2],
    contents: [Value; 2],
}

fn content(exchange: &Exchange) -> Result<Value, String> {
    expect::result(exchange).map(|result| result.get("content").cloned().unwrap_or(Value::Null))
}

/// Looks for such a pair, each call in a conversation of its own.
async fn pair(lab: &mut Lab) -> Result<Pair, Stop> {
    for tool in lab.callable()? {
        let made = |seed| arguments::valid(tool.input_schema(), lab.shared.seed.wrapping_add(seed), true);
        let Some(one) = made(0) else { continue };
        let Some(other) = (1..20).filter_map(made).find(|other| *other != one) else {
            continue;
        };
        let calls = [one, other].map(|arguments| json!({"name": tool.name, "arguments": arguments}));
        let mut contents = Vec::new();
        for params in [&calls[0], &calls[1], &calls[0], &calls[1]] {
            let mut stranger = lab.stranger()?;
            let request = lab.request("tools/call", params.clone());
            let exchange = lab.send_as(&mut stranger, &request).await?;
            stranger.close().await;
            contents.push(content(&exchange).unwrap_or_default());
        }
        if contents[0] == contents[2] && contents[1] == contents[3] && contents[0] != contents[1] {
            contents.truncate(2);
            let contents = [contents.remove(0), contents.remove(0)];
            return Ok(Pair { calls, contents });
        }
    }
    Err(Stop::Skip(
        "no tool that may be called gives other results to other arguments".to_owned(),
    ))
}

/// Two calls that differ, with one id, at once.
async fn same_id(lab: &mut Lab) -> Result<(), Stop> {
    lab.endpoint()?;
    let pair = pair(lab).await?;
    let row = "2026-07-28/base/same-id-on-separate-connections";
    for _ in 0..SAME_ID {
        let (mut one, mut other) = (lab.stranger()?, lab.stranger()?);
        let [mut first, mut second] = pair.calls.clone().map(|params| lab.request("tools/call", params));
        first["id"] = json!(1);
        second["id"] = json!(1);
        let (first, second) = futures_util::future::join(one.send(&first), other.send(&second)).await;
        one.close().await;
        other.close().await;
        for (exchange, wanted) in [first, second].into_iter().zip(&pair.contents) {
            let exchange = lab.saw(exchange)?;
            lab.note(row, is_own(&exchange, wanted), &exchange);
        }
    }
    Ok(())
}

fn is_own(exchange: &Exchange, wanted: &Value) -> Result<(), String> {
    if content(exchange)? == *wanted {
        Ok(())
    } else {
        Err("the result is not that of these arguments".to_owned())
    }
}

/// Requests of two clients in turns over one connection.
async fn interleaved(lab: &mut Lab) -> Result<(), Stop> {
    let pair = pair(lab).await?;
    for turn in 0..4 {
        let mut request = lab.request("tools/call", pair.calls[turn % 2].clone());
        if turn % 2 == 1 {
            let meta = &mut request["params"]["_meta"];
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "other", "version": "2"});
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        }
        let exchange = lab.send(&request).await?;
        let row = "2026-07-28/base/stateless-multiplexed-conversations";
        lab.note(row, is_own(&exchange, &pair.contents[turn % 2]), &exchange);
    }
    Ok(())
}

/// A request without capabilities, after one on the same connection that had them.
async fn not_remembered(lab: &mut Lab) -> Result<(), Stop> {
    lab.ask(lab.harmless(), Value::Null).await?;
    let mut request = lab.request(lab.harmless(), Value::Null);
    if let Some(meta) = request["params"]["_meta"].as_object_mut() {
        meta.shift_remove(META_CAPABILITIES);
    }
    let exchange = lab.send(&request).await?;
    let refused = expect::error(&exchange, &[INVALID_PARAMS]);
    lab.note("2026-07-28/base/stateless-no-prior-context", refused, &exchange);
    Ok(())
}
