//! Tasks of 2025-11-25.

use super::{first_tool, key, recode, remove, result, result_of};
use crate::ask::Ask;
use crate::fault::{Fault, LEGACY, must, must_not, should, should_not};
use crate::reply::Reply;
use serde_json::{Value, json};
use std::time::Duration;

const TASKS: &[&str] = &["tasks"];
const LISTED: &[&str] = &["tasks", "sessions"];

pub(super) const FAULTS: &[Fault] = &[
    must(
        "execution-null",
        LEGACY,
        "2025-11-25/tools/task-support-enum",
        "gives null for the execution of a tool",
    )
    .say(|ask, message| first_tool(ask, message, |tool| tool["execution"] = Value::Null)),
    must("task-support-invented", LEGACY, "2025-11-25/tools/task-support-enum", "gives taskSupport a value of its own").say(
        |ask, message| first_tool(ask, message, |tool| tool["execution"] = json!({ "taskSupport": "maybe" })),
    ),
    must("tasks-not-declared", LEGACY, "2025-11-25/tasks/capability-declared", "makes tasks without having declared them").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "initialize") {
                remove(&mut result["capabilities"], "tasks");
            }
        },
    ),
    must("task-param-refused", LEGACY, "2025-11-25/tasks/undeclared-ignores-task", "refuses params.task though it has no tasks").answer(|ask| {
        augmented(ask).then(|| Reply::error(200, &ask.id(), -32602, "unexpected params.task"))
    }),
    must("task-made-undeclared", LEGACY, "2025-11-25/tasks/undeclared-ignores-task", "makes tasks though it declared none").answer(|ask| {
        augmented(ask).then(|| {
            let at = "2025-11-25T10:30:00Z";
            let task = json!({ "taskId": "7d1c", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": null });
            Reply::result(&ask.id(), json!({ "task": task }))
        })
    }),
    should("forbidden-task-made", LEGACY, "2025-11-25/tasks/forbidden-32601", "runs a tool that forbids tasks, task or not").needs(TASKS).ask(
        |ask| {
            if augmented(ask) && ask.tool() != "slow_count" && ask.tool() != "long_count" {
                ask.edit(|message| remove(&mut message["params"], "task"));
            }
        },
    ),
    must("task-not-required", LEGACY, "2025-11-25/tasks/required-32601", "runs a tool that demands a task without one").needs(TASKS).ask(|ask| {
        if ask.tool() == "long_count" && !augmented(ask) {
            ask.edit(|message| message["params"]["name"] = json!("slow_count"));
        }
    }),
    must("task-required-invalid", LEGACY, "2025-11-25/tasks/required-32601", "answers -32602 where a task is demanded").needs(TASKS).say(
        |ask, message| {
            if ask.is("tools/call") {
                recode(message, -32601, -32602);
            }
        },
    ),
    must("task-flat", LEGACY, "2025-11-25/tasks/create-result", "gives a new task flat").needs(TASKS).say(|ask, message| {
        if let Some(result) = created(ask, message) {
            *result = result["task"].clone();
        }
    }),
    must("task-with-content", LEGACY, "2025-11-25/tasks/create-result", "gives a new task with content").needs(TASKS).say(|ask, message| {
        if let Some(result) = created(ask, message) {
            result["content"] = json!([]);
        }
    }),
    should("task-late", LEGACY, "2025-11-25/tasks/create-prompt", "tells of a task when it is nearly done").needs(TASKS).reply(|ask, reply| {
        if augmented(ask) {
            reply.delay = Duration::from_secs(4);
        }
    }),
    must("task-without-times", LEGACY, "2025-11-25/tasks/fields", "leaves times out of tasks").needs(TASKS).say(|ask, message| {
        each(ask, message, |task| remove(task, "createdAt"));
    }),
    must("task-without-ttl", LEGACY, "2025-11-25/tasks/fields", "leaves ttl out of tasks").needs(TASKS).say(|ask, message| {
        each(ask, message, |task| remove(task, "ttl"));
    }),
    must("poll-interval-text", LEGACY, "2025-11-25/tasks/fields", "gives pollInterval as a text").needs(TASKS).say(|ask, message| {
        each(ask, message, |task| task["pollInterval"] = json!("1s"));
    }),
    must("task-id-number", LEGACY, "2025-11-25/tasks/id-string-unique", "gives task ids as numbers")
        .needs(TASKS)
        .ask(|ask| only_task(ask, &json!(7)))
        .say(|ask, message| each(ask, message, |task| one_task(ask, task, json!(7)))),
    must("task-id-same", LEGACY, "2025-11-25/tasks/id-string-unique", "gives all tasks one id")
        .needs(TASKS)
        .ask(|ask| only_task(ask, &json!("5f0c1b6e-task")))
        .say(|ask, message| each(ask, message, |task| one_task(ask, task, json!("5f0c1b6e-task")))),
    must("task-begins-completed", LEGACY, "2025-11-25/tasks/begins-working", "begins tasks as completed").needs(TASKS).say(|ask, message| {
        if let Some(result) = created(ask, message) {
            result["task"]["status"] = json!("completed");
        }
    }),
    must("completed-works-again", LEGACY, "2025-11-25/tasks/transitions", "lets completed tasks work again").needs(TASKS).case(33).say(
        |ask, message| {
            if let Some(task) = result_of(ask, message, "tasks/get").filter(|task| task["status"] == "completed")
                && ask.memory.count(&task["taskId"].to_string()) > 1
            {
                task["status"] = json!("working");
            }
        },
    ),
    must("task-time-of-day", LEGACY, "2025-11-25/tasks/timestamps", "gives times in milliseconds").needs(TASKS).say(|ask, message| {
        each(ask, message, |task| task["createdAt"] = json!("12345678"));
    }),
    must("task-made-anew", LEGACY, "2025-11-25/tasks/timestamps", "moves createdAt with each look").needs(TASKS).say(|ask, message| {
        if let Some(task) = result_of(ask, message, "tasks/get") {
            let second = ask.memory.count("looks") % 60;
            task["createdAt"] = json!(format!("2027-01-01T00:00:{second:02}Z"));
        }
    }),
    must("ttl-in-seconds", LEGACY, "2025-11-25/tasks/ttl-reported", "reports ttl in seconds").needs(TASKS).case(35).say(|ask, message| {
        each(ask, message, |task| {
            if let Some(ttl) = task["ttl"].as_u64() {
                task["ttl"] = json!(ttl / 1000);
            }
        });
    }),
    must("get-without-ttl", LEGACY, "2025-11-25/tasks/ttl-reported", "does not report ttl when asked").needs(TASKS).say(|ask, message| {
        if let Some(task) = result_of(ask, message, "tasks/get") {
            remove(task, "ttl");
        }
    }),
    must("get-nested", LEGACY, "2025-11-25/tasks/get", "nests the task in tasks/get").needs(TASKS).say(|ask, message| {
        if let Some(task) = result_of(ask, message, "tasks/get") {
            *task = json!({ "task": task.clone() });
        }
    }),
    must("result-does-not-wait", LEGACY, "2025-11-25/tasks/result-blocks", "answers tasks/result at once").needs(TASKS).answer(|ask| {
        let result = json!({ "content": [], "_meta": { (key("related-task")): { "taskId": ask.params()["taskId"] } } });
        (ask.is("tasks/result") && ask.params()["taskId"].as_str().is_some_and(|id| id.len() > 8))
            .then(|| Reply::result(&ask.id(), result))
    }),
    must("result-once", LEGACY, "2025-11-25/tasks/result-after-terminal", "gives a task's result once").needs(TASKS).answer(|ask| {
        (ask.is("tasks/result") && ask.memory.count(&ask.params()["taskId"].to_string()) > 1)
            .then(|| Reply::error(200, &ask.id(), -32602, "the result was taken"))
    }),
    must("result-unrelated", LEGACY, "2025-11-25/tasks/result-related-meta", "does not say whose result it is").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/result") {
                remove(result, "_meta");
            }
        },
    ),
    must("result-of-other-task", LEGACY, "2025-11-25/tasks/result-related-meta", "says that a result is another task's").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/result") {
                result["_meta"][key("related-task")] = json!({ "taskId": "another" });
            }
        },
    ),
    should_not("get-related", LEGACY, "2025-11-25/tasks/no-related-meta-on-get", "says in tasks/get whose task it is").needs(TASKS).say(
        |ask, message| {
            if let Some(task) = result_of(ask, message, "tasks/get") {
                task["_meta"][key("related-task")] = json!({ "taskId": task["taskId"] });
            }
        },
    ),
    must("related-task-believed", LEGACY, "2025-11-25/tasks/related-meta-in-request-ignored", "takes the task from _meta").needs(TASKS).ask(
        |ask| {
            let related = ask.meta("related-task")["taskId"].clone();
            if ask.rpc().starts_with("tasks/") && related.is_string() {
                ask.edit(|message| message["params"]["taskId"] = related);
            }
        },
    ),
    must("unknown-task-working", LEGACY, "2025-11-25/tasks/unknown-id", "says of any task that it works").needs(TASKS).case(34).say(
        |ask, message| {
            if ask.is("tasks/get") && message["error"]["code"] == -32602 {
                let at = "2027-01-01T00:00:00Z";
                remove(message, "error");
                message["result"] = json!({
                    "taskId": ask.params()["taskId"], "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttl": null,
                });
            }
        },
    ),
    must("unknown-task-code", LEGACY, "2025-11-25/tasks/unknown-id", "answers an unknown task with -32603").needs(TASKS).case(34).say(
        |ask, message| {
            if ask.rpc().starts_with("tasks/") {
                recode(message, -32602, -32603);
            }
        },
    ),
    must("cancel-acknowledged", LEGACY, "2025-11-25/tasks/cancel", "acknowledges tasks/cancel with an empty result").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/cancel") {
                *result = json!({});
            }
        },
    ),
    must("cancel-still-working", LEGACY, "2025-11-25/tasks/cancel", "answers tasks/cancel with a task that works").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/cancel") {
                result["status"] = json!("working");
            }
        },
    ),
    must("cancelled-completes", LEGACY, "2025-11-25/tasks/cancel-sticks", "lets cancelled tasks complete").needs(TASKS).case(33).say(
        |ask, message| {
            if let Some(task) = result_of(ask, message, "tasks/get").filter(|task| task["status"] == "cancelled") {
                task["status"] = json!("completed");
            }
        },
    ),
    must("cancel-again", LEGACY, "2025-11-25/tasks/cancel-terminal", "cancels what has ended").needs(TASKS).say(|ask, message| {
        if ask.is("tasks/cancel") && message["error"]["code"] == -32602 {
            let at = "2027-01-01T00:00:00Z";
            remove(message, "error");
            message["result"] = json!({
                "taskId": ask.params()["taskId"], "status": "cancelled", "createdAt": at, "lastUpdatedAt": at, "ttl": null,
            });
        }
    }),
    must("task-not-listed", LEGACY, "2025-11-25/tasks/list", "forgets the newest task in tasks/list").needs(LISTED).say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tasks/list")
            && let Some(tasks) = list["tasks"].as_array_mut()
        {
            tasks.pop();
        }
    }),
    must("task-list-null", LEGACY, "2025-11-25/tasks/list", "gives null for the list of tasks").needs(LISTED).say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tasks/list") {
            list["tasks"] = Value::Null;
        }
    }),
    must("task-methods-served", LEGACY, "2025-11-25/tasks/unadvertised-ops", "serves tasks/list it does not advertise").answer(|ask| {
        ask.is("tasks/list").then(|| Reply::result(&ask.id(), json!({ "tasks": [] })))
    }),
    must_not("extension-honoured", LEGACY, "2025-11-25/tasks/extension-not-honoured", "makes tasks for clients of the extension of 2026-07-28")
        .answer(|ask| {
            let extension = ask.params()["capabilities"]["extensions"][key("tasks")].is_object();
            if ask.is("initialize") && extension {
                ask.memory.set("extension", true);
            }
            let at = "2027-01-01T00:00:00Z";
            let task = json!({
                "resultType": "task", "taskId": "7d1c", "status": "working", "createdAt": at, "lastUpdatedAt": at, "ttlMs": null,
            });
            (ask.is("tools/call") && ask.memory.get("extension").is_some()).then(|| Reply::result(&ask.id(), task))
        }),
    should("task-errors-alike", LEGACY, "2025-11-25/tasks/error-messages-informative", "says nothing in errors about tasks").needs(TASKS).say(
        |ask, message| {
            if ask.rpc().starts_with("tasks/") && message.get("error").is_some() {
                message["error"]["message"] = json!("");
            }
        },
    ),
    must("result-empty", LEGACY, "2025-11-25/tasks/result-is-original", "gives an empty result for a task").needs(TASKS).say(
        |ask, message| {
            if let Some(result) = result_of(ask, message, "tasks/result") {
                result["content"] = json!([]);
            }
        },
    ),
    should("failed-is-completed", LEGACY, "2025-11-25/tasks/failed-status", "calls a task completed whose tool failed").needs(TASKS).say(
        |ask, message| {
            if let Some(task) = result_of(ask, message, "tasks/get").filter(|task| task["status"] == "failed") {
                task["status"] = json!("completed");
            }
        },
    ),
];

