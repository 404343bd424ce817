//! JSON that is no request.

use crate::check::{BOTH, Check, check};
use crate::expect::{self, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::revision::Era;
use mcp_hil_harness::target::Target;
use serde_json::{Value, json};

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/no-version",
        BOTH,
        no_version,
        ["jsonrpc-2.0/request-without-version-rejected"]
    ),
    check!(
        "jsonrpc/wrong-version",
        BOTH,
        wrong_version,
        ["jsonrpc-2.0/request-wrong-version-rejected"]
    ),
    check!(
        "jsonrpc/method-no-text",
        BOTH,
        method_no_text,
        ["jsonrpc-2.0/method-not-string-rejected"]
    ),
    check!(
        "jsonrpc/no-method",
        BOTH,
        no_method,
        ["jsonrpc-2.0/method-missing-rejected"]
    ),
    check!(
        "jsonrpc/params-no-object",
        BOTH,
        params_no_object,
        ["jsonrpc-2.0/params-must-be-structured"]
    ),
    check!(
        "jsonrpc/no-request",
        BOTH,
        no_request,
        ["jsonrpc-2.0/invalid-request-code"]
    ),
    check!("jsonrpc/batch", BOTH, batch, ["jsonrpc-2.0/batch-not-supported"]),
];

/// Sends a message in the place of a good one and notes it if it isn't refused as invalid.
async fn is_invalid(lab: &mut Lab, row: &'static str, message: &Value) -> Result<(), Stop> {
    let good = lab.request(lab.harmless(), Value::Null);
    let exchange = lab.send_instead(&good, message.to_string().as_bytes()).await?;
    // a server may look at the headers first
    let codes = [INVALID_REQUEST, HEADER_MISMATCH];
    let is_modern_http = lab.era() == Era::Modern && matches!(lab.shared.target, Target::Http(_));
    // the headers speak of a method, and the body has none or another
    let may_mismatch = is_modern_http && message.get("method") != good.get("method");
    let codes = if may_mismatch { &codes[..] } else { &codes[..1] };
    lab.note(row, expect::refused_as(&exchange, codes), &exchange);
    Ok(())
}

async fn no_version(lab: &mut Lab) -> Result<(), Stop> {
    let mut request = lab.request(lab.harmless(), Value::Null);
    request
        .as_object_mut()
        .map(|members| members.shift_remove("jsonrpc"));
    is_invalid(lab, "jsonrpc-2.0/request-without-version-rejected", &request).await
}

async fn wrong_version(lab: &mut Lab) -> Result<(), Stop> {
    for version in [json!("1.0"), json!(2), json!(2.0)] {
        let mut request = lab.request(lab.harmless(), Value::Null);
        request["jsonrpc"] = version;
        is_invalid(lab, "jsonrpc-2.0/request-wrong-version-rejected", &request).await?;
    }
    Ok(())
}

async fn method_no_text(lab: &mut Lab) -> Result<(), Stop> {
    for method in [json!(5), Value::Null] {
        let mut request = lab.request(lab.harmless(), Value::Null);
        request["method"] = method;
        is_invalid(lab, "jsonrpc-2.0/method-not-string-rejected", &request).await?;
    }
    Ok(())
}

async fn no_method(lab: &mut Lab) -> Result<(), Stop> {
    let request = json!({"jsonrpc": "2.0", "id": lab.fresh_id()});
    is_invalid(lab, "jsonrpc-2.0/method-missing-rejected", &request).await
}

async fn params_no_object(lab: &mut Lab) -> Result<(), Stop> {
    let row = "jsonrpc-2.0/params-must-be-structured";
    for params in [json!("x"), json!(7), json!(true), json!([1]), Value::Null] {
        let mut request = lab.request(lab.harmless(), Value::Null);
        // in the legacy era some write null for no parameters: it may be served, and must be answered
        let may_be_served = params.is_null() && lab.era() == Era::Legacy;
        request["params"] = params;
        let exchange = lab.send(&request).await?;
        let judged = if may_be_served {
            expect::message(&exchange).map(drop)
        } else {
            expect::refused_as(&exchange, &[INVALID_REQUEST, INVALID_PARAMS])
        };
        lab.note(row, judged, &exchange);
    }
    Ok(())
}

async fn no_request(lab: &mut Lab) -> Result<(), Stop> {
    for value in [json!(1), json!("x"), Value::Null, json!({})] {
        is_invalid(lab, "jsonrpc-2.0/invalid-request-code", &value).await?;
    }
    Ok(())
}

async fn batch(lab: &mut Lab) -> Result<(), Stop> {
    let two = [
        lab.request(lab.harmless(), Value::Null),
        lab.request(lab.harmless(), Value::Null),
    ];
    for value in [json!([]), json!(two)] {
        let good = lab.request(lab.harmless(), Value::Null);
        let exchange = lab.send_instead(&good, value.to_string().as_bytes()).await?;
        let judged = super::ids::not_executed(lab, &exchange).await?;
        lab.note("jsonrpc-2.0/batch-not-supported", judged, &exchange);
    }
    Ok(())
}
