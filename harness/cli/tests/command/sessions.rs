//! A client ends its sessions (2025-11-25, Streamable HTTP, "Session Management", 5).

use crate::run::{File, ping, run};
use crate::server::{answer, request, serve};
use serde_json::json;
use std::io::{BufReader, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn a_server_with_one_session_at_a_time_passes() {
    let (open, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_end, highest) = (Arc::clone(&open), Arc::clone(&most));
    let url = serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((method, message)) = request(&mut reader) {
            let mut text = answer(&message);
            if method == "delete" {
                open.fetch_sub(1, Ordering::SeqCst);
                text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned();
            } else if message["method"] == "initialize" {
                let now = open.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                text = text.replacen("\r\n", "\r\nMcp-Session-Id: s1\r\n", 1);
                if now > 1 {
                    text = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n".to_owned();
                }
            } else if message["method"] == "tools/list" {
                text = crate::server::http(
                    &json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [
                    {"name": "echo", "inputSchema": {"type": "object"}}]}}),
                );
            }
            let _ = writer.write_all(text.as_bytes());
        }
    });
    let mut transcript = ping();
    transcript["needs"] = json!({"tools": ["echo"]});
    let file = File::new(&transcript);
    run(&["replay", &url, file.path()]).ended(0, "1 passed");
    assert_eq!(highest.load(Ordering::SeqCst), 1);
    assert_eq!(at_end.load(Ordering::SeqCst), 0, "sessions left open");
}
