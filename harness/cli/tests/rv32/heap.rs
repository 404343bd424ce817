//! Memory that requests take is given back: what 1,000 requests need at most, 100 have needed already.

use crate::lab::{HEAP_PEAK, Ready, Tested};
use serde_json::{Value, json};
use std::time::Duration;

/// Requests of the mix that is repeated.
const MIX: usize = 20;
/// The first request of the mix after its jobs.
const AFTER_JOBS: usize = 8;
/// For the jobs, of which four run at once for 10 ms, to end.
const JOBS: Duration = Duration::from_millis(100);

/// One request after the other of the mix: eight jobs, lists, tools, long texts and nesting, refusals of all kinds. Jobs
/// that have ended are kept, with their texts: after two rounds all 16 places are taken. Texts have the same length in
/// each round.
fn mixed(number: usize) -> Value {
    let legacy =
        |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let call =
        |tool: &str, arguments: Value| legacy("tools/call", json!({"name": tool, "arguments": arguments}));
    let crab = "🦀";
    let name = format!("{}{number:04}", crab.repeat(20));
    match number % MIX {
        0..AFTER_JOBS if number.is_multiple_of(2) => call(
            "job_start",
            json!({"program": "fail", "name": name, "exclusive": name, "timeout_ms": 1000,
                   "args": {"step_ms": 10, "reason": crab.repeat(64)}}),
        ),
        0..AFTER_JOBS => call(
            "job_start",
            json!({"program": "count", "name": name, "timeout_ms": 1000, "args": {"steps": 1, "step_ms": 10}}),
        ),
        AFTER_JOBS => call("job_list", json!({})),
        9 => call("job_stop", json!({"name": name})),
        10 => call("job_stop_all", json!({})),
        11 => legacy("tools/list", json!({})),
        12 => call("echo", json!({"text": crab.repeat(1000)})),
        13 => call("echo", json!({"text": "\u{1}".repeat(2000)})),
        14 => call("sensor_read", json!({"channel": "temperature"})),
        15 => call("led_set", json!({"on": true, "brightness": 50})),
        16 => call("log_tail", json!({})),
        17 => call(
            "echo",
            json!({"text": 1, "more": [[[[[[]]]]], {"a": [0.5, null]}]}),
        ),
        18 => json!([]),
        _ => legacy("tools/list", json!({"cursor": "x".repeat(1000)})),
    }
}

/// Sends requests with these numbers on one connection, and then asks for the heap's peak.
fn peak_after(tested: &Tested, numbers: std::ops::Range<usize>) -> Result<u64, String> {
    let mut client = tested.connect()?;
    for number in numbers {
        if number % MIX == AFTER_JOBS {
            std::thread::sleep(JOBS);
        }
        let body = mixed(number).to_string();
        let (status, answer) = client
            .post(body.as_bytes())
            .map_err(|reason| tested.with_console(&format!("request {number}: {reason}")))?;
        if !matches!(status, 200 | 202 | 400 | 404) {
            return Err(tested.with_console(&format!("request {number} is answered {status}: {answer}")));
        }
    }
    tested.heap_peak()
}

pub fn peak(ready: &Ready) -> Result<(), String> {
    let tested = ready.start(HEAP_PEAK)?;
    let few = peak_after(&tested, 0..100)?;
    let many = peak_after(&tested, 100..1000)?;
    match few == many && !tested.has_restarted() {
        true => Ok(()),
        false => Err(tested.with_console(&format!(
            "the heap's peak is {few} bytes after 100 requests, and {many} after 1000"
        ))),
    }
}
