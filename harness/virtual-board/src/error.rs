//! What can go wrong, each with what to do about it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// An error of the virtual network or of a board on it.
///
/// All of these are troubles of the harness or its machine, never a verdict on a board.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process already has several threads; those would stay in the old network.
    #[error(
        "the process already has {threads} threads, and a network namespace is entered thread by thread; \
         enter the virtual network first thing in main"
    )]
    Threads {
        /// How many threads there are.
        threads: usize,
    },

    /// The kernel refused the namespace.
    #[error("cannot {step}: {source}; {advice}")]
    Namespace {
        /// What was tried.
        step: &'static str,
        /// What the kernel answered.
        source: io::Error,
        /// What to do.
        advice: String,
    },

    /// The TAP interface could not be made.
    #[error("cannot open /dev/net/tun: {source}; {advice}")]
    Tap {
        /// What the kernel answered.
        source: io::Error,
        /// What to do.
        advice: &'static str,
    },

    /// An interface inside the namespace could not be configured.
    #[error("cannot {step} in the virtual network: {reason}")]
    Configure {
        /// What was tried.
        step: &'static str,
        /// What netlink answered.
        reason: String,
    },

    /// A file, socket or thread could not be made.
    #[error("cannot {step}: {source}")]
    Io {
        /// What was tried.
        step: String,
        /// What the system answered.
        source: io::Error,
    },

    /// A program that is needed is not installed.
    #[error("{program} is not on PATH; {advice}")]
    ProgramMissing {
        /// Its name.
        program: String,
        /// How to get it.
        advice: &'static str,
    },

    /// There is no such place on the network.
    #[error("there is no board {board}: the virtual network was made for {size} (0 to {})", size.saturating_sub(1))]
    NoSuchBoard {
        /// The number asked for.
        board: usize,
        /// How many places there are.
        size: usize,
    },

    /// A network of that many boards is more than the address plan holds.
    #[error("{boards} boards asked for, the virtual network holds at most {limit}")]
    TooManyBoards {
        /// The number asked for.
        boards: usize,
        /// The most there can be.
        limit: usize,
    },

    /// The place is taken by a running board.
    #[error("board {board} is already running; kill it or let it exit before starting another in its place")]
    BoardRunning {
        /// Its number.
        board: usize,
    },

    /// The firmware's file is not there or can't be read.
    #[error("cannot read the firmware {}: {reason}", path.display())]
    Firmware {
        /// The ELF file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// What runs is not what was to run.
    #[error("board {board} runs build {running:?}, its firmware {} is build {wanted:?}", path.display())]
    OtherBuild {
        /// Its number.
        board: usize,
        /// The ELF file.
        path: PathBuf,
        /// The build id of the file; empty when it has none.
        wanted: String,
        /// The build id that the board told; empty when it told none.
        running: String,
    },

    /// The console did not show in time what was waited for.
    #[error("board {board} did not report {what} within {timeout:?}; its console ended with:\n{tail}")]
    BoardSilent {
        /// Its number.
        board: usize,
        /// What was waited for.
        what: String,
        /// How long.
        timeout: Duration,
        /// The last lines of the console.
        tail: String,
    },

    /// QEMU ended before the console showed what was waited for.
    #[error("board {board} ended before it reported {what}; its console ended with:\n{tail}")]
    BoardEnded {
        /// Its number.
        board: usize,
        /// What was waited for.
        what: String,
        /// The last lines of the console.
        tail: String,
    },

    /// A board told on its console what makes no sense.
    #[error("board {board} told on its console what is no endpoint: {reason}")]
    Told {
        /// Its number.
        board: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A capture file could not be written.
    #[error("cannot write the capture {}: {reason}", path.display())]
    Capture {
        /// The pcapng file.
        path: PathBuf,
        /// What happened.
        reason: String,
    },
}

impl Error {
    /// Names the step at which an I/O error happened, for `map_err`.
    pub(crate) fn io(step: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let step = step.into();
        move |source| Error::Io { step, source }
    }
}
