//! Credentials reach the target and nobody else; certificates are looked at on both sides.

use crate::run::{File, command, finish, run};
use crate::server::{self, answer, request_with_head};
use crate::tls::Authority;
use serde_json::json;
use std::io::{BufReader, Write as _};

const TOKEN: &str = "tok-0123456789";

/// A server that lets nobody in without the token and the header, and tells the token to everybody else.
fn guarded() -> String {
    server::serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((head, message)) = request_with_head(&mut reader) {
            let has = |line: &str| head.iter().any(|given| given.trim_end() == line);
            let let_in = has(&format!("authorization: bearer {TOKEN}")) && has("x-tenant: blue");
            let text = match message["method"].as_str() {
                _ if !let_in => "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n".to_owned(),
                Some("tell") => {
                    server::http(&json!({"jsonrpc": "2.0", "id": message["id"], "result": {"told": TOKEN}}))
                }
                _ => answer(&message),
            };
            let _ = writer.write_all(text.as_bytes());
        }
    })
}

#[test]
fn the_token_of_the_environment_and_headers_go_with_every_request() {
    let (url, file) = (guarded(), File::ping());
    run(&["replay", &url, file.path()]).ended(1, "HTTP status 401");
    let mut with_token = command(&["replay", &url, file.path(), "--header", "X-Tenant: blue"]);
    finish(with_token.env("MCP_HIL_BEARER", TOKEN).spawn().unwrap()).ended(0, "1 passed, 0 failed");
    run(&[
        "replay",
        &url,
        file.path(),
        "--header",
        "X-Tenant: blue",
        "--bearer",
        TOKEN,
    ])
    .ended(0, "1 passed, 0 failed");
}

/// A server that tells everybody what they sent to be let in, as the name of a tool and in place of an answer.
fn talkative() -> String {
    server::serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((_, message)) = request_with_head(&mut reader) {
            let text = match message["method"].as_str() {
                Some("initialize") => answer(&message),
                _ => server::http(
                    &json!({"jsonrpc": "2.0", "id": TOKEN, "result": {"tools": [{"name": TOKEN}]}}),
                ),
            };
            let _ = writer.write_all(text.as_bytes());
        }
    })
}

