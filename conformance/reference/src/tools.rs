//! The tools of the contract: listing them, judging their arguments, calling them.

mod ask;
mod device;
mod echo;
mod job;
mod led;
mod sensor;
mod slow;

use crate::dispatch::{Context, Era};
use crate::features::{Feature, Features};
use crate::json::{Json, quote};
use crate::jsonrpc::{Error, Kind};
use crate::state::State;
use crate::validate::Schema;
use crate::{Server, cursor, official};
pub(crate) use slow::Reporter;
use std::pin::Pin;

/// The file from which the tools are served. Tests hold its effects against values of their own.
const CONTRACT: &str = include_str!("../tools.json");

/// A tool's work. The arguments have been judged, so each one is there and of its type, or left out lawfully.
#[derive(Clone, Copy, Debug)]
enum Call {
    Now(fn(&State, &Json) -> Outcome),
    /// It may wait for something to happen.
    Later(for<'a> fn(&'a State, &'a Json) -> Waiting<'a>),
    /// It takes its time, tells how far it is, and may be a task; with true it must be one.
    Slow(bool),
    /// It needs input of the client's.
    Asks,
    /// It is of this entry of the official fixtures.
    Official(&'static Json),
}

type Waiting<'a> = Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;

const CALLS: [(&str, Call); 17] = [
    ("device_info", Call::Now(device::info)),
    ("device_stats", Call::Now(device::stats)),
    ("echo", Call::Now(echo::echo)),
    ("sensor_list", Call::Now(sensor::list)),
    ("sensor_read", Call::Now(sensor::read)),
    ("led_set", Call::Now(led::set)),
    ("led_get", Call::Now(led::get)),
    ("uptime", Call::Now(device::uptime)),
    ("log_tail", Call::Now(device::log_tail)),
    ("job_start", Call::Now(job::start)),
    ("job_get", Call::Now(job::get)),
    ("job_list", Call::Now(job::list)),
    ("job_stop", Call::Later(job::stop)),
    ("job_stop_all", Call::Later(job::stop_all)),
    ("slow_count", Call::Slow(false)),
    ("long_count", Call::Slow(true)),
    ("ask_name", Call::Asks),
];

/// A tool as it is offered.
#[derive(Debug)]
pub(crate) struct Tool {
    name: &'static str,
    definition: Json,
    input: Schema,
    call: Call,
}

/// What a tool gives back.
pub(crate) enum Outcome {
    Text(String),
    Structured(Json),
    /// The tool could not do it; the text tells a model why and what to try.
    Failed(String),
}

impl Outcome {
    pub(crate) fn into_result(self) -> Json {
        let (text, member) = match self {
            Self::Text(text) => (text, None),
            Self::Structured(value) => (value.to_string(), Some(("structuredContent", value))),
            Self::Failed(text) => (text, Some(("isError", true.into()))),
        };
        let part = Json::object([("type", "text".into()), ("text", text.into())]);
        let result = Json::object([("content", Json::Array(vec![part]))]);
        match member {
            Some((name, value)) => result.with(name, value),
            None => result,
        }
    }
}

impl Tool {
    fn new(name: &'static str, definition: &Json, call: Call) -> Self {
        let input = definition.get("inputSchema").expect("a tool has an inputSchema");
        Self {
            name,
            definition: definition.clone(),
            input: Schema::read(input).expect("inputSchema keeps to known keywords"),
            call,
        }
    }

    /// Whether a client of this era is offered it.
    fn is_offered(&self, era: Era) -> bool {
        match self.call {
            Call::Asks => era == Era::Modern,
            Call::Official(entry) => official::is_offered(entry, era),
            _ => true,
        }
    }

