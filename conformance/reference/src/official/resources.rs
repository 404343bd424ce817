//! Resources, one of them from a template.

use super::invalid;
use crate::dispatch::Era;
use crate::json::{Json, quote};
use crate::jsonrpc::{Error, Kind};

/// The URI template that `fixtures.json` lists, on both sides of its variable.
const TEMPLATE: (&str, &str) = ("test://template/", "/data");

/// `resources/read`.
pub(super) fn read(era: Era, params: &Json) -> Result<Json, Error> {
    let contents = find(era, params)?;
    Ok(Json::object([("contents", Json::Array(vec![contents]))]))
}

/// What a request's URI names.
pub(super) fn find(era: Era, params: &Json) -> Result<Json, Error> {
    let uri = params.get("uri").and_then(Json::as_str);
    let uri = uri.ok_or_else(|| invalid("params.uri must be a string"))?;
    if let Some(resource) = super::find("resources", "uri", uri) {
        return Ok(resource.get("contents").cloned().unwrap_or(Json::Null));
    }
    let id = uri
        .strip_prefix(TEMPLATE.0)
        .and_then(|rest| rest.strip_suffix(TEMPLATE.1));
    match id {
        Some(id) if !id.is_empty() && !id.contains('/') => Ok(from_template(uri, id)),
        // 2025-11-25 has a code for it (server/resources, Error Handling); 2026-07-28 has not.
        _ => Err(Error {
            kind: match era {
                Era::Legacy => Kind::NoResource,
                Era::Modern => Kind::InvalidParams,
            },
            message: format!("there is no resource {}", quote(uri)),
            data: Some(Json::object([("uri", uri.into())])),
        }),
    }
}

fn from_template(uri: &str, id: &str) -> Json {
    let text = Json::object([
        ("id", id.into()),
        ("templateTest", true.into()),
        ("data", format!("Data for ID: {id}").into()),
    ]);
    Json::object([
        ("uri", uri.into()),
        ("mimeType", "application/json".into()),
        ("text", text.to_string().into()),
    ])
}
