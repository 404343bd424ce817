//! The suite of a user's own firmware, for a `tests/hil.rs` of three lines.

use super::{Preparing, Suite, complain};
use crate::targets::firmware;
use mcp_hil_harness::transcript::{self, Transcript, TranscriptError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Environment variable with the target to test on, as the command line names it. `virtual`, the default, and `virtual:N`
/// are boards in QEMU that run the firmware.
pub const TARGET: &str = "MCP_HIL_TARGET";
/// Folder of the user's own transcripts, in the package.
const TRANSCRIPTS: &str = "transcripts";

/// Builds the firmware package in a folder (given from the folder of the package under test), runs it and plays the
/// transcripts on it: those that are built in, and those of the package's folder `transcripts`. Must be the first thing in
/// `main` of a test with `harness = false`:
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     mcp_hil::main("../firmware")
/// }
/// ```
pub fn main(firmware: impl AsRef<Path>) -> ExitCode {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
    let transcripts = match transcripts(&package.join(TRANSCRIPTS)) {
        Ok(transcripts) => transcripts,
        Err(error) => return complain(&error.to_string()),
    };
    let suite = Suite::new(transcripts, logs(&package));
    let target = std::env::var(TARGET).unwrap_or_else(|_| "virtual".to_owned());
    let label: String = target
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "-._".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect();
    let folder = package.join(firmware);
    match boards(&target, folder) {
        Some(prepare) => suite.prepared(&label, false, None, prepare),
        None => suite.target(&label, &target, None),
    }
    .run()
}

/// Those that are built in, and the user's own, which take the place of those with the same name.
fn transcripts(folder: &Path) -> Result<Vec<Transcript>, TranscriptError> {
    let own = if folder.is_dir() {
        transcript::read(&[folder.to_owned()])?
    } else {
        Vec::new()
    };
    let names: BTreeSet<_> = own.iter().map(Transcript::id).collect();
    let mut transcripts = transcript::embedded()?;
    transcripts.retain(|transcript| !names.contains(&transcript.id()));
    transcripts.extend(own);
    Ok(transcripts)
}

/// Below the folder in which cargo runs this test's program: a target folder, wherever it is.
fn logs(package: &Path) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(|| package.join("target"), Path::to_owned)
}

/// How the firmware gets onto boards of the harness's own; none where the target is up already.
#[cfg(target_os = "linux")]
fn boards(target: &str, folder: PathBuf) -> Option<impl FnOnce() -> Preparing + use<>> {
    use crate::run::virtual_::{prepare, prerequisites};
    let count = crate::targets::count(target)?;
    Some(move || {
        Box::pin(async move {
            prerequisites()?;
            // built outside: from the network of the boards no crate can be fetched
            let file = firmware::of_package(&folder).await?;
            prepare(&file, count?)
        }) as Preparing
    })
}

#[cfg(not(target_os = "linux"))]
fn boards(_: &str, _: PathBuf) -> Option<fn() -> Preparing> {
    None
}
