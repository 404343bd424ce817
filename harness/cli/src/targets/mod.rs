//! The kinds of target that a command line can name. A new kind is a file here and a line in [`KINDS`].

mod board;
mod firmware;
mod http;
mod mdns;
mod native;
mod reference;
mod stdio;
#[cfg(target_os = "linux")]
mod virtual_;

pub use reference::ReferenceServer;
#[cfg(target_os = "linux")]
pub use virtual_::{BOOT_LIMIT, Up, VirtualBoards, firmware as virtual_firmware, stretch};

use crate::bench::Refusal;
use crate::exit::Exit;
use mcp_hil_harness::access::{self, Access};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::target::Target;
use std::any::Any;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::pin::Pin;

const KINDS: &[Kind] = &[
    board::KIND,
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
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Firmware to run on the board.
    pub firmware: Option<PathBuf>,
    /// Factor for time limits.
    pub deadline_factor: f64,
    /// What it takes to be let in.
    pub access: access::Options,
    /// What virtual boards' cables do to frames.
    #[cfg(target_os = "linux")]
    pub impair: Option<mcp_hil_virtual_board::impairment::Impairment>,
    /// Repeats the chances of that.
    #[cfg(target_os = "linux")]
    pub seed: u64,
    /// Where their frames are captured.
    #[cfg(target_os = "linux")]
    pub pcap: Option<PathBuf>,
}

/// A target that is up.
pub struct Open {
    /// What to talk to, and what is known of it; several boards are talked to at the same time.
    pub subjects: Vec<Subject>,
    /// What must live as long as the target is talked to.
    _guard: Box<dyn Any>,
}

impl Open {
    fn one(subject: Subject, guard: impl Any) -> Self {
        Self {
            subjects: vec![subject],
            _guard: Box::new(guard),
        }
    }
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
    /// Its firmware is at fault.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    /// Says why there is no target; the code says who is at fault.
    pub fn exit(&self) -> Exit {
        let exit = match self {
            Self::Usage(_) => Exit::Usage,
            Self::Infrastructure(_) => Exit::Infrastructure,
            Self::Failed(_) => Exit::Failed,
        };
        exit.because(&self.to_string())
    }
}

impl From<Refusal> for OpenError {
    fn from(Refusal { exit, reason }: Refusal) -> Self {
        match exit {
            Exit::Usage => Self::Usage(reason),
            Exit::Failed => Self::Failed(reason),
            _ => Self::Infrastructure(reason),
        }
    }
}

/// Opens the target of a name.
///
/// # Errors
/// [`OpenError`].
pub async fn open(name: &str, options: &Options) -> Result<Open, OpenError> {
    #[cfg(target_os = "linux")]
    if !name.starts_with("virtual") {
        for (given, option) in [
            (options.impair.is_some(), "--impair"),
            (options.pcap.is_some(), "--pcap"),
        ] {
            if given {
                return Err(OpenError::Usage(format!("{option} is for virtual boards")));
            }
        }
    }
    let access = Access::new(&options.access).map_err(|error| OpenError::Usage(error.to_string()))?;
    let opening = KINDS
        .iter()
        .find_map(|kind| (kind.open)(name, options))
        .ok_or_else(|| OpenError::Usage(format!("{name:?} is no target; use one of\n{}", help())))?;
    let mut open = opening.await?;
    for subject in &mut open.subjects {
        match &mut subject.target {
            Target::Http(endpoint) => {
                if !endpoint.tls && (options.access.ca.is_some() || options.access.client.is_some()) {
                    let reason =
                        format!("--ca and --client-cert are for https:// URLs, and {endpoint} is none");
                    return Err(OpenError::Usage(reason));
                }
                endpoint.access = access.clone();
            }
            // a token may stand in the environment for other targets
            Target::Stdio(_) if options.access.is_token_at_most() => {}
            Target::Stdio(_) => {
                let reason = "--header, --ca and --client-cert are for targets over HTTP";
                return Err(OpenError::Usage(reason.to_owned()));
            }
        }
    }
    Ok(open)
}

/// The kinds of target, a line each.
pub fn help() -> String {
    let mut text = String::from("Targets:");
    let width = KINDS.iter().map(|kind| kind.syntax.len()).max().unwrap_or(0);
    for kind in KINDS {
        let _ = write!(text, "\n  {:<width$}  {}", kind.syntax, kind.about);
    }
    text
}
