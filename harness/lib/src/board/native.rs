//! The board that is a Linux process: started as a child, gone when its handle is dropped.

use super::console::{Boot, Console};
use super::{BoardError, build_id};
use crate::process::Guarded;
use crate::target::{Command, Endpoint};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::watch;
use tokio::time::timeout;

/// Lines of the console that are kept.
const MAX_LINES: usize = 1000;

/// A running board.
#[derive(Debug)]
pub struct NativeBoard {
    /// Where it answers.
    pub endpoint: Endpoint,
    /// What it told on its way up.
    pub boot: Boot,
    console: Arc<Lines>,
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
        let wanted = build_id::required(&file).map_err(|reason| BoardError::Firmware {
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
        let console = Arc::<Lines>::default();
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
                return Err(BoardError::NotServing {
                    file,
                    after: limit,
                    console: console.text(),
                });
            }
        };
        let url = boot.url.clone().unwrap_or_default();
        let endpoint = Endpoint::parse(&url).map_err(|error| BoardError::Start {
            file: file.clone(),
            reason: error.to_string(),
        })?;
        let running = boot.build_id.clone().unwrap_or_default();
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

    /// What it prints; the last 1000 lines are kept.
    pub fn console(&self) -> Arc<dyn Console> {
        Arc::clone(&self.console) as _
    }
}

/// The last lines of the console, with the time at which each was read.
#[derive(Debug, Default)]
struct Lines(Mutex<VecDeque<(Instant, String)>>);

impl Lines {
    fn push(&self, line: String) {
        if let Ok(mut lines) = self.0.lock() {
            if lines.len() == MAX_LINES {
                lines.pop_front();
            }
            lines.push_back((Instant::now(), line));
        }
    }

    fn text(&self) -> String {
        self.0
            .lock()
            .map(|lines| {
                let lines: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
                lines.join("\n")
            })
            .unwrap_or_default()
    }
}

impl Console for Lines {
    fn since(&self, start: Instant) -> Vec<String> {
        let Ok(lines) = self.0.lock() else {
            return Vec::new();
        };
        lines
            .iter()
            .filter(|(at, _)| *at >= start)
            .map(|(_, line)| line.clone())
            .collect()
    }
}

/// Reads a stream of the board to its end, so that a full pipe never stops it.
async fn read(stream: impl AsyncRead + Unpin, console: Arc<Lines>, told: Option<watch::Sender<Boot>>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    while let Ok(1..) = stream.read_until(b'\n', &mut line).await {
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        line.clear();
        if let Some(told) = &told {
            told.send_modify(|boot| boot.line(&text));
        }
        console.push(text);
    }
}
