//! Results that need input first (2026-07-28, basic/patterns/mrtr): the client calls again with what was asked for. The
//! server keeps nothing between the calls.

use super::ask::capability;
use super::invalid;
use crate::dispatch::Context;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind};

/// What the calls so far come to.
pub(super) enum Got {
    /// The interim result that asks for more.
    Question(Json),
    /// All that was asked for, as a text.
    All(String),
}

/// Asks for what an entry needs, round by round. `state` in the entry says whether the round comes back sealed, `optional`
/// whether what the client can't be asked is left out.
pub(super) fn ask(context: &Context<'_>, entry: &Json, rounds: &[Json], params: &Json) -> Result<Got, Error> {
    let is_set = |name: &str| entry.get(name).and_then(Json::as_bool) == Some(true);
    let name = params.get("name").and_then(Json::as_str).unwrap_or_default();
    let sealed = |round: usize| format!("{round}.{}", context.server.seal.code(&format!("{name} {round}")));
    let round = match params.get("requestState") {
        None => None,
        Some(state) => {
            let ours = (0..rounds.len()).find(|round| state.as_str() == Some(&*sealed(*round)));
            Some(ours.ok_or_else(|| invalid("requestState is not of this server, or of another request"))?)
        }
    };
    let responses = match params.get("inputResponses") {
        None => None,
        Some(Json::Object(responses)) => Some(responses),
        Some(_) => return Err(invalid("inputResponses must be an object")),
    };
    // An answer without the state it belongs to is one nobody asked for.
    let responses = responses.filter(|_| round.is_some() || !is_set("state"));
    let round = round.unwrap_or(0);
    let question = |round: usize| -> Result<Json, Error> {
        let wanted = wanted(context, &rounds[round], params, is_set("optional"))?;
        let question = Json::object([
            ("resultType", "input_required".into()),
            ("inputRequests", Json::Object(wanted)),
        ]);
        Ok(if is_set("state") {
            question.with("requestState", sealed(round).into())
        } else {
            question
        })
    };
    let Some(responses) = responses else {
        return question(round).map(Got::Question);
    };
    let mut got = Vec::new();
    for (key, request) in wanted(context, &rounds[round], params, is_set("optional"))? {
        let Some((_, response)) = responses.iter().find(|(name, _)| *name == key) else {
            return question(round).map(Got::Question);
        };
        if !is_response(request.get("method").and_then(Json::as_str), response) {
            return Err(invalid(format!(
                "inputResponses.{key} is no answer to what was asked"
            )));
        }
        got.push((key, response.clone()));
    }
    if round + 1 < rounds.len() {
        return question(round + 1).map(Got::Question);
    }
    let state = if is_set("state") { "state-ok " } else { "" };
    Ok(Got::All(format!("{state}{}", Json::Object(got))))
}

/// The requests of a round that this client may be sent.
fn wanted(
    context: &Context<'_>,
    round: &Json,
    params: &Json,
    optional: bool,
) -> Result<Vec<(String, Json)>, Error> {
    let declared = context.capabilities(params);
    let mut wanted = Vec::new();
    for (key, request) in round.as_object().unwrap_or_default() {
        let needed = request
            .get("method")
            .and_then(|method| capability(method.as_str()?))
            .unwrap_or_default();
        if declared.is_some_and(|declared| declared.get(needed).is_some()) {
            wanted.push((key.clone(), request.clone()));
        } else if !optional {
            return Err(missing(needed));
        }
    }
    match wanted.is_empty() {
        true => Err(missing("elicitation")),
        false => Ok(wanted),
    }
}

fn missing(capability: &str) -> Error {
    let required = Json::object([(capability, Json::object([]))]);
    Error {
        kind: Kind::MissingCapability,
        message: format!("this needs the client capability {capability}"),
        data: Some(Json::object([("requiredCapabilities", required)])),
    }
}

/// Whether a response has the form of an answer to this method.
fn is_response(method: Option<&str>, response: &Json) -> bool {
    match method {
        Some("elicitation/create") => match response.get("action").and_then(Json::as_str) {
            Some("accept") => response.get("content").and_then(Json::as_object).is_some(),
            Some("decline" | "cancel") => true,
            _ => false,
        },
        Some("sampling/createMessage") => response.get("content").is_some(),
        _ => response.get("roots").and_then(Json::as_array).is_some(),
    }
}
