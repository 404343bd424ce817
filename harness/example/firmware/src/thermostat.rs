//! The MCP server: revision 2025-11-25, two tools. Everything is answered at once, so there are no sessions and no
//! event streams.

use alloc::string::String;
use alloc::vec::Vec;
use alloc::{format, vec};

use mcp_device::Request;
use serde_json::{Value, json};

use crate::http::Answer;

const REVISION: &str = "2025-11-25";
/// The room has this temperature, °C: there is no sensor.
const ROOM: f64 = 20.5;
const RANGE: core::ops::RangeInclusive<f64> = 5.0..=30.0;

const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
const INVALID_REQUEST: i32 = -32600;
const PARSE_ERROR: i32 = -32700;

/// The thermostat.
pub struct Thermostat {
    /// Wanted temperature, °C.
    target: f64,
}

impl Default for Thermostat {
    fn default() -> Self {
        Self { target: 19.0 }
    }
}

/// An error of JSON-RPC.
type Refusal = (i32, String);

impl Thermostat {
    /// Answers an HTTP request.
    pub fn answer(&mut self, request: &Request<'_>) -> Answer {
        let is_json = |value: &[u8]| value.to_ascii_lowercase().starts_with(b"application/json");
        match (request.path, request.method) {
            ("/mcp", "POST") => {}
            ("/mcp", _) => return (405, None),
            _ => return (404, None),
        }
        if !request.values("Content-Type").next().is_some_and(is_json) {
            return (415, None);
        }
        if request
            .values("MCP-Protocol-Version")
            .next()
            .is_some_and(|version| version != REVISION.as_bytes())
        {
            return (400, None);
        }
        let Ok(message) = serde_json::from_slice::<Value>(request.body) else {
            return refused(400, Value::Null, (PARSE_ERROR, "this is no JSON".into()));
        };
        let (id, method) = (&message["id"], message["method"].as_str());
        let has_params = message.get("params").is_none_or(Value::is_object);
        let is_call = message["jsonrpc"] == "2.0" && method.is_some() && has_params;
        match message.get("id") {
            None if is_call => (202, None),
            Some(id) if is_call && (id.is_string() || id.is_i64() || id.is_u64()) => {
                match self.call(method.unwrap_or_default(), &message["params"]) {
                    Ok(result) => answered(200, json!({"jsonrpc": "2.0", "id": id, "result": result})),
                    Err(refusal) => refused(200, id.clone(), refusal),
                }
            }
            // an answer to a request that was never made
            _ if message.get("result").or(message.get("error")).is_some() && !id.is_null() => (202, None),
            _ => refused(400, Value::Null, (INVALID_REQUEST, "this is no request".into())),
        }
    }

    fn call(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        match method {
            "initialize" => Ok(json!({
                "protocolVersion": REVISION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "thermostat", "version": env!("CARGO_PKG_VERSION")},
            })),
            "ping" => Ok(json!({})),
            "tools/list" if params.get("cursor").is_some() => {
                Err((INVALID_PARAMS, "there is one page only".into()))
            }
            "tools/list" => Ok(json!({"tools": tools()})),
            "tools/call" => self.call_tool(&params["name"], &params["arguments"]),
            _ => Err((METHOD_NOT_FOUND, format!("there is no method {method:?}"))),
        }
    }

    fn call_tool(&mut self, name: &Value, arguments: &Value) -> Result<Value, Refusal> {
        match name.as_str() {
            Some("get_temperature") => {}
            Some("set_target") => match arguments["celsius"].as_f64() {
                Some(celsius) if RANGE.contains(&celsius) => self.target = celsius,
                // a model reads this, and can do better next time
                _ => {
                    let text = format!(
                        "celsius must be a number from {} to {}",
                        RANGE.start(),
                        RANGE.end()
                    );
                    return Ok(json!({"content": [{"type": "text", "text": text}], "isError": true}));
                }
            },
            _ => return Err((INVALID_PARAMS, format!("there is no tool {name}"))),
        }
        let state = json!({"room": ROOM, "target": self.target, "heating": self.target > ROOM});
        Ok(json!({"content": [{"type": "text", "text": format!("{state}")}], "structuredContent": state}))
    }
}

fn tools() -> Vec<Value> {
    vec![
        json!({
            "name": "get_temperature",
            "description": "The temperature of the room and the one wanted, in degrees Celsius",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
        }),
        json!({
            "name": "set_target",
            "description": "Sets the temperature that is wanted, in degrees Celsius",
            "inputSchema": {
                "type": "object",
                "properties": {"celsius": {"type": "number", "minimum": RANGE.start(), "maximum": RANGE.end()}},
                "required": ["celsius"],
            },
        }),
    ]
}

fn refused(status: u16, id: Value, (code, message): Refusal) -> Answer {
    answered(
        status,
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    )
}

fn answered(status: u16, message: Value) -> Answer {
    (status, serde_json::to_vec(&message).ok())
}
