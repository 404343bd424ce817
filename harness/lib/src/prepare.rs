//! From a step's `send` to what goes out: pure.

use crate::client::compose::{self, Dress};
use crate::http::{Piece, Request, request};
use crate::revision::{Era, Revision};
use crate::target::Endpoint;
use crate::transcript::{Captures, Content, RawPiece, Send};
use serde_json::Value;

/// A request as it will be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// The message in it, if it can be read as JSON.
    pub message: Option<Value>,
    /// Its bytes without any framing.
    pub body: Vec<u8>,
    /// The revision that it is sent in.
    pub revision: Revision,
}

/// Fills in the captures, and what every client of the revision must send.
pub fn message(send: &Send, dress: &Dress, captures: &Captures) -> Prepared {
    let (message, body) = match &send.content {
        Content::Message(template) => {
            let mut message = captures.fill(template);
            if !send.bare {
                dress.add_meta(&mut message);
            }
            let body = message.to_string().into_bytes();
            (Some(message), body)
        }
        Content::Body(text) => of_bytes(captures.fill_text(text).into_bytes()),
        Content::Bytes(bytes) => of_bytes(bytes.clone()),
        Content::Raw(_) => (None, Vec::new()),
    };
    let revision = revision(send, message.as_ref(), dress);
    Prepared {
        message,
        body,
        revision,
    }
}

fn of_bytes(body: Vec<u8>) -> (Option<Value>, Vec<u8>) {
    (serde_json::from_slice(&body).ok(), body)
}

/// The revision that a message is sent in, by what it says itself: a transcript of one revision may also send messages
/// of another, to see that a server keeps them apart.
fn revision(send: &Send, message: Option<&Value>, dress: &Dress) -> Revision {
    let parse = |version: Option<&str>| version.and_then(|version| version.parse::<Revision>().ok());
    let params = message.and_then(|message| message.get("params"));
    let in_meta = params.and_then(|params| params.get("_meta")?.get(compose::META_VERSION)?.as_str());
    let header = send
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("mcp-protocol-version"));
    let in_header = header.and_then(|(_, value)| value.as_deref());
    if let Some(revision) = parse(in_meta).or_else(|| parse(in_header)) {
        return revision;
    }
    if send.bare && dress.revision.era() == Era::Modern {
        // nothing marks it as modern
        let asked = params.and_then(|params| params.get("protocolVersion")?.as_str());
        return parse(asked)
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Revision::NEWEST_LEGACY);
    }
    dress.revision
}

/// The HTTP request of a step.
pub fn http(
    send: &Send,
    prepared: &Prepared,
    dress: &Dress,
    endpoint: &Endpoint,
    captures: &Captures,
) -> Request {
    let mut request = compose::post(endpoint, dress, prepared.message.as_ref(), prepared.body.clone());
    if send.bare {
        request.headers.truncate(compose::first_headers(endpoint).len());
    }
    if let Some(method) = &send.method {
        request.method.clone_from(method);
    }
    if let Some(path) = &send.path {
        request.path = captures.fill_text(path);
    }
    for (name, value) in &send.headers {
        let place = request
            .headers
            .iter()
            .position(|(given, _)| given.eq_ignore_ascii_case(name));
        request
            .headers
            .retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        if let Some(value) = value {
            let place = place.unwrap_or(request.headers.len());
            request
                .headers
                .insert(place, (name.clone(), captures.fill_text(value)));
        }
    }
    request.chunked.clone_from(&send.chunked);
    request
}

