//! Lists in pages.

use super::{result_of, tools};
use crate::fault::{BOTH, Fault, LEGACY, must, should};
use crate::reply::{Framing, Reply};
use serde_json::{Value, json};

pub(super) const FAULTS: &[Fault] = &[
    must(
        "next-cursor-null",
        BOTH,
        "both/pagination/next-cursor-string",
        "ends the last page with a null cursor",
    )
    .case(14)
    .say(|ask, message| {
        if let Some(list) =
            result_of(ask, message, "tools/list").filter(|list| list.get("nextCursor").is_none())
        {
            list["nextCursor"] = Value::Null;
        }
    }),
    must(
        "next-cursor-number",
        BOTH,
        "both/pagination/next-cursor-string",
        "gives cursors as numbers",
    )
    .say(|ask, message| {
        if let Some(list) =
            result_of(ask, message, "tools/list").filter(|list| list["nextCursor"].is_string())
        {
            list["nextCursor"] = json!(4);
        }
    }),
    must(
        "next-cursor-empty",
        BOTH,
        "both/pagination/terminates",
        "ends the last page with an empty cursor that begins again",
    )
    .case(14)
    .ask(|ask| {
        if ask.is("tools/list") && ask.params()["cursor"] == "" {
            ask.edit(|message| super::remove(&mut message["params"], "cursor"));
        }
    })
    .say(|ask, message| {
        if let Some(list) =
            result_of(ask, message, "tools/list").filter(|list| list.get("nextCursor").is_none())
        {
            list["nextCursor"] = json!("");
        }
    }),
    must(
        "pages-for-ever",
        BOTH,
        "both/pagination/terminates",
        "gives the first page and a new cursor for every cursor",
    )
    .case(16)
    .ask(|ask| {
        if ask.is("tools/list") && ask.params()["cursor"].is_string() {
            ask.edit(|message| super::remove(&mut message["params"], "cursor"));
        }
    })
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list") {
            list["nextCursor"] = json!(format!("page-{}", ask.memory.count("pages")));
        }
    }),
    must(
        "tool-on-two-pages",
        BOTH,
        "both/pagination/complete-no-duplicates",
        "repeats a tool on the next page",
    )
    .say(|ask, message| {
        let earlier = ask.memory.get("last tool");
        let mut names = Vec::new();
        tools(ask, message, |tool| names.push(tool.clone()));
        if let Some(last) = names.last() {
            ask.memory.set("last tool", last.clone());
        }
        if let (Some(list), Some(earlier)) = (result_of(ask, message, "tools/list"), earlier)
            && ask.params()["cursor"].is_string()
            && let Some(tools) = list["tools"].as_array_mut()
        {
            tools.insert(0, earlier);
        }
    }),
    must(
        "tool-lost-between-pages",
        BOTH,
        "both/pagination/complete-no-duplicates",
        "loses a tool of later pages every second time",
    )
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tools/list")
            && ask.params()["cursor"].is_string()
            && let Some(tools) = list["tools"].as_array_mut()
            && ask.memory.count(&ask.params()["cursor"].to_string()) % 2 == 0
        {
            tools.remove(0);
        }
    }),
    should(
        "cursor-once",
        BOTH,
        "both/pagination/cursor-stable",
        "knows a cursor once",
    )
    .answer(|ask| {
        let cursor = ask.params()["cursor"].clone();
        let again = cursor.is_string() && ask.is("tools/list") && ask.memory.count(&cursor.to_string()) > 1;
        again.then(|| Reply::error(200, &ask.id(), -32602, "the cursor was used up"))
    }),
    should(
        "cursor-bound-to-connection",
        BOTH,
        "both/pagination/cursor-cross-connection",
        "knows a cursor only on its connection",
    )
    .http()
    .answer(|ask| {
        let elsewhere = ask.is("tools/list") && ask.params()["cursor"].is_string() && ask.earlier == 0;
        elsewhere.then(|| Reply::error(200, &ask.id(), -32602, "not a cursor of this connection"))
    }),
    should(
        "bad-cursor-first-page",
        BOTH,
        "both/pagination/invalid-cursor-32602",
        "gives the first page for a bad cursor",
    )
    .case(15)
    .ask(|ask| {
        if ask.is("tools/list") && bad(ask) {
            ask.edit(|message| super::remove(&mut message["params"], "cursor"));
        }
    })
    .say(learn),
    should(
        "bad-cursor-empty-page",
        BOTH,
        "both/pagination/invalid-cursor-32602",
        "gives an empty page for a bad cursor",
    )
    .case(15)
    .say(|ask, message| {
        if ask.is("tools/list") && ask.params()["cursor"].is_string() && message["error"]["code"] == -32602 {
            super::remove(message, "error");
            message["result"] =
                json!({ "tools": [], "resultType": "complete", "ttlMs": 0, "cacheScope": "public" });
        }
    }),
    should(
        "bad-cursor-kills",
        BOTH,
        "both/pagination/invalid-cursor-graceful",
        "serves nobody after a long cursor",
    )
    .answer(|ask| {
        if ask.is("tools/list")
            && ask.params()["cursor"]
                .as_str()
                .is_some_and(|cursor| cursor.len() > 100)
        {
            ask.memory.set("dead", true);
        }
        ask.memory.get("dead").map(|_| Reply::framed(Framing::Drop))
    }),
    must(
        "cursor-number-served",
        BOTH,
        "both/pagination/cursor-wrong-type",
        "gives the first page for a numeric cursor",
    )
    .case(15)
    .ask(|ask| {
        if ask.is("tools/list")
            && ask
                .params()
                .get("cursor")
                .is_some_and(|cursor| !cursor.is_string())
        {
            ask.edit(|message| super::remove(&mut message["params"], "cursor"));
        }
    }),
    should(
        "tasks-in-one-page",
        LEGACY,
        "2025-11-25/tasks/list-paginated",
        "lists all tasks at once",
    )
    .needs(&["tasks", "sessions"])
    .say(|ask, message| {
        if let Some(list) = result_of(ask, message, "tasks/list") {
            super::remove(list, "nextCursor");
        }
    }),
    must(
        "task-cursor-ignored",
        LEGACY,
        "2025-11-25/tasks/list-bad-cursor",
        "gives the first page of tasks for a bad cursor",
    )
    .needs(&["tasks", "sessions"])
    .say(|ask, message| {
        if ask.is("tasks/list") && message["error"]["code"] == -32602 {
            super::remove(message, "error");
            message["result"] = json!({ "tasks": [] });
        }
    }),
];

/// Whether the cursor was never given.
fn bad(ask: &crate::ask::Ask) -> bool {
    let cursor = ask.params()["cursor"].clone();
    cursor.is_string() && ask.memory.get(&cursor.to_string()).is_none()
}

/// Remembers the cursors that are given.
fn learn(ask: &crate::ask::Ask, message: &mut Value) {
    if let Some(list) = result_of(ask, message, "tools/list").filter(|list| list["nextCursor"].is_string()) {
        ask.memory.set(&list["nextCursor"].to_string(), true);
    }
}
