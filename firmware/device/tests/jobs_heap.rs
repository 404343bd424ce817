//! What jobs take of a board's memory. A test binary of its own, with one test, since the allocator counts for the whole
//! process.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
#[path = "support/bench.rs"]
mod bench;
mod support;

use bench::Bench;
use mcp_device::{MAX_JOBS, MAX_LOG};
use peak_alloc::PeakAlloc;
use serde_json::json;
use support::Legacy;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Most that the table takes when the device is made, besides the logs, bytes a job on a 64-bit machine.
const TABLE: usize = 320;
/// Most that the texts of a job take: name, group, reason, each of characters of four bytes.
const TEXTS: usize = (24 + 24 + 64) * 4;

#[test]
fn jobs_take_their_memory_at_the_start_and_give_their_texts_back() {
    let mut before = HEAP.current_usage();
    let mut bench = Bench::new(Legacy);
    let made = HEAP.current_usage() - before;
    println!("a device takes {made} bytes");
    // A log for each job and the board's own.
    assert!(made >= (MAX_JOBS + 1) * MAX_LOG);
    assert!(made <= (MAX_JOBS + 1) * MAX_LOG + MAX_JOBS * TABLE, "{made}");

    before = HEAP.current_usage();
    let mut run = |rounds: u32| {
        for round in 0..rounds {
            bench.device.board().chance.set(round);
            let text = "🦀";
            bench.start(json!({
                "program": "fail",
                "args": {"step_ms": 10, "reason": text.repeat(64)},
                "name": text.repeat(24),
                "exclusive": text.repeat(24),
            }));
            bench.pass(10);
            bench.start(json!({"program": "spin", "timeout_ms": 1000}));
            bench.pass(1000);
        }
        HEAP.current_usage().saturating_sub(before)
    };
    let (few, many) = (run(8), run(80));
    println!("ended jobs keep {few} bytes, and after ten times as many {many}");
    assert!(few <= MAX_JOBS * TEXTS, "{few}");
    // The test runner's own thread takes memory now and then, far less than a job's texts would be.
    assert!(many < few + TEXTS, "{many}");
}