/// The pieces of a raw connection, and the methods of the requests in them, one for each answer that is due.
pub fn raw(
    pieces: &[RawPiece],
    answers: usize,
    endpoint: &Endpoint,
    captures: &Captures,
) -> (Vec<Piece>, Vec<String>) {
    let mut captures = captures.clone();
    captures.insert("host", endpoint.authority.as_str().into());
    captures.insert("path", endpoint.path.as_str().into());
    let mut sent = Vec::new();
    let pieces: Vec<_> = pieces
        .iter()
        .map(|piece| match piece {
            RawPiece::Text(text) => Piece::Bytes(captures.fill_text(text).into_bytes()),
            RawPiece::Bytes(bytes) => Piece::Bytes(bytes.clone()),
            RawPiece::Pause(time) => Piece::Pause(*time),
        })
        .inspect(|piece| {
            if let Piece::Bytes(bytes) = piece {
                sent.extend_from_slice(bytes);
            }
        })
        .collect();
    let mut methods = request::methods(&sent);
    methods.resize(answers, "POST".to_owned());
    (pieces, methods)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn send(content: Content) -> Send {
        Send {
            content,
            bare: false,
            method: None,
            path: None,
            headers: vec![],
            chunked: vec![],
        }
    }

    fn request(send: &Send) -> Request {
        let dress = Dress::new(Revision::R2026_07_28);
        let endpoint = Endpoint::parse("http://127.0.0.1:8080/mcp").unwrap();
        let prepared = message(send, &dress, &Captures::default());
        http(send, &prepared, &dress, &endpoint, &Captures::default())
    }

    fn names(request: &Request) -> Vec<&str> {
        request.headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn a_header_replaces_in_any_letter_case_and_null_removes() {
        let mut send = send(Content::Message(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        ));
        send.headers = vec![
            ("content-type".into(), Some("text/plain".into())),
            ("ACCEPT".into(), None),
            ("X".into(), Some("y".into())),
        ];
        assert_eq!(
            names(&request(&send)),
            ["Host", "content-type", "MCP-Protocol-Version", "Mcp-Method", "X"]
        );
    }

    #[test]
    fn bare_adds_nothing_but_host() {
        let mut send = send(Content::Message(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        ));
        send.bare = true;
        let request = request(&send);
        assert_eq!(names(&request), ["Host"]);
        assert_eq!(request.body, br#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    }

    #[test]
    fn a_message_is_of_the_revision_that_it_says() {
        let of = |message: Value, bare| {
            let send = Send {
                bare,
                ..send(Content::Message(message.clone()))
            };
            revision(&send, Some(&message), &Dress::new(Revision::R2026_07_28))
        };
        let initialize =
            json!({"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}});
        assert_eq!(of(initialize.clone(), true), Revision::R2025_06_18);
        assert_eq!(of(initialize, false), Revision::R2026_07_28);
        assert_eq!(
            of(json!({"id": 1, "method": "ping"}), true),
            Revision::NEWEST_LEGACY
        );
        let modern =
            json!({"id": 1, "method": "x", "params": {"_meta": {compose::META_VERSION: "2026-07-28"}}});
        assert_eq!(of(modern, true), Revision::R2026_07_28);
    }

    #[test]
    fn a_body_gets_the_headers_of_the_message_in_it() {
        let text = r#"{"jsonrpc":"2.0", "id":1, "method":"tools/call", "params":{"name":"echo"}}"#;
        let request = request(&send(Content::Body(text.into())));
        assert_eq!(request.body, text.as_bytes());
        assert_eq!(
            names(&request)[3..],
            ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]
        );
    }

    #[test]
    fn members_go_out_in_the_order_of_the_transcript() {
        let text = r#"{"z":1,"a":{"y":2,"b":3}}"#;
        let request = request(&send(Content::Message(serde_json::from_str(text).unwrap())));
        assert_eq!(request.body, text.as_bytes());
    }

    #[test]
    fn raw_text_knows_host_and_path() {
        let endpoint = Endpoint::parse("http://127.0.0.1:8080/mcp").unwrap();
        let pieces = [RawPiece::Text(
            "HEAD ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n".into(),
        )];
        let (pieces, methods) = raw(&pieces, 2, &endpoint, &Captures::default());
        assert_eq!(
            pieces,
            [Piece::Bytes(
                b"HEAD /mcp HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n".to_vec()
            )]
        );
        assert_eq!(methods, ["HEAD", "POST"]);
    }
}
