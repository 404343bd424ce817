//! `mcp-hil tools` and `mcp-hil call`.

use crate::args::{Call, Tools};
use crate::conversation::{Conversation, Told, failed};
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::client::Client;
use mcp_hil_harness::client::mirror::Mirror;
use mcp_hil_harness::report::{escape, escape_line};
use mcp_hil_harness::revision::Era;
use mcp_hil_harness::shown;
use mcp_hil_harness::target::Target;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// Lists what the target offers.
pub async fn list(args: Tools) -> Exit {
    exit(try_list(&args).await)
}

/// Calls one tool.
pub async fn call(args: Call) -> Exit {
    exit(try_call(&args).await)
}

fn exit(told: Told<()>) -> Exit {
    told.err().unwrap_or(Exit::Passed)
}

async fn try_list(args: &Tools) -> Told<()> {
    let mut talk = Conversation::open(&args.target, &args.options, args.revision).await?;
    let listed = talk.client.tools().await;
    let revision = talk.client.dress.revision;
    talk.client.close().await;
    let tools = listed.map_err(|error| failed(&error))?;
    let mirrors = uses_headers(&talk.target, revision.era());
    let bad = |tool: &Value| mirrors.then(|| Mirror::all(tool).err()).flatten();
    if args.json {
        let rejected: Map<_, _> = tools
            .iter()
            .filter_map(|tool| Some((name(tool).to_owned(), bad(tool)?.to_string().into())))
            .collect();
        let json = json!({"revision": revision.as_str(), "tools": tools, "rejected": rejected});
        output::print(false, &shown::json(&json));
        return Ok(());
    }
    output::print(false, &table(&tools));
    for tool in &tools {
        if let Some(problem) = bad(tool) {
            let name = escape_line(name(tool));
            output::print(
                true,
                &format!(
                    "{name} can't be called over HTTP: {}\n",
                    escape_line(&problem.to_string())
                ),
            );
        }
    }
    Ok(())
}

async fn try_call(args: &Call) -> Told<()> {
    let arguments: Value = serde_json::from_str(&args.arguments)
        .map_err(|error| Exit::Usage.because(&format!("the arguments are not JSON: {error}")))?;
    if !arguments.is_object() {
        return Err(Exit::Usage.because("the arguments are a JSON object, as '{\"text\": \"hello\"}'"));
    }
    let mut talk = Conversation::open(&args.target, &args.options, args.revision).await?;
    if uses_headers(&talk.target, talk.client.era()) {
        learn(&mut talk.client, &args.tool, &arguments).await?;
    }
    let params = json!({"name": args.tool, "arguments": arguments});
    let result = talk.client.request("tools/call", params).await;
    talk.client.close().await;
    let result = result.map_err(|error| failed(&error))?;
    let text = if args.json {
        shown::json(&result)
    } else {
        shown(&result)
    };
    output::print(false, &text);
    match result.get("isError") {
        Some(Value::Bool(true)) => {
            Err(Exit::Failed.because(&format!("{}: the tool reports an error", args.tool)))
        }
        _ => Ok(()),
    }
}

/// Whether arguments may have to go into headers.
fn uses_headers(target: &Target, era: Era) -> bool {
    matches!(target, Target::Http(_)) && era == Era::Modern
}

/// Has the client mirror what the tool wants mirrored.
async fn learn(client: &mut Client, tool: &str, arguments: &Value) -> Told<()> {
    let tools = client.tools().await.map_err(|error| failed(&error))?;
    // a tool that is not there is the server's to refuse
    let Some(found) = tools.iter().find(|found| name(found) == tool) else {
        return Ok(());
    };
    let mirrors = Mirror::all(found)
        .map_err(|problem| Exit::Failed.because(&format!("{tool} can't be called over HTTP: {problem}")))?;
    if let Some(fault) = mirrors.iter().find_map(|mirror| mirror.fault(arguments)) {
        return Err(Exit::Usage.because(&format!("{tool}: {fault}")));
    }
    client.dress.mirror(tool, mirrors);
    Ok(())
}

fn name(tool: &Value) -> &str {
    tool.get("name").and_then(Value::as_str).unwrap_or_default()
}

/// Tools in columns; arguments that may be left out stand in brackets.
fn table(tools: &[Value]) -> String {
    let mut rows = vec![["TOOL", "ARGUMENTS", "DESCRIPTION"].map(str::to_owned)];
    rows.extend(tools.iter().map(|tool| {
        let about = tool
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        [name(tool), &arguments(tool), first_sentence(about)].map(escape_line)
    }));
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1).min(40));
    let mut text = String::new();
    for [name, arguments, about] in &rows {
        let _ = writeln!(
            text,
            "{}",
            format!("{name:<first$}  {arguments:<second$}  {about}").trim_end()
        );
    }
    text
}

fn first_sentence(text: &str) -> &str {
    let line = text.lines().next().unwrap_or_default();
    line.find(". ").map_or(line, |end| &line[..=end])
}

fn arguments(tool: &Value) -> String {
    let properties = tool.pointer("/inputSchema/properties").and_then(Value::as_object);
    let required = tool.pointer("/inputSchema/required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|required| required.iter().any(|other| other == name));
    let names = properties.into_iter().flat_map(Map::keys);
    let shown = names.map(|name| {
        if is_required(name) {
            name.clone()
        } else {
            format!("[{name}]")
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// A result for people: the text, and a line for each part that is none.
fn shown(result: &Value) -> String {
    let mut text = String::new();
    for part in result
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let field = |name: &str| part.get(name).and_then(Value::as_str);
        match (field("type"), field("text")) {
            (Some("text"), Some(part)) => text.push_str(part),
            (kind, _) => {
                let kind = kind.unwrap_or("unknown");
                let what = field("mimeType").or_else(|| field("uri")).unwrap_or_default();
                let size = field("data")
                    .map(|data| format!(", {} characters of Base64", data.len()))
                    .unwrap_or_default();
                let _ = write!(text, "[{kind} {what}{size}]");
            }
        }
        text.push('\n');
    }
    if text.is_empty()
        && let Some(structured) = result.get("structuredContent")
    {
        let _ = writeln!(text, "{structured:#}");
    }
    escape(&text)
}
