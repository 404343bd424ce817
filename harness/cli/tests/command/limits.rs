//! Nothing that a server sends fills the memory.

use crate::run::{File, finish, run};
use crate::server::{answer, mcp, request, serve};
use std::io::{BufReader, Write as _};
#[cfg(target_os = "linux")]
use std::process::Stdio;

/// A server that sends a head and then the same bytes for ever.
fn flood(head: &'static [u8], unit: &'static str) -> crate::run::Ran {
    let url = serve(move |stream| {
        let mut reader = BufReader::new(stream);
        request(&mut reader);
        let mut stream = reader.into_inner();
        let _ = stream.write_all(head);
        let bytes = unit.repeat(65536 / unit.len());
        while stream.write_all(bytes.as_bytes()).is_ok() {}
    });
    let file = File::ping();
    run(&["replay", &url, file.path()])
}

#[test]
fn a_head_without_line_ends() {
    flood(b"HTTP/1.1 200 OK\r\nX: ", "y").ended(1, "a head with more than 262144 bytes");
}

#[test]
fn interim_answers_without_end() {
    flood(b"", "HTTP/1.1 102 Processing\r\n\r\n").ended(
        1,
        "more than 8388608 bytes, or more than 16777216 with its framing",
    );
}

#[test]
fn chunk_extensions_without_end() {
    flood(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x")
        .ended(1, "a head with more than 262144 bytes");
}

#[test]
fn chunks_that_are_all_framing() {
    let extension: &'static str = Box::leak(format!("1;{}\r\n \r\n", "x".repeat(200)).into_boxed_str());
    flood(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        extension,
    )
    .ended(1, "more than 16777216 with its framing");
}

/// A check of a server whose answers never end, in an address space that the answers would not fit in if all were kept.
#[cfg(target_os = "linux")]
#[test]
fn a_check_of_a_server_without_end_stays_small() {
    let url = serve(|stream| {
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let stream = reader.get_mut();
            let is_opening = matches!(
                message["method"].as_str(),
                Some("initialize" | "server/discover" | "notifications/initialized")
            );
            if !is_opening {
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"x\":\"");
                while stream.write_all(&[b'x'; 65536]).is_ok() {}
                return;
            }
            let _ = stream.write_all(answer(&message).as_bytes());
        }
    });
    let program = env!("CARGO_BIN_EXE_mcp-hil");
    let line = format!("ulimit -v 400000; exec {program} check {url} --only jsonrpc --jobs 1");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]);
    shell.stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(shell.spawn().unwrap());
    ran.ended(1, "more than 8388608 bytes");
}

#[test]
fn a_report_says_what_was_too_large_to_look_back_at() {
    let url = mcp(|message| {
        let large = "x".repeat(3 << 20);
        serde_json::json!({"jsonrpc": "2.0", "id": message["id"], "result": {"x": large}})
    });
    let ran = run(&["check", &url, "--only", "jsonrpc/null-id"]);
    assert!(!ran.stdout.contains("too large to be kept"), "{}", ran.stdout);
    let ran = run(&["check", &url, "--only", "jsonrpc"]);
    ran.ended(1, "exchanges were too large to be kept");
}

/// A server that answers `initialize` if it `opens`, and nothing else.
fn silent(opens: bool) -> String {
    serve(move |stream| {
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            let is_opening = message["method"]
                .as_str()
                .is_some_and(|method| method.contains("initialize"));
            if opens && is_opening {
                let _ = reader.get_mut().write_all(answer(&message).as_bytes());
            }
        }
    })
}

#[test]
fn a_run_ends_by_its_time_limit_and_reports_what_it_has() {
    let file = File::ping();
    let report = file.beside("check.json");
    let revision = [
        "--revision",
        "2025-11-25",
        "--time-limit",
        "1s",
        "--json",
        &report,
    ];
    let url = silent(true);
    let ran = run(&[&["check", &url, "--only", "2025-11-25/jsonrpc"], &revision[..]].concat());
    ran.ended(
        3,
        "the time of the run was over, 1 s; more is given by --time-limit",
    );
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    assert_eq!(report["failed"], 0);
    let results = report["results"].as_array().unwrap();
    assert!(results.len() > 20, "{}", results.len());
    let judged = |result: &&serde_json::Value| result["verdict"] != "infrastructure";
    // those that have nothing to look back at
    let judged = results.iter().filter(judged).count();
    assert!(judged < 3, "{report:#}");
    run(&["check", &silent(false), "--time-limit", "500ms"])
        .ended(3, "the time of the run was over, 500.0 ms");
    run(&["check", &url, "--time-limit", "soon"]).ended(2, "give a duration, as 500ms, 30s, 5m or 1h");
}
