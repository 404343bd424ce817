//! The firmware of a checkout's boards, built with cargo.

use super::BoardError;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::time::timeout;

/// A build that takes longer has hung.
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);
/// What a caller's environment must not change about the firmware.
const NOT_INHERITED: [&str; 8] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
];
/// What rustc says (E0463) where the standard library of the board's target is not there.
const NO_TARGET: &str = "can't find crate for `core`";

/// The source of a board's firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Folder of the board's package in a checkout.
    pub folder: &'static str,
    /// Name of its folder within a shared `CARGO_TARGET_DIR`.
    target: &'static str,
    release: bool,
}

/// The board that is a Linux process.
pub const NATIVE: Source = Source {
    folder: "firmware/boards/native",
    target: "boards/native",
    release: false,
};
/// QEMU's riscv32 `virt` machine.
pub const VIRTUAL: Source = Source {
    folder: "firmware/boards/virt",
    target: "boards/virt",
    release: true,
};

impl Source {
    /// The board's folder in the checkout that holds a path.
    pub fn find(&self, inside: &Path) -> Option<PathBuf> {
        inside
            .ancestors()
            .map(|top| top.join(self.folder))
            .find(|folder| folder.join("Cargo.toml").is_file())
    }

    /// Builds the firmware in its folder, with the versions of its lock file, and gives its path. A caller's
    /// `CARGO_TARGET_DIR` is honoured, with a folder of its own in it.
    ///
    /// # Errors
    /// [`BoardError::Build`], [`BoardError::NoToolchain`].
    pub async fn build(&self, folder: &Path, cargo: &Path) -> Result<PathBuf, BoardError> {
        let profile = self.release.then_some("--release");
        let arguments = ["--locked"].into_iter().chain(profile);
        run_cargo(folder, cargo, arguments, Path::new(self.target)).await
    }
}

/// Builds the firmware of a user's own package, in its folder and optimised, and gives the path of its executable. A
/// caller's `CARGO_TARGET_DIR` is honoured, with a folder of its own in it.
///
/// # Errors
/// [`BoardError::Build`], [`BoardError::NoToolchain`].
pub async fn build(folder: &Path, cargo: &Path) -> Result<PathBuf, BoardError> {
    let name = folder.file_name().unwrap_or_default();
    run_cargo(folder, cargo, ["--release"], Path::new(name)).await
}

async fn run_cargo(
    folder: &Path,
    cargo: &Path,
    arguments: impl IntoIterator<Item = &str>,
    target: &Path,
) -> Result<PathBuf, BoardError> {
    let failed = |reason: String| BoardError::Build {
        folder: folder.to_owned(),
        reason,
    };
    let mut command = tokio::process::Command::new(cargo);
    // from its own folder: that is where cargo looks for the board's configuration
    command
        .args(["build", "--message-format=json-render-diagnostics"])
        .args(arguments)
        .current_dir(folder);
    if let Some(shared) = std::env::var_os("CARGO_TARGET_DIR") {
        command.arg("--target-dir").arg(Path::new(&shared).join(target));
    }
    NOT_INHERITED.iter().for_each(|name| {
        command.env_remove(name);
    });
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let run = timeout(BUILD_LIMIT, command.output());
    let output = run
        .await
        .map_err(|_| failed(format!("no end after {} s", BUILD_LIMIT.as_secs())))?;
    let output = output.map_err(|error| failed(format!("{}: {error}", cargo.display())))?;
    if !output.status.success() {
        let told = String::from_utf8_lossy(&output.stderr);
        return Err(if told.contains(NO_TARGET) {
            BoardError::NoToolchain {
                folder: folder.to_owned(),
            }
        } else {
            failed(format!("{}\n{told}", output.status))
        });
    }
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let executables: Vec<_> = stdout.lines().filter_map(executable).collect();
    match executables.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(failed("cargo named no executable".to_owned())),
        several => {
            let names = several.iter().filter_map(|path| path.file_name());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            Err(failed(format!(
                "it has several executables, {}; keep one",
                names.join(", ")
            )))
        }
    }
}
