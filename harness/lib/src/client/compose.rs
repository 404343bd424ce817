//! What a client of a revision must add to a message: pure.

use super::Reply;
use super::mirror::Mirror;
use crate::http::Request;
use crate::message;
use crate::revision::{Era, Revision};
use crate::target::Endpoint;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// `_meta` member with the revision of a modern request (2026-07-28, basic, `_meta`).
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// `_meta` member with the client's name and version.
pub const META_CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// `_meta` member with what the client can do.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// Name and version that this client gives.
pub fn client_info() -> Value {
    json!({"name": "mcp-hil", "version": env!("CARGO_PKG_VERSION")})
}

/// What a conversation's messages are dressed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dress {
    /// The revision spoken.
    pub revision: Revision,
    handshaken: bool,
    session: Option<String>,
    mirrors: BTreeMap<String, Vec<Mirror>>,
}

impl Dress {
    /// At the start of a conversation.
    pub const fn new(revision: Revision) -> Self {
        Self {
            revision,
            handshaken: false,
            session: None,
            mirrors: BTreeMap::new(),
        }
    }

    /// Has calls of a tool carry these arguments in headers too.
    pub fn mirror(&mut self, tool: &str, mirrors: Vec<Mirror>) {
        self.mirrors.insert(tool.to_owned(), mirrors);
    }

    /// The headers that mirror the arguments of a call; none for any other message, and in legacy revisions.
    pub fn mirrored(&self, message: &Value) -> Vec<(String, String)> {
        let params = message.get("params");
        let mirrors = params
            .filter(|_| self.revision.era() == Era::Modern && message::method(message) == Some("tools/call"))
            .and_then(|params| self.mirrors.get(params.get("name")?.as_str()?));
        let arguments = params.and_then(|params| params.get("arguments"));
        let mirrors = mirrors.into_iter().flatten();
        mirrors
            .filter_map(|mirror| Some((mirror.header(), encode(&mirror.value(arguments?)?))))
            .collect()
    }

    /// After a legacy handshake, with the session id if the server gave one.
    pub fn handshake_done(&mut self, session: Option<String>) {
        self.handshaken = true;
        self.session = session;
    }

    /// Adds the three `_meta` members of a modern request where they are left out. Leaves alone what is no request.
    pub fn add_meta(&self, request: &mut Value) {
        let is_request = request.get("id").is_some() && message::method(request).is_some();
        let Some(members) = request
            .as_object_mut()
            .filter(|_| is_request && self.revision.era() == Era::Modern)
        else {
            return;
        };
        let params = members
            .entry("params")
            .or_insert_with(|| Value::Object(Map::new()));
        let Some(params) = params.as_object_mut() else {
            return;
        };
        let meta = params.entry("_meta").or_insert_with(|| Value::Object(Map::new()));
        let Some(meta) = meta.as_object_mut() else { return };
        meta.entry(META_VERSION)
            .or_insert_with(|| self.revision.as_str().into());
        meta.entry(META_CLIENT_INFO).or_insert_with(client_info);
        meta.entry(META_CAPABILITIES)
            .or_insert_with(|| Value::Object(Map::new()));
    }

    /// The headers of a request with this message, but not `Host`.
    fn headers(&self, message: Option<&Value>) -> Vec<(String, String)> {
        let mut headers = vec![
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ];
        let revision = self.revision.as_str();
        match self.revision.era() {
            Era::Legacy => {
                if self.handshaken {
                    headers.push(("MCP-Protocol-Version", revision.to_owned()));
                }
                headers.extend(self.session.clone().map(|session| ("Mcp-Session-Id", session)));
            }
            Era::Modern => {
                let params = message.and_then(|message| message.get("params"));
                let version = params.and_then(|params| params.get("_meta")?.get(META_VERSION)?.as_str());
                headers.push(("MCP-Protocol-Version", encode(version.unwrap_or(revision))));
                if let Some(method) = message.and_then(message::method) {
                    headers.push(("Mcp-Method", encode(method)));
                    let member = match method {
                        "tools/call" | "prompts/get" => "name",
                        "resources/read" => "uri",
                        // The extension io.modelcontextprotocol/tasks, "Streamable HTTP: Routing Headers".
                        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
                        _ => "",
                    };
                    let name = params.and_then(|params| params.get(member)?.as_str());
                    headers.extend(name.map(|name| ("Mcp-Name", encode(name))));
                }
            }
        }
        headers
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .chain(message.map(|message| self.mirrored(message)).unwrap_or_default())
            .collect()
    }
}

/// A session that a legacy server opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    id: String,
    version: String,
}

impl Session {
    /// The session that the answer to an `initialize` opens, if it opens one.
    pub fn opened_by(reply: &Reply) -> Option<Self> {
        let version = reply
            .message
            .as_ref()?
            .pointer("/result/protocolVersion")?
            .as_str()?;
        Some(Self {
            id: reply.header("mcp-session-id")?.to_owned(),
            version: version.to_owned(),
        })
    }
}

