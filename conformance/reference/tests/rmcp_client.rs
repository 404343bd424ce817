//! The official Rust SDK as an independent client, in each era it speaks.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use mcp_hil_reference::{Options, Server, serve_http};
use rmcp::model::{CallToolRequestParams, CallToolResult, ClientConfig, ProtocolVersion};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::timeout;

const TOOLS: [&str; 14] = [
    "device_info",
    "device_stats",
    "echo",
    "sensor_list",
    "sensor_read",
    "led_set",
    "led_get",
    "uptime",
    "log_tail",
    "job_start",
    "job_get",
    "job_list",
    "job_stop",
    "job_stop_all",
];

type Client = RunningService<RoleClient, ClientConfig>;

async fn connect(lifecycle: ClientLifecycleMode) -> Client {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::new(Server::new(Options::default()));
    tokio::spawn(serve_http(listener, server, std::future::pending()));
    let transport = StreamableHttpClientTransport::from_uri(format!("http://{address}/mcp"));
    let connecting = ClientConfig::default().serve_with_lifecycle(transport, lifecycle);
    timeout(Duration::from_secs(10), connecting)
        .await
        .expect("connected in time")
        .unwrap()
}

async fn call(client: &Client, name: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
    let arguments = arguments.as_object().unwrap().clone();
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    timeout(Duration::from_secs(10), client.call_tool(params))
        .await
        .expect("answered in time")
}

/// What a client does with any server of ours.
async fn use_server(client: &Client) {
    let tools = timeout(Duration::from_secs(10), client.list_all_tools())
        .await
        .expect("listed in time")
        .unwrap();
    assert_eq!(tools.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), TOOLS);

    let echo = call(client, "echo", json!({ "text": "Grüße, 世界" }))
        .await
        .unwrap();
    assert_eq!(echo.content[0].as_text().unwrap().text, "Grüße, 世界");
    assert_ne!(echo.is_error, Some(true));

    let voltage = call(client, "sensor_read", json!({ "channel": "supply_voltage" }))
        .await
        .unwrap();
    let golden = json!({ "channel": "supply_voltage", "value": 3.3, "unit": "volt" });
    assert_eq!(voltage.structured_content, Some(golden));

    let humidity = call(client, "sensor_read", json!({ "channel": "humidity" }))
        .await
        .unwrap();
    assert_eq!(humidity.is_error, Some(true));
    let text = "sensor humidity is not fitted on this board; sensor_list tells which are";
    assert_eq!(humidity.content[0].as_text().unwrap().text, text);

    let Err(ServiceError::McpError(error)) = call(client, "no_such_tool", json!({})).await else {
        panic!("an unknown tool is a protocol error");
    };
    assert_eq!(error.code.0, -32602);
}

#[tokio::test]
async fn rmcp_speaks_legacy_with_the_reference() {
    let client = connect(ClientLifecycleMode::Initialize).await;
    assert_eq!(
        client.peer_info().unwrap().protocol_version,
        ProtocolVersion::V_2025_11_25
    );
    use_server(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn rmcp_speaks_modern_with_the_reference() {
    let client = connect(ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    })
    .await;
    assert_eq!(
        client.peer_info().map(|info| info.protocol_version.clone()),
        Some(ProtocolVersion::V_2026_07_28)
    );
    use_server(&client).await;
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn rmcp_finds_out_that_the_reference_is_modern() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let legacy_version = Some(ProtocolVersion::V_2025_11_25);
    let client = connect(ClientLifecycleMode::Auto {
        preferred_versions,
        legacy_version,
    })
    .await;
    assert_eq!(
        client.peer_info().map(|info| info.protocol_version.clone()),
        Some(ProtocolVersion::V_2026_07_28)
    );
    use_server(&client).await;
    client.cancel().await.unwrap();
}
