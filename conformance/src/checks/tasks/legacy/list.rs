//! The list of tasks, and many tasks at once.

use super::{declares, start, started, task_of, tools};
use crate::check::{Check, LEGACY, Over, check};
use crate::checks::http::hard_to_guess;
use crate::checks::tasks::MIN_IDS;
use crate::expect;
use crate::lab::{Lab, Stop};
use mcp_hil_harness::client::Exchange;
use serde_json::{Value, json};

/// Tasks that are made to look at their list, one after the other; and at their ids and at what is too many.
const LISTED: usize = 6;
const MANY: usize = 18;
/// Looks at a task in a row that a server must bear.
const BURST: usize = 48;

pub const CHECKS: &[Check] = &[
    check!(
        "tasks/list",
        LEGACY,
        list,
        ["2025-11-25/tasks/list", "2025-11-25/tasks/list-paginated"]
    ),
    check!(
        "tasks/list-identity",
        LEGACY,
        list_identity,
        ["2025-11-25/tasks/list-not-without-identity"]
    )
    .over(Over::Http),
    check!(
        "tasks/many",
        LEGACY,
        many,
        [
            "2025-11-25/tasks/id-unguessable",
            "2025-11-25/tasks/limits",
            "2025-11-25/tasks/rate-limit"
        ]
    ),
];

async fn list(lab: &mut Lab) -> Result<(), Stop> {
    let tool = tools(lab)?.remove(0);
    if !declares(lab, "/tasks/list") {
        return Err(Stop::Skip(
            "the server does not declare the capability \"tasks.list\"".to_owned(),
        ));
    }
    let (task, _) = started(lab, "2025-11-25/tasks/list", &tool).await?;
    let mut made = vec![task["taskId"].clone()];
    while made.len() < LISTED
        && let Ok(task) = task_of(&start(lab, &tool).await?)
    {
        made.push(task["taskId"].clone());
    }
    let mut params = json!({});
    for _ in 0..crate::offer::MAX_PAGES {
        let exchange = lab.ask("tasks/list", params).await?;
        let page = expect::result(&exchange).and_then(|result| match result["tasks"].as_array() {
            Some(tasks) => Ok((tasks.clone(), result.get("nextCursor").cloned())),
            None => Err("the result has no array \"tasks\"".to_owned()),
        });
        let (tasks, next) = lab.must("2025-11-25/tasks/list", page, &exchange)?;
        made.retain(|id| !tasks.iter().any(|listed| listed["taskId"] == *id));
        match next {
            _ if made.is_empty() => return Ok(()),
            Some(cursor) if cursor.is_string() => params = json!({"cursor": cursor}),
            _ => return not_listed(lab, &made, &exchange).await,
        }
    }
    lab.found("2025-11-25/tasks/list", "the list of tasks has no end", &[]);
    Ok(())
}

/// Tasks that are still there must be in the list, on one page or on several.
async fn not_listed(lab: &mut Lab, missing: &[Value], last: &Exchange) -> Result<(), Stop> {
    for id in missing {
        let looked = lab.ask("tasks/get", json!({"taskId": id})).await?;
        if expect::result(&looked).is_ok() {
            for row in ["2025-11-25/tasks/list", "2025-11-25/tasks/list-paginated"] {
                lab.found(
                    row,
                    format!("task {id} is on no page of the list"),
                    &[last, &looked],
                );
            }
            break;
        }
    }
    Ok(())
}

/// A list of tasks for clients that nothing tells apart.
async fn list_identity(lab: &mut Lab) -> Result<(), Stop> {
    let knows_clients = lab.offer().session || lab.endpoint()?.access.has_credentials();
    if !declares(lab, "/tasks/list") || knows_clients {
        return Err(Stop::Skip(
            "the server lists no tasks, or can tell clients apart".to_owned(),
        ));
    }
    if let Some(exchange) = lab.offer().opened.first().cloned() {
        lab.found(
            "2025-11-25/tasks/list-not-without-identity",
            "it declares tasks.list, and neither a session nor a credential tells clients apart",
            &[&exchange],
        );
    }
    Ok(())
}

/// More tasks than a small server holds, then more looks at one than anybody needs: it may refuse, and must live.
async fn many(lab: &mut Lab) -> Result<(), Stop> {
    let tool = tools(lab)?.remove(0);
    let (mut made, mut last) = (Vec::new(), None);
    for _ in 0..MANY {
        let exchange = start(lab, &tool).await?;
        made.extend(task_of(&exchange).ok().map(|task| task["taskId"].clone()));
        let is_gone = exchange.fault.is_some();
        last = Some(exchange);
        if is_gone {
            break;
        }
    }
    let (Some(last), Some(first)) = (last, made.first().cloned()) else {
        return Err(Stop::Skip("no task could be made".to_owned()));
    };
    if let Err(what) = expect::message(&last) {
        lab.found(
            "2025-11-25/tasks/limits",
            format!("after {MANY} tasks at most: {what}"),
            &[&last],
        );
        return Ok(());
    }
    let ids: Vec<String> = made
        .iter()
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    // too few tell nothing
    if ids.len() >= MIN_IDS
        && let Err(what) = hard_to_guess(&ids[..MIN_IDS])
    {
        lab.found(
            "2025-11-25/tasks/id-unguessable",
            format!("ids of tasks: {what}"),
            &[&last],
        );
    }
    for _ in 0..BURST {
        let looked = lab.ask("tasks/get", json!({"taskId": first})).await?;
        if looked.fault.is_some() {
            break;
        }
    }
    let next = lab.ask(lab.harmless(), Value::Null).await?;
    lab.note("2025-11-25/tasks/rate-limit", expect::result(&next), &next);
    for id in made {
        lab.ask("tasks/cancel", json!({"taskId": id})).await?;
    }
    Ok(())
}
