//! The tools, listed and called.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod support;

use mcp_device::{Device, Led, PAGE_SIZE};
use serde_json::{Value, json};
use support::{ERAS, Era, Legacy, Modern, Post, TestBoard, contract, device};

/// All pages of `tools/list`, each a result.
fn pages(era: Era, device: &Device<TestBoard>) -> Vec<Value> {
    let mut pages = vec![era.request("tools/list", json!({})).to(device).json()["result"].clone()];
    while let Some(cursor) = pages.last().unwrap().get("nextCursor").cloned() {
        assert!(pages.len() < 100, "the pages do not end");
        pages.push(
            era.request("tools/list", json!({"cursor": cursor}))
                .to(device)
                .json()["result"]
                .clone(),
        );
    }
    pages
}

#[test]
fn pages_give_the_contract_in_order() {
    for era in ERAS {
        let pages = pages(era, &device());
        let sizes: Vec<_> = pages
            .iter()
            .map(|page| page["tools"].as_array().unwrap().len())
            .collect();
        assert_eq!((PAGE_SIZE, sizes), (4, vec![4, 4, 4, 2]));
        let tools: Vec<_> = pages
            .iter()
            .flat_map(|page| page["tools"].as_array().unwrap().clone())
            .collect();
        assert_eq!(Value::Array(tools), contract()["tools"]);
        for page in &pages {
            let mut page = page.clone();
            page["tools"].take();
            page.as_object_mut().unwrap().remove("nextCursor");
            let hints = json!({"tools": null, "ttlMs": 60000, "cacheScope": "public"});
            let expected = if era == Modern {
                hints
            } else {
                json!({"tools": null})
            };
            assert_eq!(json!({"jsonrpc": "2.0", "id": 1, "result": page}), {
                let mut answer = era.result(expected);
                answer["id"] = json!(1);
                answer
            });
        }
    }
}

#[test]
fn a_page_is_the_contract_byte_by_byte() {
    let compact: Vec<String> = contract()["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let answer = Legacy.request("tools/list", json!({})).to(&device());
    // The device keeps the order of members, which this test's reader may not: so the lengths are compared.
    let page =
        answer.body.len() - r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"tools/4"}}"#.len();
    assert_eq!(page, compact[..4].iter().map(String::len).sum::<usize>() + 3);
}

#[test]
fn a_cursor_gives_the_same_page_again_and_on_another_device() {
    for era in ERAS {
        let device = device();
        let cursor = pages(era, &device)[0]["nextCursor"].clone();
        let page = |device| era.request("tools/list", json!({"cursor": cursor})).to(device);
        assert_eq!(page(&device), page(&device));
        assert_eq!(page(&device), page(&support::device()));
    }
}

#[test]
fn a_cursor_that_was_never_given_is_refused() {
    for era in ERAS {
        for cursor in [
            json!("bogus"),
            json!(""),
            json!(null),
            json!(4),
            json!(0),
            json!(true),
            json!({}),
            json!(["tools/4"]),
            json!("tools/0"),
            json!("tools/3"),
            json!("tools/04"),
            json!("tools/+4"),
            json!("tools/13"),
            json!("tools/16"),
            json!("tools/4 "),
            json!("TOOLS/4"),
            json!("tools/18446744073709551620"),
            json!("x".repeat(10_000)),
        ] {
            era.request("tools/list", json!({"cursor": cursor}))
                .to(&device())
                .is_error(200, -32602, json!(1));
        }
    }
    // The same string written with an escape is the same cursor.
    let escaped = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"tools\u002f4"}}"#;
    assert_eq!(
        Post::bare(escaped).to(&device()).json()["result"]["tools"][0]["name"],
        json!("sensor_read")
    );
}

