//! What `tools/list` gives.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::expect;
use crate::lab::{Lab, Stop};
use crate::offer::Tool;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::message;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::rc::Rc;

pub const CHECKS: &[Check] = &[
    check!(
        "tools/capability-legacy",
        LEGACY,
        capability_legacy,
        ["2025-11-25/tools/capability-declared"]
    ),
    check!(
        "tools/capability-modern",
        MODERN,
        capability_modern,
        ["2026-07-28/tools/capability-declared"]
    ),
    check!("tools/list", BOTH, list, ["both/tools/list-result-array"]),
    check!(
        "tools/list-served",
        MODERN,
        list_served,
        ["2026-07-28/tools/list-served-when-advertised"]
    ),
    check!(
        "tools/same-list-everywhere",
        MODERN,
        same_everywhere,
        ["2026-07-28/tools/list-same-on-every-connection"]
    ),
    check!(
        "tools/list-order",
        MODERN,
        order,
        [
            "2026-07-28/tools/list-deterministic-order",
            "2026-07-28/tools/list-no-side-effect-changes"
        ]
    ),
    check!(
        "tools/names",
        BOTH,
        names,
        [
            "both/tools/tool-name-required",
            "both/tools/name-length",
            "both/tools/name-charset",
            "both/tools/name-no-specials",
            "both/tools/name-unique",
        ]
    ),
    check!("tools/texts", BOTH, texts, ["both/tools/optional-strings"]),
    check!(
        "tools/annotations",
        BOTH,
        annotations,
        [
            "both/tools/annotations-types",
            "both/tools/annotations-consistent"
        ]
    ),
    check!(
        "tools/change-announced",
        LEGACY,
        change_announced,
        ["2025-11-25/tools/list-changed-only-if-declared"]
    )
    .looking_back(),
    check!(
        "tools/no-legacy-members",
        MODERN,
        no_legacy_members,
        ["2025-11-25/tools/no-legacy-fields-in-modern"]
    ),
];

/// Looks back: only who declared it tells that its tools changed.
async fn change_announced(lab: &mut Lab) -> Result<(), Stop> {
    if lab.offer().capabilities()["tools"]["listChanged"] == true {
        return Err(Stop::Skip("the server declares tools.listChanged".to_owned()));
    }
    for exchange in lab.log() {
        let mut told = exchange.replies.iter().flat_map(|reply| &reply.earlier);
        if told.any(|told| message::method(told) == Some("notifications/tools/list_changed")) {
            let what = "it tells that its tools changed, and did not declare tools.listChanged";
            lab.found(
                "2025-11-25/tools/list-changed-only-if-declared",
                what,
                &[&exchange],
            );
            break;
        }
    }
    Ok(())
}

/// Every tool as it is listed, with the page it is on; also those without a name.
pub fn listed(lab: &Lab) -> Result<Vec<(Value, Rc<Exchange>)>, Stop> {
    lab.needs("tools")?;
    let tools = lab.offer().pages.iter().flat_map(|page| {
        // a page may be large, and have a thousand tools
        let shared = Rc::new(page.clone());
        let tools = expect::result(page)
            .ok()
            .and_then(|result| result.get("tools")?.as_array().cloned());
        tools
            .unwrap_or_default()
            .into_iter()
            .map(move |tool| (tool, Rc::clone(&shared)))
    });
    Ok(tools.collect())
}

/// How a tool is called in a finding.
pub fn called(tool: &Value) -> String {
    tool["name"]
        .as_str()
        .map_or_else(|| expect::brief(tool), |name| format!("tool {name:?}"))
}

/// Judges each tool; notes the first that is wrong, with its page.
pub fn each(
    lab: &mut Lab,
    row: &'static str,
    judge: impl Fn(&Value) -> Result<(), String>,
) -> Result<(), Stop> {
    for (tool, page) in listed(lab)? {
        if let Err(what) = judge(&tool) {
            lab.found(row, format!("{}: {what}", called(&tool)), &[&page]);
            break;
        }
    }
    Ok(())
}

async fn capability(lab: &mut Lab, row: &'static str) -> Result<(), Stop> {
    if lab.offer().has("tools") {
        return Ok(());
    }
    let exchange = lab.ask("tools/list", json!({})).await?;
    match expect::result(&exchange) {
        Ok(_) => {
            lab.found(
                row,
                "tools/list is served, and the capability \"tools\" is not declared",
                &[&exchange],
            );
            Ok(())
        }
        Err(_) => Err(Stop::Skip("the server offers no tools".to_owned())),
    }
}

async fn capability_legacy(lab: &mut Lab) -> Result<(), Stop> {
    capability(lab, "2025-11-25/tools/capability-declared").await
}

async fn capability_modern(lab: &mut Lab) -> Result<(), Stop> {
    capability(lab, "2026-07-28/tools/capability-declared").await
}

async fn list(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    for page in lab.offer().pages.clone() {
        let is_list = expect::result(&page).and_then(|result| {
            let tools = result.get("tools");
            tools
                .filter(|tools| tools.is_array())
                .map(|_| ())
                .ok_or_else(|| format!("\"tools\" is {}, no array", tools.unwrap_or(&Value::Null)))
        });
        lab.note("both/tools/list-result-array", is_list, &page);
    }
    Ok(())
}

async fn list_served(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let exchange = lab.ask("tools/list", json!({})).await?;
    lab.note(
        "2026-07-28/tools/list-served-when-advertised",
        expect::result(&exchange),
        &exchange,
    );
    Ok(())
}

/// The first page as a server gives it now: its tools.
fn tools_of(exchange: &Exchange) -> Result<Value, String> {
    expect::result(exchange).map(|result| result.get("tools").cloned().unwrap_or(Value::Null))
}

