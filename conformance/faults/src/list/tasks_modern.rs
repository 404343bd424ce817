//! The tasks extension of 2026-07-28.

use super::subscriptions::declare_tasks;
use super::{key, recode, remove, result, result_of};
use crate::ask::Ask;
use crate::fault::{Fault, MODERN, must, must_not, should, should_not};
use crate::reply::Reply;
use serde_json::{Value, json};

const TASKS: &[&str] = &["tasks"];

pub(super) const FAULTS: &[Fault] = &[
    must("extension-not-advertised", MODERN, "2026-07-28/tasks/extension-advertised", "makes tasks without advertising the extension")
        .needs(TASKS)
        .say(|ask, message| {
            if let Some(result) = result_of(ask, message, "server/discover") {
                remove(&mut result["capabilities"], "extensions");
            }
        }),
    must_not("task-to-undeclared", MODERN, "2026-07-28/tasks/never-to-undeclared-client", "makes tasks for clients that know none")
        .needs(TASKS)
        .ask(|ask| {
            if ask.tool() == "slow_count" {
                declare_tasks(ask);
            }
        }),
    must_not("list-is-task", MODERN, "2026-07-28/tasks/only-tools-call", "answers tools/list with a task").needs(TASKS).answer(|ask| {
        let at = "2027-01-01T00:00:00Z";
        let task = json!({
            "resultType": "task", "taskId": "7d1c", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttlMs": null,
        });
        (ask.is("tools/list") && declared(ask)).then(|| Reply::result(&ask.id(), task))
    }),
    must("task-called-complete", MODERN, "2026-07-28/tasks/result-type-task", "calls a new task complete").needs(TASKS).say(
        |_, message| created(message, |task| task["resultType"] = json!("complete")),
    ),
    must("modern-task-nested", MODERN, "2026-07-28/tasks/create-flat-fields", "nests a new task").needs(TASKS).say(|_, message| {
        created(message, |result| {
            let task = result.clone();
            *result = json!({ "resultType": "task", "task": task });
        });
    }),
    must("modern-task-ttl", MODERN, "2026-07-28/tasks/create-flat-fields", "calls ttlMs ttl").needs(TASKS).case(35).say(|_, message| {
        created(message, |task| {
            task["ttl"] = task["ttlMs"].clone();
            remove(task, "ttlMs");
        });
    }),
    must("modern-poll-interval-text", MODERN, "2026-07-28/tasks/create-flat-fields", "gives pollIntervalMs as a text")
        .needs(TASKS)
        .say(|_, message| created(message, |task| task["pollIntervalMs"] = json!("500"))),
    must("task-not-yet", MODERN, "2026-07-28/tasks/durable-before-answer", "does not know a task when it is first asked").needs(TASKS).answer(
        |ask| {
            (ask.is("tasks/get") && ask.params()["taskId"].as_str().is_some_and(|id| id.len() > 8)
                && ask.memory.count(&ask.params()["taskId"].to_string()) == 1)
                .then(|| Reply::error(200, &ask.id(), -32602, "no such task"))
        },
    ),
    must("get-never-working", MODERN, "2026-07-28/tasks/get-working", "calls running tasks submitted").needs(TASKS).say(|ask, message| {
        got(ask, message, "working", |task| task["status"] = json!("submitted"));
    }),
    must("completed-without-result", MODERN, "2026-07-28/tasks/get-completed", "gives a completed task without its result").needs(TASKS).say(
        |ask, message| got(ask, message, "completed", |task| remove(task, "result")),
    ),
    must("completed-with-part", MODERN, "2026-07-28/tasks/get-completed", "gives a completed task with a text for its result").needs(TASKS).say(
        |ask, message| got(ask, message, "completed", |task| task["result"] = json!("done")),
    ),
    must("get-called-task", MODERN, "2026-07-28/tasks/get-result-type-complete", "calls the answer of tasks/get a task").needs(TASKS).say(
        |ask, message| {
            if let Some(task) = result_of(ask, message, "tasks/get") {
                task["resultType"] = json!("task");
            }
        },
    ),
    must("modern-completed-works-again", MODERN, "2026-07-28/tasks/terminal-final", "lets completed tasks work again")
        .needs(TASKS)
        .case(33)
        .say(|ask, message| {
            let count = ask.params()["taskId"].to_string();
            got(ask, message, "completed", |task| {
                if ask.memory.count(&count) > 1 {
                    task["status"] = json!("working");
                    remove(task, "result");
                }
            });
        }),
    must("late-result", MODERN, "2026-07-28/tasks/terminal-final", "lets a late result overwrite cancelled").needs(TASKS).case(33).say(
        |ask, message| {
            let count = ask.params()["taskId"].to_string();
            got(ask, message, "cancelled", |task| {
                if ask.memory.count(&count) > 1 {
                    task["status"] = json!("completed");
                    task["result"] = json!({ "content": [] });
                }
            });
        },
    ),
    must("modern-task-made-anew", MODERN, "2026-07-28/tasks/timestamps", "moves createdAt with each look").needs(TASKS).say(|ask, message| {
        if let Some(task) = result_of(ask, message, "tasks/get") {
            let second = ask.memory.count("looks") % 60;
            task["createdAt"] = json!(format!("2027-01-01T00:00:{second:02}Z"));
        }
    }),
    must("modern-task-time-number", MODERN, "2026-07-28/tasks/timestamps", "gives times as numbers").needs(TASKS).say(|ask, message| {
        if let Some(task) = result_of(ask, message, "tasks/get") {
            task["lastUpdatedAt"] = json!("1785000000");
        }
    }),
    must("task-forgotten", MODERN, "2026-07-28/tasks/no-early-expiry", "forgets a task when it has ended").needs(TASKS).say(|ask, message| {
        let id = ask.params()["taskId"].to_string();
        if ask.memory.get(&id).is_some() {
            *message = json!({
                "jsonrpc": "2.0", "id": ask.id(), "error": { "code": -32602, "message": "no such task" },
            });
        }
        got(ask, message, "completed", |_| {
            ask.memory.set(&id, true);
        });
    }),
    should_not("modern-related-task", MODERN, "2026-07-28/tasks/no-related-task-meta", "says in a task's result whose it is").needs(TASKS).say(
        |ask, message| {
            got(ask, message, "completed", |task| {
                task["result"]["_meta"][key("related-task")] = json!({ "taskId": task["taskId"] });
            });
        },
    ),
    should_not("task-request-state", MODERN, "2026-07-28/tasks/no-request-state", "gives a new task requestState")
        .needs(TASKS)
        .say(|_, message| created(message, |task| task["requestState"] = json!("x"))),
    should("update-of-unknown", MODERN, "2026-07-28/tasks/update-unknown-task", "acknowledges tasks/update of any task").needs(TASKS).say(
        |ask, message| {
            if (ask.is("tasks/update") || ask.is("tasks/cancel")) && message["error"]["code"] == -32602 {
                remove(message, "error");
                message["result"] = json!({ "resultType": "complete" });
            }
        },
    ),
    must("modern-unknown-task-working", MODERN, "2026-07-28/tasks/get-unknown-task", "says of any task that it works")
        .needs(TASKS)
        .case(34)
        .say(|ask, message| {
            if ask.is("tasks/get") && message["error"]["code"] == -32602 {
                let at = "2027-01-01T00:00:00Z";
                remove(message, "error");
                message["result"] = json!({
                    "resultType": "complete", "taskId": ask.params()["taskId"], "status": "working", "createdAt": at,
                    "lastUpdatedAt": at, "ttlMs": null,
                });
            }
        }),
    must("modern-unknown-task-code", MODERN, "2026-07-28/tasks/get-unknown-task", "answers an unknown task with -32603").needs(TASKS).case(34).say(
        |ask, message| {
            if ask.is("tasks/get") {
                recode(message, -32602, -32603);
            }
        },
    ),
    must("task-to-anyone", MODERN, "2026-07-28/tasks/undeclared-methods-32021", "serves tasks/get to clients that know no tasks")
        .needs(TASKS)
        .ask(|ask| {
            if ask.is("tasks/get") {
                declare_tasks(ask);
            }
        }),
    must("undeclared-code", MODERN, "2026-07-28/tasks/undeclared-methods-32021", "answers clients that know no tasks with -32601")
        .needs(TASKS)
        .say(|ask, message| {
            if ask.rpc().starts_with("tasks/") {
                recode(message, -32021, -32601);
            }
        }),
    must("modern-cancel-returns-task", MODERN, "2026-07-28/tasks/cancel-ack", "answers tasks/cancel with the task").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/cancel") {
                result["taskId"] = ask.params()["taskId"].clone();
                result["status"] = json!("cancelled");
            }
        },
    ),
    must("modern-cancel-again", MODERN, "2026-07-28/tasks/cancel-terminal", "refuses to cancel what has ended").needs(TASKS).answer(|ask| {
        let known = ask.params()["taskId"].as_str().is_some_and(|id| id.len() > 8);
        (ask.is("tasks/cancel") && declared(ask) && known && ask.memory.get(&ask.params()["taskId"].to_string()).is_some())
            .then(|| Reply::error(200, &ask.id(), -32602, "the task has ended"))
    })
    .say(|ask, message| {
        let id = ask.params()["taskId"].to_string();
        if let Some(task) = result_of(ask, message, "tasks/get").filter(|task| task["status"] != "working") {
            let _ = task;
            ask.memory.set(&id, true);
        }
    }),
    must("task-result-kept", MODERN, "2026-07-28/tasks/removed-methods", "still serves tasks/result and tasks/list").answer(|ask| {
        (ask.is("tasks/result") || ask.is("tasks/list")).then(|| super::served(ask))
    }),
    must("modern-task-param-matters", MODERN, "2026-07-28/tasks/legacy-task-param-ignored", "refuses params.task").needs(TASKS).answer(|ask| {
        (ask.is("tools/call") && !ask.params()["task"].is_null()).then(|| Reply::error(200, &ask.id(), -32602, "unexpected params.task"))
    }),
    must_not("legacy-tasks-advertised", MODERN, "2026-07-28/tasks/legacy-capability-not-advertised", "advertises the tasks of 2025-11-25").say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "server/discover") {
                result["capabilities"]["tasks"] = json!({ "cancel": {} });
            }
        },
    ),
    must("legacy-capability-counts", MODERN, "2026-07-28/tasks/legacy-capability-is-undeclared", "takes the tasks of 2025-11-25 for the extension")
        .needs(TASKS)
        .ask(|ask| {
            if ask.meta("clientCapabilities")["tasks"].is_object() {
                declare_tasks(ask);
            }
        }),
    should("modern-task-errors-alike", MODERN, "2026-07-28/tasks/error-messages-informative", "says nothing in errors about tasks")
        .needs(TASKS)
        .say(|ask, message| {
            if ask.rpc().starts_with("tasks/") && message.get("error").is_some() {
                message["error"]["message"] = json!("");
            }
        }),
    must_not("error-is-failed", MODERN, "2026-07-28/tasks/is-error-is-completed", "calls a task failed whose tool failed").needs(TASKS).say(
        |ask, message| {
            got(ask, message, "completed", |task| {
                if task["result"]["isError"] == true {
                    task["status"] = json!("failed");
                    task["error"] = json!({ "code": -32603, "message": "failed" });
                    remove(task, "result");
                }
            });
        },
    ),
    must("required-extension-code", MODERN, "2026-07-28/tasks/required-extension-32021", "answers -32601 where a task is needed").needs(TASKS).say(
        |ask, message| {
            if ask.is("tools/call") {
                recode(message, -32021, -32601);
            }
        },
    ),
    must("get-cancelled-failed", MODERN, "2026-07-28/tasks/get-cancelled", "calls cancelled tasks aborted").needs(TASKS).say(|ask, message| {
        got(ask, message, "cancelled", |task| task["status"] = json!("aborted"));
    }),
];

fn declared(ask: &Ask) -> bool {
    ask.meta("clientCapabilities")["extensions"][key("tasks")].is_object()
}

fn created(message: &mut Value, change: impl FnOnce(&mut Value)) {
    if let Some(result) = result(message).filter(|result| result["resultType"] == "task") {
        change(result);
    }
}

/// What `tasks/get` says of a task in this status.
fn got(ask: &Ask, message: &mut Value, status: &str, change: impl FnOnce(&mut Value)) {
    if let Some(task) = result_of(ask, message, "tasks/get").filter(|task| task["status"] == status) {
        change(task);
    }
}
