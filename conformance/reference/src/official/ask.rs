//! Tools that ask the client while it waits for their result (2025-11-25, client/elicitation, client/sampling).

use crate::dispatch::Context;
use crate::json::Json;
use crate::tools::Outcome;

/// The capability that a client must have declared to be asked this.
pub(super) fn capability(method: &str) -> Option<&'static str> {
    match method {
        "elicitation/create" => Some("elicitation"),
        "sampling/createMessage" => Some("sampling"),
        "roots/list" => Some("roots"),
        _ => None,
    }
}

/// Asks, and tells what the client said.
pub(super) async fn call(context: &Context<'_>, request: &Json) -> Outcome {
    let method = request.get("method").and_then(Json::as_str).unwrap_or_default();
    let params = request.get("params").cloned().unwrap_or(Json::Null);
    let capability = capability(method).unwrap_or_default();
    if !context.client_has(capability) {
        return Outcome::Failed(format!(
            "the client did not declare the capability {capability} in this session"
        ));
    }
    match context.ask(method, params).await {
        Ok(result) => Outcome::Text(
            match result.get("content").and_then(|content| content.get("text")) {
                Some(Json::String(text)) => format!("LLM response: {text}"),
                _ => format!("User response: {result}"),
            },
        ),
        Err(reason) => Outcome::Failed(reason),
    }
}
