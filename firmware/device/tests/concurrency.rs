//! Several connections in `handle` at once, on one thread.
mod support;

use std::pin::pin;

use embassy_futures::{block_on, join::join, poll_once, yield_now};
use serde_json::json;
use support::{ERAS, Legacy, device};

#[test]
fn a_tool_that_waits_holds_up_nobody() {
    for era in ERAS {
        let device = device();
        device.board().busy.set(true);
        let slow = era.tool("sensor_read", json!({"channel": "temperature"}));
        let mut slow = pin!(slow.to_async(&device, 1000));
        assert!(poll_once(slow.as_mut()).is_pending());

        for (tool, arguments) in [
            ("device_info", json!({})),
            ("device_stats", json!({})),
            ("echo", json!({"text": "x"})),
            ("sensor_list", json!({})),
            ("led_set", json!({"on": true})),
            ("led_get", json!({})),
            ("uptime", json!({})),
            ("log_tail", json!({})),
        ] {
            let answer = era.tool(tool, arguments).to(&device).json();
            assert_eq!(answer["result"].get("isError"), None, "{answer}");
            assert_ne!(answer["result"]["content"], json!(null), "{answer}");
        }
        device.log(mcp_device::Millis(1000), "while a request waits");
        assert_eq!(device.poll(mcp_device::Millis(1000)), None);

        assert!(poll_once(slow.as_mut()).is_pending());
        device.board().busy.set(false);
        let value = r#"{"channel":"temperature","value":21.46,"unit":"celsius"}"#;
        block_on(slow).is(200, era.structured(value));
    }
}

#[test]
fn two_answers_keep_their_ids() {
    let device = device();
    device.board().busy.set(true);
    let read = |id: &str| {
        let params = json!({"name": "sensor_read", "arguments": {"channel": "temperature"}});
        Legacy.post(json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
    };
    let (a, b) = (read("a"), read("b"));
    let release = async {
        yield_now().await;
        device.board().busy.set(false);
    };
    let ((a, b), ()) = block_on(join(
        join(a.to_async(&device, 1), b.to_async(&device, 1)),
        release,
    ));
    assert_eq!(
        (a.json()["id"].clone(), b.json()["id"].clone()),
        (json!("a"), json!("b"))
    );
}

#[test]
fn a_request_that_is_dropped_leaves_the_device_whole() {
    let device = device();
    device.board().busy.set(true);
    {
        let post = Legacy.tool("sensor_read", json!({"channel": "temperature"}));
        let mut dropped = pin!(post.to_async(&device, 1));
        assert!(poll_once(dropped.as_mut()).is_pending());
    }
    device.board().busy.set(false);
    assert_eq!(device.board().reads.borrow().len(), 1);
    let stats = Legacy.tool("device_stats", json!({})).to(&device).json();
    assert_eq!(
        stats["result"]["structuredContent"]["requests"],
        json!(0),
        "it was never answered"
    );
}
