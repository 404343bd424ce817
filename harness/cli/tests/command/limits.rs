//! Nothing that a server sends fills the memory.

use crate::run::{File, run};
use crate::server::{request, serve};
use std::io::{BufReader, Write as _};

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
