//! Three opinions on the same arguments: the device, the reference and the `jsonschema` crate agree on which are valid,
//! and the two servers use the same words for what is wrong.
//!
//! The arguments are made from the schemas that the servers show, so a shown schema that isn't the enforced one is seen.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use jsonschema::Validator;
use mcp_hil::targets::{Open, Options, open};
use mcp_hil_harness::client::{Client, Limits};
use mcp_hil_harness::revision::{Era, Revision};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use std::cell::{Cell, RefCell};
use tokio::runtime::Runtime;

/// Generated arguments for each tool and revision.
const CASES: u32 = 96;

struct Server {
    client: Client,
    _target: Open,
}

/// Starts a target and gets it ready for requests in a revision.
async fn server(name: &str, revision: Revision) -> Server {
    let options = Options {
        deadline_factor: 1.0,
        ..Options::default()
    };
    let target = open(name, &options).await.unwrap();
    let mut client = Client::open(&target.subjects[0].target, revision, Limits::default()).unwrap();
    if revision.era() == Era::Legacy {
        client.initialize().await.unwrap();
    }
    Server {
        client,
        _target: target,
    }
}

impl Server {
    /// What the tool says of its arguments: none if it takes them.
    async fn refusal(&mut self, tool: &str, arguments: &Value) -> Option<String> {
        let params = json!({ "name": tool, "arguments": arguments });
        let result = self.client.request("tools/call", params).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap();
        (result["isError"] == true && text.starts_with("invalid arguments: ")).then(|| text.to_owned())
    }
}

/// Values on both sides of each bound that the schema of a property draws, and values of every other type.
fn value(schema: &Value) -> BoxedStrategy<Value> {
    let near = |bound: i64| (bound - 1..=bound + 1).prop_map(Value::from).boxed();
    let mut choices = vec![
        Just(Value::Null).boxed(),
        any::<bool>().prop_map(Value::from).boxed(),
        any::<i64>().prop_map(Value::from).boxed(),
        any::<u64>().prop_map(Value::from).boxed(),
        select(vec![
            json!(1.0),
            json!(1.5),
            json!(-0.0),
            json!(1e2),
            json!(1e300),
            json!([]),
            json!({"a": [1]}),
        ])
        .boxed(),
        "\\PC{0,12}".prop_map(Value::from).boxed(),
    ];
    for bound in ["minimum", "maximum"]
        .iter()
        .filter_map(|keyword| schema[keyword].as_i64())
    {
        choices.push(near(bound));
    }
    if let Some(longest) = schema["maxLength"].as_u64() {
        let longest = usize::try_from(longest).unwrap();
        // "é" is two bytes, so counting bytes for characters shows; the longest still fits the body of a request
        let around = (longest - 1..=longest + 1, select(vec!["a", "é"]));
        choices.push(
            around
                .prop_map(|(length, unit)| unit.repeat(length).into())
                .boxed(),
        );
    }
    if let Some(allowed) = schema["enum"].as_array() {
        choices.push(select(allowed.clone()).boxed());
    }
    proptest::strategy::Union::new(choices).boxed()
}

/// Any of the schema's properties, and now and then one that it does not name.
fn arguments(schema: &Value) -> BoxedStrategy<Value> {
    let mut members: Vec<(String, BoxedStrategy<Value>)> = schema["properties"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, schema)| (name.clone(), value(schema)))
        .collect();
    for stranger in ["a/b~c", "", "Text"] {
        members.push((stranger.to_owned(), Just(json!(1)).boxed()));
    }
    let most = members.len().min(4);
    subsequence(members, 0..=most)
        .prop_flat_map(|chosen| {
            let (names, values): (Vec<_>, Vec<_>) = chosen.into_iter().unzip();
            values.prop_map(move |values| {
                Value::Object(names.iter().cloned().zip(values).collect::<Map<_, _>>())
            })
        })
        .boxed()
}

fn agree(revision: Revision) {
    let runtime = Runtime::new().unwrap();
    let device = RefCell::new(runtime.block_on(server("native", revision)));
    let reference = RefCell::new(runtime.block_on(server("reference", revision)));
    let tools = runtime.block_on(device.borrow_mut().client.tools()).unwrap();
    assert_eq!(
        tools,
        runtime.block_on(reference.borrow_mut().client.tools()).unwrap()
    );
    assert!(!tools.is_empty());

    let (valid, invalid) = (Cell::new(0), Cell::new(0));
    for tool in &tools {
        let name = tool["name"].as_str().unwrap();
        let judge: Validator = jsonschema::draft202012::new(&tool["inputSchema"]).unwrap();
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(&arguments(&tool["inputSchema"]), |arguments| {
                let by_device = runtime.block_on(device.borrow_mut().refusal(name, &arguments));
                let by_reference = runtime.block_on(reference.borrow_mut().refusal(name, &arguments));
                prop_assert_eq!(
                    by_device.is_none(),
                    judge.is_valid(&arguments),
                    "device: {} {:?}",
                    name,
                    by_device
                );
                prop_assert_eq!(by_device, by_reference, "device and reference: {}", name);
                let count = if judge.is_valid(&arguments) {
                    &valid
                } else {
                    &invalid
                };
                count.set(count.get() + 1);
                Ok(())
            })
            .unwrap();
    }
    let (valid, invalid) = (valid.get(), invalid.get());
    assert!(
        valid > 100 && invalid > 100,
        "{valid} valid and {invalid} invalid arguments are too few to tell"
    );
}

#[test]
fn three_opinions_agree_in_the_legacy_era() {
    agree(Revision::R2025_11_25);
}

#[test]
fn three_opinions_agree_in_the_modern_era() {
    agree(Revision::R2026_07_28);
}