async fn same_everywhere(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let row = "2026-07-28/tools/list-same-on-every-connection";
    let exchange = lab.ask("tools/list", json!({})).await?;
    let first = lab.must(row, tools_of(&exchange), &exchange)?;
    for _ in 0..2 {
        let mut other = lab.stranger()?;
        let request = lab.request("tools/list", json!({}));
        let exchange = lab.send_as(&mut other, &request).await?;
        other.close().await;
        let tools = lab.must(row, tools_of(&exchange), &exchange)?;
        if names_of(&tools) != names_of(&first) {
            lab.found(row, "another connection, another list", &[&exchange]);
        }
    }
    Ok(())
}

fn names_of(tools: &Value) -> HashSet<String> {
    let tools = tools.as_array().into_iter().flatten();
    tools
        .filter_map(|tool| tool["name"].as_str().map(str::to_owned))
        .collect()
}

/// The list again after a failed call, an unknown method and what was asked so far.
async fn order(lab: &mut Lab) -> Result<(), Stop> {
    lab.needs("tools")?;
    let before = lab.ask("tools/list", json!({})).await?;
    let first = lab.must(
        "2026-07-28/tools/list-deterministic-order",
        tools_of(&before),
        &before,
    )?;
    lab.ask("tools/call", json!({"name": "no-such-tool", "arguments": {}}))
        .await?;
    lab.ask("no/such", json!({})).await?;
    for _ in 0..3 {
        let again = lab.ask("tools/list", json!({})).await?;
        let tools = lab.must(
            "2026-07-28/tools/list-deterministic-order",
            tools_of(&again),
            &again,
        )?;
        if names_of(&tools) != names_of(&first) {
            lab.found(
                "2026-07-28/tools/list-no-side-effect-changes",
                "after other requests the list is another",
                &[&before, &again],
            );
        } else if tools != first {
            lab.found(
                "2026-07-28/tools/list-deterministic-order",
                "asked again, the tools come in another order",
                &[&before, &again],
            );
        } else {
            continue;
        }
        break;
    }
    Ok(())
}

async fn names(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/tool-name-required", |tool| match &tool["name"] {
        Value::String(name) if !name.is_empty() => Ok(()),
        name => Err(format!("its name is {name}")),
    })?;
    let name_of = |tool: &Value| tool["name"].as_str().unwrap_or("x").to_owned();
    each(lab, "both/tools/name-length", |tool| {
        match name_of(tool).chars().count() {
            0..=128 => Ok(()),
            count => Err(format!("its name has {count} characters")),
        }
    })?;
    let odd = |c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c));
    each(lab, "both/tools/name-charset", |tool| {
        match name_of(tool).chars().find(|c| odd(*c)) {
            Some(c) => Err(format!("its name has the character {c:?}")),
            None => Ok(()),
        }
    })?;
    each(lab, "both/tools/name-no-specials", |tool| {
        match name_of(tool).chars().find(|c| c.is_whitespace() || *c == ',') {
            Some(c) => Err(format!("its name has the character {c:?}")),
            None => Ok(()),
        }
    })?;
    let mut seen = HashSet::new();
    for (tool, page) in listed(lab)? {
        if !seen.insert(name_of(&tool)) && tool["name"].is_string() {
            lab.found(
                "both/tools/name-unique",
                format!("{} is listed twice", called(&tool)),
                &[&page],
            );
            break;
        }
    }
    Ok(())
}

async fn texts(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/optional-strings", |tool| {
        let bad = ["title", "description"]
            .into_iter()
            .find(|name| tool.get(name).is_some_and(|text| !text.is_string()));
        bad.map_or(Ok(()), |name| {
            Err(format!("its {name} is {}, no text", tool[name]))
        })
    })
}

async fn annotations(lab: &mut Lab) -> Result<(), Stop> {
    each(lab, "both/tools/annotations-types", |tool| {
        let Some(annotations) = tool.get("annotations") else {
            return Ok(());
        };
        let Some(members) = annotations.as_object() else {
            return Err(format!("its annotations are {annotations}, no object"));
        };
        let wrong = members.iter().find(|(name, value)| match name.as_str() {
            "title" => !value.is_string(),
            "readOnlyHint" | "destructiveHint" | "idempotentHint" | "openWorldHint" => !value.is_boolean(),
            _ => false,
        });
        wrong.map_or(Ok(()), |(name, value)| {
            Err(format!("its annotation {name} is {value}"))
        })
    })?;
    each(lab, "both/tools/annotations-consistent", |tool| {
        let hint = |name: &str| tool["annotations"][name] == true;
        if hint("readOnlyHint") && hint("destructiveHint") {
            Err("it only reads, and destroys".to_owned())
        } else {
            Ok(())
        }
    })
}

async fn no_legacy_members(lab: &mut Lab) -> Result<(), Stop> {
    each(
        lab,
        "2025-11-25/tools/no-legacy-fields-in-modern",
        |tool| match tool.get("execution") {
            Some(_) => Err("it has the member \"execution\" of the older revision".to_owned()),
            None => Ok(()),
        },
    )
}

/// Tools without required parameters that may be called.
pub fn without_arguments(lab: &Lab) -> Result<Vec<Tool>, Stop> {
    let tools: Vec<_> = lab
        .callable()?
        .into_iter()
        .filter(|tool| {
            tool.input_schema()["required"]
                .as_array()
                .is_none_or(Vec::is_empty)
        })
        .collect();
    if tools.is_empty() {
        return Err(Stop::Skip(
            "every tool that may be called requires arguments".to_owned(),
        ));
    }
    Ok(tools)
}