#[test]
fn a_call_that_names_no_tool_is_malformed() {
    for era in ERAS {
        for params in [
            json!({}),
            json!({"name": null}),
            json!({"name": 5}),
            json!({"name": ["echo"]}),
            json!({"name": "no_such_tool"}),
            json!({"name": ""}),
            json!({"name": "Echo"}),
            json!({"name": "led_get", "arguments": null}),
            json!({"name": "led_get", "arguments": []}),
            json!({"name": "led_get", "arguments": "{}"}),
            json!({"name": "led_get", "arguments": 1}),
        ] {
            era.request("tools/call", params)
                .to(&device())
                .is_error(200, -32602, json!(1));
        }
        era.request("tools/call", json!({"name": "led_get"}))
            .to(&device())
            .is(200, era.structured(r#"{"on":false,"brightness":100}"#));
    }
}

#[test]
fn device_info_tells_who_answers() {
    for era in ERAS {
        era.tool("device_info", json!({})).to(&device()).is(
            200,
            era.structured(concat!(
                r#"{"name":"mcp-test","board":"native","chip":"none","mac":"02:00:00:ab:cd:0f","firmware":""#,
                env!("CARGO_PKG_VERSION"),
                r#"","build_id":"00ff"}"#,
            )),
        );
    }
}

#[test]
fn device_stats_counts_what_was_answered_before() {
    let device = device();
    let stats = |requests, errors| {
        Legacy.structured(format!(
            r#"{{"uptime_ms":1000,"requests":{requests},"errors":{errors},"heap_used":100,"heap_peak":200}}"#
        ))
    };
    Legacy
        .tool("device_stats", json!({}))
        .to(&device)
        .is(200, stats(0, 0));
    Legacy.tool("no_such_tool", json!({})).to(&device);
    Legacy
        .tool("sensor_read", json!({"channel": "humidity"}))
        .to(&device);
    Modern.request("no/such", json!({})).to(&device);
    Legacy
        .post(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        .to(&device);
    Post::bare("{").to(&device); // no request
    Legacy
        .tool("device_stats", json!({}))
        .to(&device)
        .is(200, stats(4, 2));
}

#[test]
fn echo_gives_any_text_back() {
    let sum: String = (0..0x250u32).filter_map(char::from_u32).collect();
    for era in ERAS {
        for text in [
            "",
            "hé\"\\/\n\r\t\u{0}\u{1f}\u{7f}\u{80}",
            "🦀 \u{10ffff}\u{2028}\u{feff}",
            "العربية 中文 e\u{301}",
            &sum,
        ] {
            let answer = era.result(json!({"content": [{"type": "text", "text": text}]}));
            era.tool("echo", json!({"text": text}))
                .to(&device())
                .is(200, answer);
        }
        for repeat in ["3", "3.0", "0.3e1", "300e-2"] {
            let repeat: Box<serde_json::value::RawValue> = serde_json::from_str(repeat).unwrap();
            let arguments = format!(r#"{{"repeat":{repeat},"text":"a\u00e9"}}"#);
            let body = era.tool("echo", json!("ARGUMENTS"));
            let body = Post {
                body: String::from_utf8(body.body)
                    .unwrap()
                    .replace("\"ARGUMENTS\"", &arguments)
                    .into(),
                ..body
            };
            body.to(&device()).is(
                200,
                era.result(json!({"content": [{"type": "text", "text": "aéaéaé"}]})),
            );
        }
    }
}

#[test]
fn sensors_are_listed_and_read() {
    for era in ERAS {
        era.tool("sensor_list", json!({})).to(&device()).is(
            200,
            era.structured(concat!(
                r#"{"channels":[{"channel":"temperature","unit":"celsius","fitted":true},"#,
                r#"{"channel":"supply_voltage","unit":"volt","fitted":true},"#,
                r#"{"channel":"humidity","unit":"percent","fitted":false}]}"#,
            )),
        );
        let read = |channel| era.tool("sensor_read", json!({"channel": channel})).to(&device());
        read("temperature").is(
            200,
            era.structured(r#"{"channel":"temperature","value":21.46,"unit":"celsius"}"#),
        );
        let text = "sensor humidity is not fitted on this board; sensor_list tells which are";
        read("humidity").is(200, era.failure(text));
        read("supply_voltage").is(
            200,
            era.failure("sensor supply_voltage did not answer; try again"),
        );
    }
}

#[test]
fn the_led_keeps_what_it_was_told() {
    for era in ERAS {
        let device = device();
        let set = |arguments, on, brightness| {
            let state = era.structured(format!(r#"{{"on":{on},"brightness":{brightness}}}"#));
            era.tool("led_set", arguments).to(&device).is(200, state.clone());
            era.tool("led_get", json!({})).to(&device).is(200, state);
            assert_eq!(device.board().led.get(), Some(Led { on, brightness }));
        };
        assert_eq!(
            device.board().led.get(),
            Some(Led {
                on: false,
                brightness: 100
            })
        );
        set(json!({"on": true}), true, 100);
        set(json!({"on": true, "brightness": 0}), true, 0);
        set(json!({"brightness": 7.0, "on": false}), false, 7);
        set(json!({"on": true}), true, 7);
    }
}

#[test]
fn uptime_is_the_time_of_the_request() {
    for now in [0, 1, u64::from(u32::MAX) + 1] {
        let answer = Legacy.tool("uptime", json!({})).to_at(&device(), now);
        answer.is(200, Legacy.structured(format!(r#"{{"uptime_ms":{now}}}"#)));
    }
}

#[test]
fn log_tail_gives_the_newest_lines() {
    let device = device();
    device.log(mcp_device::Millis(1234), "one\n\"two\"\u{7}");
    device.log(mcp_device::Millis(61_000), format_args!("three {}", 3));
    let lines = |arguments| {
        Legacy.tool("log_tail", arguments).to(&device).json()["result"]["structuredContent"]["lines"].clone()
    };
    let all = json!([
        "0.000 started native 00ff",
        "1.234 one \"two\" ",
        "61.000 three 3"
    ]);
    assert_eq!(lines(json!({})), all);
    assert_eq!(lines(json!({"lines": 32})), all);
    assert_eq!(lines(json!({"lines": 1})), json!(["61.000 three 3"]));
    for n in 0..20 {
        device.log(mcp_device::Millis(n), n);
    }
    assert_eq!(
        lines(json!({})).as_array().unwrap().len(),
        10,
        "the contract's default"
    );
    assert_eq!(
        contract()["tools"][8]["inputSchema"]["properties"]["lines"]["default"],
        json!(10)
    );
    assert_eq!(
        contract()["tools"][2]["inputSchema"]["properties"]["repeat"]["default"],
        json!(1)
    );
}

#[test]
fn what_the_board_did_is_in_its_log() {
    let device = device();
    Legacy
        .tool("led_set", json!({"on": true, "brightness": 5}))
        .to_at(&device, 2000);
    Legacy.request("no/such", json!({})).to_at(&device, 2500);
    let log = Legacy.tool("log_tail", json!({"lines": 2})).to(&device).json();
    assert_eq!(
        log["result"]["structuredContent"]["lines"],
        json!([
            "2.000 led on, 5 %",
            r#"2.500 error -32601: unknown method "no/such""#
        ])
    );
}

#[test]
fn bad_arguments_are_told_by_place_and_reason() {
    for (tool, arguments, text) in [
        ("led_get", json!({"x": 1}), r#": unexpected property "x""#),
        (
            "led_get",
            json!({"a\"b\n": 1}),
            r#": unexpected property "a\"b\n""#,
        ),
        ("led_set", json!({}), r#": required property "on" is missing"#),
        (
            "led_set",
            json!({"brightness": "x"}),
            r#": required property "on" is missing"#,
        ),
        ("led_set", json!({"on": null}), "/on: expected boolean, got null"),
        ("led_set", json!({"on": 1}), "/on: expected boolean, got integer"),
        (
            "led_set",
            json!({"on": "true"}),
            "/on: expected boolean, got string",
        ),
        (
            "led_set",
            json!({"on": true, "brightness": 101}),
            "/brightness: greater than 100",
        ),
        (
            "led_set",
            json!({"on": true, "brightness": -1}),
            "/brightness: less than 0",
        ),
        (
            "led_set",
            json!({"on": true, "brightness": 0.5}),
            "/brightness: expected integer, got number",
        ),
        (
            "led_set",
            json!({"on": true, "brightness": 1e300}),
            "/brightness: greater than 100",
        ),
        (
            "led_set",
            json!({"on": true, "brightness": [1]}),
            "/brightness: expected integer, got array",
        ),
        (
            "led_set",
            json!({"on": true, "Brightness": 1}),
            r#": unexpected property "Brightness""#,
        ),
        (
            "echo",
            json!({"text": "a".repeat(4097)}),
            "/text: longer than 4096 characters",
        ),
        (
            "echo",
            json!({"text": "🦀".repeat(4097)[..].chars().take(4000).collect::<String>() + &"a".repeat(97)}),
            "/text: longer than 4096 characters",
        ),
        ("echo", json!({"text": {}}), "/text: expected string, got object"),
        ("echo", json!({"text": "x", "repeat": 0}), "/repeat: less than 1"),
        (
            "echo",
            json!({"text": "x", "repeat": 65}),
            "/repeat: greater than 64",
        ),
        (
            "sensor_read",
            json!({"channel": "pressure"}),
            r#"/channel: expected one of "temperature", "supply_voltage", "humidity""#,
        ),
        (
            "sensor_read",
            json!({"channel": false}),
            "/channel: expected string, got boolean",
        ),
        ("log_tail", json!({"lines": 33}), "/lines: greater than 32"),
    ] {
        for era in ERAS {
            if arguments.to_string().len() > 16_000 {
                continue; // more than a body holds
            }
            let answer = era.tool(tool, arguments.clone()).to(&device());
            answer.is(200, era.failure(&format!("invalid arguments: {text}")));
        }
    }
}

#[test]
fn faults_among_members_come_in_the_order_sent() {
    for (arguments, text) in [
        (r#"{"x":1,"on":1}"#, r#": unexpected property "x""#),
        (r#"{"on":1,"x":1}"#, "/on: expected boolean, got integer"),
        (r#"{"brightness":101,"on":1}"#, "/brightness: greater than 100"),
        (
            r#"{"on":true,"brightness":1e400}"#,
            "/brightness: greater than 100",
        ),
        (r#"{"on":true,"brightness":-1e400}"#, "/brightness: less than 0"),
        (
            r#"{"on":true,"brightness":1e-400}"#,
            "/brightness: expected integer, got number",
        ),
    ] {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"led_set","arguments":{arguments}}}}}"#
        );
        Post::bare(body)
            .to(&device())
            .is(200, Legacy.failure(&format!("invalid arguments: {text}")));
    }
}

#[test]
fn every_output_is_valid_by_its_schema() {
    for tool in contract()["tools"].as_array().unwrap() {
        let Some(schema) = tool.get("outputSchema") else {
            continue;
        };
        let arguments = match tool["name"].as_str().unwrap() {
            "sensor_read" => json!({"channel": "temperature"}),
            "led_set" => json!({"on": true}),
            "job_start" => json!({"program": "count"}),
            "job_get" | "job_stop" => json!({"name": "a job"}),
            _ => json!({}),
        };
        let device = device();
        Legacy
            .tool("job_start", json!({"program": "count", "name": "a job"}))
            .to(&device);
        let answer = Legacy
            .tool(tool["name"].as_str().unwrap(), arguments)
            .to(&device)
            .json();
        let output = &answer["result"]["structuredContent"];
        assert!(
            output.is_object() && jsonschema::is_valid(schema, output),
            "{answer}"
        );
    }
}
