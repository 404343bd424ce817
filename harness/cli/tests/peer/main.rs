//! The reference and a server on the official Rust SDK, both of our contract, answer the golden transcripts alike, but
//! for what `differences.json` lists: each difference with the clause that decides it. A difference that is not listed
//! fails, and so does one that is listed and gone.
//!
//! `MCP_HIL_SHOW=1 cargo test -p mcp-hil --test peer -- --nocapture` shows every difference.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod server;

use mcp_hil::targets::ReferenceServer;
use mcp_hil_harness::compare::{Compared, compare};
use mcp_hil_harness::player::{Known, Player};
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::{Endpoint, Target};
use mcp_hil_harness::transcript::{Action, Content, Transcript, embedded};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A way in which the two differ.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listed {
    difference: String,
    /// What decides, by specification or contract.
    clause: String,
    /// `reference`, `peer` or `both`.
    right: String,
    transcripts: Vec<String>,
}

/// Whether the peer has all that a transcript asks for: no jobs, and none of the board's statistics.
fn is_played(transcript: &Transcript) -> bool {
    let calls_others = |send: &Content| match send {
        Content::Message(message) => {
            let tool = message
                .pointer("/params/name")
                .and_then(Value::as_str)
                .unwrap_or("echo");
            let unknown = !include_str!("../../../../fixtures/contract/tools.json")
                .contains(&format!("\"name\": \"{tool}\""));
            !unknown && !server::TOOLS.contains(&tool)
        }
        Content::Body(text) => text.contains("device_") || text.contains("job_"),
        _ => false,
    };
    let sends = transcript.steps.iter().flat_map(|step| match &step.action {
        Action::Exchange { send, .. } | Action::Until { send, .. } => vec![send],
        Action::Together(pairs) => pairs.iter().map(|(send, _)| send).collect(),
        Action::Wait(_) => vec![],
    });
    // bytes on a connection test the HTTP server below the SDK
    !transcript.has_raw()
        && !transcript.tests_deadline
        && !sends.into_iter().any(|send| calls_others(&send.content))
}

fn player(url: &str) -> Player {
    let known = Known {
        contract: Some("mcp-hil/1".to_owned()),
        revisions: Revision::ALL.to_vec(),
    };
    Player::new(Target::Http(Endpoint::parse(url).unwrap()), known, 1.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_and_the_sdk_differ_only_where_a_clause_decides() {
    let listed: Vec<Listed> = serde_json::from_str(include_str!("differences.json")).unwrap();
    let mut open = BTreeMap::new();
    for entry in &listed {
        assert!(!entry.difference.is_empty() && !entry.clause.is_empty());
        assert!(
            ["reference", "peer", "both"].contains(&entry.right.as_str()),
            "{}",
            entry.right
        );
        for id in &entry.transcripts {
            assert!(
                open.insert(id.clone(), &entry.difference).is_none(),
                "{id} is listed twice"
            );
        }
    }
    let reference = ReferenceServer::start().unwrap();
    let mut ours = player(&reference.endpoint.to_string());
    let mut theirs = player(&server::serve().await);
    let (mut alike, mut unlisted) = (Vec::new(), Vec::new());
    for transcript in embedded()
        .unwrap()
        .iter()
        .filter(|transcript| is_played(transcript))
    {
        let (left, right) = (ours.play(transcript).await, theirs.play(transcript).await);
        match compare(transcript, &left, &right) {
            Compared::Alike(_) => alike.push(transcript.id()),
            Compared::Skipped(_) => {}
            Compared::Infrastructure(reason) => panic!("{reason}"),
            Compared::Different(differences) => {
                let is_listed = open.remove(&transcript.id()).is_some();
                if std::env::var_os("MCP_HIL_SHOW").is_some() || !is_listed {
                    let shown: Vec<_> = differences
                        .iter()
                        .map(|difference| {
                            format!(
                                "{}\n{}",
                                difference.step,
                                difference.render(["reference", "peer"], Style::PLAIN)
                            )
                        })
                        .collect();
                    println!("{}: {}", transcript.id(), shown.join("\n"));
                }
                if !is_listed {
                    unlisted.push(transcript.id());
                }
            }
        }
    }
    println!(
        "{} transcripts alike, {} kinds of difference listed",
        alike.len(),
        listed.len()
    );
    assert!(
        unlisted.is_empty(),
        "not listed in differences.json: {unlisted:#?}"
    );
    assert!(
        open.is_empty(),
        "listed in differences.json and not there: {open:#?}"
    );
    assert!(
        alike.len() >= 30,
        "only {} transcripts are alike: {alike:#?}",
        alike.len()
    );
}
