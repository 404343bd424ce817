//! What of HTTP belongs to the MCP endpoint.
mod support;

use serde_json::json;
use support::{ERAS, Post, device};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

#[track_caller]
fn served(post: &Post) {
    post.to(&device())
        .is(200, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
}

#[test]
fn only_the_endpoint_speaks_mcp() {
    served(&Post::bare(PING).path("/mcp"));
    for path in ["/", "", "/mcp/", "/MCP", "/mcp2", "/x/mcp", "*"] {
        let answer = Post::bare(PING).path(path).to(&device());
        assert_eq!(
            (answer.status, answer.content_type),
            (404, Some("text/plain; charset=utf-8")),
            "{path}"
        );
    }
}

#[test]
fn only_post_is_taken() {
    for method in ["GET", "DELETE", "PUT", "PATCH", "HEAD", "TRACE", "post", "BREW"] {
        let answer = Post::bare(PING).method(method).to(&device());
        assert_eq!(
            (answer.status, answer.allow),
            (405, Some("POST, OPTIONS")),
            "{method}"
        );
    }
    let options = Post::bare("").method("OPTIONS").to(&device());
    assert_eq!(
        (options.status, options.allow, options.body.as_str()),
        (204, Some("POST, OPTIONS"), "")
    );
    assert_eq!(Post::bare("").method("HEAD").to(&device()).body, "");
}

#[test]
fn the_body_is_json() {
    for value in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=UTF-8",
        "application/json ; x=y",
    ] {
        served(
            &Post::bare(PING)
                .without("Content-Type")
                .header("content-TYPE", value),
        );
    }
    for value in [
        "text/plain",
        "application/jsonx",
        "application/json-rpc",
        "application/x-www-form-urlencoded",
        "json",
        "",
        "\u{e9}",
    ] {
        let answer = Post::bare(PING)
            .without("Content-Type")
            .header("Content-Type", value)
            .to(&device());
        assert_eq!(answer.status, 415, "{value}");
    }
    for second in ["application/json", "text/plain"] {
        let answer = Post::bare(PING).header("Content-Type", second).to(&device());
        assert_eq!(answer.status, 415, "{second} besides the one that is right");
    }
    assert_eq!(Post::bare(PING).without("Content-Type").to(&device()).status, 415);
}

#[test]
fn the_client_takes_json() {
    for value in [
        "application/json",
        "application/json, text/event-stream",
        "text/event-stream,APPLICATION/Json;q=0.5",
        "*/*",
        "text/html, */*;q=0.1",
        "application/*",
        "application/json;charset=utf-8",
        "text/html;q=0 , application/json ; q=0.001",
        "*/*;q=0, application/json",
    ] {
        served(&Post::bare(PING).without("Accept").header("aCCept", value));
    }
    served(&Post::bare(PING).without("Accept"));
    served(
        &Post::bare(PING)
            .without("Accept")
            .header("Accept", "text/html")
            .header("Accept", "application/json"),
    );
    for value in [
        "text/event-stream",
        "text/html",
        "application/xml",
        "",
        "json",
        "application/json;q=0",
        "application/json; q=0.000, */*",
        "application/*;q=0, */*",
        "\u{e9}",
    ] {
        let answer = Post::bare(PING)
            .without("Accept")
            .header("Accept", value)
            .to(&device());
        assert_eq!(answer.status, 406, "{value}");
    }
}

#[test]
fn a_session_is_neither_minted_nor_minded() {
    for era in ERAS {
        let post = era
            .request("tools/list", json!({}))
            .header("Mcp-Session-Id", "x")
            .header("Last-Event-ID", "7");
        let answer = post.to(&device());
        assert_eq!(answer, era.request("tools/list", json!({})).to(&device()));
        assert_eq!(answer.status, 200);
    }
}
