//! The kinds of target that a command line can name. A new kind is a file here and a line in [`KINDS`].

mod http;
mod mdns;
mod native;
mod reference;
mod stdio;
#[cfg(target_os = "linux")]
pub(crate) mod virtual_;

pub use reference::ReferenceServer;

use mcp_hil_harness::replay::Subject;
use std::any::Any;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::pin::Pin;

const KINDS: &[Kind] = &[
    http::KIND,
    mdns::KIND,
    native::KIND,
    reference::KIND,
    stdio::KIND,
    #[cfg(target_os = "linux")]
    virtual_::KIND,
];

/// A way to name a target.
struct Kind {
    /// What a user writes.
    syntax: &'static str,
    /// What is then talked to.
    about: &'static str,
    /// Opens a name of this kind; none if it is of another.
    open: fn(&str, &Options) -> Option<Opening>,
}

type Opening = Pin<Box<dyn Future<Output = Result<Open, OpenError>>>>;

/// What a command line says about the target besides its name.
#[derive(Clone, Debug)]
pub struct Options {
    /// Firmware to run on the board.
    pub firmware: Option<PathBuf>,
    /// Factor for time limits.
    pub deadline_factor: f64,
}

/// A target that is up.
pub struct Open {
    /// What to talk to, and what is known of it.
    pub subject: Subject,
    /// What must live as long as the target is talked to.
    _guard: Box<dyn Any>,
}

/// Why there is no target.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// What the user wrote can't be used.
    #[error("{0}")]
    Usage(String),
    /// It could not be started.
    #[error("{0}")]
    Infrastructure(String),
}

/// Opens the target of a name.
///
/// # Errors
/// [`OpenError`].
pub async fn open(name: &str, options: &Options) -> Result<Open, OpenError> {
    match KINDS.iter().find_map(|kind| (kind.open)(name, options)) {
        Some(opening) => opening.await,
        None => Err(OpenError::Usage(format!(
            "{name:?} is no target; use one of\n{}",
            help()
        ))),
    }
}

/// The kinds of target, a line each.
pub fn help() -> String {
    let mut text = String::from("Targets:");
    for kind in KINDS {
        let _ = write!(text, "\n  {:<16}{}", kind.syntax, kind.about);
    }
    text
}
