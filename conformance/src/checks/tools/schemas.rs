//! The schemas of tools, and what else the server describes itself with.

use super::list::each;
use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use serde_json::Value;

pub const CHECKS: &[Check] = &[
    check!("schema/input", BOTH, input, ["both/tools/input-schema-required"]),
    check!(
        "schema/input-valid",
        BOTH,
        input_valid,
        [
            "both/tools/input-schema-valid",
            "both/schema/schemas-are-valid",
            "both/schema/dialect-2020-12-supported",
            "both/schema/explicit-dialect-honoured",
        ]
    ),
    check!(
        "schema/output-valid",
        BOTH,
        output_valid,
        ["both/tools/output-schema-valid"]
    ),
    check!(
        "schema/output-object",
        LEGACY,
        output_object,
        ["2025-11-25/tools/output-schema-object-root"]
    ),
    check!(
        "schema/input-keywords",
        LEGACY,
        input_keywords,
        ["2025-11-25/tools/input-schema-keywords"]
    ),
    check!(
        "schema/self-contained",
        MODERN,
        self_contained,
        ["2026-07-28/schema/server-schemas-self-contained"]
    ),
    check!(
        "schema/no-parameters",
        BOTH,
        no_parameters,
        ["both/tools/no-arg-tool-schema"]
    ),
    check!(
        "schema/icons",
        BOTH,
        icons,
        ["both/schema/icon-src-required", "both/schema/icon-theme-enum"]
    ),
    check!(
        "schema/server-info",
        BOTH,
        server_info,
        ["both/schema/implementation-required-fields"]
    ),
];

async fn input(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/input-schema-required", |tool| {
        match tool.get("inputSchema") {
            Some(Value::Object(schema)) if schema.get("type").is_some_and(|kind| kind == "object") => Ok(()),
            Some(schema) if schema.is_object() => {
                Err("the root of its inputSchema has no type \"object\"".to_owned())
            }
            schema => Err(format!(
                "its inputSchema is {}, no object",
                schema.unwrap_or(&Value::Null)
            )),
        }
    })
}

/// What is wrong with a schema under the dialect it names, or 2020-12. Dialects that are not JSON Schema's can't be judged.
fn fault(schema: &Value) -> Option<String> {
    let judged = match schema.get("$schema") {
        None => jsonschema::draft202012::meta::validate(schema),
        Some(Value::String(dialect)) if dialect.contains("//json-schema.org/") => {
            jsonschema::meta::validate(schema)
        }
        Some(Value::String(_)) => return None,
        Some(other) => return Some(format!("$schema is {other}")),
    };
    match judged {
        Err(error) => Some(error.to_string()),
        Ok(()) => dangling(schema),
    }
}

/// A reference within the schema to what is not there. What is elsewhere is not fetched.
fn dangling(schema: &Value) -> Option<String> {
    use jsonschema::{ReferencingError as Error, error::ValidationErrorKind};
    let error = jsonschema::validator_for(schema).err()?;
    match error.kind() {
        ValidationErrorKind::Referencing(
            error @ (Error::PointerToNowhere { .. } | Error::NoSuchAnchor { .. }),
        ) => Some(format!("a $ref leads nowhere: {error}")),
        _ => None,
    }
}

async fn input_valid(lab: &mut Lab) -> Result<(), Stop> {
    let judge = |tool: &Value, wanted: fn(&Value) -> bool| {
        let schema = tool
            .get("inputSchema")
            .filter(|schema| schema.is_object() && wanted(schema));
        let fault = schema.and_then(fault);
        fault.map_or(Ok(()), |fault| {
            Err(format!("its inputSchema is no JSON Schema: {fault}"))
        })
    };
    each(lab, "both/tools/input-schema-valid", |tool| judge(tool, |_| true))?;
    each(lab, "both/schema/dialect-2020-12-supported", |tool| {
        judge(tool, |schema| schema.get("$schema").is_none())
    })?;
    each(lab, "both/schema/explicit-dialect-honoured", |tool| {
        judge(tool, |schema| schema.get("$schema").is_some())
    })?;
    each(lab, "both/schema/schemas-are-valid", |tool| {
        let schemas = ["inputSchema", "outputSchema"]
            .into_iter()
            .filter_map(|name| Some((name, tool.get(name)?)));
        let faults = schemas.filter_map(|(name, schema)| Some((name, fault(schema)?)));
        faults
            .map(|(name, fault)| Err(format!("its {name} is no JSON Schema: {fault}")))
            .next()
            .unwrap_or(Ok(()))
    })
}

async fn output_valid(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/output-schema-valid", |tool| {
        match tool.get("outputSchema") {
            None => Ok(()),
            Some(schema) if !schema.is_object() => Err(format!("its outputSchema is {schema}, no object")),
            Some(schema) => fault(schema).map_or(Ok(()), |fault| {
                Err(format!("its outputSchema is no JSON Schema: {fault}"))
            }),
        }
    })
}

