//! What the official suite (`@modelcontextprotocol/conformance`) wants to find on a server: tools, resources and prompts of
//! certain names, for every part of MCP that it tries. What they are and give stands in `fixtures.json`.

mod ask;
mod input;
mod prompts;
mod resources;

use crate::dispatch::{Context, Era};
use crate::features::Feature;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind};
use crate::tools::Outcome;
use std::sync::LazyLock;
use std::time::Duration;
use tokio::time::sleep;

/// Between two things that a tool tells while it runs.
const PAUSE: Duration = Duration::from_millis(50);

// Of our own making and covered by a test, so the expectation holds whatever a client sends.
static FIXTURES: LazyLock<Json> = LazyLock::new(|| {
    let text = include_str!("fixtures.json");
    Json::read(text.as_bytes()).expect("the fixtures are JSON")
});

/// The entries of one kind.
fn entries(kind: &str) -> &'static [Json] {
    FIXTURES.get(kind).and_then(Json::as_array).unwrap_or_default()
}

/// The only template.
fn template() -> Option<&'static str> {
    entries("templates").first()?.get("uriTemplate")?.as_str()
}

/// What is listed of each entry.
fn definitions(kind: &str) -> Json {
    let definitions = entries(kind).iter().filter_map(|entry| entry.get("definition"));
    definitions.cloned().collect()
}

/// The entry whose definition has this member.
fn find(kind: &str, member: &str, value: &str) -> Option<&'static Json> {
    let is = |entry: &&Json| {
        entry
            .get("definition")
            .and_then(|definition| definition.get(member)?.as_str())
            == Some(value)
    };
    entries(kind).iter().find(is)
}

/// The tools, in order.
pub(crate) fn tools() -> &'static [Json] {
    entries("tools")
}

/// Whether a client of this era is offered a tool: asking it while it waits is legacy, having it call again is modern.
pub(crate) fn is_offered(tool: &Json, era: Era) -> bool {
    match era {
        Era::Legacy => tool.get("rounds").is_none(),
        Era::Modern => tool.get("asks").is_none(),
    }
}

/// Calls a tool. The arguments have been judged.
pub(crate) async fn call(context: &Context<'_>, tool: &'static Json, params: &Json) -> Result<Json, Error> {
    if let Some(result) = tool.get("result") {
        return Ok(result.clone());
    }
    if let Some(request) = tool.get("asks") {
        let none = Json::object([]);
        let arguments = params.get("arguments").unwrap_or(&none);
        return Ok(ask::call(context, &fill(request, arguments)).await.into_result());
    }
    if let Some(rounds) = tool.get("rounds").and_then(Json::as_array) {
        let got = input::ask(context, tool, rounds, params)?;
        return Ok(match got {
            input::Got::Question(question) => question,
            input::Got::All(text) => Outcome::Text(text).into_result(),
        });
    }
    let reporter = context.reporter(params)?;
    let log = |what| reporter.log("official", "info", what);
    log("Tool execution started");
    reporter.progress(0, 100);
    sleep(PAUSE).await;
    log("Tool processing data");
    reporter.progress(50, 100);
    sleep(PAUSE).await;
    log("Tool execution completed");
    reporter.progress(100, 100);
    Ok(Outcome::Text("told everything".to_owned()).into_result())
}

/// Answers a request that is not about tools; none if it is none of ours, or the feature is off.
pub(crate) fn answer(context: &Context<'_>, method: &str, params: &Json) -> Option<Result<Json, Error>> {
    if !context.has(Feature::Official) {
        return None;
    }
    Some(match method {
        "resources/list" => one_page(params, "resources", || definitions("resources")),
        "resources/templates/list" => one_page(params, "resourceTemplates", || {
            entries("templates").iter().cloned().collect()
        }),
        "resources/read" => resources::read(context.era, params),
        "resources/subscribe" | "resources/unsubscribe" if context.era == Era::Legacy => {
            resources::find(context.era, params).map(|_| Json::object([]))
        }
        "prompts/list" => one_page(params, "prompts", || definitions("prompts")),
        "prompts/get" => prompts::get(context, params),
        "completion/complete" => prompts::complete(context.era, params),
        _ => return None,
    })
}

/// Whether a client may keep the answer (2026-07-28, server/utilities/caching).
pub(crate) fn is_cacheable(method: &str) -> bool {
    method.starts_with("resources/") || method == "prompts/list"
}

/// What is declared besides tools.
pub(crate) fn capabilities(era: Era) -> [(&'static str, Json); 3] {
    let none = || Json::object([]);
    let resources = match era {
        Era::Legacy => Json::object([("subscribe", true.into())]),
        Era::Modern => none(),
    };
    [
        ("resources", resources),
        ("prompts", none()),
        ("completions", none()),
    ]
}

fn one_page(params: &Json, name: &str, list: impl FnOnce() -> Json) -> Result<Json, Error> {
    match params.get("cursor") {
        None => Ok(Json::object([(name, list())])),
        Some(_) => Err(invalid("cursor is not a nextCursor of this list")),
    }
}

fn invalid(reason: impl Into<String>) -> Error {
    Error::new(Kind::InvalidParams, reason)
}

/// A copy in whose texts `{NAME}` is replaced by the argument of this name.
fn fill(json: &Json, arguments: &Json) -> Json {
    match json {
        Json::String(text) => fill_text(text, arguments).into(),
        Json::Array(items) => items.iter().map(|item| fill(item, arguments)).collect(),
        Json::Object(members) => Json::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), fill(value, arguments)))
                .collect(),
        ),
        other => other.clone(),
    }
}

fn fill_text(text: &str, arguments: &Json) -> String {
    let mut pieces = text.split('{');
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let argument = piece
            .split_once('}')
            .and_then(|(name, rest)| Some((arguments.get(name)?.as_str()?, rest)));
        match argument {
            Some((value, rest)) => filled.extend([value, rest]),
            None => filled.extend(["{", piece]),
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Schema;

    #[test]
    fn every_tool_has_one_way_to_its_result() {
        for tool in tools() {
            let definition = tool.get("definition").unwrap();
            let ways = ["result", "asks", "rounds"].map(|way| usize::from(tool.get(way).is_some()));
            assert!(ways.iter().sum::<usize>() <= 1, "{definition}");
            Schema::read(definition.get("inputSchema").unwrap()).unwrap();
        }
    }

    #[test]
    fn arguments_fill_their_places_once() {
        let arguments = Json::object([("a", "{b}".into()), ("b", "x".into())]);
        let filled = fill(&Json::from("{a} {b} {c} }{"), &arguments);
        assert_eq!(filled.as_str(), Some("{b} x {c} }{"));
    }
}