    /// It as a client of this era sees it.
    fn show(&self, era: Era, features: Features) -> Json {
        match self.call {
            Call::Slow(only_as_task) if era == Era::Legacy && features.has(Feature::Tasks) => {
                let support = if only_as_task { "required" } else { "optional" };
                let execution = Json::object([("taskSupport", support.into())]);
                self.definition.clone().with("execution", execution)
            }
            _ => self.definition.clone(),
        }
    }
}

fn is_switched_on(call: Call, features: Features) -> bool {
    match call {
        Call::Now(_) | Call::Later(_) => true,
        Call::Slow(false) => features.any(&[Feature::Progress, Feature::Logging, Feature::Tasks]),
        Call::Slow(true) => features.has(Feature::Tasks),
        Call::Asks => features.has(Feature::InputRequired),
        Call::Official(_) => features.has(Feature::Official),
    }
}

/// The tools in the order of the contract, then those that features add.
pub(crate) fn catalogue(features: Features) -> Vec<Tool> {
    // Of our own making and covered by a test, so the expectations hold whatever a client sends.
    let contract = Json::read(CONTRACT.as_bytes()).expect("the contract is JSON");
    let definitions = contract
        .get("tools")
        .and_then(Json::as_array)
        .expect("the contract has tools");
    let known = |definition: &Json| {
        let name = definition.get("name").and_then(Json::as_str);
        let known = CALLS.into_iter().find(|(known, _)| Some(*known) == name);
        let (name, call) = known.expect("a known tool");
        Tool::new(name, definition, call)
    };
    let official = official::tools().iter().filter_map(|entry| {
        let definition = entry.get("definition")?;
        let name = definition.get("name")?.as_str()?;
        Some(Tool::new(name, definition, Call::Official(entry)))
    });
    let more = Json::read(slow::TOOLS.as_bytes()).expect("more tools are JSON");
    let more = more.as_array().expect("more tools are a list");
    let tools = definitions.iter().chain(more).map(known).chain(official);
    tools.filter(|tool| is_switched_on(tool.call, features)).collect()
}

/// `tools/list`: one page of tools.
pub(crate) fn list(server: &Server, era: Era, params: &Json) -> Result<Json, Error> {
    let size = server.options.page_size.get();
    let tools: Vec<_> = server.tools.iter().filter(|tool| tool.is_offered(era)).collect();
    let start = match params.get("cursor") {
        None => 0,
        Some(cursor) => cursor
            .as_str()
            .and_then(|cursor| cursor::decode(cursor, tools.len(), size))
            .ok_or_else(|| Error::new(Kind::InvalidParams, "cursor is not a nextCursor of this list"))?,
    };
    let page = tools.iter().skip(start).take(size);
    let page = page.map(|tool| tool.show(era, server.options.features)).collect();
    let result = Json::object([("tools", page)]);
    let next = start.saturating_add(size);
    Ok(if next < tools.len() {
        result.with("nextCursor", cursor::encode(next).into())
    } else {
        result
    })
}

/// `tools/call`.
pub(crate) async fn call(context: &Context<'_>, params: &Json) -> Result<Json, Error> {
    let malformed = |reason: String| Error::new(Kind::InvalidParams, reason);
    let server = context.server;
    let name = params.get("name").and_then(Json::as_str);
    let name = name.ok_or_else(|| malformed("params.name must be a string".into()))?;
    let none = Json::object([]);
    let arguments = params.get("arguments").unwrap_or(&none);
    if arguments.as_object().is_none() {
        return Err(malformed("params.arguments must be an object".into()));
    }
    let tool = server
        .tools
        .iter()
        .find(|tool| tool.name == name && tool.is_offered(context.era));
    let tool = tool.ok_or_else(|| malformed(format!("unknown tool {}", quote(name))))?;
    let only_as_task = match tool.call {
        Call::Slow(only_as_task) => Some(only_as_task),
        _ => None,
    };
    let as_task = context.as_task(params, only_as_task)?;
    if let Err(fault) = tool.input.check(arguments) {
        return Ok(Outcome::Failed(format!("invalid arguments: {fault}")).into_result());
    }
    let outcome = match tool.call {
        Call::Now(call) => call(&server.state, arguments),
        Call::Later(call) => call(&server.state, arguments).await,
        Call::Slow(_) => match as_task {
            Some(make) => {
                let work = slow::count(arguments.clone(), Reporter::silent());
                return make.begin(context, async move { work.await.into_result() });
            }
            None => slow::count(arguments.clone(), context.reporter(params)?).await,
        },
        Call::Official(entry) => return official::call(context, entry, params).await,
        Call::Asks => return ask::name(params, context.capabilities(params), &server.seal),
    };
    Ok(outcome.into_result())
}

/// Stands in for an answer that would have more bytes than allowed.
pub(crate) fn too_large(limit: usize) -> Json {
    Outcome::Failed(format!(
        "answer too large: the limit is {limit} bytes; ask for less"
    ))
    .into_result()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_served_in_the_order_of_the_contract() {
        let names: Vec<_> = catalogue(Features::default())
            .iter()
            .map(|tool| tool.name)
            .collect();
        assert_eq!(
            names,
            [
                "device_info",
                "device_stats",
                "echo",
                "sensor_list",
                "sensor_read",
                "led_set",
                "led_get",
                "uptime",
                "log_tail",
                "job_start",
                "job_get",
                "job_list",
                "job_stop",
                "job_stop_all"
            ]
        );
        let all: Vec<_> = catalogue(Features::all()).iter().map(|tool| tool.name).collect();
        assert_eq!(all[..14], names[..]);
        assert_eq!(all[14..], ["slow_count", "long_count", "ask_name"]);
    }
}
