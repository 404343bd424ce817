//! `ask_name`: input that a call turns out to need (2026-07-28, basic/patterns/mrtr). The server keeps nothing between
//! the two calls: all it must know again comes back in `requestState`, under a seal.

use super::Outcome;
use crate::json::{Json, quote};
use crate::jsonrpc::{Error, Kind};
use crate::unique::Seal;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an answer may take.
const LIFE: Duration = Duration::from_secs(300);
/// The key of the only input.
const KEY: &str = "name";

/// The result, be it interim.
pub(super) fn name(params: &Json, capabilities: Option<&Json>, seal: &Seal) -> Result<Json, Error> {
    let elicitation = capabilities.and_then(|capabilities| capabilities.get("elicitation")?.as_object());
    // Without a mode, forms are meant.
    let forms =
        elicitation.is_some_and(|modes| modes.is_empty() || modes.iter().any(|(mode, _)| mode == "form"));
    if !forms {
        let required = Json::object([("elicitation", Json::object([("form", Json::object([]))]))]);
        return Err(Error {
            kind: Kind::MissingCapability,
            message: "ask_name needs the client capability elicitation, with forms".to_owned(),
            data: Some(Json::object([("requiredCapabilities", required)])),
        });
    }
    let wrong = |what: &str| Error::new(Kind::InvalidParams, what);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if let Some(state) = params.get("requestState") {
        let until = state.as_str().and_then(|state| opened(state, seal));
        let until =
            until.ok_or_else(|| wrong("requestState is not of this server, or of another request"))?;
        if until < now.as_secs() {
            return Err(wrong("requestState has expired; call again without it"));
        }
    }
    let responses = match params.get("inputResponses") {
        None => None,
        Some(responses @ Json::Object(_)) => Some(responses),
        Some(_) => return Err(wrong("inputResponses must be an object")),
    };
    // An answer without the state it belongs to is one nobody asked for.
    let answer = responses
        .filter(|_| params.get("requestState").is_some())
        .and_then(|responses| responses.get(KEY));
    let Some(answer) = answer else {
        return Ok(request(sealed((now + LIFE).as_secs(), seal)));
    };
    match answer.get("action").and_then(Json::as_str) {
        Some("accept") => {
            let name = answer
                .get("content")
                .and_then(|content| content.get(KEY)?.as_str());
            let name = name.ok_or_else(|| wrong("inputResponses.name.content.name must be a string"))?;
            Ok(Outcome::Text(format!("Hello, {}.", name.chars().take(64).collect::<String>())).into_result())
        }
        Some(action @ ("decline" | "cancel")) => Ok(Outcome::Failed(format!(
            "the user chose {}, so there is nobody to greet",
            quote(action)
        ))
        .into_result()),
        _ => Err(wrong(
            "inputResponses.name.action must be accept, decline or cancel",
        )),
    }
}

fn request(state: String) -> Json {
    let property = Json::object([
        ("type", "string".into()),
        ("title", "Name".into()),
        ("maxLength", 64.into()),
    ]);
    let schema = Json::object([
        ("type", "object".into()),
        ("properties", Json::object([(KEY, property)])),
        ("required", [Json::from(KEY)].into_iter().collect()),
    ]);
    let params = Json::object([
        ("mode", "form".into()),
        ("message", "What is your name?".into()),
        ("requestedSchema", schema),
    ]);
    let elicit = Json::object([("method", "elicitation/create".into()), ("params", params)]);
    Json::object([
        ("resultType", "input_required".into()),
        ("inputRequests", Json::object([(KEY, elicit)])),
        ("requestState", state.into()),
    ])
}

/// A state that is good until this second. The tool is part of what is sealed.
fn sealed(until: u64, seal: &Seal) -> String {
    format!("{until}.{}", seal.code(&format!("ask_name {until}")))
}

/// Until when a state is good, if it is one of ours.
fn opened(state: &str, seal: &Seal) -> Option<u64> {
    let until = state.split_once('.')?.0.parse().ok()?;
    (sealed(until, seal) == state).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_altered_state_does_not_open() {
        let seal = Seal::default();
        let state = sealed(1_785_240_000, &seal);
        assert_eq!(opened(&state, &seal), Some(1_785_240_000));
        for altered in [
            state.replacen("17", "27", 1),
            format!("{state}0"),
            format!("0{state}"),
            String::new(),
        ] {
            assert_eq!(opened(&altered, &seal), None, "{altered}");
        }
        assert_eq!(opened(&state, &Seal::default()), None);
    }
}
