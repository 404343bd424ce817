//! The commands that talk to a target, and are neither replay nor check.

use super::{Color, Selection};
use crate::conversation::TargetOptions;
use crate::exit;
use clap::Parser;
use mcp_hil_harness::revision::Revision;
use std::path::PathBuf;

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Record {
    /// What to talk to; mcp-hil replay --help lists the kinds of target
    pub target: String,
    /// What to send: a transcript whose steps expect nothing
    #[arg(long, value_name = "FILE")]
    pub script: PathBuf,
    /// Where the transcript goes; without it, to standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub options: TargetOptions,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Diff {
    /// One target; mcp-hil replay --help lists the kinds
    #[arg(value_name = "TARGET")]
    pub left: String,
    /// The other
    #[arg(value_name = "TARGET")]
    pub right: String,
    /// Transcripts, or folders of them; without any, those that are built in
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub selection: Selection,
    /// The contract that both targets keep, as mcp-hil/1; without it their names tell
    #[arg(long, value_name = "NAME")]
    pub contract: Option<String>,
    /// Also change one byte of each of the second target's answers, and see that it shows
    #[arg(long)]
    pub mutate: bool,
    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    #[command(flatten)]
    pub options: TargetOptions,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Snapshot {
    /// What to talk to; mcp-hil replay --help lists the kinds of target
    pub target: String,
    /// Where the snapshot goes; without it, to standard output
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    pub out: Option<PathBuf>,
    /// Compare with this file instead
    #[arg(long, value_name = "FILE")]
    pub check: Option<PathBuf>,
    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    #[command(flatten)]
    pub options: TargetOptions,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Tools {
    /// What to talk to; mcp-hil replay --help lists the kinds of target
    pub target: String,
    /// Speak this revision; without it the newest that the target has
    #[arg(long, value_name = "DATE", value_parser = str::parse::<Revision>)]
    pub revision: Option<Revision>,
    /// Print JSON: the tools as they came
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub options: TargetOptions,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Call {
    /// What to talk to; mcp-hil replay --help lists the kinds of target
    pub target: String,
    /// Name of the tool
    pub tool: String,
    /// Its arguments, a JSON object
    #[arg(default_value = "{}")]
    pub arguments: String,
    /// Speak this revision; without it the newest that the target has
    #[arg(long, value_name = "DATE", value_parser = str::parse::<Revision>)]
    pub revision: Option<Revision>,
    /// Print JSON: the whole result
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub options: TargetOptions,
}
