//! Where text goes.

use crate::args::Color;
use mcp_hil_harness::access::Access;
use mcp_hil_harness::report::style::Style;
use std::fs::File;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{PoisonError, RwLock};

/// The secrets of all targets of this process.
static SECRETS: RwLock<Vec<Access>> = RwLock::new(Vec::new());

/// Keeps secrets out of everything that is written from now on: a server may repeat what it was sent.
pub fn hide(access: &Access) {
    if access.has_secrets() {
        let mut secrets = SECRETS.write().unwrap_or_else(PoisonError::into_inner);
        secrets.push(access.clone());
    }
}

/// A text without the secrets.
pub fn without_secrets(text: &str) -> String {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    let hide = |text: String, access: &Access| access.redact(&text);
    secrets.iter().fold(text.to_owned(), hide)
}

/// Writes to standard output or error. A reader that has gone away is no reason to fail.
pub fn print(to_stderr: bool, text: &str) {
    let text = without_secrets(text);
    let _ = if to_stderr {
        io::stderr().write_all(text.as_bytes())
    } else {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    };
}

/// Whether text is coloured.
pub fn style(color: Color, to_stderr: bool) -> Style {
    let coloured = match color {
        Color::Always => true,
        Color::Never => false,
        Color::Auto => {
            let terminal = if to_stderr {
                io::stderr().is_terminal()
            } else {
                io::stdout().is_terminal()
            };
            terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    };
    if coloured { Style::COLOUR } else { Style::PLAIN }
}

/// A report's file, opened before the run so that a bad path costs no run.
pub enum Sink {
    /// Standard output.
    Stdout,
    /// A file.
    File(File),
}

impl Sink {
    /// Opens a path, `-` for standard output.
    pub fn open(path: &Path) -> Result<Self, String> {
        if path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        File::create(path)
            .map(Self::File)
            .map_err(|error| format!("{} can't be written: {error}", path.display()))
    }

    /// Writes the report.
    pub fn write(self, text: &str) -> io::Result<()> {
        let text = without_secrets(text);
        match self {
            Self::Stdout => io::stdout().lock().write_all(text.as_bytes()),
            Self::File(mut file) => file.write_all(text.as_bytes()),
        }
    }
}
