//! Runs `mcp-hil` and never waits for ever.

use serde_json::{Value, json};
use std::io::Read as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than any run here takes, shorter than a person's patience.
const LIMIT: Duration = Duration::from_secs(60);

/// What a run left.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// The command, not yet started. Whoever runs the tests may have signals ignored, as `nohup` does; it has not.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP,INT,TERM", env!("CARGO_BIN_EXE_mcp-hil")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Ran {
    finish(command(arguments).spawn().unwrap())
}

pub fn finish(mut child: Child) -> Ran {
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read_out = thread::spawn(move || {
        let mut text = String::new();
        out.read_to_string(&mut text).map(|_| text)
    });
    let read_err = thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).map(|_| text)
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("the command hangs");
        }
        thread::sleep(Duration::from_millis(10));
    };
    Ran {
        code: status.code().unwrap_or(-1),
        stdout: read_out.join().unwrap().unwrap(),
        stderr: read_err.join().unwrap().unwrap(),
    }
}

impl Ran {
    /// Checks the exit code and a text on either output.
    pub fn ended(&self, code: i32, text: &str) -> &Self {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        assert!(
            self.stdout.contains(text) || self.stderr.contains(text),
            "no {text:?} in\n{}{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// A folder with one transcript, of any MCP server: a ping.
pub struct File {
    folder: TempDir,
    path: PathBuf,
}

impl File {
    pub fn new(transcript: &Value) -> Self {
        Self::with_text(&format!("{transcript:#}"))
    }

    pub fn with_text(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("one.json");
        std::fs::write(&path, text).unwrap();
        Self { folder, path }
    }

    pub fn ping() -> Self {
        Self::new(&ping())
    }

    pub fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }

    pub fn beside(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// A transcript that every legacy server passes.
pub fn ping() -> Value {
    json!({
        "title": "a ping is answered", "about": "2025-11-25, basic/utilities/ping", "revision": "2025-11-25",
        "steps": [{
            "name": "ping",
            "send": {"message": {"jsonrpc": "2.0", "id": 1, "method": "ping"}},
            "expect": {"message": {"jsonrpc": "2.0", "id": 1, "result": {}}},
        }],
    })
}
