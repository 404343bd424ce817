//! `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions).

use super::tasks::undeclared;
use super::{Context, META_SUBSCRIPTION};
use crate::features::Feature;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind};
use crate::tasks::{Owner, Task};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;

/// Acknowledges, tells of changes, and ends with the server.
pub(super) async fn listen(context: &Context<'_>, params: &Json) -> Result<Json, Error> {
    let wrong = |what: &str| Error::new(Kind::InvalidParams, what);
    let asked = params.get("notifications");
    let asked = asked.filter(|asked| asked.as_object().is_some());
    let asked = asked.ok_or_else(|| wrong("params.notifications must be an object"))?;
    let mut agreed = Json::object([]);
    match asked.get("toolsListChanged") {
        Some(Json::Bool(true)) => agreed = agreed.with("toolsListChanged", true.into()),
        None | Some(Json::Bool(false)) => {}
        Some(_) => return Err(wrong("notifications.toolsListChanged must be a boolean")),
    }
    let mut tasks = Vec::new();
    if let Some(ids) = asked.get("taskIds").filter(|_| context.has(Feature::Tasks)) {
        if !context.knows_tasks(params) {
            return Err(undeclared());
        }
        let ids = ids
            .as_array()
            .ok_or_else(|| wrong("notifications.taskIds must be an array"))?;
        for id in ids {
            let of_id = Json::object([("taskId", id.clone())]);
            tasks.extend(context.server.tasks.find(&Owner::Modern, &of_id));
        }
        let known = tasks.iter().map(|task| Json::from(&*task.id)).collect();
        agreed = agreed.with("taskIds", known);
    }
    if !context.outlet.is_open() {
        return Err(Error::new(
            Kind::InvalidRequest,
            "a subscription needs Accept: text/event-stream",
        ));
    }
    let id = context.id.to_json();
    let notify = |method: &str, params: Json| {
        context
            .outlet
            .notify(method, params.with_meta(META_SUBSCRIPTION, id.clone()));
    };
    let mut closing = context.server.closing.subscribe();
    let mut changes: FuturesUnordered<_> = tasks.into_iter().map(changed).collect();
    notify(
        "notifications/subscriptions/acknowledged",
        Json::object([("notifications", agreed)]),
    );
    loop {
        tokio::select! {
            ended = closing.wait_for(|closing| *closing) => {
                drop(ended);
                return Ok(Json::object([]).with_meta(META_SUBSCRIPTION, id));
            }
            Some(task) = changes.next() => {
                notify("notifications/tasks", task.show_whole());
                if task.is_working() {
                    changes.push(changed(task));
                }
            }
        }
    }
}

async fn changed(task: Arc<Task>) -> Arc<Task> {
    task.changes().await;
    task
}
