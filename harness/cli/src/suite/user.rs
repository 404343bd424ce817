//! The suite of a user's own firmware, for a `tests/hil.rs` of three lines.

use super::{Preparing, Suite, by_name, complain, flashes_instead, from_environment};
use mcp_hil_harness::bench::inventory;
use mcp_hil_harness::transcript::{self, Transcript, TranscriptError};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Environment variable with the target to test on, as the command line names it. The firmware is brought onto `board:NAME` and
/// onto `virtual` and `virtual:N`, boards in QEMU; any other target is up already. Without it the boards of the inventory are
/// taken that take the firmware, or if there is none a board in QEMU.
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
    if flashes_instead() {
        return ExitCode::SUCCESS;
    }
    let package = package();
    let transcripts = match transcripts(&package.join(TRANSCRIPTS)) {
        Ok(transcripts) => transcripts,
        Err(error) => return complain(&error.to_string()),
    };
    Suite::new(transcripts, logs(&package))
        .firmware(&package.join(firmware), None)
        .run()
}

impl Suite {
    /// Adds the boards that a firmware package is brought onto, or what [`TARGET`] names in their place. Their label is that
    /// target, or `virtual`, or where there is an inventory `inventory`.
    #[must_use]
    pub fn firmware(self, package: &Path, contract: Option<&str>) -> Self {
        let (label, prepare) = boards(package, &self.logs);
        self.prepared(&label, false, contract, prepare)
    }
}

/// The boards that a firmware package is brought onto, or what [`TARGET`] names in their place, with the label of that.
pub(super) fn boards(package: &Path, logs: &Path) -> (String, Box<dyn FnOnce() -> Preparing>) {
    let named = named();
    let of_inventory = named.is_none() && inventory::find(None).is_some();
    let target = named
        .as_deref()
        .unwrap_or(if of_inventory { "inventory" } else { "virtual" });
    let label = label(target);
    match prepare(target, of_inventory, package.to_owned(), logs.join(&label)) {
        Some(prepare) => (label, Box::new(prepare)),
        None => (label, Box::new(by_name(target))),
    }
}

/// What [`TARGET`] says.
pub(super) fn named() -> Option<String> {
    from_environment(TARGET).filter(|target: &String| !target.is_empty())
}

/// A target's name as part of the names of tests and files.
pub(super) fn label(target: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    target.chars().map(|c| if plain(c) { c } else { '-' }).collect()
}

/// How the firmware gets onto boards; none where the target is up already.
#[cfg(target_os = "linux")]
fn prepare(
    target: &str,
    of_inventory: bool,
    package: PathBuf,
    logs: PathBuf,
) -> Option<impl FnOnce() -> Preparing + use<>> {
    use crate::run::target::{Which, prepare};
    let which = match target.strip_prefix("board:") {
        _ if of_inventory => Ok(Which::OfInventory),
        Some(name) => Ok(Which::Named(vec![name.to_owned()])),
        None => crate::targets::count(target)?.map(Which::Virtual),
    };
    Some(move || Box::pin(async move { prepare(&package, which?, logs).await }) as Preparing)
}

#[cfg(not(target_os = "linux"))]
fn prepare(_: &str, _: bool, _: PathBuf, _: PathBuf) -> Option<fn() -> Preparing> {
    None
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

/// The folder of the package under test, as cargo says it.
pub(super) fn package() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

/// Below the folder in which cargo runs this test's program: a target folder, wherever it is.
pub(super) fn logs(package: &Path) -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let target = program
        .ancestors()
        .find(|folder| folder.join("CACHEDIR.TAG").is_file());
    target.map_or_else(|| package.join("target"), Path::to_owned)
}
