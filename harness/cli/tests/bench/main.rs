//! Flashes virtual boards through their serial ports, with the command, as a person would. Needs no firmware and no network.
#![cfg(target_os = "linux")]
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod failures;
mod flashing;
mod inventory;
mod killed;

use mcp_hil_virtual_board::serial::board::{Options, SerialBoard};
use mcp_hil_virtual_board::serial::fault::Planned;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The MAC address of every board here.
const MAC: &str = "02:00:00:00:00:01";

/// Flashes the image that was written, and does not watch it: it is noise.
const FLASH: [&str; 6] = [
    "flash",
    "bench-1",
    "app.bin",
    "--no-watch",
    "--partitions",
    "partitions.csv",
];

/// A board, and a folder for all that is written.
struct Bench {
    board: SerialBoard,
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    time: Duration,
}

impl Bench {
    /// With an inventory that knows the board as `bench-1`.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let board =
            SerialBoard::alone([2, 0, 0, 0, 0, 1], &Options::new(folder.path().join("board"))).unwrap();
        let bench = Self { board, folder };
        bench.write("boards.toml", bench.entry("bench-1", MAC));
        bench
    }

    fn entry(&self, name: &str, mac: &str) -> String {
        let port = self.board.link();
        format!("[boards.{name}]\nkind = \"virtual\"\nport = {port:?}\nmac = \"{mac}\"\nchip = \"esp32c3\"\n")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    /// An application for the C3 that can't be packed, with the files that it needs.
    fn write_image(&self, size: usize) {
        let mut state = 1_u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        let mut image: Vec<u8> = (0..size).map(|_| noise()).collect();
        (image[0], image[12], image[13]) = (0xe9, 5, 0);
        self.write("bootloader.bin", &image[..20_000]);
        self.write("app.bin", image);
        self.write(
            "partitions.csv",
            "config,data,undefined,0x9000,0x1000\nfactory,app,factory,0x10000,0x3f0000\n",
        );
    }

    /// The command with these words, in the folder of the bench, with nothing of the caller's own.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcp-hil"));
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("MCP_HIL_STATE", self.path("state"))
            .env("MCP_HIL_LEASES", self.path("leases"))
            .env_remove("MCP_HIL_INVENTORY")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        let start = Instant::now();
        let output = self.command(words).output().unwrap();
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            time: start.elapsed(),
        }
    }

    /// Flashes the image that was written, and does not watch it: it is noise.
    fn flash(&self, more: &[&str]) -> Ran {
        self.run(&[&FLASH[..], &["--bootloader", "bootloader.bin"], more].concat())
    }

    fn fault(&self, name: Option<&str>) {
        let planned = name.map(|name| name.parse::<Planned>().unwrap());
        self.board.set_fault(planned).unwrap();
    }

    fn flash_content(&self) -> Vec<u8> {
        std::fs::read(self.board.flash()).unwrap()
    }
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
