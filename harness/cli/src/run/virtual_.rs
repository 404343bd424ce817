//! Boards in QEMU, for a run.

use mcp_hil_harness::bench::failure::{Failure, Kind};
use mcp_hil_harness::bench::inventory::{BoardKind, Entry};
use mcp_hil_harness::bench::power::PowerBy;
use mcp_hil_harness::run::{Clues, Dut, Firmware, Flashing, Port, Stages, Started};
use mcp_hil_virtual_board::plan::format_mac;
use mcp_hil_virtual_board::serial::board::Options as SerialOptions;
use mcp_hil_virtual_board::serial::fault::Planned;
use mcp_hil_virtual_board::serial::kind::{Choice, Emulator};
use mcp_hil_virtual_board::{Board, BoardOptions, MCP_PATH, Options, SerialBoard, VirtualNetwork};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// The network that this process is inside of, with places for boards.
pub struct VirtualBench {
    network: VirtualNetwork,
    logs: Option<PathBuf>,
}

/// A place on the network, and the board in it once there is one.
pub struct Place {
    // dropped in this order: a board before its network
    board: Option<Board>,
    bench: Arc<VirtualBench>,
    number: usize,
    name: String,
    firmware: PathBuf,
}

/// Boards with a serial port that are plugged in until this is dropped.
pub struct Plugged {
    _boards: Vec<SerialBoard>,
    _folder: TempDir,
}

impl VirtualBench {
    /// Enters the network; before the process has a second thread. In the folder for logs there will be all frames, and a
    /// folder for each board.
    ///
    /// # Errors
    /// Why there is no network, or no folder.
    pub fn enter(boards: usize, logs: Option<&Path>) -> Result<Arc<Self>, String> {
        for number in 0..boards {
            let folder = logs.map(|logs| logs.join(name(number)));
            if let Some(folder) = folder {
                std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
        let network = VirtualNetwork::enter(&Options {
            boards,
            capture: logs.map(|logs| logs.join("network.pcapng")),
            ..Options::default()
        });
        Ok(Arc::new(Self {
            network: network.map_err(|error| error.to_string())?,
            logs: logs.map(Path::to_owned),
        }))
    }

    /// A board for each place, none started.
    pub fn boards(self: &Arc<Self>, firmware: &Firmware) -> Vec<Place> {
        let place = |number| Place {
            board: None,
            bench: Arc::clone(self),
            number,
            name: name(number),
            firmware: firmware.file.clone(),
        };
        (0..self.network.size()).map(place).collect()
    }

    /// Boards with a serial port in all places, new from the factory, that do `fault` wrong. With `chip` they are genuine chips,
    /// emulated.
    ///
    /// # Errors
    /// Why there are none.
    pub fn plugged(
        &self,
        flashing: &Arc<Flashing>,
        fault: Option<&Planned>,
        chip: Option<&Emulator>,
    ) -> Result<(Plugged, Vec<Port>), String> {
        let folder = tempfile::tempdir().map_err(|error| format!("the boards have no folder: {error}"))?;
        let (mut boards, mut ports) = (Vec::new(), Vec::new());
        for number in 0..self.network.size() {
            let mut options = SerialOptions::new(folder.path().join(name(number)));
            options.fault = fault.cloned();
            options.kind = chip.cloned().map_or(Choice::Virt, Choice::Chip);
            let board = self
                .network
                .start_serial_board(number, &options)
                .map_err(|error| error.to_string())?;
            let log = super::ports::log(self.logs.as_deref(), &name(number));
            ports.push(Port::new(entry(&name(number), &board), (), Some(Arc::clone(flashing))).with_log(log));
            boards.push(board);
        }
        let plugged = Plugged {
            _boards: boards,
            _folder: folder,
        };
        Ok((plugged, ports))
    }

    /// Why not all frames could be captured.
    pub fn capture_error(&self) -> Option<String> {
        self.network.capture_error().map(|error| error.to_string())
    }
}

fn name(number: usize) -> String {
    format!("board-{number}")
}

fn entry(name: &str, board: &SerialBoard) -> Entry {
    Entry {
        kind: BoardKind::Virtual,
        mac: format_mac(board.mac()).parse().ok(),
        chip: "esp32c3".parse().ok(),
        power: PowerBy::Switch(board.switch()),
        endpoint: board.endpoint().map(|at| format!("http://{at}{MCP_PATH}")),
        ..Entry::on_port(name, &board.link())
    }
}

impl Dut for Place {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&mut self, stages: &Stages<'_>) -> Result<Started, Failure> {
        let options = BoardOptions {
            log: self
                .bench
                .logs
                .as_ref()
                .map(|logs| logs.join(&self.name).join("console.log")),
            ..BoardOptions::default()
        };
        let start = async {
            let board = self
                .bench
                .network
                .start_board(self.number, &self.firmware, &options)
                .map_err(|error| Failure::new(Kind::PowerFailed, &self.name, error.to_string()))?;
            Ok((board, "in QEMU".to_owned()))
        };
        let board = self.board.insert(stages.run("start", start).await?);
        Ok(Started {
            at: board.console().started(),
            console: board.shared_console(),
            clues: Clues {
                mac: Some(format_mac(board.mac())),
                address: Some(board.planned_address().into()),
                endpoint: None,
                since: None,
            },
        })
    }
}
