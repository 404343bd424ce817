//! Shell lines that repeat an exchange, for a person to paste: pure.

use crate::http::{Piece, Request};
use crate::target::{Command, Endpoint};
use serde_json::json;
use std::fmt::Write as _;

/// Headers that curl adds by itself, to be taken out when the request has none.
const CURL_ADDS: [&str; 4] = ["Accept", "Content-Type", "User-Agent", "Expect"];
const SESSION: &str = "Mcp-Session-Id";
/// A run of one byte this long is written as a command instead.
const LONG_RUN: usize = 200;

/// A `curl` line for a request. `session` is one that the server opened and that is over when the line is pasted: the
/// line begins with a handshake for another.
pub fn curl(endpoint: &Endpoint, request: &Request, session: Option<&str>) -> String {
    let header = |wanted: &str| {
        let mut headers = request.headers.iter();
        headers.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let Some((name, session)) = header(SESSION).filter(|(_, value)| Some(value.as_str()) == session) else {
        return one(endpoint, request, None);
    };
    let version = header("MCP-Protocol-Version").map_or("2025-11-25", |(_, version)| version);
    let credentials = (request.headers.iter())
        .filter(|(name, value)| endpoint.access.shown(name, value).is_some())
        .cloned();
    let pairs = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ];
    let handshake = Request {
        method: "POST".to_owned(),
        path: request.path.clone(),
        headers: pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into_iter()
            .chain(credentials)
            .collect(),
        body: json!({
            "jsonrpc": "2.0", "id": "curl", "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "curl", "version": "1"}},
        })
        .to_string()
        .into_bytes(),
        chunked: Vec::new(),
    };
    format!(
        "S=$({} | tr -d '\\r' | awk 'tolower($1) == \"mcp-session-id:\" {{print $2}}'); {}",
        one(endpoint, &handshake, None),
        one(endpoint, request, Some((name.as_str(), session.as_str())))
    )
}

/// A line for one request, with the value of `session` from the variable `S`.
fn one(endpoint: &Endpoint, request: &Request, session: Option<(&str, &str)>) -> String {
    let mut line = String::from("curl -sS -i");
    if request.method == "HEAD" {
        line.push_str(" -I");
    } else {
        let _ = write!(line, " -X {}", quote(&request.method));
    }
    for (name, value) in &request.headers {
        if name.eq_ignore_ascii_case("host") && *value == endpoint.authority {
            continue;
        }
        if session == Some((name, value)) {
            let _ = write!(line, " -H \"{name}: $S\"");
            continue;
        }
        let _ = match endpoint.access.shown(name, value) {
            // in quotes in which the shell fills in the variable
            Some(shown) => write!(line, " -H \"{name}: {shown}\""),
            None => write!(line, " -H {}", quote(&format!("{name}: {value}"))),
        };
    }
    for word in endpoint.access.curl() {
        let _ = write!(line, " {}", quote(word));
    }
    for name in CURL_ADDS {
        if !request
            .headers
            .iter()
            .any(|(given, _)| given.eq_ignore_ascii_case(name))
        {
            let _ = write!(line, " -H {}", quote(&format!("{name}:")));
        }
    }
    if !request.chunked.is_empty() {
        line.push_str(" -H 'Transfer-Encoding: chunked'");
    }
    let url = quote(&endpoint.url(&request.path));
    match std::str::from_utf8(&request.body) {
        _ if request.body.is_empty() => format!("{line} {url}"),
        Ok(text) if text.len() < 4096 && !text.contains('\0') => {
            format!("{line} --data-binary {} {url}", quote(text))
        }
        _ => format!("{} | {line} --data-binary @- {url}", produce(&request.body)),
    }
}

/// A `printf | nc` line for a raw connection.
pub fn netcat(endpoint: &Endpoint, pieces: &[Piece]) -> String {
    let mut steps = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bytes(bytes) => steps.push(produce(bytes)),
            Piece::Pause(time) => steps.push(format!("sleep {}", time.as_secs_f64())),
        }
    }
    let (steps, host, port) = (steps.join("; "), quote(&endpoint.host), endpoint.port);
    if endpoint.tls {
        return format!("{{ {steps}; sleep 7; }} | openssl s_client -quiet -connect {host}:{port}");
    }
    format!("{{ {steps}; }} | nc -w 7 {host} {port}")
}

/// A line that gives messages to a command, one after another.
pub fn pipe(command: &Command, lines: &[&[u8]]) -> String {
    let steps: Vec<_> = lines
        .iter()
        .map(|line| format!("{}; echo", produce(line)))
        .collect();
    format!("{{ {}; }} | {command}", steps.join("; "))
}

