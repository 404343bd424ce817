//! The tools that a run did not call, and why: pure.

use crate::arguments;
use crate::offer::Tool;
use serde_json::Value;

/// Names that are told; there may be thousands.
const SHOWN: usize = 6;

/// Tools of which no call was judged.
#[derive(Clone, Debug, Default)]
pub struct Uncalled {
    /// They don't say that they only read, and the user did not name them.
    not_allowed: Vec<String>,
    /// No arguments could be made that their schema allows.
    without_arguments: Vec<String>,
}

impl Uncalled {
    /// Takes up those of a server's tools that were not there in another revision.
    pub fn take(&mut self, tools: &[Tool], allowed: &[String], seed: u64) {
        for tool in tools {
            let list = if !tool.is_read_only() && !allowed.contains(&tool.name) {
                &mut self.not_allowed
            } else if matches!(tool.input_schema(), Value::Object(_))
                && arguments::valid(tool.input_schema(), seed, false).is_none()
            {
                &mut self.without_arguments
            } else {
                continue;
            };
            if !list.contains(&tool.name) {
                list.push(tool.name.clone());
            }
        }
    }

    /// A sentence, if there are any.
    pub fn note(&self) -> Option<String> {
        let reasons = [
            (
                &self.not_allowed,
                "as they may change something (--allow-tool NAME)",
            ),
            (
                &self.without_arguments,
                "as no arguments could be made from their inputSchema",
            ),
        ];
        let told: Vec<String> = reasons
            .into_iter()
            .filter(|(names, _)| !names.is_empty())
            .map(|(names, why)| format!("{why}: {}", listed(names)))
            .collect();
        (!told.is_empty()).then(|| format!("tools not called {}", told.join("; ")))
    }
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text += &format!(" and {} more", names.len() - SHOWN);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, read_only: bool, schema: Value) -> Tool {
        Tool {
            name: name.to_owned(),
            listed: json!({
                "name": name, "inputSchema": schema, "annotations": {"readOnlyHint": read_only},
            }),
        }
    }

    #[test]
    fn each_tool_that_was_not_called_is_named_once_with_its_reason() {
        let any = json!({"type": "object"});
        let hard = json!({
            "type": "object", "required": ["id"],
            "properties": {"id": {"type": "string", "pattern": "^(?=a)b$"}},
        });
        let tools = [
            tool("uptime", true, any.clone()),
            tool("reboot", false, any.clone()),
            tool("led_set", false, any),
            tool("lookup", true, hard),
        ];
        let mut uncalled = Uncalled::default();
        for _ in 0..2 {
            uncalled.take(&tools, &["led_set".to_owned()], 0);
        }
        assert_eq!(
            uncalled.note().unwrap(),
            "tools not called as they may change something (--allow-tool NAME): reboot; \
             as no arguments could be made from their inputSchema: lookup"
        );
        assert_eq!(Uncalled::default().note(), None);
    }
}
