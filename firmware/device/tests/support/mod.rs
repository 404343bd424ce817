//! A small board, and a client whose tests read as what it posts and what comes back.
#![allow(
    dead_code,
    clippy::panic,
    clippy::unwrap_used,
    reason = "each test file uses a part; a panic is a failed test"
)]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use embassy_futures::block_on;
use mcp_device::{Board, Device, ENDPOINT, Led, MAX_ANSWER, Millis, ReadError, Request, Response, Stats};
use serde_json::{Value, json};

pub use Era::{Legacy, Modern};

/// 21.456 degrees, a supply that does not answer, no humidity sensor; the LED remembers what it was told.
#[derive(Default)]
pub struct TestBoard {
    pub led: Cell<Option<Led>>,
    /// While set, reading a sensor does not end.
    pub busy: Cell<bool>,
    pub reads: RefCell<Vec<String>>,
    /// Added to what entropy gives.
    pub chance: Cell<u32>,
}

impl Board for TestBoard {
    fn name(&self) -> &str {
        "mcp-test"
    }
    fn kind(&self) -> &str {
        "native"
    }
    fn chip(&self) -> &str {
        "none"
    }
    fn mac(&self) -> [u8; 6] {
        [0x02, 0, 0, 0xAB, 0xCD, 0x0F]
    }
    fn build_id(&self) -> &str {
        "00ff"
    }
    async fn read_sensor(&self, channel: &str) -> Result<f32, ReadError> {
        self.reads.borrow_mut().push(channel.into());
        poll_fn(|_| {
            if self.busy.get() {
                Poll::Pending
            } else {
                Poll::Ready(())
            }
        })
        .await;
        match channel {
            "temperature" => Ok(21.456),
            "supply_voltage" => Err(ReadError::Failed),
            _ => Err(ReadError::NotFitted),
        }
    }
    fn sensor_fitted(&self, channel: &str) -> bool {
        channel != "humidity"
    }
    fn set_led(&self, led: Led) {
        self.led.set(Some(led));
    }
    fn stats(&self) -> Stats {
        Stats {
            heap_used: 100,
            heap_peak: 200,
        }
    }
    fn entropy(&self) -> u32 {
        4 + self.chance.get()
    }
}

pub fn device() -> Device<TestBoard> {
    Device::new(TestBoard::default(), Millis(0))
}

/// A request on its way.
#[derive(Clone)]
pub struct Post {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

impl Post {
    /// A POST with media types and nothing of MCP.
    pub fn bare(body: impl AsRef<[u8]>) -> Self {
        Self {
            method: "POST".into(),
            path: ENDPOINT.into(),
            headers: Vec::new(),
            body: body.as_ref().into(),
        }
        .header("Content-Type", "application/json")
        .header("Accept", "application/json, text/event-stream")
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.into(), value.as_ref().into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub fn method(mut self, method: &str) -> Self {
        self.method = method.into();
        self
    }

    pub fn path(mut self, path: &str) -> Self {
        self.path = path.into();
        self
    }

    pub fn to(&self, device: &Device<TestBoard>) -> Answer {
        self.to_at(device, 1000)
    }

    pub fn to_at(&self, device: &Device<TestBoard>, now: u64) -> Answer {
        block_on(self.to_async(device, now))
    }

    pub async fn to_async(&self, device: &Device<TestBoard>, now: u64) -> Answer {
        let headers: Vec<(&str, &[u8])> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_slice()))
            .collect();
        let request = Request {
            method: &self.method,
            path: &self.path,
            headers: &headers,
            body: &self.body,
        };
        let mut out = [0; MAX_ANSWER];
        device.handle(Millis(now), &request, &mut out).await.into()
    }
}

/// What came back.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub content_type: Option<&'static str>,
    pub allow: Option<&'static str>,
    pub body: String,
}

impl From<Response<'_>> for Answer {
    fn from(response: Response<'_>) -> Self {
        let body = String::from_utf8(response.body.into()).expect("an answer is UTF-8");
        let Response {
            status,
            content_type,
            allow,
            ..
        } = response;
        Self {
            status,
            content_type,
            allow,
            body,
        }
    }
}

impl Answer {
    pub fn json(&self) -> Value {
        assert_eq!(self.content_type, Some("application/json"), "{self:?}");
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Exactly this message, under this status.
    #[track_caller]
    pub fn is(&self, status: u16, message: Value) {
        assert_eq!((self.status, self.json()), (status, message));
    }

    /// An error of this code for this id; its message is for people and only has to be there.
    #[track_caller]
    pub fn is_error(&self, status: u16, code: i32, id: Value) {
        let mut message = self.json();
        let text = message["error"]
            .as_object_mut()
            .and_then(|error| error.remove("message"));
        assert!(
            text.as_ref()
                .and_then(Value::as_str)
                .is_some_and(|text| !text.is_empty()),
            "{self:?}"
        );
        assert_eq!(
            (self.status, message),
            (
                status,
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code}})
            )
        );
    }

    /// No message at all.
    #[track_caller]
    pub fn is_empty(&self, status: u16) {
        assert_eq!(
            (self.status, self.content_type, self.body.as_str()),
            (status, None, "")
        );
    }
}

/// How the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    Legacy,
    Modern,
}

pub const ERAS: [Era; 2] = [Legacy, Modern];

impl Era {
    /// What a conforming client posts for a message.
    pub fn post(self, mut message: Value) -> Post {
        match self {
            Legacy => Post::bare(message.to_string()).header("MCP-Protocol-Version", "2025-11-25"),
            Modern => {
                let method = message["method"].as_str().unwrap_or_default().to_owned();
                let name = message["params"]["name"].as_str().map(str::to_owned);
                message["params"]["_meta"] = meta();
                let post = Post::bare(message.to_string())
                    .header("MCP-Protocol-Version", "2026-07-28")
                    .header("Mcp-Method", method);
                match name {
                    Some(name) => post.header("Mcp-Name", name),
                    None => post,
                }
            }
        }
    }

    /// Posts a request with id 1.
    pub fn request(self, method: &str, params: Value) -> Post {
        self.post(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    /// Posts a call of a tool.
    pub fn tool(self, name: &str, arguments: Value) -> Post {
        self.request("tools/call", json!({"name": name, "arguments": arguments}))
    }

    /// The answer to the request with id 1: in modern every result also tells its type and who gave it.
    pub fn result(self, mut result: Value) -> Value {
        if self == Modern {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": server_info()});
        }
        json!({"jsonrpc": "2.0", "id": 1, "result": result})
    }

    /// As [`Self::result`] of a tool that gives structured content, which is also a text part byte by byte.
    pub fn structured(self, output: impl AsRef<str>) -> Value {
        let json: Value = serde_json::from_str(output.as_ref()).expect("output is JSON");
        self.result(
            json!({"structuredContent": json, "content": [{"type": "text", "text": output.as_ref()}]}),
        )
    }

    /// As [`Self::result`] of a tool that failed.
    pub fn failure(self, text: &str) -> Value {
        self.result(json!({"content": [{"type": "text", "text": text}], "isError": true}))
    }
}

pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub fn server_info() -> Value {
    json!({"name": "mcp-hil-device", "title": "MCP HIL device", "version": env!("CARGO_PKG_VERSION")})
}

/// The contract, read apart from the device's build script.
pub fn contract() -> Value {
    serde_json::from_str(include_str!("../../tools.json")).expect("the contract is JSON")
}
