//! The clock and a device's jobs, in real time and on an executor that sleeps until it is woken.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use std::time::Duration;

use async_io::block_on;
use embassy_futures::select::{Either3, select3};
use embassy_time::{Instant, Timer};
use mcp_device::{Board, Device, ENDPOINT, Led, MAX_ANSWER, Millis, ReadError, Request, Stats};
use mcp_device_net::clock;

/// Longest time for a script, with much to spare on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

struct NoBoard;

impl Board for NoBoard {
    fn name(&self) -> &str {
        "mcp-test"
    }
    fn kind(&self) -> &str {
        "native"
    }
    fn chip(&self) -> &str {
        "none"
    }
    fn mac(&self) -> [u8; 6] {
        [2, 0, 0, 0, 0, 1]
    }
    fn build_id(&self) -> &str {
        ""
    }
    async fn read_sensor(&self, _: &str) -> Result<f32, ReadError> {
        Err(ReadError::NotFitted)
    }
    fn sensor_fitted(&self, _: &str) -> bool {
        false
    }
    fn set_led(&self, _: Led) {}
    fn stats(&self) -> Stats {
        Stats::default()
    }
    fn entropy(&self) -> u32 {
        7
    }
}

fn now() -> u64 {
    Instant::now().as_millis()
}

/// The text of the answer to a call of a tool.
async fn call(device: &Device<NoBoard>, tool: &str, arguments: &str) -> String {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    );
    let request = Request {
        method: "POST",
        path: ENDPOINT,
        headers: &[("content-type", b"application/json")],
        body: body.as_bytes(),
    };
    let mut out = [0; MAX_ANSWER];
    let answer = device.handle(Millis(now()), &request, &mut out).await;
    String::from_utf8(answer.body.into()).unwrap()
}

/// Plays a script on a device that has a clock.
fn play(script: impl AsyncFnOnce(&Device<NoBoard>)) {
    let device = Device::new(NoBoard, Millis(now()));
    let late = async_io::Timer::after(PATIENCE);
    match block_on(select3(clock::run(&device), script(&device), late)) {
        Either3::First(never) => match never {},
        Either3::Second(()) => {}
        Either3::Third(_) => panic!("the script has not ended after {PATIENCE:?}"),
    }
}

#[test]
fn a_job_that_a_request_starts_wakes_a_sleeping_clock() {
    play(async |device| {
        Timer::after(embassy_time::Duration::from_millis(50)).await; // nothing is due: the clock sleeps
        let started = now();
        let order = r#"{"program":"count","args":{"steps":5,"step_ms":20}}"#;
        assert!(call(device, "job_start", order).await.contains("running"));
        while !call(device, "job_get", r#"{"job_id":"00000007"}"#)
            .await
            .contains("steps done: 5")
        {
            Timer::after(embassy_time::Duration::from_millis(5)).await;
        }
        assert!(now() - started >= 100);
    });
}

#[test]
fn busy_jobs_let_requests_through() {
    play(async |device| {
        for _ in 0..4 {
            assert!(
                call(device, "job_start", r#"{"program":"spin"}"#)
                    .await
                    .contains("running")
            );
        }
        let mut slowest = 0;
        for _ in 0..100 {
            let asked = now();
            embassy_futures::yield_now().await;
            assert!(call(device, "led_get", "{}").await.contains("brightness"));
            slowest = slowest.max(now() - asked);
        }
        assert!(
            slowest < 1000,
            "a request took {slowest} ms beside four busy jobs"
        );
        Timer::after(embassy_time::Duration::from_millis(50)).await;
        assert!(
            !call(device, "job_get", r#"{"job_id":"00000007"}"#)
                .await
                .contains(r#""log_lines":0"#)
        );
        assert!(
            call(device, "job_stop_all", "{}")
                .await
                .contains(r#"{"stopped":4,"stopping":0}"#)
        );
    });
}

#[test]
fn a_stop_that_waits_is_woken_at_the_end_of_the_job_and_of_its_wait() {
    play(async |device| {
        let order = r#"{"program":"sweep","args":{"step_ms":300}}"#;
        call(device, "job_start", order).await;
        while !call(device, "job_get", r#"{"job_id":"00000007"}"#)
            .await
            .contains("10 %")
        {
            Timer::after(embassy_time::Duration::from_millis(5)).await;
        }
        let asked = now();
        let stop = r#"{"job_id":"00000007","wait_ms":20}"#;
        assert!(
            call(device, "job_stop", stop)
                .await
                .contains(r#""outcome":"stopping""#)
        );
        let waited = now() - asked;
        assert!((20..250).contains(&waited), "it waited {waited} ms");
        let stop = r#"{"job_id":"00000007","wait_ms":5000}"#;
        assert!(
            call(device, "job_stop", stop)
                .await
                .contains(r#""outcome":"stopped""#)
        );
        assert!(now() - asked < 5000);
    });
}
