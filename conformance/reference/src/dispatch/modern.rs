//! Revision 2026-07-28: every request says its version and the client's capabilities in `_meta`.

use super::context::log_level;
use super::{
    Context, Era, INSTRUCTIONS, META_CAPABILITIES, META_VERSION, MODERN, Transport, capabilities,
    method_not_found, server_info, subscriptions, supported, tasks,
};
use crate::features::Feature;
use crate::json::{Json, quote};
use crate::jsonrpc::{Error, Kind, Request};
use crate::{official, tools};
use axum::http::HeaderMap;
use base64::prelude::{BASE64_STANDARD, Engine};

const META_SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// How long a client may keep a list, in milliseconds.
const TTL_MS: u64 = 60_000;

pub(super) async fn answer(
    context: &Context<'_>,
    request: &Request,
    transport: &Transport<'_>,
) -> Result<Json, Error> {
    let version = version(&request.params)?;
    if let Transport::Http(headers) = transport {
        check_headers(context, headers, version, request)?;
    }
    if version != MODERN {
        let data = Json::object([("supported", supported()), ("requested", version.into())]);
        let message = format!("unsupported protocol version {}", quote(version));
        return Err(Error {
            kind: Kind::UnsupportedVersion,
            message,
            data: Some(data),
        });
    }
    if context.has(Feature::Logging) {
        log_level(&request.params)?;
    }
    match &*request.method {
        "server/discover" => Ok(cacheable(Json::object([
            ("supportedVersions", supported()),
            ("capabilities", capabilities(context)),
            ("instructions", INSTRUCTIONS.into()),
        ]))),
        "tools/list" => tools::list(context.server, Era::Modern, &request.params).map(cacheable),
        "tools/call" => tools::call(context, &request.params).await,
        "subscriptions/listen" if context.has(Feature::Subscriptions) => {
            subscriptions::listen(context, &request.params).await
        }
        method if method.starts_with("tasks/") && context.has(Feature::Tasks) => {
            tasks::modern(context, method, &request.params)
        }
        method => match official::answer(context, method, &request.params) {
            Some(answer) if official::is_cacheable(method) => answer.map(cacheable),
            Some(answer) => answer,
            None => Err(method_not_found(method)),
        },
    }
}

/// Adds what every modern result has.
pub(super) fn complete(result: Json) -> Json {
    let result = match result.get("resultType") {
        Some(_) => result,
        None => result.with("resultType", "complete".into()),
    };
    result.with_meta(META_SERVER_INFO, server_info())
}

/// 2026-07-28, server/utilities/caching.
fn cacheable(result: Json) -> Json {
    result
        .with("ttlMs", TTL_MS.into())
        .with("cacheScope", "public".into())
}

/// The version a request names, once all that `_meta` must have is there (2026-07-28, basic, `_meta`).
fn version(params: &Json) -> Result<&str, Error> {
    let missing = |name: &str, what: &str| {
        Error::new(
            Kind::InvalidMeta,
            format!("params._meta[\"{name}\"] must be {what} in every request"),
        )
    };
    let member = |name: &str| params.get("_meta").and_then(|meta| meta.get(name));
    let version = member(META_VERSION)
        .and_then(Json::as_str)
        .ok_or_else(|| missing(META_VERSION, "a string"))?;
    let capabilities = member(META_CAPABILITIES).and_then(Json::as_object);
    capabilities.ok_or_else(|| missing(META_CAPABILITIES, "an object"))?;
    Ok(version)
}

/// The headers must repeat what the body says (2026-07-28, basic/transports/streamable-http, Server Validation).
fn check_headers(
    context: &Context<'_>,
    headers: &HeaderMap,
    version: &str,
    request: &Request,
) -> Result<(), Error> {
    check_header(headers, "MCP-Protocol-Version", Some(version))?;
    check_header(headers, "Mcp-Method", Some(&request.method))?;
    let named_by = match &*request.method {
        "tools/call" => "name",
        "prompts/get" if context.has(Feature::Official) => "name",
        "resources/read" if context.has(Feature::Official) => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" if context.has(Feature::Tasks) => "taskId",
        _ => return Ok(()),
    };
    check_header(
        headers,
        "Mcp-Name",
        request.params.get(named_by).and_then(Json::as_str),
    )
}

fn check_header(headers: &HeaderMap, name: &str, body: Option<&str>) -> Result<(), Error> {
    let mismatch = |reason: String| Error::new(Kind::HeaderMismatch, format!("header {name} {reason}"));
    let mut values = headers.get_all(name).iter();
    let (value, more) = (values.next(), values.next());
    if more.is_some() {
        return Err(mismatch("is there more than once".into()));
    }
    let value = match value {
        None => None,
        Some(value) => {
            let text = value
                .to_str()
                .map_err(|_| mismatch("holds more than visible ASCII".into()))?;
            Some(if name == "Mcp-Name" {
                decode(text).ok_or_else(|| mismatch("holds no valid Base64 of UTF-8".into()))?
            } else {
                text.to_owned()
            })
        }
    };
    if value.as_deref() == body {
        return Ok(());
    }
    let show = |text: Option<&str>| text.map_or("nothing".to_owned(), quote);
    Err(mismatch(format!(
        "says {}, the body says {}",
        show(value.as_deref()),
        show(body)
    )))
}

/// Undoes the sentinel form `=?base64?…?=`; other text stands for itself (Value Encoding).
fn decode(text: &str) -> Option<String> {
    match text
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="))
    {
        Some(encoded) => String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentinel_form_is_decoded() {
        // The examples of the specification.
        for (header, value) in [
            ("us-west1", "us-west1"),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"),
            ("=?base64?IHBhZGRlZCA=?=", " padded "),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?="),
            ("=?BASE64?SGk=?=", "=?BASE64?SGk=?="),
        ] {
            assert_eq!(decode(header).as_deref(), Some(value), "{header}");
        }
        for header in ["=?base64?*?=", "=?base64?SGk?=", "=?base64?/w==?="] {
            assert_eq!(decode(header), None, "{header}");
        }
    }
}
