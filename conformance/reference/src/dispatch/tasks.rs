//! How tasks speak: the experimental form of 2025-11-25 (basic/utilities/tasks), and the extension
//! `io.modelcontextprotocol/tasks` of 2026-07-28.

use super::{Context, Era, TASKS, method_not_found};
use crate::cursor;
use crate::features::Feature;
use crate::json::Json;
use crate::jsonrpc::{Error, Kind};
use crate::tasks::Owner;

/// A call that is to be a task.
pub(crate) enum Form {
    /// Kept for so many milliseconds, if the client said it.
    Legacy(Option<i128>),
    Modern,
}

impl Form {
    /// Begins the task; gives the result of the call.
    pub(crate) fn begin(
        self,
        context: &Context<'_>,
        work: impl Future<Output = Json> + Send + 'static,
    ) -> Result<Json, Error> {
        let owner = owner(context);
        Ok(match self {
            Self::Legacy(ttl) => {
                Json::object([("task", context.server.tasks.begin(owner, ttl, work)?.show())])
            }
            Self::Modern => {
                let task = context.server.tasks.begin(owner, None, work)?;
                task.show().with("resultType", "task".into())
            }
        })
    }
}

fn owner(context: &Context<'_>) -> Owner {
    match context.era {
        Era::Legacy => Owner::Legacy(context.scope.session.clone()),
        Era::Modern => Owner::Modern,
    }
}

pub(super) fn undeclared() -> Error {
    let extensions = Json::object([(TASKS, Json::object([]))]);
    let required = Json::object([("extensions", extensions)]);
    Error {
        kind: Kind::MissingCapability,
        message: format!("this needs the client extension {TASKS}"),
        data: Some(Json::object([("requiredCapabilities", required)])),
    }
}

/// Of 2025-11-25. Tasks are listed only where a session tells clients apart.
pub(super) async fn legacy(context: &Context<'_>, method: &str, params: &Json) -> Result<Json, Error> {
    let (tasks, owner) = (&context.server.tasks, owner(context));
    match method {
        "tasks/get" => Ok(tasks.find(&owner, params)?.show()),
        "tasks/result" => {
            let task = tasks.find(&owner, params)?;
            let result = task.result().await.ok_or_else(|| {
                Error::new(
                    Kind::InvalidParams,
                    "the task was cancelled, so there is no result",
                )
            })?;
            let related = Json::object([("taskId", (&*task.id).into())]);
            Ok(result.with_meta("io.modelcontextprotocol/related-task", related))
        }
        "tasks/cancel" => {
            let task = tasks.find(&owner, params)?;
            if task.cancel() {
                Ok(task.show())
            } else {
                Err(Error::new(
                    Kind::InvalidParams,
                    "the task has ended already, so it can't be cancelled",
                ))
            }
        }
        "tasks/list" if context.has(Feature::Sessions) => {
            let (all, size) = (tasks.of(&owner), context.server.options.page_size.get());
            let start = match params.get("cursor") {
                None => 0,
                Some(cursor) => {
                    let start = cursor
                        .as_str()
                        .and_then(|cursor| cursor::decode(cursor, all.len(), size));
                    start.ok_or_else(|| {
                        Error::new(Kind::InvalidParams, "cursor is not a nextCursor of this list")
                    })?
                }
            };
            let page = all
                .iter()
                .skip(start)
                .take(size)
                .map(|task| task.show())
                .collect();
            let result = Json::object([("tasks", page)]);
            let next = start.saturating_add(size);
            Ok(if next < all.len() {
                result.with("nextCursor", cursor::encode(next).into())
            } else {
                result
            })
        }
        _ => Err(method_not_found(method)),
    }
}

/// Of the extension.
pub(super) fn modern(context: &Context<'_>, method: &str, params: &Json) -> Result<Json, Error> {
    if !matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel") {
        return Err(method_not_found(method));
    }
    if !context.knows_tasks(params) {
        return Err(undeclared());
    }
    let task = context.server.tasks.find(&Owner::Modern, params)?;
    match method {
        "tasks/get" => Ok(task.show_whole()),
        "tasks/cancel" => {
            task.cancel();
            Ok(Json::object([]))
        }
        // No task asks for input here, so every answer is one that nobody waits for, and is ignored.
        _ if params.get("inputResponses").and_then(Json::as_object).is_some() => Ok(Json::object([])),
        _ => Err(Error::new(
            Kind::InvalidParams,
            "params.inputResponses must be an object",
        )),
    }
}
