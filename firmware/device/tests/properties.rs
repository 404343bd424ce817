//! Whatever comes in, one well-formed answer goes out; and arguments are judged as JSON Schema says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod support;

use std::sync::LazyLock;

use jsonschema::Validator;
use mcp_device::{Device, MAX_ANSWER};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};
use support::{Era, Legacy, Modern, Post, TestBoard, contract, device};

/// The answer is one that JSON-RPC and the contract know, and the device still works.
fn well_formed(post: &Post) -> Result<(), TestCaseError> {
    let device: Device<TestBoard> = device();
    let answer = post.to(&device);
    prop_assert!(answer.body.len() <= MAX_ANSWER);
    match (answer.status, answer.content_type) {
        (202 | 400, None) => prop_assert_eq!(&answer.body, ""),
        (200 | 400 | 404, Some("application/json")) => {
            let message = answer.json();
            prop_assert_eq!(&message["jsonrpc"], &json!("2.0"));
            prop_assert!(message["id"].is_null() || message["id"].is_string() || message["id"].is_number());
            prop_assert_eq!(message.as_object().map(Map::len), Some(3));
            if message.get("result").is_none() {
                prop_assert!(message["error"]["code"].is_i64() && message["error"]["message"].is_string());
                prop_assert!(answer.status != 404 || message["error"]["code"] == json!(-32601));
            } else {
                prop_assert_eq!(answer.status, 200);
            }
        }
        _ => prop_assert!(false, "{:?}", answer),
    }
    let next = Legacy.request("ping", json!({})).to(&device);
    prop_assert_eq!(next.body, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    Ok(())
}

/// A full JSON reader and the device agree on what is JSON.
fn is_read_as_json_if_it_is(post: &Post) -> Result<(), TestCaseError> {
    let read = serde_json::from_slice::<Value>(&post.body);
    // At a number beyond a float that reader stops with no verdict on the rest.
    prop_assume!(
        !read
            .as_ref()
            .is_err_and(|error| error.to_string().starts_with("number out of range"))
    );
    let is_json = read.is_ok();
    let answer = post.to(&device());
    let refused = answer.content_type.is_some() && answer.json()["error"]["code"] == json!(-32700);
    prop_assert_eq!(is_json, !refused, "{:?}", answer);
    Ok(())
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        select(vec![
            "2.0",
            "ping",
            "tools/call",
            "tools/list",
            "echo",
            "2026-07-28",
            "tools/4"
        ])
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let name = prop_oneof![
            any::<String>(),
            select(vec![
                "jsonrpc",
                "id",
                "method",
                "params",
                "result",
                "error",
                "name",
                "arguments",
                "_meta",
                "cursor"
            ])
            .prop_map(String::from),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A good request of either era.
fn any_call() -> impl Strategy<Value = (Era, Value)> {
    let call = select(vec![
        json!({"method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
        }}),
        json!({"method": "server/discover"}),
        json!({"method": "ping"}),
        json!({"method": "tools/list", "params": {"cursor": "tools/4"}}),
        json!({"method": "tools/call", "params": {"name": "echo", "arguments": {"text": "é\"", "repeat": 2}}}),
        json!({"method": "tools/call", "params": {"name": "led_set", "arguments": {"on": true}}}),
        json!({"method": "notifications/initialized"}),
    ]);
    (
        select(vec![Legacy, Modern]),
        call,
        select(vec![json!(1), json!("x"), json!(u64::MAX), Value::Null]),
    )
        .prop_map(|(era, mut call, id)| {
            call["jsonrpc"] = json!("2.0");
            call["id"] = id;
            (era, call)
        })
}

/// Replaces, adds or removes one value somewhere in a message.
fn mutated(mut message: Value, at: &Index, value: Option<Value>) -> Value {
    let mut pointers = vec![String::new()];
    let mut next = 0;
    while next < pointers.len() {
        let pointer = pointers[next].clone();
        if let Some(Value::Object(members)) = message.pointer(&pointer) {
            pointers.extend(
                members
                    .keys()
                    .map(|name| format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))),
            );
        }
        next += 1;
    }
    let pointer = at.get(&pointers).clone();
    match (value, pointer.rsplit_once('/')) {
        (Some(value), _) => *message.pointer_mut(&pointer).unwrap() = value,
        (None, Some((parent, name))) => {
            let name = name.replace("~1", "/").replace("~0", "~");
            message
                .pointer_mut(parent)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(&name);
        }
        (None, None) => message = Value::Null,
    }
    message
}

