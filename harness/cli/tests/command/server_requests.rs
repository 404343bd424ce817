//! A legacy server may ask its client, and has an answer (2025-11-25, basic/utilities/ping; base protocol, "Responses").

use crate::run::{File, run};
use crate::server::{answer, pong, request, serve};
use serde_json::Value;
use std::io::{BufReader, Write as _};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

#[test]
fn over_standard_streams() {
    let script = r#"
import json, sys
def say(message): print(json.dumps(dict(jsonrpc="2.0", **message)), flush=True)
def hear(): return json.loads(sys.stdin.readline() or sys.exit())
while True:
    m = hear()
    if m["method"] == "initialize":
        say({"id": m["id"], "result": {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {},
             "serverInfo": {"name": "t", "version": "1"}}})
    elif m["method"] == "ping":
        say({"id": "p", "method": "ping"})
        assert hear() == {"jsonrpc": "2.0", "id": "p", "result": {}}
        say({"id": 7, "method": "roots/list"})
        refusal = hear()
        assert refusal["id"] == 7 and refusal["error"]["code"] == -32601
        say({"id": m["id"], "result": {}})
    elif "id" in m:
        say({"id": m["id"], "error": {"code": -32601, "message": "no"}})
"#;
    let file = File::ping();
    let server = file.beside("server.py");
    std::fs::write(&server, script).unwrap();
    run(&[
        "replay",
        &format!("stdio:python3 {server}"),
        file.path(),
        "--deadline-factor",
        "0.5",
    ])
    .ended(0, "1 passed");
}

#[test]
fn on_an_event_stream() {
    let answers = Arc::new((Mutex::new(Vec::<Value>::new()), Condvar::new()));
    let seen = Arc::clone(&answers);
    let url = serve(move |stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request(&mut reader) {
            if message.get("method").is_none() {
                answers.0.lock().unwrap().push(message);
                answers.1.notify_all();
                let _ = writer.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
            } else if message["method"] == "ping" {
                let _ = writer.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n\
                    data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n\
                    data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"roots/list\"}\n\n",
                );
                let guard = answers.0.lock().unwrap();
                let waited = answers
                    .1
                    .wait_timeout_while(guard, Duration::from_secs(20), |seen| seen.len() < 2);
                drop(waited);
                let _ = writer.write_all(format!("data: {}\n\n", pong(&message)).as_bytes());
                return;
            } else {
                let _ = writer.write_all(answer(&message).as_bytes());
            }
        }
    });
    let file = File::ping();
    run(&["replay", &url, file.path(), "--deadline-factor", "0.5"]).ended(0, "1 passed");
    let seen = seen.0.lock().unwrap();
    assert_eq!(
        seen[0],
        serde_json::json!({"jsonrpc": "2.0", "id": "p", "result": {}})
    );
    assert_eq!(
        (&seen[1]["id"], &seen[1]["error"]["code"]),
        (&7.into(), &(-32601).into())
    );
}
