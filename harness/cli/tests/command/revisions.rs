//! Servers of revisions that the command does not have.

use crate::run::{File, run};
use crate::server::{answer, http, request, serve};
use serde_json::json;
use std::io::{BufReader, Write as _};

/// A server that answers each handshake with the first of these versions that the client did not ask for.
fn speaks(versions: &'static [&'static str]) -> String {
    serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let text = if message["method"] == "initialize" {
                let asked = &message["params"]["protocolVersion"];
                let version = versions.iter().find(|version| *version != asked);
                http(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {
                    "protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "t", "version": "1"}}}))
            } else {
                answer(&message)
            };
            let _ = writer.write_all(text.as_bytes());
        }
    })
}

#[test]
fn another_revision_is_skipped() {
    let file = File::ping();
    run(&["replay", &speaks(&["2024-11-05"]), file.path()]).ended(
        4,
        "skip  2025-11-25/one: the server speaks 2024-11-05; this program has 2025-06-18",
    );
}

#[test]
fn a_server_that_never_agrees_fails() {
    let file = File::ping();
    run(&["replay", &speaks(&["2025-06-18", "2025-11-25"]), file.path()])
        .ended(1, "the server speaks 2025-06-18, 2025-11-25");
}