#[test]
fn no_finding_of_a_check_tells_a_secret() {
    let url = talkative();
    let file = File::ping();
    let json = file.beside("findings");
    let ran = run(&[
        "check", &url, "--bearer", TOKEN, "-v", "--only", "jsonrpc", "--json", &json,
    ]);
    ran.ended(1, "FAIL  2025-11-25/jsonrpc/");
    for text in [ran.stdout, ran.stderr, std::fs::read_to_string(json).unwrap()] {
        assert!(
            text.contains("$MCP_HIL_BEARER") || !text.contains("result"),
            "{text}"
        );
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[test]
fn no_report_tells_a_secret() {
    let url = guarded();
    let file = File::new(&json!({
        "title": "t", "about": "a", "revision": "2025-11-25",
        "steps": [{"name": "tell", "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "tell"}},
            "expect": {"message": {"jsonrpc": "2.0", "id": 1, "result": {"told": "nothing"}}}}],
    }));
    let (json, junit) = (file.beside("report"), file.beside("junit"));
    let ran = run(&[
        "replay",
        &url,
        file.path(),
        "-v",
        "--header",
        "X-Tenant: blue",
        "--bearer",
        TOKEN,
        "--json",
        &json,
        "--junit",
        &junit,
    ]);
    ran.ended(1, "got \"$MCP_HIL_BEARER\"")
        .ended(1, "-H \"Authorization: Bearer $MCP_HIL_BEARER\"");
    for text in [
        ran.stdout,
        ran.stderr,
        std::fs::read_to_string(json).unwrap(),
        std::fs::read_to_string(junit).unwrap(),
    ] {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[test]
fn a_server_is_believed_when_its_authority_is_named() {
    let (authority, file) = (Authority::new(), File::ping());
    let url = authority.serve(None);
    run(&["replay", &url, file.path()]).ended(3, "UnknownIssuer; trust its CA with --ca FILE");
    run(&["replay", &url, file.path(), "--ca", &authority.file("ca.pem")]).ended(0, "1 passed, 0 failed");
    let other = Authority::new();
    run(&["replay", &url, file.path(), "--ca", &other.file("ca.pem")])
        .ended(3, "TLS: invalid peer certificate");
}

#[test]
fn a_server_may_want_a_certificate_of_the_client() {
    let (authority, clients, file) = (Authority::new(), Authority::new(), File::ping());
    let url = authority.serve(Some(&clients));
    let ca = authority.file("ca.pem");
    run(&["replay", &url, file.path(), "--ca", &ca])
        .ended(3, "give one with --client-cert FILE --client-key FILE");
    let with = |authority: &Authority| {
        let (certificate, key) = authority.client();
        run(&[
            "replay",
            &url,
            file.path(),
            "--ca",
            &ca,
            "--client-cert",
            &certificate,
            "--client-key",
            &key,
        ])
    };
    with(&clients).ended(0, "1 passed, 0 failed");
    with(&Authority::new()).ended(3, "it does not take the client certificate");
}

#[test]
fn options_that_can_not_be_used_are_refused() {
    let file = File::ping();
    let url = "http://127.0.0.1:9/mcp";
    let authority = Authority::new();
    for (options, problem) in [
        (["--ca", "/no/such.pem"], "/no/such.pem"),
        (
            ["--ca", &authority.file("ca.pem")],
            "--ca and --client-cert are for https:// URLs",
        ),
        (["--header", "no colon"], "write it as 'Name: value'"),
        (
            ["--header", "Mcp-Method: x"],
            "a transcript sets it with \"headers\"",
        ),
        (["--bearer", "two words"], "printable ASCII without spaces"),
        (["--client-cert", "x.pem"], "--client-key"),
    ] {
        run(&[&["replay", url, file.path()], &options[..]].concat()).ended(2, problem);
    }
    run(&["replay", "stdio:cat", file.path(), "--header", "A: b"])
        .ended(2, "--header, --ca and --client-cert are for targets over HTTP");
}

/// A server that repeats what it was sent to be let in, and its path, wherever it can.
fn echo() -> String {
    server::serve(|stream| {
        let mut writer = stream.try_clone().unwrap();
        let mut reader = BufReader::new(stream);
        if let Some((head, message)) = crate::server::exact_request(&mut reader) {
            let said = head.concat();
            let name = format!("{TOKEN} {said}");
            let text = match message["method"].as_str() {
                Some("initialize") => answer(&message)
                    .replace("\"name\":\"t\"", &format!("\"name\":\"{TOKEN}\""))
                    .replace("\"capabilities\":{}", "\"capabilities\":{\"tools\":{}}"),
                Some("notifications/initialized" | "server/discover" | "ping") => answer(&message),
                Some("tools/list") => server::http(
                    &json!({"jsonrpc": "2.0", "id": message["id"], "result": {"tools": [
                    {"name": name, "description": said, "inputSchema": {"type": "object"}}]}}),
                ),
                _ => server::http(
                    &json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32603, "message": said}}),
                ),
            };
            // the lengths no longer fit, so the end of the connection tells the end
            let text: String = text
                .split_inclusive("\r\n")
                .filter(|line| !line.starts_with("Content-Length"))
                .collect();
            let text = text.replacen("\r\n", "\r\nConnection: close\r\n", 1);
            let _ = writer.write_all(text.as_bytes());
            let _ = writer.shutdown(std::net::Shutdown::Both);
        }
    })
}

#[test]
fn no_command_tells_a_secret_that_a_server_repeats() {
    let url = echo();
    let file = File::ping();
    let kept = file.beside("surface.json");
    let let_in = ["--bearer", TOKEN];
    for (words, code) in [
        (&["tools", &url][..], 0),
        (&["tools", &url, "--json"], 0),
        (&["call", &url, "x", "{}"], 1),
        (&["snapshot", &url], 0),
        (&["snapshot", &url, "--out", &kept], 0),
        (&["snapshot", &url, "--check", &kept], 0),
    ] {
        let ran = run(&[words, &let_in].concat());
        ran.ended(code, "");
        let all = ran.stdout + &ran.stderr;
        assert!(!all.contains(TOKEN), "{words:?}: {all}");
        assert!(
            words.len() > 3 || all.contains("$MCP_HIL_BEARER"),
            "{words:?}: {all}"
        );
    }
    let kept = std::fs::read_to_string(kept).unwrap();
    assert!(
        kept.contains("$MCP_HIL_BEARER") && !kept.contains(TOKEN),
        "{kept}"
    );
}

#[test]
fn no_report_tells_what_the_query_of_a_url_holds() {
    let url = format!("{}?api_key={TOKEN}", echo());
    let file = File::ping();
    let [json, junit, html, markdown] = ["json", "junit", "html", "markdown"].map(|name| file.beside(name));
    let reports = [
        "--json",
        &json,
        "--junit",
        &junit,
        "--html",
        &html,
        "--markdown",
        &markdown,
    ];
    let check = ["check", &url, "-v", "--only", "jsonrpc"];
    let replay = ["replay", &url, "-v", file.path()];
    for command in [&check[..], &replay] {
        let ran = run(&[command, &reports].concat());
        let files = [&json, &junit, &html, &markdown].map(|file| std::fs::read_to_string(file).unwrap());
        for text in files.iter().chain([&ran.stdout, &ran.stderr]) {
            assert!(!text.contains(TOKEN), "{command:?}: {text}");
        }
        ran.ended(ran.code, "?api_key=$MCP_HIL_API_KEY");
        assert!(files[0].contains("/mcp?api_key=$MCP_HIL_API_KEY"), "{}", files[0]);
    }
    run(&["tools", &format!("http://me:{TOKEN}@[bad")]).ended(2, "\"http://[bad\" is not a URL");
}
