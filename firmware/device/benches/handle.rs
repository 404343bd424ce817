//! What the library costs of a request: from the bytes of a body to the bytes of its answer, without any network.
//!
//! `cargo bench -p mcp-device`
#[path = "../tests/support/mod.rs"]
mod support;

use divan::{Bencher, black_box};
use embassy_futures::block_on;
use mcp_device::{ENDPOINT, MAX_ANSWER, Millis, Request};
use serde_json::json;
use support::{ERAS, Era, Post, device};

fn main() {
    divan::main();
}

#[divan::bench(args = ERAS)]
fn tools_list(bencher: Bencher<'_, '_>, era: Era) {
    handle(bencher, &era.request("tools/list", json!({})));
}

#[divan::bench(args = ERAS)]
fn tools_call_echo(bencher: Bencher<'_, '_>, era: Era) {
    handle(bencher, &era.tool("echo", json!({"text": "hello"})));
}

#[divan::bench(args = ERAS)]
fn tools_call_echo_4096(bencher: Bencher<'_, '_>, era: Era) {
    handle(bencher, &era.tool("echo", json!({"text": "x".repeat(4096)})));
}

fn handle(bencher: Bencher<'_, '_>, post: &Post) {
    let device = device();
    let headers: Vec<_> = post
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), &value[..]))
        .collect();
    let request = Request {
        method: "POST",
        path: ENDPOINT,
        headers: &headers,
        body: &post.body,
    };
    let mut out = [0; MAX_ANSWER];
    bencher.bench_local(|| {
        let response = block_on(device.handle(Millis(0), black_box(&request), &mut out));
        assert_eq!(response.status, 200);
        black_box(response.body.len())
    });
}
