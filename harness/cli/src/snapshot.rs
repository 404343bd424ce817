//! `mcp-hil snapshot`.

use crate::args::Snapshot;
use crate::conversation::{Told, because, failed, open_one};
use crate::exit::Exit;
use crate::output::{self, Sink};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::diff;
use mcp_hil_harness::report::escape;
use mcp_hil_harness::surface::{self, SurfaceError, surface};
use std::path::Path;

/// Writes a server's surface, or compares it with a file.
pub async fn run(args: Snapshot) -> Exit {
    try_run(&args).await.unwrap_or_else(|exit| exit)
}

async fn try_run(args: &Snapshot) -> Told<Exit> {
    let kept = args.check.as_deref().map(|file| read(file, &args.target));
    let kept = kept.transpose()?;
    let open = open_one(&args.target, &args.options.options()).await?;
    let found = surface(
        &open.subjects[0].target,
        Limits::scaled(args.options.deadline_factor),
    )
    .await;
    let text = surface::text(&found.map_err(|error| match &error {
        SurfaceError::Probe(probe) => because(probe),
        SurfaceError::Client { error, .. } => failed(error),
    })?);
    // what is kept has none either
    let text = output::without_secrets(&text);
    let Some(kept) = kept else {
        let out = args.out.as_deref().unwrap_or(Path::new("-"));
        let sink = Sink::open(out).map_err(|reason| Exit::Usage.because(&reason))?;
        let written = sink.write(&text);
        written.map_err(|error| {
            Exit::Infrastructure.because(&format!("the snapshot could not be written: {error}"))
        })?;
        return Ok(Exit::Passed);
    };
    if kept == text {
        return Ok(Exit::Passed);
    }
    let style = output::style(args.color, false);
    let names = ["kept", args.target.as_str()];
    output::print(
        false,
        &diff::render_named(&escape(&kept), &escape(&text), names, style),
    );
    Ok(Exit::Failed
        .because("the surface is not the one that is kept; if that is meant, write it anew with --out"))
}

/// A snapshot that was kept.
fn read(file: &Path, target: &str) -> Told<String> {
    let text = std::fs::read_to_string(file);
    let file = file.display();
    let kept = text.map_err(|error| Exit::Usage.because(&format!("{file}: {error}")))?;
    match surface::fault_of(&kept) {
        None => Ok(kept),
        Some(reason) => Err(Exit::Usage.because(&format!(
            "{file}: {reason}; write one with mcp-hil snapshot {target} --out {file}"
        ))),
    }
}
