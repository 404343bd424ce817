//! What a server shows of itself, in every revision that it speaks, as one value to be kept and reviewed.

use crate::client::{self, Client, ClientError, Limits, Probe};
use crate::compare::steady;
use crate::revision::{Era, Revision};
use crate::shown;
use crate::target::Target;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Capabilities whose lists are part of the surface: the capability, the method, and the member with the list.
const LISTS: [(&str, &str, &str); 4] = [
    ("tools", "tools/list", "tools"),
    ("resources", "resources/list", "resources"),
    ("resources", "resources/templates/list", "resourceTemplates"),
    ("prompts", "prompts/list", "prompts"),
];

/// Name of the format of the file.
const FORMAT: &str = "surface/1";

/// Why the surface can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SurfaceError {
    /// The target could not be placed.
    #[error(transparent)]
    Probe(#[from] Probe),
    /// It did not answer rightly.
    #[error("{revision}: {error}")]
    Client {
        /// In which revision.
        revision: Revision,
        /// What went wrong.
        error: ClientError,
    },
}

/// The surface of a target. What belongs to one board or one moment is replaced by its name, so two boards with one firmware
/// have the same. A list that is that of an earlier revision is not repeated.
///
/// # Errors
/// [`SurfaceError`].
pub async fn surface(target: &Target, limits: Limits) -> Result<Value, SurfaceError> {
    let mut revisions = client::probe(target, limits).await?.revisions;
    revisions.sort_unstable();
    let mut surface = Map::new();
    let mut known: BTreeMap<String, (Revision, Value)> = BTreeMap::new();
    for revision in revisions {
        let mut shown = of(target, revision, limits)
            .await
            .map_err(|error| SurfaceError::Client { revision, error })?;
        for (name, value) in shown.iter_mut().filter(|(_, value)| value.is_array()) {
            match known.get(name) {
                Some((earlier, list)) if list == value => *value = format!("as in {earlier}").into(),
                _ => {
                    known.insert(name.clone(), (revision, value.clone()));
                }
            }
        }
        surface.insert(revision.to_string(), shown.into());
    }
    Ok(surface.into())
}

async fn of(target: &Target, revision: Revision, limits: Limits) -> Result<Map<String, Value>, ClientError> {
    let mut client = Client::open(target, revision, limits).map_err(|fault| ClientError::Fault {
        method: "start".to_owned(),
        fault,
        exchange: Box::default(),
    })?;
    let asked = ask(&mut client).await;
    client.close().await;
    asked
}

async fn ask(client: &mut Client) -> Result<Map<String, Value>, ClientError> {
    let (method, opening) = match client.era() {
        Era::Legacy => ("initialize", client.initialize().await?.0),
        Era::Modern => (
            "server/discover",
            client.request("server/discover", Value::Null).await?,
        ),
    };
    let capabilities = opening.get("capabilities").cloned().unwrap_or_default();
    let mut surface = Map::new();
    surface.insert(method.to_owned(), sorted(&opening));
    for (capability, method, member) in LISTS {
        if capabilities.get(capability).is_none() {
            continue;
        }
        match client.list(method, member).await {
            Ok(items) => {
                surface.insert(method.to_owned(), items.iter().map(sorted).collect());
            }
            // the capability does not promise this list
            Err(ClientError::Rpc { code: -32601, .. }) if method == "resources/templates/list" => {}
            Err(error) => return Err(error),
        }
    }
    Ok(surface)
}

/// Without what varies, and with members in the order of their names: their order says nothing.
fn sorted(value: &Value) -> Value {
    let mut value = steady(value);
    value.sort_all_objects();
    value
}

/// What makes a file that was kept no surface; none if it is one.
pub fn fault_of(kept: &str) -> Option<String> {
    if kept.trim().is_empty() {
        return Some("the file is empty".to_owned());
    }
    match serde_json::from_str::<Value>(kept) {
        Err(error) => Some(format!("the file is not JSON: {error}")),
        Ok(kept) => (kept.get("mcp-hil") != Some(&json!(FORMAT)))
            .then(|| format!("the file is no snapshot: it has no \"mcp-hil\": {FORMAT:?}")),
    }
}

/// The file of a surface.
pub fn text(surface: &Value) -> String {
    shown::json(&json!({"mcp-hil": FORMAT, "revisions": surface}))
}
