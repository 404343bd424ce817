//! The arguments that a tool takes are those its served schema admits, by the verdict of the `jsonschema` crate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use jsonschema::Validator;
use mcp_hil_reference::{Options, Server};
use proptest::collection::btree_map;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use support::{legacy, legacy_request};

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    Server::new(Options {
        page_size: NonZeroUsize::MAX,
        body_limit: 1 << 20,
        ..Options::default()
    })
});

/// Each tool with the judge of the schema that the server shows.
static TOOLS: LazyLock<Vec<(String, Validator)>> = LazyLock::new(|| {
    let answer = legacy(&SERVER, 200, legacy_request(1, "tools/list", json!({})));
    let tool = |tool: &Value| {
        let validator = jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
        (tool["name"].as_str().unwrap().to_owned(), validator)
    };
    answer["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(tool)
        .collect()
});

/// Whether the tool refused its arguments, and with which words.
fn refused(tool: &str, arguments: &Value) -> Option<String> {
    let call = json!({ "name": tool, "arguments": arguments });
    let result = legacy(&SERVER, 200, legacy_request(1, "tools/call", call))["result"].clone();
    let text = result["content"][0]["text"].as_str().unwrap();
    let failed = result["isError"] == true && text.starts_with("invalid arguments: ");
    failed.then(|| text.to_owned())
}

fn value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        (-2_i64..=104).prop_map(Value::from),
        select(vec![0, 1, 32, 33, 64, 65, 100, 101, 1000, 1001, 60_000, 60_001]).prop_map(Value::from),
        select(vec![
            json!(1.0),
            json!(32.0),
            json!(64.5),
            json!(-0.0),
            json!(1e3),
            json!(u64::MAX),
            json!(i64::MIN)
        ]),
        any::<f64>().prop_filter_map("finite", |number| number.is_finite().then(|| json!(number))),
    ];
    let text = prop_oneof![
        ".{0,8}".prop_map(Value::from),
        select(vec!["temperature", "supply_voltage", "humidity", "Humidity", ""]).prop_map(Value::from),
        select(vec!["count", "fail", "running", "stopped"]).prop_map(Value::from),
        (22_usize..26, select(vec!["a", "ä"])).prop_map(|(length, unit)| unit.repeat(length).into()),
        (4094_usize..4099, select(vec!["a", "ä"])).prop_map(|(length, unit)| unit.repeat(length).into()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number,
        text
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map("[a-c]|steps|step_ms|reason", inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let names = vec![
        "text",
        "repeat",
        "channel",
        "on",
        "brightness",
        "lines",
        "program",
        "args",
        "name",
        "job_id",
        "timeout_ms",
        "wait_ms",
        "exclusive",
        "replace",
        "status",
        "a/b~",
        "",
    ];
    btree_map(select(names), value(), 0..4).prop_map(|members| json!(members))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_server_refuses_what_the_schema_refuses(arguments in arguments()) {
        for (tool, validator) in &*TOOLS {
            let refused = refused(tool, &arguments);
            prop_assert_eq!(refused.is_none(), validator.is_valid(&arguments), "{} {} {:?}", tool, arguments, refused);
        }
    }

    #[test]
    fn likewise_for_arguments_of_the_right_names(
        text in value(), repeat in value(), channel in value(), on in value(), brightness in value(), lines in value(),
        program in value(), steps in value(), step_ms in value(), reason in value(), name in value(), timeout_ms in value(),
    ) {
        for (tool, arguments) in [
            ("echo", json!({ "text": text, "repeat": repeat })),
            ("echo", json!({ "text": "a", "repeat": repeat })),
            ("sensor_read", json!({ "channel": channel })),
            ("led_set", json!({ "on": on })),
            ("led_set", json!({ "on": true, "brightness": brightness })),
            ("log_tail", json!({ "lines": lines })),
            ("job_start", json!({ "program": program })),
            ("job_start", json!({ "program": "count", "args": { "steps": steps, "step_ms": step_ms } })),
            ("job_start", json!({ "program": "fail", "args": { "reason": reason }, "name": name })),
            ("job_start", json!({ "program": "count", "timeout_ms": timeout_ms, "exclusive": name, "replace": on })),
            ("job_get", json!({ "job_id": name })),
            ("job_stop", json!({ "name": name, "wait_ms": timeout_ms })),
        ] {
            let (_, validator) = TOOLS.iter().find(|(name, _)| name == tool).unwrap();
            let refused = refused(tool, &arguments);
            prop_assert_eq!(refused.is_none(), validator.is_valid(&arguments), "{} {} {:?}", tool, arguments, refused);
        }
    }
}

#[test]
fn both_verdicts_are_met() {
    let (_, echo) = TOOLS.iter().find(|(name, _)| name == "echo").unwrap();
    let (good, bad) = (
        json!({ "text": "a", "repeat": 64 }),
        json!({ "text": "a", "repeat": 65 }),
    );
    assert!(echo.is_valid(&good) && refused("echo", &good).is_none());
    assert!(!echo.is_valid(&bad) && refused("echo", &bad).is_some());
}
