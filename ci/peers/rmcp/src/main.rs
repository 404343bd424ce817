//! A small server on the official Rust SDK, with its macros and its defaults: what `ci/findings` sees here comes from the
//! SDK. `mcp-hil-peer-rmcp http PORT` or `mcp-hil-peer-rmcp stdio`; `../peer.py` has the same tools.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{ProgressNotificationParam, RequestMetaObject};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{Peer, RoleServer, ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Deserialize, schemars::JsonSchema)]
struct Numbers {
    a: i64,
    b: i64,
}

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
}

#[derive(Clone)]
struct Server;

#[tool_router]
impl Server {
    #[tool(description = "Adds two numbers", annotations(read_only_hint = true))]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Result<Json<Sum>, String> {
        let sum = a.checked_add(b).ok_or("the sum is too large")?;
        Ok(Json(Sum { sum }))
    }

    #[tool(description = "Tells its progress", annotations(read_only_hint = true))]
    async fn slow(&self, meta: RequestMetaObject, peer: Peer<RoleServer>) -> Result<String, String> {
        if let Some(token) = meta.get_progress_token() {
            for step in 1..=3 {
                let told = ProgressNotificationParam::new(token.clone(), f64::from(step));
                peer.notify_progress(told.with_total(3.0))
                    .await
                    .map_err(|error| error.to_string())?;
            }
        }
        Ok("done".to_owned())
    }

    #[tool(description = "Fails", annotations(read_only_hint = true))]
    async fn fail(&self) -> Result<String, String> {
        Err("broken".to_owned())
    }
}

#[tool_handler]
impl ServerHandler for Server {}

#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("usage: mcp-hil-peer-rmcp http PORT | stdio")]
    Usage,
    #[error("can't serve: {0}")]
    Io(#[from] std::io::Error),
    #[error("can't begin on standard streams: {0}")]
    Begin(#[from] Box<rmcp::service::ServerInitializeError>),
    #[error("the task that serves ended badly: {0}")]
    Task(#[from] tokio::task::JoinError),
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] => {
            let running = Server.serve(rmcp::transport::stdio()).await.map_err(Box::new)?;
            running.waiting().await?;
        }
        ["http", port] => {
            let port: u16 = port.parse().map_err(|_| Error::Usage)?;
            let service = StreamableHttpService::new(
                || Ok(Server),
                Arc::new(LocalSessionManager::default()),
                StreamableHttpServerConfig::default(),
            );
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
            axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
        }
        _ => return Err(Error::Usage),
    }
    Ok(())
}
