//! Walks `tools/list` and its kin over all their pages, and never for ever.

use super::{Client, ClientError};
use serde_json::{Value, json};
use std::collections::HashSet;

/// Most pages that are read. A server with more tools than this many pages hold is looked at as one that never ends.
pub const MAX_PAGES: usize = 100;

impl Client {
    /// Every tool that the server offers, in its order.
    ///
    /// # Errors
    /// Those of [`Client::request`]; a walk that comes back to a cursor, or passes [`MAX_PAGES`], is [`ClientError::Unexpected`].
    pub async fn tools(&mut self) -> Result<Vec<Value>, ClientError> {
        self.list("tools/list", "tools").await
    }

    /// Every element of a list that comes in pages: what the method gives under `member`.
    ///
    /// # Errors
    /// Those of [`Client::tools`].
    pub async fn list(&mut self, method: &str, member: &str) -> Result<Vec<Value>, ClientError> {
        let mut tools = Vec::new();
        let mut seen = HashSet::new();
        let mut params = Value::Null;
        loop {
            let exchange = self.exchange(method, params).await?;
            let result = exchange.message().and_then(|answer| answer.get("result"));
            let page = result
                .and_then(|result| result.get(member))
                .and_then(Value::as_array);
            let cursor = result.and_then(|result| result.get("nextCursor"));
            let reason = match (page, cursor) {
                (None, _) => format!("the answer has no array {member:?}"),
                (Some(page), None) => {
                    tools.extend_from_slice(page);
                    return Ok(tools);
                }
                (Some(page), Some(Value::String(cursor))) => {
                    tools.extend_from_slice(page);
                    if !seen.insert(cursor.clone()) {
                        format!(
                            "the pages never end: cursor {cursor:?} came again after {} pages",
                            seen.len()
                        )
                    } else if seen.len() >= MAX_PAGES {
                        format!(
                            "the pages never end: {MAX_PAGES} pages with {} {member}, and still a cursor",
                            tools.len()
                        )
                    } else {
                        params = json!({"cursor": cursor});
                        continue;
                    }
                }
                (Some(_), Some(other)) => {
                    format!("nextCursor is {other}, not a string; the last page leaves it out")
                }
            };
            return Err(ClientError::Unexpected {
                method: method.to_owned(),
                reason,
                exchange: Box::new(exchange),
            });
        }
    }
}
