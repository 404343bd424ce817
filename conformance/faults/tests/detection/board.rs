//! Legal variants before a board: our device in the place of the reference server.

use crate::bench::{Graded, grade_at, runtime};
use libtest_mimic::{Completion, Failed};
use mcp_hil_conformance::run::Options;
use mcp_hil_faults::Fault;
use mcp_hil_harness::board::BoardError;
use mcp_hil_harness::board::firmware::NATIVE;
use mcp_hil_harness::board::native::NativeBoard;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::Endpoint;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::Builder;

/// The URL of a board that is tried besides.
pub const UPSTREAM: &str = "MCP_HIL_UPSTREAM";
/// How long the native board may take to serve, on a busy machine.
const BOOT_LIMIT: Duration = Duration::from_secs(30);

/// What is tried.
#[derive(Clone, Debug)]
pub enum Board {
    /// A process of each trial's own.
    Native,
    /// The one at this URL, which one trial at a time talks to.
    At(String),
}

impl Board {
    /// The boards there are.
    pub fn all() -> Vec<Self> {
        let named = std::env::var(UPSTREAM).ok().map(Self::At);
        [Self::Native].into_iter().chain(named).collect()
    }

    /// What its trials are called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::At(_) => "upstream",
        }
    }
}

/// The native board's firmware, built when it is first needed.
fn native() -> Result<PathBuf, Failed> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let build = || {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = NATIVE.find(here).ok_or("no checkout around this test")?;
        let built: Result<PathBuf, BoardError> = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?
            .block_on(NATIVE.build(&folder, Path::new(env!("CARGO"))));
        built.map_err(|error| error.to_string())
    };
    Ok(BUILT.get_or_init(build).clone()?)
}

/// Tries a variant, or without one the board as it is, with all checks.
pub fn is_legal(
    board: &Board,
    variant: Option<&'static Fault>,
    revision: Revision,
) -> Result<Completion, Failed> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    if let Some([feature, ..]) = variant.map(|variant| variant.needs) {
        return Ok(Completion::ignored_with(format!("the board has no {feature}")));
    }
    let options = |revision| Options {
        revisions: vec![revision],
        ..Options::default()
    };
    let graded: Graded = match board {
        Board::Native => {
            let firmware = native()?;
            runtime()?.block_on(async {
                let board = NativeBoard::start(&firmware, BOOT_LIMIT).await?;
                grade_at(&board.endpoint, variant, &options(revision)).await
            })?
        }
        Board::At(url) => {
            let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
            let endpoint = Endpoint::parse(url)?;
            runtime()?.block_on(grade_at(&endpoint, variant, &options(revision)))?
        }
    };
    if graded.changed == 0 {
        return Ok(Completion::ignored_with(
            "the board says nothing that this changes",
        ));
    }
    crate::no_alarm(&graded)?;
    Ok(Completion::Completed)
}
