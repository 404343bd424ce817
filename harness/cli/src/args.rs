//! The command line.

mod talk;

pub(crate) use talk::{Call, Diff, Record, Snapshot, Tools};

use crate::access::Access;
use crate::reports::Reports;
use crate::{bench, exit, targets};
use clap::{Parser, Subcommand, ValueEnum};
use mcp_hil_harness::discover::SERVICE;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::Endpoint;
use mcp_hil_reference::Features;
#[cfg(target_os = "linux")]
use mcp_hil_virtual_board::plan::MAX_BOARDS;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Tests MCP servers, on microcontrollers and elsewhere.
#[derive(Debug, Parser)]
#[command(name = "mcp-hil", version, propagate_version = true, after_help = exit::TABLE)]
pub struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Play golden transcripts against a target and compare what comes back
    Replay(Replay),
    /// Grade any MCP server against the specification, clause by clause
    Check(Check),
    /// List the clauses and how many of them the checks judge
    Requirements(Requirements),
    /// Run a firmware on boards and play transcripts; a cargo runner: runner = "mcp-hil run"
    #[cfg(target_os = "linux")]
    Run(Box<Run>),
    /// Make a transcript of what a target answers to a script
    Record(Record),
    /// Play transcripts on two targets and show where they answer differently
    Diff(Diff),
    /// Write what a server shows of itself, or compare it with what was kept
    Snapshot(Snapshot),
    /// List the tools of a target
    Tools(Tools),
    /// Call a tool of a target
    Call(Call),
    /// Run the strict reference server
    Reference(Reference),
    /// Find boards over mDNS, and say what is odd about their announcements
    Discover(Discover),
    /// Show the boards of this bench, who has them, what they run; or scan for them
    Boards(bench::args::Boards),
    /// Flash an image onto a board, reset it, and watch it come up
    Flash(bench::args::Flash),
    /// Tell a board its Wi-Fi network, its name, its bearer token
    Config(bench::args::Config),
    /// Erase a board's flash
    Erase(bench::args::Erase),
    /// Read a board's flash into a file
    ReadFlash(bench::args::ReadFlash),
    /// Follow a board's console, and say what it means
    Monitor(bench::args::Monitor),
    /// Look over this machine as a runner with boards, and say what to mend
    Doctor(bench::args::Doctor),
    /// Print a shell's completions, to be put where the shell looks for them
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(hide = true)]
    Man,
    /// What flashes, in a process of its own
    #[command(hide = true)]
    FlashingProcess,
    /// Start boards in QEMU on a network of their own, and run a command there
    #[cfg(target_os = "linux")]
    Virtual(Virtual),
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE, after_long_help = format!("{}\n\n{}", targets::help(), exit::TABLE))]
pub(crate) struct Replay {
    /// What to talk to: an http:// or https:// URL, mdns:NAME, native, virtual[:N], reference, or stdio:COMMAND
    #[arg(value_name = "TARGET", long_help = format!("What to talk to\n\n{}", targets::help()))]
    pub target: String,
    /// Transcripts, or folders of them; without any, those that are built in
    pub files: Vec<PathBuf>,
    /// Firmware for native and virtual; without it the board is built from the checkout
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,
    /// What virtual boards' cables do to frames, as loss=10%,delay=20ms; the boards stretch their limits as well
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "WHAT")]
    pub impair: Option<mcp_hil_virtual_board::impairment::Impairment>,
    /// Repeats the chances of --impair from run to run
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// Capture all frames of virtual boards, as pcapng
    #[cfg(target_os = "linux")]
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub playing: Playing,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE)]
pub(crate) struct Run {
    /// The firmware: an ELF file, or the image of an application or of a whole flash. One for QEMU's riscv32 virt machine runs on
    /// virtual boards if no board is named
    #[arg(value_name = "FILE")]
    pub firmware: PathBuf,
    /// Transcripts, or folders of them; without any, those that are built in
    pub files: Vec<PathBuf>,
    /// A board of the inventory, or a port; may be repeated. Without it, the only board that is plugged in
    #[arg(long, value_name = "NAME")]
    pub board: Vec<String>,
    /// The first free board that fits, as chip=esp32c3; may be repeated
    #[arg(long, value_name = "chip=CHIP")]
    pub any: Vec<String>,
    /// The inventory [default: boards.toml here or above, else that of the user]
    #[arg(long, value_name = "FILE", env = "MCP_HIL_INVENTORY")]
    pub inventory: Option<PathBuf>,
    /// If a board is leased, wait for it so long, as 30s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "0s", hide_default_value = true, value_parser = bench::args::duration)]
    pub wait: Duration,
    /// How many virtual boards, side by side [default: 1]
    #[arg(long, value_name = "N", value_parser = boards, conflicts_with_all = ["board", "any"])]
    pub boards: Option<usize>,
    /// Give virtual boards a serial port and flash, and bring the firmware there through them
    #[arg(long, conflicts_with_all = ["board", "any"])]
    pub flash: bool,
    /// What virtual boards do wrong, as hung or port-lost@blocks=8; implies --flash
    #[arg(long, value_name = "NAME[@MOMENT]", conflicts_with_all = ["board", "any"])]
    pub fault: Option<mcp_hil_virtual_board::serial::fault::Planned>,
    /// Put an emulator of the ESP32-C3 in the place of virtual boards, as qemu=PATH or esp-emu=PATH, for firmware of that chip
    #[arg(long, value_name = "WHICH", conflicts_with_all = ["board", "any"])]
    pub chip: Option<mcp_hil_virtual_board::serial::kind::Emulator>,
    #[command(flatten)]
    pub flashing: bench::args::Flashing,
    /// Write console, exchanges and verdicts to a folder per board in this folder, and all frames
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub playing: Playing,
}

