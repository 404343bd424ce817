//! The kinds of target that a command line can name. A new kind is a file here and a line in [`KINDS`].

mod board;
pub(crate) mod firmware;
mod http;
mod mdns;
mod native;
mod reference;
mod stdio;
#[cfg(target_os = "linux")]
mod virtual_;

pub use reference::ReferenceServer;
#[cfg(target_os = "linux")]
pub(crate) use virtual_::count;
#[cfg(target_os = "linux")]
pub use virtual_::{BOOT_LIMIT, Up, VirtualBoards, firmware as virtual_firmware, stretch};

use crate::bench::Refusal;
use crate::exit::Exit;
use crate::output;
use mcp_hil_harness::access::{self, Access};
use mcp_hil_harness::replay::Subject;
use mcp_hil_harness::shown;
use mcp_hil_harness::target::{Endpoint, Target};
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
    /// Gets everything ready that a target of this kind needs; none if the name is of another.
    prepare: fn(&str, &Options) -> Option<Preparing>,
}

type Preparing = Pin<Box<dyn Future<Output = Result<Prepared, OpenError>>>>;
type Opening = Pin<Box<dyn Future<Output = Result<Open, OpenError>>>>;

/// A target for which everything is there, and that was not started yet.
pub struct Prepared(Box<dyn FnOnce() -> Opening + Send>);

impl Prepared {
    /// One that is started so.
    pub(crate) fn new<F>(start: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Open, OpenError>> + 'static,
    {
        Self(Box::new(move || Box::pin(start())))
    }

    /// One that is up already, or can't be.
    fn ready(open: Result<Open, OpenError>) -> Result<Self, OpenError> {
        let open = open?;
        Ok(Self::new(move || std::future::ready(Ok(open))))
    }

    /// Starts the target. The runtime that does this must live as long as the target, and be driven meanwhile.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn start(self) -> Result<Open, OpenError> {
        self.0().await
    }
}

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
    _guard: Box<dyn Any + Send>,
}

impl Open {
    pub(crate) fn one(subject: Subject, guard: impl Any + Send) -> Self {
        Self::all(vec![subject], guard)
    }

    pub(crate) fn all(subjects: Vec<Subject>, guard: impl Any + Send) -> Self {
        Self {
            subjects,
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
        self.code().because(&self.to_string())
    }

    /// Who is at fault.
    pub(crate) const fn code(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Infrastructure(_) => Exit::Infrastructure,
            Self::Failed(_) => Exit::Failed,
        }
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

/// Opens the target of a name. Must be called before the process has a second thread.
///
/// # Errors
/// [`OpenError`].
pub async fn open(name: &str, options: &Options) -> Result<Open, OpenError> {
    prepare(name, options).await?.start().await
}

/// Gets ready what the target of a name needs: its firmware is built and its network entered. Must be called before the
/// process has a second thread; what comes after a network was entered can't reach any other.
///
/// # Errors
/// [`OpenError`].
pub async fn prepare(name: &str, options: &Options) -> Result<Prepared, OpenError> {
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
    output::hide(&access);
    if name.contains("://") {
        // as it was written; that of the endpoint may be written otherwise
        output::hide(&Access::default().hiding(name));
    }
    let preparing = KINDS
        .iter()
        .find_map(|kind| (kind.prepare)(name, options))
        .ok_or_else(|| OpenError::Usage(unknown(name)))?;
    let prepared = preparing.await?;
    let options = options.access.clone();
    Ok(Prepared::new(move || with_access(prepared, access, options)))
}

/// Starts a target and has it talked to with these credentials.
async fn with_access(
    prepared: Prepared,
    access: Access,
    options: access::Options,
) -> Result<Open, OpenError> {
    let mut open = prepared.start().await?;
    for subject in &mut open.subjects {
        match &mut subject.target {
            Target::Http(endpoint) => {
                if !endpoint.tls && (options.ca.is_some() || options.client.is_some()) {
                    let reason =
                        format!("--ca and --client-cert are for https:// URLs, and {endpoint} is none");
                    return Err(OpenError::Usage(reason));
                }
                endpoint.access = access.clone().hiding(&endpoint.path);
                output::hide(&endpoint.access);
            }
            // a token may stand in the environment for other targets
            Target::Stdio(_) if options.is_token_at_most() => {}
            Target::Stdio(_) => {
                let reason = "--header, --ca and --client-cert are for targets over HTTP";
                return Err(OpenError::Usage(reason.to_owned()));
            }
        }
    }
    Ok(open)
}

/// What is said of a name that is no target: a host without the scheme is meant more often than anything else.
fn unknown(name: &str) -> String {
    let slashes = name.trim_start_matches("http:/").trim_start_matches('/');
    let (host, path) = slashes.split_once('/').unwrap_or((slashes, "mcp"));
    let url = format!("http://{host}/{path}");
    let is_host = host.contains(['.', ':']) && Endpoint::parse(&url).is_ok();
    let hint = if is_host {
        format!("did you mean {url}? Or ")
    } else {
        String::new()
    };
    let name = shown::target(name);
    format!("{name:?} is no target; {hint}use one of\n{}", help())
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
