//! What a board says of itself when asked: the tool `device_info` of the contract (`fixtures/contract/tools.json`).

use crate::client::{self, Limits};
use crate::target::Target;
use serde_json::json;

/// The answer of `device_info`, as far as it tells one board and build from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The board's name, which is also its host name.
    pub name: String,
    /// Its MAC address, if it tells one.
    pub mac: Option<String>,
    /// GNU build id of the running image in lowercase hex; empty where there is none.
    pub build_id: String,
}

impl Identity {
    /// Asks a board.
    ///
    /// # Errors
    /// Why it did not tell.
    pub async fn ask(target: &Target, limits: Limits) -> Result<Self, String> {
        let mut client = client::connect(target, limits)
            .await
            .map_err(|error| error.to_string())?;
        let call = json!({"name": "device_info", "arguments": {}});
        let result = client
            .request("tools/call", call)
            .await
            .map_err(|error| error.to_string())?;
        let info = &result["structuredContent"];
        match (info["name"].as_str(), info["build_id"].as_str()) {
            (Some(name), Some(build_id)) => Ok(Self {
                name: name.to_owned(),
                mac: info["mac"].as_str().map(str::to_owned),
                build_id: build_id.to_owned(),
            }),
            _ => Err(format!("device_info has no name or no build_id: {result}")),
        }
    }
}