/// A header value as the 2026-07-28 transport page ("Value Encoding") wants it: as it stands if it is plain, else in Base64.
pub fn encode(value: &str) -> String {
    let plain = value.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~')) && value.trim() == value;
    let like_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    if plain && !like_encoded {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}

/// What every request begins with: `Host`, and the credentials that the endpoint wants.
pub fn first_headers(endpoint: &Endpoint) -> Vec<(String, String)> {
    std::iter::once(("Host".to_owned(), endpoint.authority.clone()))
        .chain(endpoint.access.headers())
        .collect()
}

/// A POST of a body to the endpoint, in the dress of the conversation; the message is what the body holds, if it can be read.
pub fn post(endpoint: &Endpoint, dress: &Dress, message: Option<&Value>, body: Vec<u8>) -> Request {
    let mut headers = first_headers(endpoint);
    headers.extend(dress.headers(message));
    Request {
        method: "POST".to_owned(),
        path: endpoint.path.clone(),
        headers,
        body,
        chunked: Vec::new(),
    }
}

/// A POST of the answer to what a server asked in the answer to a request; it has that request's headers.
pub fn reply(endpoint: &Endpoint, request: &Request, message: &Value) -> Request {
    let of_its_own = ["content-length", "transfer-encoding", "mcp-method", "mcp-name"];
    let mut headers = request.headers.clone();
    headers.retain(|(name, _)| !of_its_own.iter().any(|own| name.eq_ignore_ascii_case(own)));
    Request {
        method: "POST".to_owned(),
        path: endpoint.path.clone(),
        headers,
        body: message.to_string().into_bytes(),
        chunked: Vec::new(),
    }
}

/// A GET of the rest of an answer to a request; none for a modern request, whose streams can't be resumed.
pub fn resume(request: &Request, last_event_id: &str) -> Option<Request> {
    let named = |names: &[&str], name: &str| names.iter().any(|known| name.eq_ignore_ascii_case(known));
    let is_modern = request
        .headers
        .iter()
        .any(|(name, _)| named(&["mcp-method"], name));
    if request.method != "POST" || is_modern {
        return None;
    }
    let mut headers = request.headers.clone();
    let of_a_body = ["accept", "content-type", "content-length", "transfer-encoding"];
    headers.retain(|(name, _)| !named(&of_a_body, name));
    headers.push(("Accept".to_owned(), "text/event-stream".to_owned()));
    headers.push(("Last-Event-ID".to_owned(), last_event_id.to_owned()));
    Some(Request {
        method: "GET".to_owned(),
        path: request.path.clone(),
        headers,
        ..Request::default()
    })
}

/// A DELETE that ends a session.
pub fn delete(endpoint: &Endpoint, session: &Session) -> Request {
    let mut headers = first_headers(endpoint);
    headers.extend([
        ("MCP-Protocol-Version".to_owned(), encode(&session.version)),
        ("Mcp-Session-Id".to_owned(), session.id.clone()),
    ]);
    Request {
        method: "DELETE".to_owned(),
        path: endpoint.path.clone(),
        headers,
        ..Request::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dress: &Dress, message: &Value) -> Vec<String> {
        dress
            .headers(Some(message))
            .into_iter()
            .skip(2)
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    }

    #[test]
    fn a_modern_request_gets_what_it_leaves_out() {
        let dress = Dress::new(Revision::R2026_07_28);
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\u{4e16}", "_meta": {META_VERSION: "9999-01-01"}}});
        dress.add_meta(&mut request);
        let meta = &request["params"]["_meta"];
        assert_eq!(meta[META_VERSION], "9999-01-01");
        assert_eq!(meta[META_CAPABILITIES], json!({}));
        assert_eq!(meta[META_CLIENT_INFO]["name"], "mcp-hil");
        assert_eq!(
            names(&dress, &request),
            [
                "MCP-Protocol-Version: 9999-01-01",
                "Mcp-Method: tools/call",
                "Mcp-Name: =?base64?5LiW?="
            ]
        );
    }

    #[test]
    fn notifications_and_legacy_requests_stay_as_they_are() {
        let mut notification = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
        Dress::new(Revision::R2026_07_28).add_meta(&mut notification);
        assert_eq!(
            notification,
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled"})
        );
        let mut request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        Dress::new(Revision::R2025_11_25).add_meta(&mut request);
        assert_eq!(request, json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    }

    #[test]
    fn version_and_session_come_after_the_legacy_handshake() {
        let mut dress = Dress::new(Revision::R2025_11_25);
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        assert_eq!(names(&dress, &request), [] as [&str; 0]);
        dress.handshake_done(Some("s1".into()));
        assert_eq!(
            names(&dress, &request),
            ["MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: s1"]
        );
    }

    #[test]
    fn header_values_are_encoded_as_the_specification_shows() {
        assert_eq!(encode("us-west1"), "us-west1");
        assert_eq!(
            encode("Hello, \u{4e16}\u{754c}"),
            "=?base64?SGVsbG8sIOS4lueVjA==?="
        );
        assert_eq!(encode(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encode("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(
            encode("=?base64?literal?="),
            "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="
        );
    }
}
