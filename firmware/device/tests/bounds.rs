//! Every bound from both sides.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
mod support;

use embassy_futures::block_on;
use mcp_device::{
    ENDPOINT, MAX_ANSWER, MAX_BODY, MAX_DEPTH, MAX_ID, MAX_LOG, MAX_LOG_LINE, MAX_VALUES, Millis, Request,
};
use serde_json::{Value, json};
use support::{ERAS, Era, Legacy, Modern, Post, device};

const TOO_LARGE: &str = "answer too large: the limit is 16384 bytes; ask for less";

fn ping(extra: &str) -> Post {
    Post::bare(format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":{extra}}}}}"#
    ))
}

#[track_caller]
fn served(post: &Post) {
    post.to(&device())
        .is(200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[test]
fn body() {
    let padded = |length: usize| {
        let mut post = ping("1");
        post.body.resize(length, b' ');
        post
    };
    assert_eq!(MAX_BODY, 16_384);
    served(&padded(MAX_BODY));
    assert_eq!(padded(MAX_BODY + 1).to(&device()).status, 413);
}

#[test]
fn depth() {
    // The message and its params are the first two levels.
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels - 2), "]".repeat(levels - 2));
    assert_eq!(MAX_DEPTH, 32);
    served(&ping(&nested(MAX_DEPTH)));
    ping(&nested(MAX_DEPTH + 1))
        .to(&device())
        .is_error(400, -32600, json!(null));
    let objects = |levels: usize| format!("{}1{}", r#"{"x":"#.repeat(levels - 2), "}".repeat(levels - 2));
    served(&ping(&objects(MAX_DEPTH)));
    ping(&objects(MAX_DEPTH + 1))
        .to(&device())
        .is_error(400, -32600, json!(null));
    ping(&nested(8000))
        .to(&device())
        .is_error(400, -32600, json!(null));
    Post::bare("[".repeat(MAX_BODY))
        .to(&device())
        .is_error(400, -32600, json!(null));
    // Brackets in a string are text.
    served(&ping(&format!("\"{}\"", r#"[{\"["#.repeat(100))));
}

#[test]
fn values() {
    // The message, its three other members, params and the array are six values.
    let with = |elements: usize, element: &str| ping(&format!("[{}]", vec![element; elements].join(",")));
    assert_eq!(MAX_VALUES, 2048);
    for element in ["0", "{}", "[]", r#""""#, "null", "\"\\\"\"", "-1e3 "] {
        served(&with(MAX_VALUES - 6, element));
        with(MAX_VALUES - 5, element)
            .to(&device())
            .is_error(400, -32600, json!(null));
    }
    let name = |n: usize| {
        [n / 56, n % 56]
            .map(|digit| char::from(b'#' + digit as u8))
            .iter()
            .collect::<String>()
    };
    let members = |count: usize| {
        let members: Vec<_> = (0..count).map(|n| format!(r#""{}":1"#, name(n))).collect();
        Post::bare(format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping",{}}}"#,
            members.join(",")
        ))
    };
    assert!(
        members(MAX_VALUES - 3).body.len() <= MAX_BODY,
        "the count is what decides"
    );
    served(&members(MAX_VALUES - 4));
    members(MAX_VALUES - 3)
        .to(&device())
        .is_error(400, -32600, json!(null));
    Post::bare(format!("[{}0]", "0,".repeat(8000)))
        .to(&device())
        .is_error(400, -32600, json!(null));
}

#[test]
fn thousands_of_arguments_are_judged() {
    for era in ERAS {
        let arguments: Value = (0..1800)
            .map(|n| (format!("{n:x}"), json!(1)))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let answer = era.tool("led_get", arguments).to(&device());
        let text = answer.json()["result"]["content"][0]["text"].clone();
        assert!(
            text.as_str()
                .unwrap()
                .starts_with("invalid arguments: : unexpected property"),
            "{text}"
        );
    }
}

/// An echo whose answer has this many bytes.
fn echo_of(era: Era, bytes: usize) -> Post {
    let empty = era.tool("echo", json!({"text": ""})).to(&device()).body.len();
    // As two-byte characters and a rest, so that the text stays within its own bound.
    let text = |length: usize| "é".repeat(length / 2) + &"x".repeat(length % 2);
    let wanted = bytes - empty;
    era.tool("echo", json!({"text": text(wanted / 4), "repeat": 4}))
        .header("x-rest", (wanted % 4).to_string())
}

#[test]
fn answer_of_a_tool() {
    for era in ERAS {
        // The id fills up what four repetitions leave.
        let sized = |bytes: usize| {
            let post = echo_of(era, bytes);
            let rest = post.headers.last().unwrap().1[0] - b'0';
            let id = 10u32.pow(u32::from(rest));
            let body = String::from_utf8(post.body)
                .unwrap()
                .replace(r#""id":1,"#, &format!(r#""id":{id},"#));
            Post {
                body: body.into(),
                ..post
            }
            .to(&device())
        };
        let full = sized(MAX_ANSWER);
        assert_eq!((full.status, full.body.len()), (200, MAX_ANSWER));
        assert_eq!(full.json()["result"].get("isError"), None);

        let over = sized(MAX_ANSWER + 1).json();
        assert_eq!(over["result"]["isError"], json!(true));
        assert_eq!(
            over["result"]["content"],
            json!([{"type": "text", "text": TOO_LARGE}])
        );
        era.tool("echo", json!({"text": "x".repeat(4096), "repeat": 64}))
            .to(&device())
            .is(200, era.failure(TOO_LARGE));
    }
}

#[test]
fn escapes_count_in_an_answer() {
    // 2048 control characters take six bytes each.
    let fits = Legacy
        .tool("echo", json!({"text": "\u{1}".repeat(2048)}))
        .to(&device());
    assert_eq!(
        fits.json()["result"]["content"][0]["text"],
        json!("\u{1}".repeat(2048))
    );
    let over = Legacy
        .tool("echo", json!({"text": "\u{1}".repeat(2048), "repeat": 2}))
        .to(&device());
    over.is(200, Legacy.failure(TOO_LARGE));
    // A reason that repeats a long name can be too large as well.
    let name = "\"\\".repeat(2048);
    Legacy
        .tool("led_get", json!({name: 1}))
        .to(&device())
        .is(200, Legacy.failure(TOO_LARGE));
}

#[test]
fn id() {
    let with = |length: usize, method: &str| {
        Post::bare(format!(
            r#"{{"jsonrpc":"2.0","id":"{}","method":"{method}"}}"#,
            "x".repeat(length - 2)
        ))
    };
    let id = json!("x".repeat(MAX_ID - 2));
    with(MAX_ID, "ping")
        .to(&device())
        .is(200, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    with(MAX_ID, "no/such")
        .to(&device())
        .is_error(200, -32601, id.clone());
    with(MAX_ID, "tools/list")
        .to(&device())
        .is_error(200, -32603, id.clone());
    with(MAX_ID + 1, "ping")
        .to(&device())
        .is_error(400, -32600, json!(null));
    // Room for the longest error there is.
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{}"}}"#,
        r"\u0001".repeat(100)
    );
    Post::bare(body).to(&device()).is_error(200, -32601, id);
}

#[test]
fn a_version_too_long_to_repeat_is_still_refused() {
    let mut meta = support::meta();
    meta["io.modelcontextprotocol/protocolVersion"] = json!("9".repeat(16_000));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"_meta": meta}});
    let post = Post::bare(message.to_string())
        .header("MCP-Protocol-Version", "9".repeat(16_000))
        .header("Mcp-Method", "ping");
    let answer = post.to(&device());
    assert_eq!((answer.status, answer.body.len() <= MAX_ANSWER), (400, true));
    assert_eq!(answer.json()["error"]["code"], json!(-32022));
}

#[test]
fn log_line() {
    let device = device();
    let last = || {
        let answer = Legacy.tool("log_tail", json!({"lines": 1})).to(&device).json();
        answer["result"]["structuredContent"]["lines"][0]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let room = MAX_LOG_LINE - "1.000 ".len();
    for (sent, kept) in [
        (room - 1, room - 1),
        (room, room),
        (room + 1, room),
        (10_000, room),
    ] {
        device.log(Millis(1000), "x".repeat(sent));
        assert_eq!(last(), format!("1.000 {}", "x".repeat(kept)));
    }
    device.log(Millis(1000), "x".repeat(room - 1) + "é");
    assert_eq!(
        last(),
        format!("1.000 {}", "x".repeat(room - 1)),
        "no half character"
    );
}

#[test]
fn log_size() {
    let device = device();
    let lines = || {
        let answer = Legacy.tool("log_tail", json!({"lines": 32})).to(&device).json();
        let lines = answer["result"]["structuredContent"]["lines"]
            .as_array()
            .unwrap()
            .clone();
        lines
            .iter()
            .map(|line| line.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // 128 bytes a line with its end; the line that the device began with makes the difference.
    let line = |n: usize| format!("1.000 {n:0121}");
    for n in 0..15 {
        device.log(Millis(1000), &line(n)[6..]);
    }
    assert_eq!(MAX_LOG, 16 * 128);
    assert_eq!(lines().len(), 16);
    assert_eq!(lines()[0], "0.000 started native 00ff");
    device.log(Millis(1000), &line(15)[6..]);
    assert_eq!(
        lines(),
        (0..16).map(line).collect::<Vec<_>>(),
        "full to the last byte"
    );
    device.log(Millis(1000), "");
    assert_eq!(lines().len(), 16, "a whole line made room for a short one");
    assert_eq!(lines()[0], line(1));
}

#[test]
fn the_worst_log_fits_into_an_answer() {
    let device = device();
    for _ in 0..32 {
        device.log(Millis(0), "\\".repeat(MAX_LOG_LINE));
    }
    for era in ERAS {
        let answer = era.tool("log_tail", json!({"lines": 32})).to(&device).json();
        assert_eq!(answer["result"].get("isError"), None, "{answer}");
    }
}

#[test]
fn a_small_buffer_gets_what_fits_into_it() {
    let post = Modern.tool("device_info", json!({}));
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
    let device = device();
    let mut seen = Vec::new();
    for room in 0..1000 {
        let mut out = vec![0; room];
        let response = block_on(device.handle(Millis(0), &request, &mut out));
        let kind = match serde_json::from_slice::<Value>(response.body) {
            Ok(answer) if answer["error"]["code"] == json!(-32603) => "error",
            Ok(answer) if answer["result"]["isError"] == json!(true) => "failure",
            Ok(_) => "result",
            Err(_) if (response.status, response.body.len()) == (500, 0) => "status",
            Err(error) => panic!("{error} at {room}"),
        };
        if seen.last() != Some(&kind) {
            seen.push(kind);
        }
    }
    assert_eq!(seen, ["status", "error", "failure", "result"]);
}
