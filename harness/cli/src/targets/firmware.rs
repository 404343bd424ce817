//! The firmware of boards that this process starts.

use super::OpenError;
use crate::output;
use mcp_hil_harness::board::firmware::Source;
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
    output::print(true, &format!("building {}\n", folder.display()));
    // under `cargo run` this is the very cargo that runs
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    source
        .build(&folder, Path::new(&cargo))
        .await
        .map_err(|error| OpenError::Infrastructure(error.to_string()))
}
