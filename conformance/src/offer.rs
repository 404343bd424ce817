//! What a server offers in one revision: found once, before the checks.

use crate::expect;
use mcp_hil_harness::client::{Client, Exchange};
use mcp_hil_harness::revision::Era;
use serde_json::{Value, json};
use std::collections::HashSet;

/// Most pages of a list that are read.
pub const MAX_PAGES: usize = 100;

/// A list that was not at its end after so many bytes is read no further: no client could use more.
const MAX_LIST: usize = 32 << 20;

/// A tool as the server lists it.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Everything that the list says of it.
    pub listed: Value,
}

impl Tool {
    /// Its `inputSchema`; null if there is none.
    pub fn input_schema(&self) -> &Value {
        self.listed.get("inputSchema").unwrap_or(&Value::Null)
    }

    /// Its `outputSchema`.
    pub fn output_schema(&self) -> Option<&Value> {
        self.listed.get("outputSchema")
    }

    /// Whether it says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.listed.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
    }
}

/// What is known of a server in one revision.
#[derive(Clone, Debug, Default)]
pub struct Offer {
    /// The result of `initialize` or `server/discover`.
    pub opening: Value,
    /// The exchanges of the opening.
    pub opened: Vec<Exchange>,
    /// Whether a legacy server opened a session.
    pub session: bool,
    /// Tools of all pages, in order; those without a name are left out.
    pub tools: Vec<Tool>,
    /// The pages of `tools/list`.
    pub pages: Vec<Exchange>,
    /// Why the list of tools could not be read to its end.
    pub list_trouble: Option<String>,
}

impl Offer {
    /// The server's capabilities.
    pub fn capabilities(&self) -> &Value {
        self.opening.get("capabilities").unwrap_or(&Value::Null)
    }

    /// Whether a capability is declared, as `tools` or `logging`.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities().get(capability).is_some()
    }

    /// Asks a server what it offers. `client` has opened the conversation already.
    pub async fn ask(client: &mut Client, opening: Value, opened: Vec<Exchange>) -> Self {
        let session = client.era() == Era::Legacy
            && opened
                .first()
                .and_then(Exchange::reply)
                .is_some_and(|reply| reply.header("mcp-session-id").is_some());
        let mut offer = Self {
            opening,
            opened,
            session,
            ..Self::default()
        };
        if offer.has("tools") {
            offer.walk(client).await;
        }
        offer
    }

    /// Reads every page of `tools/list`.
    async fn walk(&mut self, client: &mut Client) {
        let mut cursors = HashSet::new();
        let mut params = json!({});
        let mut bytes = 0;
        for page in 1..=MAX_PAGES {
            if bytes > MAX_LIST {
                let read = page - 1;
                return self.list_trouble =
                    Some(format!("the list has no end after {bytes} bytes on {read} pages"));
            }
            let mut request = json!({"jsonrpc": "2.0", "id": format!("offer-{page}"), "method": "tools/list", "params": params});
            client.dress.add_meta(&mut request);
            let exchange = client.send(&request).await;
            let read = expect::result(&exchange).cloned();
            bytes += exchange.received.len();
            self.pages.push(exchange);
            let result = match read {
                Ok(result) => result,
                Err(reason) => return self.list_trouble = Some(reason),
            };
            let Some(tools) = result.get("tools").and_then(Value::as_array) else {
                return self.list_trouble = Some("the result has no array \"tools\"".to_owned());
            };
            self.tools.extend(tools.iter().filter_map(|tool| {
                let name = tool.get("name")?.as_str()?.to_owned();
                Some(Tool {
                    name,
                    listed: tool.clone(),
                })
            }));
            match result.get("nextCursor") {
                None => return,
                Some(Value::String(cursor)) if cursors.insert(cursor.clone()) => {
                    params = json!({"cursor": cursor})
                }
                Some(Value::String(cursor)) => {
                    return self.list_trouble =
                        Some(format!("cursor {cursor:?} comes again after {page} pages"));
                }
                Some(other) => {
                    return self.list_trouble = Some(format!("nextCursor is {other}, not a string"));
                }
            }
        }
        self.list_trouble = Some(format!("the list has no end after {MAX_PAGES} pages"));
    }
}