/// Which of the transcripts are played.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// Play only transcripts of this revision; may be repeated
    #[arg(long, value_name = "DATE", value_parser = str::parse::<Revision>)]
    pub revision: Vec<Revision>,
    /// Play only transcripts with this text in REVISION/NAME
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub filter: String,
}

/// What is played, and how it is shown.
#[derive(Debug, clap::Args)]
pub(crate) struct Playing {
    #[command(flatten)]
    pub selection: Selection,
    /// The contract that the target keeps, as mcp-hil/1; without it the target's name tells
    #[arg(long, value_name = "NAME")]
    pub contract: Option<String>,
    /// Stretch every time limit by this factor, for slow targets
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    pub deadline_factor: f64,
    #[command(flatten)]
    pub reports: Reports,
    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Show the bytes of every exchange, also of those that pass
    #[arg(short, long)]
    pub verbose: bool,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::TABLE, after_long_help = format!("{}\n\n{}", targets::help(), exit::TABLE))]
pub(crate) struct Check {
    /// What to grade: an http:// URL, mdns:NAME, native, virtual[:N], reference, or stdio:COMMAND
    #[arg(value_name = "TARGET", required_unless_present = "list", long_help = format!("What to grade\n\n{}", targets::help()))]
    pub target: Option<String>,
    /// Grade in this revision, 2025-11-25 or 2026-07-28; may be repeated; without it in those that the server speaks
    #[arg(long, value_name = "DATE", value_parser = graded)]
    pub revision: Vec<Revision>,
    /// Run only this area or check, as tools, tools/unknown-tool or 2026-07-28/tools; may be repeated
    #[arg(long, value_name = "AREA[/NAME]")]
    pub only: Vec<String>,
    /// Also call this tool, though it does not say that it only reads; may be repeated
    #[arg(long, value_name = "NAME")]
    pub allow_tool: Vec<String>,
    /// Also check mDNS on this interface, given by its name or an address of it; a board may rename itself for it. For
    /// mdns:NAME, mdns:NAME%IF and virtual it is checked without this, where the board is
    #[arg(long, value_name = "NAME|ADDR")]
    pub mdns: Option<String>,
    /// Repeats the generated arguments of an earlier run
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Connections at once
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u8).range(1..=32))]
    pub jobs: u8,
    /// Stretch every time limit by this factor, for slow targets
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = factor)]
    pub deadline_factor: f64,
    /// End the run by this time at the latest, as 90s, 10m or 2h; checks that were not done by then have no verdict
    #[arg(long, value_name = "DURATION", default_value = "30m", value_parser = bench::args::duration)]
    pub time_limit: Duration,
    /// Firmware for native and virtual; without it the board is built from the checkout
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,
    /// Count warnings as failures
    #[arg(long)]
    pub strict: bool,
    /// Failures that are known, a TOML file: they pass, and one of them that passes fails the run
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write what is found to the file of --baseline
    #[arg(long, requires = "baseline")]
    pub update_baseline: bool,
    /// Expect what is known of a family of servers: esp-claw
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    #[command(flatten)]
    pub reports: Reports,
    /// List the checks with the clauses they judge, and touch nothing
    #[arg(long)]
    pub list: bool,
    /// Colour the output
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Show every verdict, and the bytes both ways of what was found
    #[arg(short, long)]
    pub verbose: bool,
    #[command(flatten)]
    pub access: Access,
}

#[derive(Debug, Parser)]
pub(crate) struct Requirements {
    /// List the clauses themselves, with the checks that judge each
    #[arg(long)]
    pub list: bool,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::REFERENCE)]
