//! The firmware of boards that this process starts.

use super::OpenError;
use crate::output;
use mcp_hil_harness::board::firmware::{self, Source};
use mcp_hil_harness::board::identity::Identity;
use mcp_hil_harness::board::{BoardError, build_id};
use mcp_hil_harness::client::Limits;
use mcp_hil_harness::target::Target;
use std::path::{Path, PathBuf};

/// The file that was named, or that of the checkout around the current folder, built. `ready` says before a build, which
/// takes minutes, whether the board could then be had.
pub async fn find(
    named: Option<&Path>,
    source: &Source,
    ready: impl FnOnce() -> Result<(), OpenError>,
) -> Result<PathBuf, OpenError> {
    if let Some(file) = named {
        return match file.is_file() {
            true => Ok(file.to_owned()),
            false => {
                let problem = match file.exists() {
                    true => "is no regular file",
                    false => "there is no such file",
                };
                Err(OpenError::Usage(format!(
                    "--firmware {}: {problem}",
                    file.display()
                )))
            }
        };
    }
    let here =
        std::env::current_dir().map_err(|error| OpenError::Usage(format!("the current folder: {error}")))?;
    let folder = source.find(&here).ok_or_else(|| {
        OpenError::Usage(format!(
            "the board is built from {} of a checkout of mcp-hil, and {} is not inside one; run there, or give a firmware with --firmware FILE",
            source.folder,
            here.display()
        ))
    })?;
    ready()?;
    told(&folder);
    source
        .build(&folder, &cargo())
        .await
        .map_err(|error| OpenError::Infrastructure(error.to_string()))
}

/// That of a user's own package, built.
pub async fn of_package(folder: &Path) -> Result<PathBuf, OpenError> {
    told(folder);
    firmware::build(folder, &cargo())
        .await
        .map_err(|error| OpenError::Infrastructure(error.to_string()))
}

/// A user would take the minutes of a first build for a hang.
fn told(folder: &Path) {
    output::print(true, &format!("building {}\n", folder.display()));
}

/// Under `cargo run` and `cargo test` the very cargo that runs.
fn cargo() -> PathBuf {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()).into()
}

/// Build id of a firmware.
pub fn build(file: &Path) -> Result<String, OpenError> {
    build_id::required(file)
        .map_err(|reason| OpenError::Usage(format!("the firmware {}: {reason}", file.display())))
}

/// Compares the build id of the board that answers with that of the file, and gives the board's name. One that does not
/// tell has told its build on the console, and fails in the replay.
pub async fn answers(
    target: &Target,
    file: &Path,
    deadline_factor: f64,
) -> Result<Option<String>, OpenError> {
    let wanted = build(file)?;
    match Identity::ask(target, Limits::scaled(deadline_factor)).await {
        Ok(Identity { build_id, .. }) if build_id != wanted => {
            let error = BoardError::OtherBuild {
                file: file.to_owned(),
                wanted,
                running: build_id,
            };
            Err(OpenError::Infrastructure(error.to_string()))
        }
        Ok(Identity { name, .. }) => Ok(Some(name)),
        Err(_) => Ok(None),
    }
}
