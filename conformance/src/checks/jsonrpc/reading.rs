//! How bytes become a message.

use crate::check::{BOTH, Check, LEGACY, check};
use crate::expect::{self, PARSE_ERROR};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::http::Piece;
use serde_json::{Value, json};
use std::time::Duration;

/// Long enough for two segments, too short to count as a pause.
const SPLIT: Duration = Duration::from_millis(30);

pub const CHECKS: &[Check] = &[
    check!(
        "jsonrpc/parse-error",
        BOTH,
        parse_error,
        ["jsonrpc-2.0/parse-error-code", "jsonrpc-2.0/undetectable-id"]
    ),
    check!("jsonrpc/utf-8", BOTH, utf8, ["both/base/utf8"]),
    check!(
        "jsonrpc/bad-utf-8",
        BOTH,
        bad_utf8,
        ["both/base/invalid-utf8-refused"]
    ),
    check!(
        "jsonrpc/member-order",
        BOTH,
        member_order,
        ["jsonrpc-2.0/member-order-insignificant"]
    ),
    check!(
        "jsonrpc/member-names",
        BOTH,
        member_names,
        ["jsonrpc-2.0/member-names-case-sensitive"]
    ),
    check!(
        "jsonrpc/params-left-out",
        LEGACY,
        params_left_out,
        ["jsonrpc-2.0/params-omittable"]
    ),
];

async fn parse_error(lab: &mut Lab) -> Result<(), Stop> {
    let request = lab.request(lab.harmless(), Value::Null);
    let text = request.to_string();
    for body in [
        format!("{} bad", &text[..text.len() - 1]),
        text[..text.len() - 4].to_owned(),
    ] {
        let exchange = lab.send_instead(&request, body.as_bytes()).await?;
        let refused = match expect::status(&exchange) {
            Some(400) => expect::refused_as(&exchange, &[PARSE_ERROR]),
            _ => expect::error(&exchange, &[PARSE_ERROR]).map(drop),
        };
        lab.must("jsonrpc-2.0/parse-error-code", refused, &exchange)?;
        let id = exchange
            .message()
            .and_then(|answer| answer.get("id"))
            .filter(|id| !id.is_null());
        let none = id.map_or(Ok(()), |id| {
            Err(format!("the error has id {id}, though none could be read"))
        });
        lab.note("jsonrpc-2.0/undetectable-id", none, &exchange);
    }
    Ok(())
}

/// The id is a text that every server gives back.
async fn utf8(lab: &mut Lab) -> Result<(), Stop> {
    let text = "\u{fc}\u{4e16}\u{1f600}\u{10ffff}";
    let request = lab.request(lab.harmless(), Value::Null);
    let mut plain = request.clone();
    plain["id"] = json!(text);
    let plain = plain.to_string();
    let escaped: String = plain
        .chars()
        .flat_map(|c| {
            let mut units = [0; 2];
            let written: Vec<String> = if c.is_ascii() {
                vec![c.to_string()]
            } else {
                c.encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}"))
                    .collect()
            };
            written
        })
        .collect();
    for body in [plain, escaped] {
        let exchange = lab.send_instead(&request, body.as_bytes()).await?;
        let is_utf8 = exchange
            .reply()
            .is_none_or(|reply| std::str::from_utf8(&reply.body).is_ok());
        let kept = expect::message(&exchange).and_then(|answer| match answer["id"].as_str() {
            _ if !is_utf8 => Err("the answer is not UTF-8".to_owned()),
            Some(theirs) if theirs == text => Ok(()),
            _ => Err(format!("the text {text:?} came back as {}", answer["id"])),
        });
        lab.note("both/base/utf8", kept, &exchange);
    }
    split_in_a_character(lab, request, text).await
}

/// The body in two segments, cut within a character.
async fn split_in_a_character(lab: &mut Lab, mut request: Value, text: &str) -> Result<(), Stop> {
    if lab.endpoint().is_err() {
        return Ok(());
    }
    request["id"] = json!(text);
    let bytes = lab.post(&request).await?.to_bytes();
    let at = bytes
        .iter()
        .position(|byte| !byte.is_ascii())
        .map_or(0, |at| at + 1);
    let (one, other) = bytes.split_at(at);
    let pieces = [
        Piece::Bytes(one.to_vec()),
        Piece::Pause(SPLIT),
        Piece::Bytes(other.to_vec()),
    ];
    let (exchange, _) = lab.deliver_raw(&pieces, &["POST"], None).await?;
    lab.note("both/base/utf8", expect::result(&exchange), &exchange);
    Ok(())
}

async fn bad_utf8(lab: &mut Lab) -> Result<(), Stop> {
    let request = lab.request(lab.harmless(), Value::Null);
    let id = request["id"].as_str().unwrap_or_default().to_owned();
    let mut body = request.to_string().into_bytes();
    let at = body
        .windows(id.len())
        .position(|window| window == id.as_bytes())
        .unwrap_or(0);
    body.insert(at, 0xff);
    let exchange = lab.send_instead(&request, &body).await?;
    lab.note(
        "both/base/invalid-utf8-refused",
        expect::refused(&exchange),
        &exchange,
    );
    lab.spoil();
    Ok(())
}

async fn member_order(lab: &mut Lab) -> Result<(), Stop> {
    let request = lab.request(lab.harmless(), json!({}));
    let (id, method, params) = (&request["id"], &request["method"], &request["params"]);
    for body in [
        format!(r#"{{"params":{params},"id":{id},"method":{method},"jsonrpc":"2.0"}}"#),
        format!(r#"{{"method":{method},"jsonrpc":"2.0","params":{params},"id":{id}}}"#),
    ] {
        let exchange = lab.send_instead(&request, body.as_bytes()).await?;
        lab.note(
            "jsonrpc-2.0/member-order-insignificant",
            expect::result(&exchange),
            &exchange,
        );
    }
    Ok(())
}

async fn member_names(lab: &mut Lab) -> Result<(), Stop> {
    let request = lab.request(lab.harmless(), Value::Null);
    let body = request.to_string().replacen("\"method\"", "\"Method\"", 1);
    let exchange = lab.send_instead(&request, body.as_bytes()).await?;
    // Whether and with which error a request without a method is answered, `jsonrpc/no-method` judges.
    if exchange.fault.is_none() {
        lab.note(
            "jsonrpc-2.0/member-names-case-sensitive",
            expect::refused(&exchange),
            &exchange,
        );
    }
    Ok(())
}

async fn params_left_out(lab: &mut Lab) -> Result<(), Stop> {
    let mut methods = vec!["ping"];
    if lab.offer().has("tools") {
        methods.push("tools/list");
    }
    for method in methods {
        let exchange = lab.ask(method, Value::Null).await?;
        lab.note(
            "jsonrpc-2.0/params-omittable",
            expect::result(&exchange),
            &exchange,
        );
    }
    Ok(())
}
