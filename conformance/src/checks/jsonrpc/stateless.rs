//! Modern requests stand alone: nothing said before, and no connection, matters.

use crate::check::{Check, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
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

fn listed(exchange: &Exchange) -> Result<Value, String> {
    expect::result(exchange).map(|result| result.get("tools").cloned().unwrap_or(Value::Null))
}

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

/// Two requests that differ, with one id, at once.
async fn same_id(lab: &mut Lab) -> Result<(), Stop> {
    lab.endpoint()?;
    lab.needs("tools")?;
    let row = "2026-07-28/base/same-id-on-separate-connections";
    let (mut one, mut other) = (lab.stranger()?, lab.stranger()?);
    let mut list = lab.request("tools/list", json!({}));
    let mut discover = lab.request("server/discover", json!({}));
    list["id"] = json!(1);
    discover["id"] = json!(1);
    let (list, discover) = futures_util::future::join(one.send(&list), other.send(&discover)).await;
    one.close().await;
    other.close().await;
    for (exchange, member) in [(list, "tools"), (discover, "supportedVersions")] {
        let exchange = lab.saw(exchange)?;
        let own = expect::result(&exchange).and_then(|result| {
            result
                .get(member)
                .map(|_| ())
                .ok_or_else(|| format!("the answer has no {member:?}: is it that of the other request?"))
        });
        lab.note(row, own, &exchange);
    }
    Ok(())
}

/// Requests of two clients in turns over one connection.
async fn interleaved(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let row = "2026-07-28/base/stateless-multiplexed-conversations";
    let mut first = None;
    for turn in 0..4 {
        let mut request = lab.request("tools/list", json!({}));
        let meta = &mut request["params"]["_meta"];
        if turn % 2 == 1 {
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "other", "version": "2"});
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        }
        let exchange = lab.send(&request).await?;
        let tools = lab.must(row, listed(&exchange), &exchange)?;
        if *first.get_or_insert_with(|| tools.clone()) != tools {
            lab.found(
                row,
                "the list changed between requests of two clients",
                &[&exchange],
            );
        }
    }
    Ok(())
}
