//! Prompts, and the completion of their arguments.

use super::{fill, input, invalid, resources};
use crate::dispatch::{Context, Era};
use crate::json::{Json, quote};
use crate::jsonrpc::Error;

/// What the arguments of a prompt are completed to.
const VALUES: [&str; 3] = ["paris", "park", "party"];

/// `prompts/get`.
pub(super) fn get(context: &Context<'_>, params: &Json) -> Result<Json, Error> {
    let prompt = named(params.get("name"))?;
    let none = Json::object([]);
    let arguments = params.get("arguments").unwrap_or(&none);
    if arguments.as_object().is_none() {
        return Err(invalid("params.arguments must be an object"));
    }
    for name in arguments_of(prompt) {
        let value = arguments.get(name).and_then(Json::as_str);
        value.ok_or_else(|| invalid(format!("params.arguments.{name} must be a string")))?;
    }
    if let Some(rounds) = prompt.get("rounds").and_then(Json::as_array) {
        match context.era {
            Era::Legacy => {
                return Err(invalid(
                    "this prompt needs input, for which a client must speak 2026-07-28",
                ));
            }
            Era::Modern => {
                if let input::Got::Question(question) = input::ask(context, prompt, rounds, params)? {
                    return Ok(question);
                }
            }
        }
    }
    let messages = prompt.get("messages").unwrap_or(&Json::Null);
    Ok(Json::object([("messages", fill(messages, arguments))]))
}

/// `completion/complete`.
pub(super) fn complete(era: Era, params: &Json) -> Result<Json, Error> {
    let reference = params.get("ref").unwrap_or(&Json::Null);
    let argument = |name: &str| {
        params
            .get("argument")
            .and_then(|argument| argument.get(name)?.as_str())
    };
    let (Some(name), Some(begun)) = (argument("name"), argument("value")) else {
        return Err(invalid(
            "params.argument must have a name and a value, both strings",
        ));
    };
    match reference.get("type").and_then(Json::as_str) {
        Some("ref/prompt") => {
            let prompt = named(reference.get("name"))?;
            if !arguments_of(prompt).any(|known| known == name) {
                return Err(invalid(format!("the prompt has no argument {}", quote(name))));
            }
        }
        Some("ref/resource") if reference.get("uri").and_then(Json::as_str) == super::template() => {}
        Some("ref/resource") => {
            resources::find(era, reference)?;
        }
        _ => return Err(invalid("params.ref.type must be ref/prompt or ref/resource")),
    }
    let values: Vec<_> = VALUES
        .into_iter()
        .filter(|value| value.starts_with(begun))
        .collect();
    Ok(Json::object([(
        "completion",
        Json::object([
            ("total", (values.len() as u64).into()),
            ("hasMore", false.into()),
            ("values", values.into_iter().map(Json::from).collect()),
        ]),
    )]))
}

fn named(name: Option<&Json>) -> Result<&'static Json, Error> {
    let name = name.and_then(Json::as_str);
    let name = name.ok_or_else(|| invalid("the name of a prompt must be a string"))?;
    super::find("prompts", "name", name).ok_or_else(|| invalid(format!("there is no prompt {}", quote(name))))
}

/// Names of a prompt's arguments; all are required.
fn arguments_of(prompt: &Json) -> impl Iterator<Item = &str> {
    let arguments = prompt
        .get("definition")
        .and_then(|definition| definition.get("arguments")?.as_array());
    arguments
        .unwrap_or_default()
        .iter()
        .filter_map(|argument| argument.get("name")?.as_str())
}
