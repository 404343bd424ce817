//! Holds answers against the message shapes in `fixtures/schemas`: pure.

use crate::fixtures;
use crate::message;
use crate::revision::{Era, Revision};
use jsonschema::Validator;
use serde_json::Value;
use std::collections::BTreeMap;

/// The shapes of one revision.
#[derive(Debug)]
pub struct Shapes {
    revision: Revision,
    by_name: BTreeMap<String, Validator>,
}

/// A built-in schema that does not compile.
#[derive(Debug, thiserror::Error)]
#[error("schema {file} can't be used: {reason}")]
pub struct SchemaError {
    file: String,
    reason: String,
}

impl Shapes {
    /// Compiles the schemas of a revision that are built in.
    ///
    /// # Errors
    /// A schema that is not valid; the tests of this library see to it that there is none.
    pub fn of(revision: Revision) -> Result<Self, SchemaError> {
        let prefix = format!("schemas/{revision}/");
        let mut by_name = BTreeMap::new();
        for (file, text) in fixtures::all(&prefix) {
            let bad = |reason: String| SchemaError {
                file: file.to_owned(),
                reason,
            };
            let schema: Value = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
            let validator = jsonschema::draft202012::new(&schema).map_err(|error| bad(error.to_string()))?;
            let name = file.trim_start_matches(&prefix).trim_end_matches(".json");
            by_name.insert(name.to_owned(), validator);
        }
        Ok(Self { revision, by_name })
    }

    /// What is wrong with an answer to a request of this method; empty if nothing is.
    pub fn faults(&self, method: Option<&str>, answer: &Value) -> Vec<String> {
        let Some(result) = answer.get("result") else {
            return self.check("error", "", answer);
        };
        let mut faults = self.check("response", "", answer);
        if let Some(method) = method {
            faults.extend(self.check(&format!("{}.result", method.replace('/', ".")), "/result", result));
        }
        faults
    }

    /// What is wrong with the messages that came before an answer.
    pub fn faults_before(&self, earlier: &[Value]) -> Vec<String> {
        let requests = earlier
            .iter()
            .filter(|message| message::method(message).is_some() && message.get("id").is_some());
        match self.revision.era() {
            Era::Modern => requests
                .map(|request| format!("a server may not send requests in this revision: {request}"))
                .collect(),
            Era::Legacy => Vec::new(),
        }
    }

    fn check(&self, name: &str, at: &str, value: &Value) -> Vec<String> {
        let Some(validator) = self.by_name.get(name) else {
            return Vec::new();
        };
        let problems = validator.iter_errors(value);
        problems
            .map(|error| {
                format!(
                    "{at}{}: {error} (schemas/{}/{name}.json)",
                    error.instance_path(),
                    self.revision
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_schema_compiles() {
        for revision in Revision::ALL {
            assert!(!Shapes::of(revision).unwrap().by_name.is_empty(), "{revision}");
        }
    }

    #[test]
    fn broken_errors_and_results_are_seen() {
        let shapes = Shapes::of(Revision::R2025_11_25).unwrap();
        let with = |error: Value| json!({"jsonrpc": "2.0", "id": 1, "error": error});
        assert_eq!(
            shapes.faults(None, &with(json!({"code": -32601, "message": "x"}))),
            [] as [String; 0]
        );
        for broken in [
            json!({"message": "x"}),
            json!({"code": "-32601", "message": "x"}),
            json!({"code": 1}),
        ] {
            assert!(!shapes.faults(None, &with(broken)).is_empty());
        }
        let page = |tools: Value| json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}});
        assert_eq!(
            shapes.faults(Some("tools/list"), &page(json!([]))),
            [] as [String; 0]
        );
        assert!(!shapes.faults(Some("tools/list"), &page(Value::Null)).is_empty());
        assert_eq!(
            shapes.faults(Some("no/schema"), &page(Value::Null)),
            [] as [String; 0]
        );
    }

    #[test]
    fn a_server_request_is_a_fault_in_the_modern_era_only() {
        let request = [json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})];
        assert_eq!(
            Shapes::of(Revision::R2026_07_28)
                .unwrap()
                .faults_before(&request)
                .len(),
            1
        );
        assert_eq!(
            Shapes::of(Revision::R2025_11_25)
                .unwrap()
                .faults_before(&request)
                .len(),
            0
        );
    }
}
