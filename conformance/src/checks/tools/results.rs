//! What a call gives back.

use crate::arguments;
use crate::check::{BOTH, Check, LEGACY, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::fault::Fault;
use serde_json::{Value, json};

/// A tool that gave no answer in time is called once more, with that many times as much.
const PATIENCE: u32 = 3;

pub const CHECKS: &[Check] = &[
    check!(
        "tools/results",
        BOTH,
        results,
        [
            "both/tools/call-basic",
            "both/tools/content-always-array",
            "both/tools/is-error-boolean",
            "both/tools/content-type-known",
            "both/tools/content-text-fields",
            "both/tools/content-image-fields",
            "both/tools/content-audio-fields",
            "both/tools/content-resource-fields",
            "both/tools/content-resource-link-fields",
            "both/tools/content-annotations",
            "both/tools/embedded-resource-capability",
        ]
    ),
    check!(
        "tools/structured-results",
        BOTH,
        structured,
        [
            "both/tools/structured-present",
            "both/tools/structured-conforms",
            "both/tools/structured-text-copy",
        ]
    )
    .quoting(&[(
        "both/tools/structured-present",
        "Servers **MUST** provide structured results that conform to this schema.",
    )]),
    check!(
        "tools/structured-is-object",
        LEGACY,
        structured_is_object,
        ["2025-11-25/tools/structured-is-object"]
    ),
];

/// Every tool that may be called, called with arguments of its schema.
async fn calls(lab: &mut Lab, wanted: fn(&Tool) -> bool) -> Result<Vec<(Tool, Exchange)>, Stop> {
    let seed = lab.shared.seed;
    let mut done = Vec::new();
    let mut is_patient = true;
    // in the legacy era a tool may ask to be called as a task only
    let as_task = |tool: &Tool| tool.listed.pointer("/execution/taskSupport") == Some(&json!("required"));
    let callable = lab.callable()?.into_iter();
    for tool in callable.filter(|tool| wanted(tool) && !as_task(tool)) {
        // without a schema there is still the call without arguments
        let arguments = match tool.input_schema() {
            Value::Object(_) => arguments::valid(tool.input_schema(), seed, false),
            _ => Some(json!({})),
        };
        if let Some(arguments) = arguments {
            let params = json!({"name": tool.name, "arguments": arguments});
            let mut exchange = lab.ask("tools/call", params.clone()).await?;
            if is_unanswered(&exchange) {
                // a late answer would be taken for the next
                lab.hang_up();
            }
            if is_patient && is_unanswered(&exchange) {
                let mut other = lab.another_with_patience(PATIENCE).await?;
                let request = lab.request("tools/call", params);
                exchange = lab.send_as(&mut other, &request).await?;
                other.close().await;
                // of several that never answer one shows it
                is_patient = !is_unanswered(&exchange);
            }
            done.push((tool, exchange));
        }
    }
    if done.is_empty() {
        return Err(Stop::Skip(
            "no tool that may be called has what this is about, or arguments that could be made".to_owned(),
        ));
    }
    Ok(done)
}

/// Results that are final; a tool may ask for input first.
fn finished(exchange: &Exchange) -> Option<&Value> {
    expect::result(exchange)
        .ok()
        .filter(|result| result.get("resultType").is_none_or(|kind| kind == "complete"))
}

/// Whether our time ran out before the answer was there.
fn is_unanswered(exchange: &Exchange) -> bool {
    matches!(exchange.fault, Some(Fault::Silent(_) | Fault::Slow { .. }))
}

/// Whether a tool had its stream open when our time ran out: no clause says how long it may work.
fn still_works(exchange: &Exchange) -> bool {
    is_unanswered(exchange) && expect::head(exchange).contains("text/event-stream")
}

async fn results(lab: &mut Lab) -> Result<(), Stop> {
    for (tool, exchange) in calls(lab, |_| true).await? {
        if still_works(&exchange) {
            continue;
        }
        let answered = expect::message(&exchange).and_then(|message| match message.get("result") {
            Some(_) => Ok(()),
            None if expect::error(&exchange, &[expect::INVALID_PARAMS, -32021]).is_ok() => Ok(()),
            None => Err(format!(
                "tool {:?} answers a good call with {}",
                tool.name,
                expect::brief(message)
            )),
        });
        lab.note("both/tools/call-basic", answered, &exchange);
        let Some(result) = finished(&exchange) else {
            continue;
        };
        let of = |what: String| format!("tool {:?}: {what}", tool.name);
        match result.get("isError") {
            None | Some(Value::Bool(_)) => {}
            Some(other) => lab.found(
                "both/tools/is-error-boolean",
                of(format!("isError is {other}")),
                &[&exchange],
            ),
        }
        let Some(content) = result.get("content").and_then(Value::as_array) else {
            let content = result.get("content").unwrap_or(&Value::Null);
            let what = of(format!("content is {}, no array", expect::brief(content)));
            lab.found("both/tools/content-always-array", what.clone(), &[&exchange]);
            lab.found("both/tools/call-basic", what, &[&exchange]);
            continue;
        };
        for item in content {
            if let Err((row, what)) = fault(item) {
                lab.found(row, of(what), &[&exchange]);
            }
            if item["type"] == "resource" && !lab.offer().has("resources") {
                let what =
                    of("it gives a resource, and the capability \"resources\" is not declared".to_owned());
                lab.found("both/tools/embedded-resource-capability", what, &[&exchange]);
            }
        }
    }
    Ok(())
}

/// The clause that a content item breaks, and how.
fn fault(item: &Value) -> Result<(), (&'static str, String)> {
    let text = |name: &str| item[name].is_string();
    let data = |row| match item["data"].as_str().map(|data| STANDARD.decode(data)) {
        Some(Ok(_)) if text("mimeType") => Ok(()),
        Some(Ok(_)) => Err((row, format!("mimeType is {}", item["mimeType"]))),
        _ => Err((row, "data is no Base64".to_owned())),
    };
    match item["type"].as_str() {
        Some("text") if text("text") => {}
        Some("text") => {
            return Err((
                "both/tools/content-text-fields",
                format!("a text item has text {}", item["text"]),
            ));
        }
        Some("image") => data("both/tools/content-image-fields")?,
        Some("audio") => data("both/tools/content-audio-fields")?,
        Some("resource_link") if text("uri") && text("name") => {}
        Some("resource_link") => {
            return Err((
                "both/tools/content-resource-link-fields",
                format!("a link has uri {} and name {}", item["uri"], item["name"]),
            ));
        }
        Some("resource") => {
            let resource = &item["resource"];
            let blob = resource["blob"]
                .as_str()
                .is_some_and(|blob| STANDARD.decode(blob).is_ok());
            if !resource["uri"].is_string() || !(resource["text"].is_string() || blob) {
                return Err((
                    "both/tools/content-resource-fields",
                    format!("a resource is {}", expect::brief(resource)),
                ));
            }
        }
        _ => {
            return Err((
                "both/tools/content-type-known",
                format!("a content item has type {}", item["type"]),
            ));
        }
    }
    let Some(annotations) = item.get("annotations") else {
        return Ok(());
    };
    let audience = annotations.get("audience").is_none_or(|audience| {
        audience
            .as_array()
            .is_some_and(|roles| roles.iter().all(|role| role == "user" || role == "assistant"))
    });
    let priority = annotations
        .get("priority")
        .is_none_or(|value| value.as_f64().is_some_and(|value| (0.0..=1.0).contains(&value)));
    if annotations.is_object() && audience && priority {
        Ok(())
    } else {
        Err((
            "both/tools/content-annotations",
            format!("annotations are {}", expect::brief(annotations)),
        ))
    }
}

/// A success; what failed may have no structured content.
fn succeeded(exchange: &Exchange) -> Option<&Value> {
    finished(exchange).filter(|result| result["isError"] != true)
}

async fn structured(lab: &mut Lab) -> Result<(), Stop> {
    for (tool, exchange) in calls(lab, |tool| tool.output_schema().is_some()).await? {
        let Some(result) = succeeded(&exchange) else {
            continue;
        };
        let of = |what: String| format!("tool {:?}: {what}", tool.name);
        let Some(content) = result.get("structuredContent") else {
            lab.found(
                "both/tools/structured-present",
                of("it declares an outputSchema and gives no structuredContent".to_owned()),
                &[&exchange],
            );
            continue;
        };
        let schema = tool.output_schema().unwrap_or(&Value::Null);
        if let Some(error) = arguments::validator(schema)
            .and_then(|validator| validator.validate(content).err().map(|error| error.to_string()))
        {
            lab.found(
                "both/tools/structured-conforms",
                of(format!(
                    "structuredContent does not match the outputSchema: {error}"
                )),
                &[&exchange],
            );
        }
        let copies = result["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item["text"].as_str());
        if !copies
            .into_iter()
            .any(|text| serde_json::from_str::<Value>(text).is_ok_and(|copy| copy == *content))
        {
            lab.found(
                "both/tools/structured-text-copy",
                of("no text item holds the same JSON".to_owned()),
                &[&exchange],
            );
        }
    }
    Ok(())
}

async fn structured_is_object(lab: &mut Lab) -> Result<(), Stop> {
    for (tool, exchange) in calls(lab, |tool| tool.output_schema().is_some()).await? {
        match finished(&exchange).and_then(|result| result.get("structuredContent")) {
            Some(content) if !content.is_object() => {
                let what = format!(
                    "tool {:?}: structuredContent is {}",
                    tool.name,
                    expect::brief(content)
                );
                lab.found("2025-11-25/tools/structured-is-object", what, &[&exchange]);
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_items_have_what_their_type_needs() {
        for good in [
            json!({"type": "text", "text": ""}),
            json!({"type": "image", "data": "aGk=", "mimeType": "image/png"}),
            json!({"type": "resource_link", "uri": "file:///x", "name": "x"}),
            json!({"type": "resource", "resource": {"uri": "x:y", "blob": "aGk="}}),
            json!({"type": "text", "text": "x", "annotations": {"audience": ["user"], "priority": 0.5}}),
        ] {
            assert_eq!(fault(&good), Ok(()), "{good}");
        }
        for (row, bad) in [
            ("both/tools/content-text-fields", json!({"type": "text"})),
            (
                "both/tools/content-image-fields",
                json!({"type": "image", "data": "?", "mimeType": "image/png"}),
            ),
            (
                "both/tools/content-audio-fields",
                json!({"type": "audio", "data": "aGk="}),
            ),
            (
                "both/tools/content-type-known",
                json!({"type": "json", "json": {}}),
            ),
            (
                "both/tools/content-annotations",
                json!({"type": "text", "text": "x", "annotations": {"priority": 2}}),
            ),
            (
                "both/tools/content-resource-fields",
                json!({"type": "resource", "resource": {"uri": "x:y"}}),
            ),
        ] {
            assert_eq!(fault(&bad).map_err(|(row, _)| row), Err(row), "{bad}");
        }
    }
}