/// A command that writes these bytes; long runs of one byte are not spelt out.
fn produce(bytes: &[u8]) -> String {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    for run in bytes.chunk_by(|a, b| a == b) {
        if run.len() < LONG_RUN {
            plain.extend_from_slice(run);
        } else {
            parts.extend(printf(&std::mem::take(&mut plain)));
            parts.push(format!(
                "head -c {} /dev/zero | tr '\\0' '\\{:03o}'",
                run.len(),
                run[0]
            ));
        }
    }
    parts.extend(printf(&plain));
    match parts.len() {
        0 => "true".to_owned(),
        1 => parts.remove(0),
        _ => format!("{{ {}; }}", parts.join("; ")),
    }
}

fn printf(bytes: &[u8]) -> Option<String> {
    let mut text = String::new();
    for &byte in bytes {
        match byte {
            b'\r' => text.push_str("\\r"),
            b'\n' => text.push_str("\\n"),
            b'\\' => text.push_str("\\\\"),
            b'%' => text.push_str("%%"),
            b'\'' => text.push_str("'\\''"),
            // printf would take it for an option
            b'-' if text.is_empty() => text.push_str("\\055"),
            b' '..=b'~' => text.push(byte.into()),
            _ => {
                let _ = write!(text, "\\{byte:03o}");
            }
        }
    }
    (!text.is_empty()).then(|| format!("printf '{text}'"))
}

/// Quotes a word for a POSIX shell.
pub fn quote(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command as Process;

    /// What a shell makes of a command.
    fn run(command: &str) -> Vec<u8> {
        Process::new("sh").args(["-c", command]).output().unwrap().stdout
    }

    #[test]
    fn a_shell_gives_the_very_bytes_back() {
        let mut bytes: Vec<u8> = (0..=255).collect();
        bytes.extend([b'x'; 1000]);
        bytes.extend(b"it's 100% \\n\r\n12");
        assert_eq!(run(&produce(&bytes)), bytes);
    }

    #[test]
    fn a_session_that_is_over_is_opened_again() {
        let endpoint = Endpoint::parse("http://127.0.0.1:80/mcp").unwrap();
        let request = Request {
            method: "DELETE".into(),
            path: "/mcp".into(),
            headers: vec![("Mcp-Session-Id".into(), "s-1".into())],
            body: vec![],
            chunked: vec![],
        };
        let line = curl(&endpoint, &request, Some("s-1"));
        assert!(line.starts_with("S=$(curl -sS -i -X POST "), "{line}");
        assert!(line.contains("\"method\":\"initialize\""), "{line}");
        assert!(
            line.contains("; curl -sS -i -X DELETE -H \"Mcp-Session-Id: $S\" "),
            "{line}"
        );
        assert!(!line.contains("s-1"), "{line}");
        // the shell finds the id in what a server answers
        let answer = "HTTP/1.1 200 OK\\r\\nmcp-session-id: s-2\\r\\n\\r\\n{}";
        let script = line.replace("curl -sS -i -X POST", &format!("printf '{answer}'"));
        let script = script.replace("curl -sS -i -X DELETE", "echo");
        assert!(
            String::from_utf8(run(&script))
                .unwrap()
                .starts_with("-H Mcp-Session-Id: s-2 "),
            "{script}"
        );
        // one that was made up is the point of the request
        assert!(curl(&endpoint, &request, Some("s-3")).ends_with("-H 'Mcp-Session-Id: s-1' -H Accept: -H Content-Type: -H User-Agent: -H Expect: http://127.0.0.1/mcp"));
    }

    #[test]
    fn curl_takes_out_what_it_would_add() {
        let endpoint = Endpoint::parse("http://127.0.0.1:80/mcp").unwrap();
        let request = Request {
            method: "POST".into(),
            path: "/mcp".into(),
            headers: vec![
                ("Host".into(), "127.0.0.1".into()),
                ("Content-Type".into(), "application/json".into()),
            ],
            body: b"{\"a\":\"it's\"}".into(),
            chunked: vec![],
        };
        assert_eq!(
            curl(&endpoint, &request, None),
            "curl -sS -i -X POST -H 'Content-Type: application/json' -H Accept: -H User-Agent: -H Expect: \
             --data-binary '{\"a\":\"it'\\''s\"}' http://127.0.0.1/mcp"
        );
    }
}
