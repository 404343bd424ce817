//! Jobs over a stream, in the time of the test: what a call that waits holds up, and what it doesn't.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::Options;
use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, modern_request};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, advance, sleep};

/// A client that only calls tools.
struct Caller(Client);

fn start() -> Caller {
    Caller(Client::start(Options::default(), 4096, Duration::from_secs(60)))
}

impl Caller {
    async fn call(&mut self, id: i64, tool: &str, arguments: Value) {
        let call = modern_request(id, "tools/call", json!({ "name": tool, "arguments": arguments }));
        self.0.send(call.to_string()).await;
    }

    /// The next answer: its id, and what the tool gave back.
    async fn answer(&mut self) -> (i64, Value) {
        let mut answer = self.0.answer().await;
        let result = answer["result"]["structuredContent"].take();
        (answer["id"].as_i64().unwrap(), result)
    }

    async fn ask(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(0, tool, arguments).await;
        let (id, result) = self.answer().await;
        assert_eq!(id, 0);
        result
    }

    async fn start(&mut self, program: &str, args: Value) -> Value {
        let started = self
            .ask("job_start", json!({ "program": program, "args": args }))
            .await;
        started["job_id"].clone()
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_go_on_while_nobody_asks() {
    let mut client = start();
    let id = client
        .start("count", json!({ "steps": 3, "step_ms": 1000 }))
        .await;
    sleep(Duration::from_millis(2500)).await;
    let job = client.ask("job_get", json!({ "job_id": id })).await;
    assert_eq!(
        (&job["runtime_ms"], &job["recent_log"]),
        (&json!(2500), &json!("1\n2\n"))
    );
    // Each step in its time, though nobody looked: the end is that of the third second.
    sleep(Duration::from_secs(60)).await;
    let job = client.ask("job_get", json!({ "job_id": id })).await;
    assert_eq!(
        (&job["status"], &job["runtime_ms"]),
        (&json!("done"), &json!(3000))
    );
}

#[tokio::test(start_paused = true)]
async fn a_stop_answers_as_soon_as_the_job_has_wound_down() {
    let mut client = start();
    let id = client.start("sweep", json!({ "step_ms": 100 })).await;
    sleep(Duration::from_millis(350)).await;
    let told = Instant::now();
    let stopped = client.ask("job_stop", json!({ "job_id": id })).await;
    assert_eq!(
        stopped,
        json!({ "job_id": id, "status": "stopped", "outcome": "stopped" })
    );
    // At 30 % when it was told, it has three steps to go: 50 ms and twice 100 ms.
    assert_eq!(told.elapsed().as_millis(), 250);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_no_longer_than_it_is_told() {
    let mut client = start();
    let id = client.start("sweep", json!({ "step_ms": 1000 })).await;
    sleep(Duration::from_millis(1500)).await;
    for (wait_ms, waited) in [(json!(0), 0), (json!(120), 120)] {
        let told = Instant::now();
        let stopped = client
            .ask("job_stop", json!({ "job_id": id, "wait_ms": wait_ms }))
            .await;
        assert_eq!(
            stopped,
            json!({ "job_id": id, "status": "running", "outcome": "stopping" })
        );
        assert_eq!(told.elapsed().as_millis(), waited);
    }
    let told = Instant::now();
    let all = client.ask("job_stop_all", json!({})).await;
    assert_eq!(all, json!({ "stopped": 1, "stopping": 0 }));
    assert_eq!(told.elapsed().as_millis(), 380);
    let job = client.ask("job_stop", json!({ "job_id": id })).await;
    assert_eq!(job["outcome"], "already_ended");
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_waits_holds_up_nobody_and_a_second_does_not_wait() {
    let mut client = start();
    let id = client.start("sweep", json!({ "step_ms": 1000 })).await;
    sleep(Duration::from_millis(1500)).await;
    let told = Instant::now();
    client.call(1, "job_stop", json!({ "job_id": id })).await;
    client.call(2, "led_get", json!({})).await;
    client.call(3, "job_stop", json!({ "job_id": id })).await;
    client.call(4, "job_stop_all", json!({})).await;
    assert_eq!(
        client.answer().await,
        (2, json!({ "on": true, "brightness": 10 }))
    );
    assert_eq!(
        client.answer().await,
        (
            3,
            json!({ "job_id": id, "status": "running", "outcome": "stopping" })
        )
    );
    assert_eq!(client.answer().await, (4, json!({ "stopped": 0, "stopping": 1 })));
    assert_eq!(told.elapsed().as_millis(), 0);
    assert_eq!(
        client.answer().await,
        (
            1,
            json!({ "job_id": id, "status": "stopped", "outcome": "stopped" })
        )
    );
    assert_eq!(told.elapsed().as_millis(), 500);
    // The turn to wait is free again.
    let id = client.start("sweep", json!({ "step_ms": 1000 })).await;
    sleep(Duration::from_millis(1500)).await;
    let stopped = client.ask("job_stop", json!({ "job_id": id })).await;
    assert_eq!(stopped["outcome"], "stopped");
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_input_a_stop_that_waits_is_still_answered() {
    let mut client = start();
    let id = client.start("sweep", json!({ "step_ms": 1000 })).await;
    sleep(Duration::from_millis(1500)).await;
    client.call(1, "job_stop", json!({ "job_id": id })).await;
    client.0.input.shutdown().await.unwrap();
    let (_, stopped) = client.answer().await;
    assert_eq!(stopped["outcome"], "stopped");
    client.0.end().await;
}

#[tokio::test(start_paused = true)]
async fn spin_works_every_millisecond_and_others_are_answered() {
    let mut client = start();
    for _ in 0..4 {
        client.start("spin", json!({})).await;
    }
    sleep(Duration::from_millis(100)).await;
    let jobs = client.ask("job_list", json!({ "status": "running" })).await;
    let jobs = jobs["jobs"].as_array().unwrap().clone();
    assert_eq!(jobs.len(), 4);
    for job in jobs {
        let job = client.ask("job_get", json!({ "job_id": job["job_id"] })).await;
        assert_eq!(
            (&job["runtime_ms"], &job["log_lines"]),
            (&json!(100), &json!(100)),
            "{job}"
        );
    }
    // Held up itself, it makes up for nothing.
    advance(Duration::from_millis(50)).await;
    let job = client.ask("job_list", json!({})).await["jobs"][0].clone();
    let job = client.ask("job_get", json!({ "job_id": job["job_id"] })).await;
    assert_eq!(
        (&job["runtime_ms"], &job["log_lines"]),
        (&json!(150), &json!(101)),
        "{job}"
    );
}
