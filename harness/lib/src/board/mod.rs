//! Boards, from their firmware to the endpoint that answers.

pub mod build_id;
pub mod console;
pub mod firmware;
pub mod identity;
pub mod native;

use std::path::PathBuf;
use std::time::Duration;

/// Why there is no board that answers.
#[derive(Debug, thiserror::Error)]
pub enum BoardError {
    /// The firmware does not build, or the build did not end.
    #[error("the firmware in {folder} was not built: {reason}")]
    Build {
        /// Folder of the board's package.
        folder: PathBuf,
        /// What cargo said.
        reason: String,
    },
    /// The toolchain has no standard library for the board's chip.
    #[error(
        "the firmware in {folder} was not built: the Rust toolchain has no standard library for the board's target; rustup target add installs it, or ci/riscv-toolchain in a checkout of mcp-hil"
    )]
    NoToolchain {
        /// Folder of the board's package.
        folder: PathBuf,
    },
    /// The firmware can't be read.
    #[error("the firmware {file} can't be read: {reason}")]
    Firmware {
        /// Its path.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The board does not start.
    #[error("the board {file} did not start: {reason}")]
    Start {
        /// Path of its firmware.
        file: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// It started and never served.
    #[error("the board {file} did not say that it serves within {} s; its console says:\n{console}", .after.as_secs_f64())]
    NotServing {
        /// Path of its firmware.
        file: PathBuf,
        /// The deadline.
        after: Duration,
        /// What stood on its console.
        console: String,
    },
    /// What runs is not what was to run.
    #[error("the board runs build {running:?}, its firmware {file} is build {wanted:?}")]
    OtherBuild {
        /// Path of its firmware.
        file: PathBuf,
        /// Build id of the file.
        wanted: String,
        /// Build id that the board told.
        running: String,
    },
}
