//! The command lines that deal with boards.

use clap::{Args, Parser, Subcommand};
use mcp_hil_harness::bench::choose::Wanted;
use regex::Regex;
use std::path::PathBuf;
use std::time::Duration;

/// Which board, and how to get at it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Choice {
    /// The inventory [default: boards.toml here or above, else that of the user]
    #[arg(long, value_name = "FILE", env = "MCP_HIL_INVENTORY")]
    pub inventory: Option<PathBuf>,
    /// Take the first free board that fits, as chip=esp32c3
    #[arg(long, value_name = "chip=CHIP")]
    pub any: Option<String>,
    /// If the board is leased, wait for it so long, as 30s, 5m or 1h
    #[arg(long, value_name = "DURATION", default_value = "0s", hide_default_value = true, value_parser = duration)]
    pub wait: Duration,
}

impl Choice {
    /// What is asked for, with the board that may be named beside it.
    pub fn wanted(&self, named: Option<&str>) -> Result<Wanted, String> {
        match (named, &self.any) {
            (Some(_), Some(_)) => Err("name a board, or say --any, not both".to_owned()),
            (Some(name), None) => Ok(Wanted::Named(
                name.strip_prefix("board:").unwrap_or(name).to_owned(),
            )),
            (None, None) => Ok(Wanted::Only),
            (None, Some(any)) => {
                let chip = any.strip_prefix("chip=").and_then(|chip| chip.parse().ok());
                chip.map(Wanted::Any)
                    .ok_or_else(|| format!("--any {any}: say the chip, as chip=esp32c3"))
            }
        }
    }
}

#[derive(Debug, Parser)]
pub(crate) struct Boards {
    #[command(subcommand)]
    pub action: Option<BoardsAction>,
    /// The inventory [default: boards.toml here or above, else that of the user]
    #[arg(long, value_name = "FILE", env = "MCP_HIL_INVENTORY", global = true)]
    pub inventory: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BoardsAction {
    /// Ask every board that is plugged in what it is, and write that into the inventory. Resets the boards
    Scan {
        /// Ask only the boards on these ports
        ports: Vec<PathBuf>,
    },
}

#[derive(Debug, Parser)]
pub(crate) struct Flash {
    /// The board, if there are several, and the image: an ELF file, an application, or a whole flash
    #[arg(value_name = "[BOARD] IMAGE", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub flashing: Flashing,
    /// Reset the board and be done, without watching whether it comes up
    #[arg(long)]
    pub no_watch: bool,
    /// A board that serves must do so by then
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub boot_deadline: Duration,
    /// Write the console to the end of this file [default: a file of the board's, in the user's state folder]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

/// What is written besides the image, and how.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Flashing {
    #[command(flatten)]
    pub configuration: ConfigurationFrom,
    /// Partition table, as CSV or binary, in place of the built-in one
    #[arg(long, value_name = "FILE")]
    pub partitions: Option<PathBuf>,
    /// Second-stage bootloader in place of the built-in one
    #[arg(long, value_name = "FILE")]
    pub bootloader: Option<PathBuf>,
    #[command(flatten)]
    pub line: Line,
    /// Write also what is in flash already
    #[arg(long)]
    pub force: bool,
}

/// Flash is read or written by then.
const DEADLINE: &str = "180s";

/// The serial line while flash is read and written.
#[derive(Clone, Debug, Args)]
pub(crate) struct Line {
    /// Baud rate [default: the fastest that holds]
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(9600..=4_000_000))]
    pub baud: Option<u32>,
    /// Give up reading or writing flash by then
    #[arg(long, value_name = "DURATION", default_value = DEADLINE, value_parser = duration)]
    pub deadline: Duration,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            baud: None,
            deadline: duration(DEADLINE).unwrap_or_default(),
        }
    }
}

/// Where the values of a configuration come from. None of them is ever an argument: those are seen by all users.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ConfigurationFrom {
    /// JSON file with the board's configuration. Without it: MCP_HIL_WIFI_SSID, MCP_HIL_WIFI_PASSWORD, MCP_HIL_HOSTNAME, MCP_HIL_TOKEN
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct Config {
    /// The board, if there are several
    pub board: Option<String>,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub configuration: ConfigurationFrom,
    #[command(flatten)]
    pub line: Line,
}

#[derive(Debug, Parser)]
pub(crate) struct Erase {
    /// The board, if there are several
    pub board: Option<String>,
    #[command(flatten)]
    pub choice: Choice,
    /// Only these bytes, as 0x9000,0x1000; without it all of the flash
    #[arg(long, value_name = "ADDRESS,SIZE", value_parser = region)]
    pub region: Option<(u32, u32)>,
    #[command(flatten)]
    pub line: Line,
}

#[derive(Debug, Parser)]
pub(crate) struct ReadFlash {
    /// The board, if there are several, and the file to write
    #[arg(value_name = "[BOARD] FILE", required = true, num_args = 1..=2)]
    pub words: Vec<String>,
    #[command(flatten)]
    pub choice: Choice,
    /// Only these bytes, as 0x9000,0x1000; without it all of the flash. It may hold secrets
    #[arg(long, value_name = "ADDRESS,SIZE", value_parser = region)]
    pub region: Option<(u32, u32)>,
    #[command(flatten)]
    pub line: Line,
}

#[derive(Debug, Parser)]
pub(crate) struct Monitor {
    /// The board, if there are several
    pub board: Option<String>,
    #[command(flatten)]
    pub choice: Choice,
    /// Reset the board first
    #[arg(long)]
    pub reset: bool,
    /// End well as soon as a line matches
    #[arg(long, value_name = "REGEX")]
    pub until: Option<Regex>,
    /// End by then; with --until badly
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub timeout: Option<Duration>,
    /// ELF file of the firmware, by which addresses are explained
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,
    /// Write the console to the end of this file [default: a file of the board's, in the user's state folder]
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
}

#[derive(Debug, Parser)]
pub(crate) struct Doctor {
    /// The inventory [default: boards.toml here or above, else that of the user]
    #[arg(long, value_name = "FILE", env = "MCP_HIL_INVENTORY")]
    pub inventory: Option<PathBuf>,
}

/// The last of one or two words, and the board before it.
pub(crate) fn board_and_last(words: &[String]) -> (Option<&str>, &str) {
    match words {
        [board, last] => (Some(board), last),
        [last] => (None, last),
        _ => (None, ""),
    }
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "give a duration, as 500ms, 30s, 5m or 1h".to_owned();
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    let factor = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * factor;
    match (0.0..=7.0 * 86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("give no more than 168h".to_owned()),
    }
}

fn region(text: &str) -> Result<(u32, u32), String> {
    let number = |text: &str| {
        let text = text.trim();
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    };
    let both = text
        .split_once(',')
        .and_then(|(address, size)| Some((number(address)?, number(size)?)));
    both.ok_or_else(|| "give address and size, as 0x9000,0x1000".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_regions_are_read() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1.5"), Ok(Duration::from_millis(1500)));
        assert_eq!(duration("5m"), Ok(Duration::from_secs(300)));
        for wrong in ["", "s", "5d", "-1s", "1e9h", "1000h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(region("0x9000,4096"), Ok((0x9000, 0x1000)));
        for wrong in ["", "0x9000", "0x9000,", "-1,1", "0x100000000,1"] {
            assert!(region(wrong).is_err(), "{wrong}");
        }
    }
}