async fn output_object(lab: &mut Lab) -> Result<(), Stop> {
    each(
        lab,
        "2025-11-25/tools/output-schema-object-root",
        |tool| match tool.get("outputSchema") {
            Some(schema) if schema["type"] != "object" => Err(format!(
                "the root of its outputSchema has type {}",
                schema["type"]
            )),
            _ => Ok(()),
        },
    )
}

async fn input_keywords(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "2025-11-25/tools/input-schema-keywords", |tool| {
        let schema = &tool["inputSchema"];
        if let Some(properties) = schema.get("properties") {
            let Some(members) = properties.as_object() else {
                return Err(format!("properties is {properties}, no object"));
            };
            if let Some((name, property)) = members.iter().find(|(_, property)| !property.is_object()) {
                return Err(format!("property {name:?} is {property}, no object"));
            }
        }
        match schema.get("required") {
            Some(required)
                if !required
                    .as_array()
                    .is_some_and(|names| names.iter().all(Value::is_string)) =>
            {
                Err(format!("required is {required}, no array of texts"))
            }
            _ => Ok(()),
        }
    })
}

/// Every `$ref` in a schema.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

async fn self_contained(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "2026-07-28/schema/server-schemas-self-contained", |tool| {
        let mut found = Vec::new();
        ["inputSchema", "outputSchema"]
            .into_iter()
            .filter_map(|name| tool.get(name))
            .for_each(|schema| references(schema, &mut found));
        match found.into_iter().find(|reference| reference.contains("://")) {
            Some(reference) => Err(format!(
                "its schema refers to {reference:?}, which clients don't fetch"
            )),
            None => Ok(()),
        }
    })
}

async fn no_parameters(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/no-arg-tool-schema", |tool| {
        let schema = &tool["inputSchema"];
        let is_without = schema["properties"]
            .as_object()
            .is_none_or(serde_json::Map::is_empty);
        if is_without && schema.is_object() && schema["type"] != "object" {
            return Err(
                "it takes no parameters, and its inputSchema does not say {\"type\":\"object\"}".to_owned(),
            );
        }
        Ok(())
    })
}

/// Every icon in a message, wherever `icons` may stand.
fn icons_in<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("icons", Value::Array(icons)) => found.extend(icons),
                    ("icons", _) => found.push(member),
                    // what schemas call icons is a parameter
                    ("inputSchema" | "outputSchema" | "_meta", _) => {}
                    _ => icons_in(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| icons_in(item, found)),
        _ => {}
    }
}

async fn icons(lab: &mut Lab) -> Result<(), Stop> {
    let exchanges: Vec<Exchange> = lab
        .offer()
        .opened
        .iter()
        .chain(&lab.offer().pages)
        .cloned()
        .collect();
    for exchange in exchanges {
        let message = exchange.message().cloned().unwrap_or_default();
        let mut found = Vec::new();
        icons_in(&message, &mut found);
        if let Some(info) = message.pointer("/result/_meta/io.modelcontextprotocol~1serverInfo") {
            icons_in(info, &mut found);
        }
        for icon in found {
            let src = icon["src"].as_str().unwrap_or_default();
            if !["http://", "https://", "data:"]
                .iter()
                .any(|scheme| src.starts_with(scheme))
            {
                lab.found(
                    "both/schema/icon-src-required",
                    format!("an icon has src {}", icon["src"]),
                    &[&exchange],
                );
            }
            let theme = icon
                .get("theme")
                .is_none_or(|theme| theme == "light" || theme == "dark");
            let is_size = |size: &str| {
                size == "any"
                    || size
                        .split_once('x')
                        .is_some_and(|(w, h)| [w, h].iter().all(|n| n.parse::<u32>().is_ok()))
            };
            let sizes = icon.get("sizes").is_none_or(|sizes| {
                sizes
                    .as_array()
                    .is_some_and(|sizes| sizes.iter().all(|size| size.as_str().is_some_and(is_size)))
            });
            if !theme || !sizes {
                lab.found(
                    "both/schema/icon-theme-enum",
                    format!("an icon has theme {} and sizes {}", icon["theme"], icon["sizes"]),
                    &[&exchange],
                );
            }
        }
    }
    Ok(())
}

async fn server_info(lab: &mut Lab) -> Result<(), Stop> {
    let Some(exchange) = lab.offer().opened.first().cloned() else {
        return Ok(());
    };
    let opening = lab.offer().opening.clone();
    let info = match lab.harmless() {
        "ping" => opening.get("serverInfo"),
        _ => opening.pointer("/_meta/io.modelcontextprotocol~1serverInfo"),
    };
    let row = "both/schema/implementation-required-fields";
    match info {
        Some(info) if info["name"].is_string() && info["version"].is_string() => {}
        Some(info) => lab.found(
            row,
            format!("serverInfo is {info}, without a text as name or version"),
            &[&exchange],
        ),
        // in the modern era it may be left out, for which another check warns
        None if lab.harmless() == "ping" && !opening.is_null() => {
            lab.found(row, "initialize gives no serverInfo", &[&exchange])
        }
        None => return Err(Stop::Skip("the server does not name itself".to_owned())),
    }
    Ok(())
}
