//! What a target answered, kept in a file for each transcript.

use crate::compare;
use mcp_hil::suite::Failed;
use mcp_hil_harness::compare::{Answered, answers};
use mcp_hil_harness::report::Case;
use mcp_hil_harness::transcript::Transcript;
use serde_json::{Value, json};
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/snapshots");
/// Label of the target that speaks over standard streams.
pub const OVER_STDIO: &str = "reference-stdio";
/// A longer text is cut in the file, and its length told.
const LONG: usize = 200;

/// `REVISION__TRANSCRIPT`.
pub fn name(transcript: &Transcript) -> String {
    format!("{}__{}", transcript.revision, transcript.name)
}

/// The reference's answers must be those in the file; the others' must be so too, but for what the transcript lets vary
/// and what belongs to a board.
pub fn check(target: &str, transcript: &Transcript, played: &Case) -> Result<(), Failed> {
    let answers = answers(transcript, played);
    let file = Path::new(FOLDER).join(format!("{}.snap", name(transcript)));
    if is_canonical(target, transcript) {
        let text = format!("{:#}", kept(&answers));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(FOLDER);
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.set_description(format!("{}: {}", transcript.id(), transcript.title));
        // a difference panics, which fails the trial
        settings.bind(|| insta::assert_snapshot!(name(transcript), text));
        return Ok(());
    }
    let stored = fs::read_to_string(&file).map_err(|error| {
        format!(
            "{}: {error}; the trial reference::{} writes it",
            file.display(),
            transcript.id()
        )
    })?;
    let stored = stored.splitn(3, "---\n").nth(2).unwrap_or_default();
    let stored: Value =
        serde_json::from_str(stored).map_err(|error| format!("{}: {error}", file.display()))?;
    let theirs = compare::comparable(&stored, &answers, target != OVER_STDIO);
    let ours = compare::comparable(&kept(&answers), &answers, target != OVER_STDIO);
    if theirs == ours {
        return Ok(());
    }
    let (theirs, ours) = (format!("{theirs:#}\n"), format!("{ours:#}\n"));
    let diff = TextDiff::from_lines(&theirs, &ours);
    Err(format!(
        "not what the reference answers:\n{}",
        diff.unified_diff().header("reference", target)
    )
    .into())
}

/// Whether a target's snapshot of this transcript is the one that is kept: the reference's, over HTTP where it can be.
fn is_canonical(target: &str, transcript: &Transcript) -> bool {
    let over_stdio = transcript.needs.transport.is_some_and(|needed| needed == "stdio");
    target == if over_stdio { OVER_STDIO } else { "reference" }
}

/// Every file must belong to a transcript.
pub fn none_is_left_over(names: &BTreeSet<String>) -> Result<(), Failed> {
    for entry in fs::read_dir(FOLDER)? {
        let path = entry?.path();
        let stem = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.extension().is_some_and(|extension| extension == "snap") && !names.contains(&stem) {
            return Err(format!("{} belongs to no transcript; delete it", path.display()).into());
        }
    }
    Ok(())
}

/// What the file holds: what varies from run to run is named instead.
fn kept(answers: &[Answered<'_>]) -> Value {
    answers
        .iter()
        .map(|Answered { step, reply, .. }| {
            let mut kept = json!({"step": step});
            if let Some(status) = reply.status {
                kept["status"] = status.into();
            }
            for name in ["content-type", "allow"] {
                if let Some(value) = reply.header(name) {
                    kept[name] = value.into();
                }
            }
            match &reply.message {
                Some(message) => kept["message"] = compare::steady(message),
                None => kept["body"] = String::from_utf8_lossy(&reply.body).into(),
            }
            shorten(&mut kept);
            kept
        })
        .collect()
}

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > LONG => {
            let start: String = text.chars().take(60).collect();
            *text = format!("{start}… ({} bytes)", text.len());
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(members) => members.values_mut().for_each(shorten),
        _ => {}
    }
}