proptest! {
    #[test]
    fn random_bytes(body in prop::collection::vec(any::<u8>(), 0..200)) {
        well_formed(&Post::bare(body))?;
    }

    #[test]
    fn random_text_of_json_characters(body in r#"[\[\]{}:,"\\ud89a0-9.eE+\-tfn \n]{0,80}"#) {
        is_read_as_json_if_it_is(&Post::bare(&body))?;
        well_formed(&Post::bare(body))?;
    }

    #[test]
    fn random_json(message in any_json(), version in select(vec!["", "2025-11-25", "2026-07-28"])) {
        let post = Post::bare(message.to_string());
        let post = if version.is_empty() { post } else { post.header("MCP-Protocol-Version", version) };
        well_formed(&post)?;
    }

    #[test]
    fn a_good_message_with_one_change(
        (era, message) in any_call(),
        at in any::<Index>(),
        value in prop::option::of(any_json()),
    ) {
        let good = era.post(message);
        let message: Value = serde_json::from_slice(&good.body).unwrap();
        let body = mutated(message, &at, value).to_string().into();
        well_formed(&Post { body, ..good })?;
    }

    #[test]
    fn a_good_body_with_bytes_changed(
        (era, message) in any_call(),
        changes in prop::collection::vec((any::<Index>(), any::<u8>(), 0..3u8), 1..4),
    ) {
        let mut post = era.post(message);
        for (at, byte, kind) in changes {
            let at = at.index(post.body.len());
            match kind {
                0 => post.body[at] = byte,
                1 => post.body.insert(at, byte),
                _ => drop(post.body.drain(at..)),
            }
            if post.body.is_empty() {
                break;
            }
        }
        is_read_as_json_if_it_is(&post)?;
        well_formed(&post)?;
    }

    #[test]
    fn random_headers(
        (era, message) in any_call(),
        name in select(vec!["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id"]),
        value in prop::collection::vec(any::<u8>(), 0..40),
        instead in any::<bool>(),
    ) {
        let post = era.post(message);
        let post = if instead { post.without(name) } else { post };
        well_formed(&post.header(name, value))?;
    }

    #[test]
    fn any_text_is_echoed(text in any::<String>(), repeat in 1..5usize) {
        let answer = Legacy.tool("echo", json!({"text": text, "repeat": repeat})).to(&device()).json();
        prop_assert_eq!(&answer["result"]["content"][0]["text"], &json!(text.repeat(repeat)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn arguments_are_judged_as_json_schema_says((tool, arguments) in tool_and_arguments()) {
        let Tool { name, validator, .. } = &TOOLS[tool];
        let answer = Legacy.tool(name, arguments.clone()).to(&device()).json();
        let told = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let taken = answer["result"]["isError"] != json!(true) || !told.starts_with("invalid arguments: ");
        prop_assert_eq!(taken, validator.is_valid(&arguments), "{} {} {}", name, arguments, answer);
    }
}

struct Tool {
    name: String,
    schema: Value,
    validator: Validator,
}

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    let contract = contract();
    let tools = contract["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| Tool {
            name: tool["name"].as_str().unwrap().into(),
            schema: tool["inputSchema"].clone(),
            validator: jsonschema::draft202012::new(&tool["inputSchema"]).unwrap(),
        })
        .collect()
});

fn tool_and_arguments() -> impl Strategy<Value = (usize, Value)> {
    (0..TOOLS.len()).prop_flat_map(|tool| (Just(tool), arguments(&TOOLS[tool].schema)))
}

/// Arguments that keep the schema in most members, so that valid and invalid ones are both frequent.
fn arguments(schema: &Value) -> impl Strategy<Value = Value> + use<> {
    let mut members: Vec<BoxedStrategy<Option<(String, Value)>>> = Vec::new();
    for (name, schema) in schema["properties"].as_object().unwrap() {
        let required = schema["required"]
            .as_array()
            .is_some_and(|required| required.contains(&json!(name)));
        let name = name.clone();
        let member = value(schema).prop_map(move |value| Some((name.clone(), value)));
        members.push(prop_oneof![if required { 1 } else { 4 } => Just(None), 10 => member].boxed());
    }
    let other = (any::<String>(), any_json()).prop_map(Some);
    members.push(prop_oneof![8 => Just(None), 1 => other].boxed());
    members.prop_map(|members| Value::Object(members.into_iter().flatten().collect()))
}

fn value(schema: &Value) -> BoxedStrategy<Value> {
    let fits = match schema["type"].as_str().unwrap() {
        "boolean" => any::<bool>().prop_map(Value::from).boxed(),
        "integer" => {
            let (least, most) = (
                schema["minimum"].as_i64().unwrap(),
                schema["maximum"].as_i64().unwrap(),
            );
            let edge = select(vec![least - 1, least, most, most + 1]).prop_map(Value::from);
            let float = (least - 2..most + 3).prop_map(|n| Value::from(n as f64));
            prop_oneof![3 => edge, 1 => float, 1 => any::<f64>().prop_map(Value::from), 1 => any::<u64>().prop_map(Value::from)].boxed()
        }
        "string" => match schema["enum"].as_array() {
            Some(allowed) => select(allowed.clone()).boxed(),
            None => {
                let most = schema["maxLength"].as_u64().unwrap() as usize;
                let edge =
                    (select(vec!["a", "é"]), most..most + 2).prop_map(|(unit, length)| unit.repeat(length));
                prop_oneof![2 => any::<String>(), 2 => edge, 1 => Just("🦀".repeat(most.min(3500)))]
                    .prop_map(Value::from)
                    .boxed()
            }
        },
        "object" => arguments(schema).boxed(),
        other => panic!("no strategy for {other}"),
    };
    prop_oneof![6 => fits, 1 => any_json()].boxed()
}
