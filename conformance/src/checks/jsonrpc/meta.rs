//! What clients put into `_meta`.

use crate::check::{BOTH, Check, MODERN, check};
use crate::expect::{self, HEADER_MISMATCH, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::compose::{META_CAPABILITIES, META_CLIENT_INFO, META_VERSION};
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/unknown-meta-keys",
        BOTH,
        unknown_keys,
        ["both/base/meta-unknown-keys-tolerated"]
    ),
    check!(
        "jsonrpc/trace-context",
        MODERN,
        trace_context,
        ["2026-07-28/base/meta-trace-context-tolerated"]
    ),
    check!(
        "jsonrpc/required-meta",
        MODERN,
        required,
        [
            "2026-07-28/base/meta-required-fields-rejected-32602",
            "2026-07-28/base/meta-required-on-every-method"
        ]
    ),
    check!(
        "jsonrpc/meta-of-wrong-type",
        MODERN,
        wrong_type,
        ["2026-07-28/base/meta-wrong-type-rejected"]
    ),
    check!(
        "jsonrpc/no-client-info",
        MODERN,
        no_client_info,
        ["2026-07-28/base/client-info-optional"]
    ),
    check!(
        "jsonrpc/client-info-changes-nothing",
        MODERN,
        client_info,
        ["2026-07-28/base/client-info-not-behavioural"]
    ),
];

/// A request that has a result, as a list where there is one.
fn good(lab: &Lab) -> Value {
    let method = if lab.offer().has("tools") {
        "tools/list"
    } else {
        lab.harmless()
    };
    lab.request(method, json!({}))
}

async fn is_served(lab: &mut Lab, row: &'static str, request: &Value) -> Result<(), Stop> {
    let exchange = lab.send(request).await?;
    lab.note(row, expect::result(&exchange), &exchange);
    Ok(())
}

async fn unknown_keys(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = good(lab);
    request["params"]["_meta"]["com.example/foo"] = json!({"bar": [1, "x", null]});
    is_served(lab, "both/base/meta-unknown-keys-tolerated", &request).await
}

async fn trace_context(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = good(lab);
    let meta = &mut request["params"]["_meta"];
    meta["traceparent"] = json!("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    meta["tracestate"] = json!("vendor=t61rcWkgMzE");
    meta["baggage"] = json!("userId=alice");
    is_served(lab, "2026-07-28/base/meta-trace-context-tolerated", &request).await
}

async fn required(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/base/meta-required-fields-rejected-32602";
    for params in [None, Some(json!({})), Some(json!({"_meta": {}}))] {
        let mut request = lab.request("server/discover", json!({}));
        match params {
            Some(params) => request["params"] = params,
            None => drop(
                request
                    .as_object_mut()
                    .map(|members| members.shift_remove("params")),
            ),
        }
        is_malformed(lab, row, &request).await?;
    }
    for key in [META_VERSION, META_CAPABILITIES] {
        is_malformed(lab, row, &lacking(lab, "server/discover", json!({}), key)).await?;
    }
    let row = "2026-07-28/base/meta-required-on-every-method";
    let mut methods = vec![("server/discover", json!({}))];
    if lab.offer().has("tools") {
        methods.push(("tools/list", json!({})));
        methods.push(("tools/call", json!({"name": "no-such-tool", "arguments": {}})));
    }
    for (method, params) in methods {
        is_malformed(lab, row, &lacking(lab, method, params, META_CAPABILITIES)).await?;
    }
    Ok(())
}

fn lacking(lab: &Lab, method: &str, params: Value, key: &str) -> Value {
    let mut request = lab.request(method, params);
    if let Some(meta) = request["params"]["_meta"].as_object_mut() {
        meta.shift_remove(key);
    }
    request
}

/// A header names the version still, so the request is one of this revision.
async fn is_malformed(lab: &mut Lab, row: &'static str, request: &Value) -> Result<(), Stop> {
    let exchange = lab.send(request).await?;
    let mut codes = vec![INVALID_PARAMS];
    if request
        .pointer("/params/_meta/io.modelcontextprotocol~1protocolVersion")
        .is_none()
    {
        // header and body differ, which a server may see first; without either a dual-era server may take it for a legacy one
        codes.push(HEADER_MISMATCH);
    }
    lab.note(row, expect::error(&exchange, &codes), &exchange);
    Ok(())
}

async fn wrong_type(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/base/meta-wrong-type-rejected";
    for (key, value) in [
        (META_VERSION, json!(5)),
        (META_CAPABILITIES, json!([])),
        (META_CAPABILITIES, json!("x")),
    ] {
        let mut request = lab.request("server/discover", json!({}));
        request["params"]["_meta"][key] = value;
        let exchange = lab.send(&request).await?;
        lab.note(row, expect::refused(&exchange), &exchange);
    }
    Ok(())
}

async fn no_client_info(lab: &mut Lab) -> Result<(), Stop> {
    let row = "2026-07-28/base/client-info-optional";
    let mut methods = vec!["server/discover"];
    if lab.offer().has("tools") {
        methods.push("tools/list");
    }
    for method in methods {
        let request = lacking(lab, method, json!({}), META_CLIENT_INFO);
        is_served(lab, row, &request).await?;
    }
    Ok(())
}

async fn client_info(lab: &mut Lab) -> Result<(), Stop> {
    let mut lists = Vec::new();
    for name in ["mcp-hil", "curl"] {
        let mut request = good(lab);
        request["params"]["_meta"][META_CLIENT_INFO] = json!({"name": name, "version": "0.0.1"});
        let exchange = lab.send(&request).await?;
        let result = lab.must(
            "2026-07-28/base/client-info-not-behavioural",
            expect::result(&exchange).cloned(),
            &exchange,
        )?;
        lists.push((result, exchange));
    }
    let [(one, _), (other, exchange)] = lists.as_slice() else {
        return Ok(());
    };
    // what counts is offered, not times and the like in _meta
    let offered = |result: &Value| (result.get("tools").cloned(), result.get("capabilities").cloned());
    if offered(one) != offered(other) {
        lab.found(
            "2026-07-28/base/client-info-not-behavioural",
            "another clientInfo, another list",
            &[&exchange.clone()],
        );
    }
    Ok(())
}
