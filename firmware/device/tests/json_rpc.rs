//! JSON-RPC 2.0 as MCP narrows it.
mod support;

use serde_json::{Value, json};
use support::{ERAS, Legacy, Modern, Post, device};

fn ping(id: &str) -> Post {
    Post::bare(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
}

#[test]
fn an_integer_id_comes_back_digit_by_digit() {
    for id in [
        "0",
        "-0",
        "1",
        "-1",
        "9007199254740991",
        "9007199254740993",
        "-9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
    ] {
        let answer = ping(id).to(&device());
        assert_eq!(
            (answer.status, answer.body),
            (200, format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
        );
    }
}

#[test]
fn a_string_id_comes_back_as_the_same_string() {
    let long = format!(r#""{}""#, "x".repeat(200));
    for id in [
        r#""""#,
        r#""1""#,
        r#""init-1""#,
        r#""null""#,
        r#""\u0041\ud83e\udd80""#,
        r#""\"\\\/\b\f\n\r\t\u0000\u001f""#,
        "\"é🦀\"",
        &long,
    ] {
        let sent: Value = serde_json::from_str(id).unwrap();
        ping(id)
            .to(&device())
            .is(200, json!({"jsonrpc": "2.0", "id": sent, "result": {}}));
    }
    // Nothing is escaped that need not be: the answer's size is bounded, and counted on both sides.
    let answer = ping(r#""\u0041\/\ud83e\udd80""#).to(&device());
    assert_eq!(answer.body, r#"{"jsonrpc":"2.0","id":"A/🦀","result":{}}"#);
}

#[test]
fn any_other_id_is_an_invalid_request() {
    for id in [
        "null",
        "true",
        "false",
        "1.5",
        "1.0",
        "1e2",
        "-1E0",
        "[1]",
        "[]",
        r#"{"x":1}"#,
        "{}",
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
    ] {
        ping(id).to(&device()).is_error(400, -32600, json!(null));
    }
}

#[test]
fn an_id_comes_back_in_errors_too() {
    for era in ERAS {
        for id in [json!(0), json!("1"), json!(-5), json!(u64::MAX)] {
            let unknown = json!({"jsonrpc": "2.0", "id": id, "method": "no/such"});
            era.post(unknown)
                .to(&device())
                .is_error(if era == Modern { 404 } else { 200 }, -32601, id);
        }
    }
}

#[test]
fn what_is_no_message_is_an_invalid_request() {
    for (body, id) in [
        ("null", json!(null)),
        ("true", json!(null)),
        ("1", json!(null)),
        (r#""x""#, json!(null)),
        ("[]", json!(null)),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, json!(null)),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
            json!(null),
        ),
        ("{}", json!(null)),
        (r#"{"id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":5}"#, json!(1)),
        (r#"{"jsonrpc":"2.0","id":1,"method":null}"#, json!(1)),
        (r#"{"jsonrpc":"2.0","ID":1,"Method":"ping"}"#, json!(null)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":null}"#,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}"#,
            json!(1),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#, json!(1)),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#,
            json!(null),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}"#,
            json!(1),
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}"#,
            json!(null),
        ),
        (r#"{"jsonrpc":"2.0","result":{}}"#, json!(null)),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, json!(null)),
        (
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"y"}}"#,
            json!(null),
        ),
        (r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#, json!(null)),
        (r#"{"jsonrpc":"1.0","id":1,"result":{}}"#, json!(1)),
    ] {
        Post::bare(body).to(&device()).is_error(400, -32600, id);
    }
}

#[test]
fn members_stand_in_any_order_with_any_white_space_and_any_escape() {
    for body in [
        r#"{"method":"ping","id":1,"jsonrpc":"2.0"}"#,
        "\r\n\t {\n\"params\" : { } ,\t\"method\":\"ping\",\"id\" :1 , \"jsonrpc\":\"2.0\" } \n",
        r#"{"\u006detho\u0064":"pi\u006eg","\u0069d":1,"jsonrpc":"2\u002e0","unheard":[1,{"x":null}]}"#,
    ] {
        Post::bare(body)
            .to(&device())
            .is(200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    }
    // Some writers escape every slash.
    let list = Post::bare(r#"{"jsonrpc":"2.0","id":1,"method":"tools\/list"}"#).to(&device());
    assert_eq!(list.json()["result"]["tools"].as_array().unwrap().len(), 4);
}

#[test]
fn what_is_not_json_is_a_parse_error() {
    for broken in [
        "",
        " ",
        "{",
        "}",
        "[",
        "nul",
        "NaN",
        "undefined",
        "'x'",
        "{]",
        r#"{"jsonrpc":"2.0", bad"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping",}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"} x"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}{}"#,
        r#"{"jsonrpc":"2.0" "id":1,"method":"ping"}"#,
        r#"{jsonrpc:"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":+1,"method":"ping"}"#,
        "{\"jsonrpc\":\"2.0\",\"id\":\"\n\",\"method\":\"ping\"}",
        "/**/{}",
    ] {
        Post::bare(broken)
            .to(&device())
            .is_error(400, -32700, json!(null));
    }
}

#[test]
fn grammar_is_checked_in_parts_that_nobody_reads() {
    for value in [
        r#""\x""#,
        r#""\u12""#,
        r#""\u12G4""#,
        r#""\"#,
        "\"\u{1}\"",
        "01",
        "1.",
        ".5",
        "1e",
        "-",
        "+1",
        "--1",
        "tru",
        "[1,]",
        "[1 2]",
        r#"{"a"}"#,
        r#"{"a":}"#,
        r#"{1:2}"#,
        r#"{"a":1,}"#,
        "[[[[1]]]",
        r#""\ud800""#,
        r#""\udc00""#,
        r#""\ud83e\u0041""#,
        r#""\udd80\ud83e""#,
        r#""\ud83e""#,
        r#"{"\ud800":1}"#,
    ] {
        for body in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","unheard":{value}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"x":[{{"y":{value}}}]}}}}}}"#
            ),
        ] {
            Post::bare(body).to(&device()).is_error(400, -32700, json!(null));
        }
    }
}

#[test]
fn text_is_utf_8_without_a_byte_order_mark() {
    let with = |bytes: &[u8]| {
        let mut body = br#"{"jsonrpc":"2.0","id":1,"method":"ping","x":""#.to_vec();
        body.extend(bytes);
        body.extend(br#""}"#);
        Post::bare(body)
    };
    with("é€🦀".as_bytes())
        .to(&device())
        .is(200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    for bytes in [
        &b"\xFF"[..],
        b"\xC3",
        b"\xC0\x80",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
    ] {
        with(bytes).to(&device()).is_error(400, -32700, json!(null));
    }
    Post::bare("\u{FEFF}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")
        .to(&device())
        .is_error(400, -32700, json!(null));
}

#[test]
fn a_member_that_stands_twice_is_an_invalid_request() {
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"params":{}}"#,
    ] {
        Post::bare(body).to(&device()).is_error(400, -32600, json!(null));
    }
    let device = device();
    for params in [
        r#""name":"led_set","name":"led_set","arguments":{"on":true}"#,
        r#""name":"led_set","arguments":{"on":true},"arguments":{"on":true}"#,
        r#""name":"led_set","arguments":{"on":true,"on":true}"#,
        r#""name":"led_set","arguments":{"on":true,"\u006fn":true}"#,
        r#""name":"led_set","arguments":{"on":true},"_meta":{},"_meta":{}"#,
    ] {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{params}}}}}"#);
        Post::bare(body).to(&device).is_error(400, -32600, json!(1));
    }
    assert!(!device.board().led.get().unwrap().on, "none of the calls ran");
}

#[test]
fn error_texts_quote_what_they_were_sent() {
    let message = |method: &str| {
        let answer = Legacy.request(method, json!({})).to(&device()).json();
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(message("a\"b\\c\n"), r#"unknown method "a\"b\\c\n""#);
    assert_eq!(
        message(&"🦀".repeat(64)),
        format!("unknown method \"{}\"", "🦀".repeat(64))
    );
    assert_eq!(
        message(&"🦀".repeat(65)),
        format!("unknown method \"{}\"…", "🦀".repeat(64))
    );
}

#[test]
fn the_next_request_is_served_whatever_came_before() {
    let device = device();
    for body in [
        "",
        "{",
        "[[[[",
        "\u{0}",
        r#"{"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
    ] {
        Post::bare(body).to(&device);
        ping("7")
            .to(&device)
            .is(200, json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    }
}