pub(crate) struct Reference {
    /// Port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value = "0")]
    pub port: u16,
    /// Tools on a page of tools/list
    #[arg(long, value_name = "N", default_value = "4")]
    pub page_size: NonZeroUsize,
    /// What it can do beyond the contract: sessions, streams, progress, logging, tasks, subscriptions, input-required,
    /// all of these, or official, which is all and what the official suite wants to find; may be repeated
    #[arg(long, value_name = "NAME", value_parser = str::parse::<Features>)]
    pub feature: Vec<Features>,
    /// Serve on standard input and output instead
    #[arg(long, conflicts_with = "port")]
    pub stdio: bool,
}

#[cfg(target_os = "linux")]
#[derive(Debug, Parser)]
#[command(after_help = exit::VIRTUAL)]
pub(crate) struct Virtual {
    /// How many boards
    #[arg(long, value_name = "N", default_value = "1", value_parser = boards)]
    pub boards: usize,
    /// Firmware of all boards, an ELF file; without it it is built from the checkout
    #[arg(long, value_name = "FILE")]
    pub firmware: Option<PathBuf>,
    /// JSON file with the configuration of all boards: host name, bearer token
    #[arg(long, value_name = "FILE", conflicts_with = "serial")]
    pub config: Option<PathBuf>,
    /// What the boards' cables do to frames once all boards serve, as loss=10%,delay=20ms,duplicate=1%,reorder=5%
    #[arg(long, value_name = "WHAT", default_value = "", hide_default_value = true)]
    pub impair: mcp_hil_virtual_board::impairment::Impairment,
    /// Repeats the chances of --impair from run to run
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,
    /// Have the boards stretch their time limits by this factor
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub deadline_factor: u32,
    /// Capture all frames, as pcapng
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write the consoles to board-N.log in this folder
    #[arg(long, value_name = "FOLDER")]
    pub logs: Option<PathBuf>,
    /// Boards with a serial port and flash, which are kept in this folder as board-N/port, flash.bin and switch
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["firmware", "config", "logs", "deadline_factor"])]
    pub serial: Option<PathBuf>,
    /// Have boards with a serial port go into download mode when a flashing tool calls
    #[arg(long, requires = "serial")]
    pub auto_download: bool,
    /// An emulator of the ESP32-C3 behind the serial ports, as qemu=PATH or esp-emu=PATH, for firmware of that chip
    #[arg(
        long,
        value_name = "WHICH",
        requires = "serial",
        env = "MCP_HIL_CHIP_EMULATOR"
    )]
    pub chip: Option<mcp_hil_virtual_board::serial::kind::Emulator>,
    /// What boards with a serial port do wrong, as NAME or NAME@MOMENT; a wrong name lists all
    #[arg(long, value_name = "NAME", requires = "serial")]
    pub fault: Option<mcp_hil_virtual_board::serial::fault::Planned>,
    /// Run this inside and end with it; without it the boards stay until Ctrl-C
    #[arg(last = true)]
    pub command: Vec<std::ffi::OsString>,
}

#[derive(Debug, Parser)]
#[command(after_help = exit::DISCOVER)]
pub(crate) struct Discover {
    /// End as soon as this many boards are found; with fewer, end with code 3
    #[arg(long, value_name = "N")]
    pub wait: Option<NonZeroUsize>,
    /// Search for so many seconds at most
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub timeout: Duration,
    /// Search on this interface only, given by its name or an address of it; may be repeated
    #[arg(long, value_name = "NAME|ADDR")]
    pub interface: Vec<String>,
    /// Type of service to search for
    #[arg(long, value_name = "TYPE", default_value = SERVICE)]
    pub service: String,
    /// An endpoint known otherwise, as from a console: say if it is reachable but not announced; may be repeated
    #[arg(long, value_name = "URL", value_parser = Endpoint::parse)]
    pub known: Vec<Endpoint>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[cfg(target_os = "linux")]
fn boards(text: &str) -> Result<usize, String> {
    let boards = text
        .parse()
        .ok()
        .filter(|boards| (1..=MAX_BOARDS).contains(boards));
    boards.ok_or_else(|| format!("give a number of boards from 1 to {MAX_BOARDS}"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.01..=3600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("give seconds from 0.01 to 3600".to_owned()),
    }
}

fn graded(text: &str) -> Result<Revision, String> {
    text.parse()
        .ok()
        .filter(|revision| mcp_hil_conformance::run::GRADED.contains(revision))
        .ok_or_else(|| "give 2025-11-25 or 2026-07-28".to_owned())
}

pub(crate) fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if (0.01..=1000.0).contains(&factor) => Ok(factor),
        _ => Err("give a number from 0.01 to 1000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        super::Args::command().debug_assert();
    }
}
