//! A conversation with one target, for commands that ask it something.

use crate::access::Access;
use crate::exit::Exit;
use crate::targets::{self, Open, Options};
use mcp_hil_harness::client::{self, Client, ClientError, Limits, Probe};
use mcp_hil_harness::revision::{Era, Revision};
use mcp_hil_harness::target::Target;
use std::path::PathBuf;

/// What is said about a target besides its name.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct TargetOptions {
    /// Firmware for native and virtual; without it the board is built from the checkout
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,
    /// Stretch every time limit by this factor, for slow targets
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = crate::args::factor)]
    pub deadline_factor: f64,
    #[command(flatten)]
    pub access: Access,
}

impl TargetOptions {
    /// The same as the kinds of target take it.
    pub fn options(&self) -> Options {
        Options {
            firmware: self.firmware.clone(),
            deadline_factor: self.deadline_factor,
            access: self.access.options(),
            ..Options::default()
        }
    }
}

/// A target that is up, and a client that may send requests.
pub(crate) struct Conversation {
    pub client: Client,
    pub target: Target,
    // the board, as long as it is talked to
    _open: Open,
}

/// Why there is none, told to the user.
pub(crate) type Told<T> = Result<T, Exit>;

impl Conversation {
    /// Opens a target and shakes hands, in the newest revision that it speaks or a given one.
    pub async fn open(name: &str, options: &TargetOptions, revision: Option<Revision>) -> Told<Self> {
        let open = open_one(name, &options.options()).await?;
        let limits = Limits::scaled(options.deadline_factor);
        let target = open.subjects[0].target.clone();
        let client = match revision {
            None => client::connect(&target, limits)
                .await
                .map_err(|probe| because(&probe))?,
            Some(revision) => {
                let mut client = Client::open(&target, revision, limits)
                    .map_err(|fault| Exit::Infrastructure.because(&fault.to_string()))?;
                if revision.era() == Era::Legacy {
                    client.initialize().await.map_err(|error| failed(&error))?;
                }
                client
            }
        };
        Ok(Self {
            client,
            target,
            _open: open,
        })
    }
}

/// Opens a target that is one server.
pub(crate) async fn open_one(name: &str, options: &Options) -> Told<Open> {
    match targets::open(name, options).await {
        Ok(open) if open.subjects.len() == 1 => Ok(open),
        Ok(open) => Err(Exit::Usage.because(&format!("{name} is {} boards; name one", open.subjects.len()))),
        Err(error) => Err(error.exit()),
    }
}

/// Says why a target could not be placed.
pub(crate) fn because(probe: &Probe) -> Exit {
    match probe {
        Probe::NotMcp(error) => failed(error),
        Probe::Unreachable(_) | Probe::HttpSse => Exit::Infrastructure.because(&probe.to_string()),
        Probe::NoCommonRevision(_) => Exit::NothingRan.because(&probe.to_string()),
    }
}

/// Says why a request has no result, with what the server's error says.
pub(crate) fn failed(error: &ClientError) -> Exit {
    let exit = if error.is_unreachable() {
        Exit::Infrastructure
    } else {
        Exit::Failed
    };
    let said = error
        .exchange()
        .message()
        .and_then(|answer| answer.pointer("/error"));
    let reason = match (error, said) {
        (ClientError::Rpc { .. }, Some(said)) => {
            let message = said
                .get("message")
                .and_then(serde_json::Value::as_str)
                .unwrap_or_default();
            let data = said
                .get("data")
                .map(|data| format!("; data: {data}"))
                .unwrap_or_default();
            format!("{error}: {message}{data}")
        }
        _ => error.to_string(),
    };
    exit.because(&reason)
}
