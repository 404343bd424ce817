//! The tools that a user lets a check call must be there: a misspelt name would leave the tool uncalled, and nobody would
//! notice.

use mcp_hil_conformance::only::{did_you_mean, nearest};
use mcp_hil_conformance::run::GRADED;
use mcp_hil_harness::client::{self, Client, Limits};
use mcp_hil_harness::revision::{Era, Revision};
use mcp_hil_harness::target::Target;
use serde_json::Value;

/// Names that are shown where one is not known.
const SHOWN: usize = 20;

/// What is wrong with the tools that are allowed; none if the server lists them all in one revision or another, or has no
/// list that can be read, which the checks judge.
pub async fn wrong(
    target: &Target,
    limits: Limits,
    revisions: &[Revision],
    allowed: &[String],
) -> Option<String> {
    if allowed.is_empty() {
        return None;
    }
    let revisions = match revisions {
        [] => client::probe(target, limits).await.ok()?.revisions,
        chosen => chosen.to_vec(),
    };
    let mut listed = Vec::new();
    for revision in revisions.into_iter().filter(|revision| GRADED.contains(revision)) {
        listed.extend(list(target, revision, limits).await?);
    }
    unlisted(&listed, allowed)
}

/// The names of the tools in a revision.
async fn list(target: &Target, revision: Revision, limits: Limits) -> Option<Vec<String>> {
    let mut client = Client::open(target, revision, limits).ok()?;
    let opened = match revision.era() {
        Era::Legacy => client.initialize().await.map(drop),
        Era::Modern => Ok(()),
    };
    let tools = match opened {
        Ok(()) => client.tools().await,
        Err(error) => Err(error),
    };
    client.close().await;
    let name = |tool: &Value| tool.get("name")?.as_str().map(str::to_owned);
    Some(tools.ok()?.iter().filter_map(name).collect())
}

/// The first of the allowed that is not listed, with the nearest that is.
fn unlisted(listed: &[String], allowed: &[String]) -> Option<String> {
    let name = allowed.iter().find(|name| !listed.contains(name))?;
    let mut names = Vec::new();
    for name in listed {
        if !names.contains(&name.as_str()) {
            names.push(name.as_str());
        }
    }
    let near = did_you_mean(&nearest(name, names.iter().copied()));
    let has = match names.as_slice() {
        [] => "it lists none".to_owned(),
        names => {
            let shown = names[..names.len().min(SHOWN)].join(", ");
            let more = if names.len() > SHOWN { ", …" } else { "" };
            format!("it lists {shown}{more}")
        }
    };
    Some(format!(
        "--allow-tool {name}: the server has no such tool{near}; {has}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(listed: &[&str], allowed: &[&str]) -> Option<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        unlisted(&owned(listed), &owned(allowed))
    }

    #[test]
    fn a_name_that_is_not_listed_is_told_with_those_that_are() {
        assert_eq!(said(&["set_led", "echo"], &["echo", "set_led"]), None);
        assert_eq!(
            said(&["set_led", "echo", "echo"], &["echo", "set_lde"]).unwrap(),
            "--allow-tool set_lde: the server has no such tool; did you mean \"set_led\"?; it lists set_led, echo"
        );
        assert_eq!(
            said(&[], &["zzz"]).unwrap(),
            "--allow-tool zzz: the server has no such tool; it lists none"
        );
        let many: Vec<String> = (0..30).map(|n| format!("t{n}")).collect();
        assert!(
            unlisted(&many, &["q".to_owned()])
                .unwrap()
                .ends_with("t18, t19, …")
        );
    }
}
