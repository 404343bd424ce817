//! How calls are taken, and which are refused.

use super::list::without_arguments;
use crate::arguments;
use crate::check::{BOTH, Check, check};
use crate::expect::{self, HEADER_MISMATCH, INVALID_PARAMS};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::revision::Era;
use serde_json::{Value, json};

const UNKNOWN_2025: &str = "2025-11-25/tools/unknown-tool";
const UNKNOWN_2026: &str = "2026-07-28/tools/unknown-tool";
/// Most bad calls of one tool: devices are slow.
const MAX_BAD: usize = 8;
/// Most tools that are called with bad arguments.
const MAX_TOOLS: usize = 6;

pub const CHECKS: &[Check] = &[
    check!("tools/unknown-tool", BOTH, unknown, [UNKNOWN_2025, UNKNOWN_2026]),
    check!(
        "tools/name-case",
        BOTH,
        name_case,
        ["both/tools/name-case-sensitive"]
    ),
    check!(
        "tools/name-missing",
        BOTH,
        name_missing,
        ["both/tools/name-missing"]
    ),
    check!(
        "tools/arguments-no-object",
        BOTH,
        no_object,
        ["both/tools/arguments-must-be-object"]
    ),
    check!(
        "tools/arguments-left-out",
        BOTH,
        left_out,
        ["both/tools/arguments-omittable"]
    ),
    check!(
        "tools/bad-arguments",
        BOTH,
        bad_arguments,
        [
            "both/tools/input-error-is-execution-error",
            "both/tools/additional-properties-enforced",
            "both/tools/enum-and-bounds-enforced",
            "both/tools/required-arguments-enforced",
            "both/tools/validate-inputs",
        ]
    ),
];

/// Which error a tool that is not there gets, 2025-11-25 says only in an example.
async fn unknown(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    for name in ["no-such-tool", "no \"such\" t\u{f6}\u{f6}l"] {
        let exchange = lab
            .ask("tools/call", json!({"name": name, "arguments": {}}))
            .await?;
        match lab.era() {
            Era::Legacy => lab.note(UNKNOWN_2025, expect::any_error(&exchange), &exchange),
            Era::Modern => {
                let judged = expect::error(&exchange, &[INVALID_PARAMS]).map(|_| ());
                lab.note(UNKNOWN_2026, judged, &exchange)
            }
        };
    }
    Ok(())
}

/// A tool's name in other letters, where no tool has that name.
async fn name_case(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let names: Vec<String> = lab.offer().tools.iter().map(|tool| tool.name.clone()).collect();
    let swapped = names.iter().map(|name| {
        name.chars()
            .map(|c| {
                if c.is_ascii_lowercase() {
                    c.to_ascii_uppercase()
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect::<String>()
    });
    let Some(name) = swapped.into_iter().find(|name| !names.contains(name)) else {
        return Err(Stop::Skip("no tool's name has letters".to_owned()));
    };
    let exchange = lab
        .ask("tools/call", json!({"name": name, "arguments": {}}))
        .await?;
    lab.note("both/tools/name-case-sensitive", not_done(&exchange), &exchange);
    Ok(())
}

async fn name_missing(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    // a modern request without a name has no Mcp-Name header either, which a server may see first
    let codes = [INVALID_PARAMS, HEADER_MISMATCH];
    let codes = match lab.era() {
        Era::Legacy => &codes[..1],
        Era::Modern => &codes,
    };
    for params in [
        json!({"arguments": {}}),
        json!({"name": 5, "arguments": {}}),
        json!({"name": null}),
    ] {
        let exchange = lab.ask("tools/call", params).await?;
        lab.note(
            "both/tools/name-missing",
            expect::error(&exchange, codes),
            &exchange,
        );
    }
    Ok(())
}

async fn no_object(lab: &mut Lab) -> Result<(), Stop> {
    let tool = lab.callable()?.remove(0);
    for arguments in [json!([1]), json!("x"), json!(7)] {
        let exchange = lab
            .ask("tools/call", json!({"name": tool.name, "arguments": arguments}))
            .await?;
        lab.note(
            "both/tools/arguments-must-be-object",
            expect::error(&exchange, &[INVALID_PARAMS]),
            &exchange,
        );
    }
    Ok(())
}

/// That a call was not done: an error, or a result with `isError`.
fn not_done(exchange: &Exchange) -> Result<(), String> {
    let message = expect::message(exchange)?;
    match message.get("result") {
        Some(result) if result["isError"] == true => Ok(()),
        Some(result) => Err(format!("it was done: {}", expect::brief(result))),
        None => Ok(()),
    }
}

async fn left_out(lab: &mut Lab) -> Result<(), Stop> {
    let tool = without_arguments(lab)?.remove(0);
    let with = lab
        .ask("tools/call", json!({"name": tool.name, "arguments": {}}))
        .await?;
    let without = lab.ask("tools/call", json!({"name": tool.name})).await?;
    let outcome = |exchange: &Exchange| -> Result<Value, String> {
        Ok(expect::result(exchange)?
            .get("isError")
            .cloned()
            .unwrap_or(json!(false)))
    };
    let row = "both/tools/arguments-omittable";
    let (Some(one), Some(other)) = (
        lab.note(row, outcome(&with), &with),
        lab.note(row, outcome(&without), &without),
    ) else {
        return Ok(());
    };
    if one != other {
        lab.found(
            row,
            format!("isError is {one} with empty arguments, and {other} without"),
            &[&with, &without],
        );
    }
    Ok(())
}

async fn bad_arguments(lab: &mut Lab) -> Result<(), Stop> {
    let seed = lab.shared.seed;
    let mut tried = false;
    for tool in lab.callable()?.into_iter().take(MAX_TOOLS) {
        for bad in arguments::invalid(tool.input_schema(), seed)
            .into_iter()
            .take(MAX_BAD)
        {
            tried = true;
            let exchange = lab
                .ask(
                    "tools/call",
                    json!({"name": tool.name, "arguments": bad.arguments}),
                )
                .await?;
            let refused = not_done(&exchange)
                .map_err(|what| format!("tool {:?} was called where {}: {what}", tool.name, bad.why));
            let row = match bad.keyword {
                "additionalProperties" => "both/tools/additional-properties-enforced",
                "enum" | "minimum" | "maximum" | "minLength" | "maxLength" | "pattern" => {
                    "both/tools/enum-and-bounds-enforced"
                }
                "required" => "both/tools/required-arguments-enforced",
                _ => "both/tools/validate-inputs",
            };
            lab.note(row, refused.clone(), &exchange);
            // some libraries drop what a schema does not allow, and that is validated too
            if bad.keyword != "additionalProperties" && row != "both/tools/validate-inputs" {
                lab.note("both/tools/validate-inputs", refused.clone(), &exchange);
            }
            if bad.keyword != "additionalProperties" {
                lab.note("both/tools/input-error-is-execution-error", refused, &exchange);
            }
            let is_other_error =
                expect::message(&exchange).is_ok_and(|message| message.get("error").is_some());
            if is_other_error {
                let code = expect::error(&exchange, &[INVALID_PARAMS]).map(drop);
                lab.note("both/tools/input-error-is-execution-error", code, &exchange);
            }
        }
    }
    if tried {
        Ok(())
    } else {
        Err(Stop::Skip(
            "no tool that may be called has a rule for its arguments that could be broken".to_owned(),
        ))
    }
}
