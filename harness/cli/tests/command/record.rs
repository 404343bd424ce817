//! `mcp-hil record`: what is recorded from a live server replays, and sees what changes.

use crate::run::{File, Ran, run};
use crate::server::{mcp, pong};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A server with jobs whose ids differ, a clock, a counter and a secret; `mood` is what a change would change.
fn server(mood: &'static str) -> String {
    let calls = Arc::new(AtomicU64::new(0));
    mcp(move |message| {
        let count = calls.fetch_add(1, Ordering::Relaxed);
        let job = message["params"]["job"].as_str().unwrap_or_default();
        let result = match message["method"].as_str() {
            Some("start") => {
                json!({"job": format!("{:08x}", 0x0a1b_2c3d_u64.wrapping_mul(count + 7) & 0xffff_ffff)})
            }
            Some("get") => json!({"job": job, "said": format!("job {job} is {mood}"), "uptime_ms": 7,
                "text": json!({"count": count, "mood": mood, "api_key": "k-1"}).to_string(),
                "at": format!("2026-11-30T23:{:02}:00Z", count % 60), "schema": {"$ref": "#/x"}, "costs": "${5}"}),
            _ => return pong(message),
        };
        json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
    })
}

fn script() -> Value {
    json!({
        "title": "a job is started and looked at", "about": "what the server did", "revision": "2025-11-25",
        "steps": [
            {"name": "start", "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "start"}}, "capture": {"job": "/result/job"}},
            {"name": "wait", "wait_ms": 10},
            {"name": "get", "send": {"message": {"jsonrpc": "2.0", "id": 2, "method": "get", "params": {"job": {"$use": "job"}}}}},
            {"name": "tell", "send": {"message": {"jsonrpc": "2.0", "method": "notifications/x"}}},
        ],
    })
}

fn record(url: &str, script: &Value, more: &[&str]) -> (Ran, String, File) {
    let file = File::new(script);
    let out = file.beside("transcript.json");
    let ran = run(&[&["record", url, "--script", file.path(), "--out", &out], more].concat());
    (ran, out, file)
}

#[test]
fn what_varies_is_matched_and_what_does_not_is_kept() {
    let (ran, out, _folder) = record(&server("well"), &script(), &[]);
    ran.ended(0, "recorded 4 steps from 2 plays:")
        .ended(0, "1 redacted; replayed: pass");
    let transcript: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    let schema: Value =
        serde_json::from_str(include_str!("../../../../fixtures/transcript.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults: Vec<_> = validator
        .iter_errors(&transcript)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert_eq!(faults, [] as [&str; 0]);
    let expected = |step: usize| transcript["steps"][step]["expect"].clone();
    assert_eq!(
        expected(0),
        json!({"status": 200, "message": {"jsonrpc": "2.0", "id": 1, "result": {"job": {"$capture": "job", "$match": {"$type": "string"}}}}})
    );
    assert_eq!(transcript["steps"][1], json!({"name": "wait", "wait_ms": 10}));
    assert_eq!(
        expected(2)["message"]["result"],
        json!({
            "job": {"$use": "job"},
            "said": "job ${job} is well",
            "uptime_ms": {"$type": "integer"},
            "text": {"$json": {"count": {"$type": "integer"}, "mood": "well", "api_key": {"$type": "string"}}},
            "at": {"$regex": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})$"},
            "schema": {"$literal": {"$ref": "#/x"}},
            "costs": {"$literal": "${5}"},
        })
    );
    assert_eq!(expected(3), json!({"status": 202, "message": {"$absent": true}}));
}

#[test]
fn a_recording_replays_and_sees_a_change() {
    let (ran, out, _folder) = record(&server("well"), &script(), &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    run(&["replay", &server("well"), &out]).ended(0, "1 passed, 0 failed");
    run(&["replay", &server("ill"), &out]).ended(1, "/result/text/mood: expected \"well\", got \"ill\"");
    let edited = std::fs::read_to_string(&out)
        .unwrap()
        .replace("is well", "is good");
    std::fs::write(&out, edited).unwrap();
    run(&["replay", &server("well"), &out]).ended(1, "1 failed");
}

#[test]
fn a_board_is_recorded_in_every_revision() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let call = |id: u64, name: &str| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": {}}});
        let script = json!({"title": "t", "about": "a", "revision": revision, "steps": [
            {"name": "first page", "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}}, "capture": {"more": "/result/nextCursor"}},
            {"name": "second", "send": {"message": {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {"cursor": {"$use": "more"}}}}},
            {"name": "stats", "send": {"message": call(3, "device_stats")}},
            {"name": "uptime", "send": {"message": call(4, "uptime")}},
            {"name": "info", "send": {"message": call(5, "device_info")}},
        ]});
        let (ran, out, _folder) = record("reference", &script, &[]);
        ran.ended(0, "replayed: pass");
        let stdio = format!("stdio:{} reference --stdio", env!("CARGO_BIN_EXE_mcp-hil"));
        run(&["replay", &stdio, &out]).ended(0, "1 passed, 0 failed");
    }
}

#[test]
fn what_can_not_be_recorded_is_said() {
    let mut lost = script();
    lost["steps"][0]["capture"] = json!({"job": "/result/no/such"});
    record(&server("well"), &lost, &[]).0.ended(
        1,
        "step \"start\": nothing to capture as \"job\" at /result/no/such",
    );
    record(&server("well"), &script(), &["--bearer", "is looked"])
        .0
        .ended(2, "without spaces");
    record(&server("well"), &script(), &["--bearer", "notifications/x"])
        .0
        .ended(2, "a step sends a credential");
    let mut expecting = script();
    expecting["steps"][2]["expect"] = json!({"status": 200});
    record(&server("well"), &expecting, &[])
        .0
        .ended(2, "/steps/2: a script has no \"expect\"");
    record("http://127.0.0.1:9/mcp", &script(), &[])
        .0
        .ended(3, "could not reach");
    // answers that are never alike twice
    let calls = Arc::new(AtomicU64::new(0));
    let fickle = mcp(move |message| {
        let count = calls.fetch_add(1, Ordering::Relaxed);
        json!({"jsonrpc": "2.0", "id": message["id"], "result": {format!("member-{count}"): 1}})
    });
    record(&fickle, &script_of_a_ping(), &[])
        .0
        .ended(1, "the target does not answer alike twice");
}

fn script_of_a_ping() -> Value {
    json!({"title": "t", "about": "a", "revision": "2025-11-25", "steps": [
        {"name": "ask", "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "ask"}}}]})
}
