//! A device with a clock, for tests of jobs: time passes as on a board, which comes back whenever the device said.
#![allow(
    dead_code,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test file uses a part; a panic is a failed test"
)]

use mcp_device::{Device, Led, Millis};
use serde_json::{Value, json};

use crate::support::{Answer, Era, TestBoard, device};

pub struct Bench {
    pub device: Device<TestBoard>,
    pub era: Era,
    pub now: u64,
}

impl Bench {
    /// The clock begins at 1000.
    pub fn new(era: Era) -> Self {
        Self {
            device: device(),
            era,
            now: 1000,
        }
    }

    /// Lets so many milliseconds pass.
    pub fn pass(&mut self, ms: u64) {
        let end = self.now + ms;
        while let Some(due) = self.device.poll(Millis(self.now)) {
            assert!(due.0 > self.now, "a poll that is due at once would starve others");
            if due.0 > end {
                break;
            }
            self.now = due.0;
        }
        self.now = end;
    }

    pub fn led(&self) -> (bool, u8) {
        let Led { on, brightness } = self.device.board().led.get().unwrap();
        (on, brightness)
    }

    pub fn call(&self, tool: &str, arguments: Value) -> Answer {
        self.era.tool(tool, arguments).to_at(&self.device, self.now)
    }

    /// The tool's output; the text beside it says the same.
    #[track_caller]
    pub fn ask(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments);
        let output = answer.json()["result"]["structuredContent"].clone();
        assert!(output.is_object(), "{answer:?}");
        let text = answer.json()["result"]["content"][0]["text"].clone();
        assert_eq!(
            serde_json::from_str::<Value>(text.as_str().unwrap()).unwrap(),
            output
        );
        output
    }

    /// Starts a job that must be taken; its id and how it begins.
    #[track_caller]
    pub fn start(&self, arguments: Value) -> (String, String) {
        let started = self.ask("job_start", arguments);
        let text = |name: &str| started[name].as_str().unwrap().to_owned();
        (text("job_id"), text("status"))
    }

    #[track_caller]
    pub fn refuses(&self, tool: &str, arguments: Value, text: &str) {
        self.call(tool, arguments).is(200, self.era.failure(text));
    }

    #[track_caller]
    pub fn get(&self, id: &str) -> Value {
        self.ask("job_get", json!({"job_id": id}))
    }

    /// The jobs, each as program and state.
    #[track_caller]
    pub fn jobs(&self, arguments: Value) -> Vec<String> {
        let list = self.ask("job_list", arguments);
        let jobs = list["jobs"].as_array().unwrap();
        jobs.iter()
            .map(|job| {
                format!(
                    "{} {}",
                    job["program"].as_str().unwrap(),
                    job["status"].as_str().unwrap()
                )
            })
            .collect()
    }
}
