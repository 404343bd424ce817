//! Revisions 2025-06-18 and 2025-11-25: a handshake, plain results, errors with HTTP 200.

use super::context::read_level;
use super::{
    Context, Era, INSTRUCTIONS, LEGACY, META_NOT_OBJECT, Transport, capabilities, is_object_or_absent,
    method_not_found, server_info, tasks,
};
use crate::features::Feature;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind, Request};
use crate::{official, tools};
use std::sync::atomic::Ordering;

pub(super) async fn answer(
    context: &Context<'_>,
    request: &Request,
    transport: &Transport<'_>,
) -> Result<Json, Error> {
    let method = &*request.method;
    if !is_object_or_absent(request.params.get("_meta")) {
        return Err(Error::new(Kind::InvalidParams, META_NOT_OBJECT));
    }
    if let Transport::Stdio { initialized, .. } = transport {
        if method == "initialize" {
            let result = initialize(context, &request.params)?;
            context.scope.begins(request.params.get("capabilities"));
            initialized.store(true, Ordering::Relaxed);
            return Ok(result);
        }
        // Over HTTP there is no session to remember the handshake by; a stdio stream is one.
        if method != "ping" && !initialized.load(Ordering::Relaxed) {
            let message = "send initialize first, or say the protocol version in params._meta";
            return Err(Error::new(Kind::InvalidRequest, message));
        }
    }
    match method {
        "initialize" => initialize(context, &request.params),
        "ping" => Ok(Json::object([])),
        "tools/list" => tools::list(context.server, Era::Legacy, &request.params),
        "tools/call" => tools::call(context, &request.params).await,
        "logging/setLevel" if context.has(Feature::Logging) => {
            let level = request.params.get("level").unwrap_or(&Json::Null);
            context.scope.set_level(read_level(level)?);
            Ok(Json::object([]))
        }
        _ if method.starts_with("tasks/") && context.has(Feature::Tasks) => {
            tasks::legacy(context, method, &request.params).await
        }
        _ => official::answer(context, method, &request.params)
            .unwrap_or_else(|| Err(method_not_found(method))),
    }
}

/// 2025-11-25, basic/lifecycle, Initialization: the version asked for where the server has it, else the newest
/// one it has; of those that begin with a handshake.
fn initialize(context: &Context<'_>, params: &Json) -> Result<Json, Error> {
    let wrong = |name: &str, what: &str| {
        Error::new(
            Kind::InvalidParams,
            format!("initialize: params.{name} must be {what}"),
        )
    };
    let asked = params.get("protocolVersion").and_then(Json::as_str);
    let asked = asked.ok_or_else(|| wrong("protocolVersion", "a string"))?;
    for name in ["capabilities", "clientInfo"] {
        params
            .get(name)
            .and_then(Json::as_object)
            .ok_or_else(|| wrong(name, "an object"))?;
    }
    for name in ["name", "version"] {
        let text = params.get("clientInfo").and_then(|info| info.get(name)?.as_str());
        text.ok_or_else(|| wrong(&format!("clientInfo.{name}"), "a string"))?;
    }
    let version = LEGACY
        .into_iter()
        .find(|known| *known == asked)
        .unwrap_or(LEGACY[0]);
    Ok(Json::object([
        ("protocolVersion", version.into()),
        ("capabilities", capabilities(context)),
        ("serverInfo", server_info()),
        ("instructions", INSTRUCTIONS.into()),
    ]))
}
