//! The board that is a Linux process: built with cargo, started as a child, gone when its handle is dropped.

use super::console::Boot;
use super::{BoardError, build_id};
use crate::process::Guarded;
use crate::target::{Command, Endpoint};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::watch;
use tokio::time::timeout;

/// Folder of the board's package in a checkout.
pub const FOLDER: &str = "firmware/boards/native";
/// A build that takes longer has hung.
const BUILD_LIMIT: Duration = Duration::from_secs(20 * 60);
/// Lines of the console that are kept.
const MAX_LINES: usize = 1000;
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

/// The board's folder in the checkout that holds a path.
pub fn find_folder(inside: &Path) -> Option<PathBuf> {
    inside
        .ancestors()
        .map(|folder| folder.join(FOLDER))
        .find(|folder| folder.join("Cargo.toml").is_file())
}

/// Builds the firmware and gives its path. A caller's `CARGO_TARGET_DIR` is honoured, with a folder of its own in it.
///
/// # Errors
/// [`BoardError::Build`].
pub async fn build(folder: &Path, cargo: &Path) -> Result<PathBuf, BoardError> {
    let failed = |reason: String| BoardError::Build {
        folder: folder.to_owned(),
        reason,
    };
    let mut command = tokio::process::Command::new(cargo);
    // from its own folder: that is where cargo looks for the board's configuration
    command
        .args(["build", "--locked", "--message-format=json-render-diagnostics"])
        .current_dir(folder);
    if let Some(shared) = std::env::var_os("CARGO_TARGET_DIR") {
        command
            .arg("--target-dir")
            .arg(Path::new(&shared).join("boards/native"));
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
        return Err(failed(format!(
            "{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        )));
    }
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    stdout
        .lines()
        .filter_map(executable)
        .next_back()
        .ok_or_else(|| failed("cargo named no executable".to_owned()))
}

/// A running board.
#[derive(Debug)]
pub struct NativeBoard {
    /// Where it answers.
    pub endpoint: Endpoint,
    /// What it told on its way up.
    pub boot: Boot,
    console: Arc<Mutex<Vec<String>>>,
    // the board ends when this pipe does, however we end
    _stdin: Option<ChildStdin>,
    _process: Guarded,
}

impl NativeBoard {
    /// Starts a firmware on a free port and waits until it serves. Must be called within a tokio runtime, whose
    /// thread outlives the board.
    ///
    /// # Errors
    /// [`BoardError`]; what the board told may be another build than the file's.
    pub async fn start(file: &Path, limit: Duration) -> Result<Self, BoardError> {
        let file = file.to_owned();
        let wanted = build_id::of(&file).map_err(|reason| BoardError::Firmware {
            file: file.clone(),
            reason,
        })?;
        let program = std::path::absolute(&file)
            .unwrap_or_else(|_| file.clone())
            .display()
            .to_string();
        let arguments = ["--port", "0", "--exit-on-stdin-eof"].map(str::to_owned).to_vec();
        let mut process =
            Guarded::spawn(&Command { program, arguments }).map_err(|reason| BoardError::Start {
                file: file.clone(),
                reason,
            })?;
        let console = Arc::default();
        let (told, mut boot) = watch::channel(Boot::default());
        if let Some(stdout) = process.child.stdout.take() {
            tokio::spawn(read(stdout, Arc::clone(&console), Some(told)));
        }
        if let Some(stderr) = process.child.stderr.take() {
            tokio::spawn(read(stderr, Arc::clone(&console), None));
        }
        let stdin = process.child.stdin.take();
        let serving = timeout(limit, boot.wait_for(|boot| boot.url.is_some())).await;
        let boot = match serving {
            Ok(Ok(boot)) => boot.clone(),
            _ => {
                let console = text(&console);
                return Err(BoardError::NotServing {
                    file,
                    after: limit,
                    console,
                });
            }
        };
        let url = boot.url.clone().unwrap_or_default();
        let endpoint = Endpoint::parse(&url).map_err(|error| BoardError::Start {
            file: file.clone(),
            reason: error.to_string(),
        })?;
        let (wanted, running) = (
            wanted.unwrap_or_default(),
            boot.build_id.clone().unwrap_or_default(),
        );
        if wanted != running {
            return Err(BoardError::OtherBuild {
                file,
                wanted,
                running,
            });
        }
        Ok(Self {
            endpoint,
            boot,
            console,
            _stdin: stdin,
            _process: process,
        })
    }

    /// What stands on the console, the last 1000 lines.
    pub fn console(&self) -> String {
        text(&self.console)
    }
}

fn text(console: &Mutex<Vec<String>>) -> String {
    console.lock().map(|lines| lines.join("\n")).unwrap_or_default()
}

/// Reads a stream of the board to its end, so that a full pipe never stops it.
async fn read(
    stream: impl AsyncRead + Unpin,
    console: Arc<Mutex<Vec<String>>>,
    told: Option<watch::Sender<Boot>>,
) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(1..) = stream.read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if let Some(told) = &told {
            told.send_modify(|boot| boot.line(&text));
        }
        if let Ok(mut lines) = console.lock() {
            if lines.len() == MAX_LINES {
                lines.remove(0);
            }
            lines.push(text);
        }
    }
}