/// A call that asks for a task.
fn augmented(ask: &Ask) -> bool {
    ask.is("tools/call") && ask.params()["task"].is_object()
}

fn created<'m>(ask: &Ask, message: &'m mut Value) -> Option<&'m mut Value> {
    result_of(ask, message, "tools/call").filter(|result| result["task"].is_object())
}

/// Gives a task this id, and remembers the real one.
fn one_task(ask: &Ask, task: &mut Value, id: Value) {
    ask.memory.set("task", task["taskId"].clone());
    task["taskId"] = id;
}

/// Puts the newest task in the place of this id.
fn only_task(ask: &mut Ask, id: &Value) {
    let newest = ask.memory.get("task").filter(|_| ask.params()["taskId"] == *id);
    if let Some(real) = newest {
        ask.edit(|message| message["params"]["taskId"] = real);
    }
}

/// Each task in an answer.
fn each(ask: &Ask, message: &mut Value, mut change: impl FnMut(&mut Value)) {
    let rpc = ask.rpc();
    let Some(result) = result(message) else { return };
    if result["task"].is_object() {
        change(&mut result["task"]);
    } else if rpc == "tasks/get" || rpc == "tasks/cancel" {
        change(result);
    } else if let Some(tasks) = result.get_mut("tasks").and_then(Value::as_array_mut) {
        tasks.iter_mut().for_each(change);
    }
}
