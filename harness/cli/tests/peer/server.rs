//! A part of our contract on the official Rust SDK: all tools are listed, and those of a board without jobs, log and
//! statistics can be called.

use rmcp::ServerHandler;
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::{Arc, Mutex};

/// Tools that can be called.
pub const TOOLS: [&str; 5] = ["echo", "sensor_list", "sensor_read", "led_set", "led_get"];
/// Tools on a page (`fixtures/contract/README.md`).
const PAGE: usize = 4;

#[derive(Clone)]
pub struct Peer {
    tools: Vec<Tool>,
    led: Arc<Mutex<(bool, u64)>>,
}

impl Peer {
    pub fn new() -> Self {
        let file: Value =
            serde_json::from_str(include_str!("../../../../fixtures/contract/tools.json")).unwrap();
        let tools = file.get("tools").cloned().unwrap_or(file);
        Self {
            tools: serde_json::from_value(tools).unwrap(),
            led: Arc::new(Mutex::new((false, 100))),
        }
    }

    /// What every result of a modern request carries; none for a legacy one.
    fn meta(&self, context: &RequestContext<RoleServer>) -> Option<MetaObject> {
        context.meta.get("io.modelcontextprotocol/protocolVersion")?;
        let mut meta = MetaObject::default();
        let info = serde_json::to_value(self.get_info().server_info).unwrap();
        meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), info);
        Some(meta)
    }

    fn answer(&self, tool: &str, arguments: &Value) -> Result<Value, String> {
        match tool {
            "echo" => {
                let count = arguments["repeat"].as_u64().unwrap_or(1);
                Ok(arguments["text"]
                    .as_str()
                    .unwrap_or_default()
                    .repeat(usize::try_from(count).unwrap_or(1))
                    .into())
            }
            "sensor_list" => Ok(json!({"channels": [
                {"channel": "temperature", "unit": "celsius", "fitted": true},
                {"channel": "supply_voltage", "unit": "volt", "fitted": true},
                {"channel": "humidity", "unit": "percent", "fitted": false},
            ]})),
            "sensor_read" => match arguments["channel"].as_str() {
                Some("temperature") => {
                    Ok(json!({"channel": "temperature", "value": 21.5, "unit": "celsius"}))
                }
                Some("supply_voltage") => {
                    Ok(json!({"channel": "supply_voltage", "value": 3.3, "unit": "volt"}))
                }
                _ => {
                    Err("sensor humidity is not fitted on this board; sensor_list tells which are".to_owned())
                }
            },
            _ => {
                let mut led = self.led.lock().unwrap();
                if let Some(on) = arguments["on"].as_bool() {
                    *led = (on, arguments["brightness"].as_u64().unwrap_or(led.1));
                }
                Ok(json!({"on": led.0, "brightness": led.1}))
            }
        }
    }
}

impl ServerHandler for Peer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("mcp-hil-device", env!("CARGO_PKG_VERSION")).with_title("MCP HIL device"))
            .with_instructions(
                "Microcontroller board with an LED, sensors and a log. Call device_info to see which board answers.",
            )
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2026_07_28,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2025_06_18,
        ])
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(60_000).with_cache_scope(CacheScope::Public))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let refused = || ErrorData::invalid_params("unknown cursor", None);
        let start = match request.and_then(|request| request.cursor) {
            None => 0,
            Some(cursor) => cursor
                .parse::<usize>()
                .ok()
                .filter(|at| at.is_multiple_of(PAGE) && *at < self.tools.len())
                .ok_or_else(refused)?,
        };
        let end = self.tools.len().min(start + PAGE);
        let mut page = ListToolsResult::with_all_items(self.tools[start..end].to_vec());
        page.meta = self.meta(&context);
        if page.meta.is_some() {
            page = page.with_ttl_ms(60_000).with_cache_scope(CacheScope::Public);
        }
        page.next_cursor = (end < self.tools.len()).then(|| end.to_string());
        Ok(page)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !TOOLS.contains(&request.name.as_ref()) {
            return Err(ErrorData::invalid_params(
                format!("unknown tool {:?}", request.name),
                None,
            ));
        }
        let arguments = request.arguments.map_or_else(|| json!({}), Value::Object);
        let mut result = CallToolResult::default();
        result.meta = self.meta(&context);
        match self.answer(&request.name, &arguments) {
            Ok(Value::String(text)) => result.content = vec![ContentBlock::text(text)],
            Ok(value) => {
                result.content = vec![ContentBlock::text(value.to_string())];
                result.structured_content = Some(value);
            }
            Err(text) => {
                result.content = vec![ContentBlock::text(text)];
                result.is_error = Some(true);
            }
        }
        Ok(result.into())
    }
}

/// Serves until the runtime ends; gives the URL.
pub async fn serve() -> String {
    let mut config = StreamableHttpServerConfig::default();
    config.legacy_session_mode = false;
    config.json_response = true;
    let peer = Peer::new();
    let service = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let router = axum::Router::new().nest_service("/mcp", service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}
