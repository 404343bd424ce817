//! Nothing that a server sends fills the memory.

use crate::run::{File, finish, run};
use crate::server::{answer, request, serve};
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
