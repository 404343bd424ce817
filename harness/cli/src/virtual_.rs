//! `mcp-hil virtual`

use crate::args::Virtual;
use crate::bench::{self, args::ConfigurationFrom};
use crate::exit::Exit;
use crate::output::print;
use crate::signals;
use crate::targets::{BOOT_LIMIT, Up, VirtualBoards, virtual_firmware};
use mcp_hil_virtual_board::plan::format_mac;
use mcp_hil_virtual_board::serial::board::Options as SerialOptions;
use mcp_hil_virtual_board::serial::kind::Choice;
use mcp_hil_virtual_board::{BoardOptions, Error, MCP_PATH, Options, SerialBoard, VirtualNetwork};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use tempfile::NamedTempFile;

/// How often the boards are looked at while nothing else is to be done.
const LOOK: Duration = Duration::from_millis(200);

/// Must be called before the first thread is started.
pub async fn run(args: &Virtual) -> Exit {
    if let Some(folder) = &args.logs
        && let Err(error) = std::fs::create_dir_all(folder)
    {
        return Exit::Usage.because(&format!("--logs {}: {error}", folder.display()));
    }
    if let Some(folder) = &args.serial {
        let exit = serial(args, folder).await;
        return exit.unwrap_or_else(|error| Exit::Infrastructure.because(&error.to_string()));
    }
    let sector = match args.config.as_deref().map(sector).transpose() {
        Ok(sector) => sector,
        Err(exit) => return exit,
    };
    let firmware = match virtual_firmware(args.firmware.as_deref()).await {
        Ok(firmware) => firmware,
        Err(error) => return error.exit(),
    };
    within(args, &firmware, sector).unwrap_or_else(|error| Exit::Infrastructure.because(&error.to_string()))
}

/// A file with the configuration sector of a JSON file, which nobody else may read.
fn sector(file: &Path) -> Result<NamedTempFile, Exit> {
    let from = ConfigurationFrom {
        config: Some(file.to_owned()),
    };
    let configuration = bench::configuration(&from)?.unwrap_or_default();
    if configuration.ipv4.is_some() {
        return Err(Exit::Usage.because(&format!(
            "--config {}: leave ipv4 out; virtual boards have the addresses of their network's plan",
            file.display()
        )));
    }
    let write = || {
        let mut written = NamedTempFile::new()?;
        written.write_all(&configuration.sector())?;
        Ok(written)
    };
    write().map_err(|error: std::io::Error| {
        Exit::Infrastructure.because(&format!("write the boards' configuration: {error}"))
    })
}

fn within(args: &Virtual, firmware: &Path, sector: Option<NamedTempFile>) -> Result<Exit, Error> {
    let network = enter(args)?;
    let options = |number| BoardOptions {
        log: args
            .logs
            .as_ref()
            .map(|folder| folder.join(format!("board-{number}.log"))),
        configuration: sector.as_ref().map(|file| file.path().to_owned()),
        ..BoardOptions::default()
    };
    let mut boards = VirtualBoards::start(network, firmware, BOOT_LIMIT, options)?;
    drop(sector); // boards that serve have read it
    for Up { board, endpoint } in &boards.boards {
        let (number, outside) = (board.number(), boards.network.relay_url(board.number())?);
        print(false, &format!("board {number}  {outside}  inside {endpoint}\n"));
    }
    boards.impair(args.impair, args.deadline_factor)?;
    let exit = match args.command.split_first() {
        Some((program, arguments)) => inside(&boards.network, program, arguments)?,
        None => stay(&mut boards)?,
    };
    Ok(finish(&boards.network, exit))
}

/// Boards that are to be flashed.
async fn serial(args: &Virtual, folder: &Path) -> Result<Exit, Error> {
    let network = enter(args)?;
    let mut boards = Vec::new();
    for number in 0..network.size() {
        let board = network.start_serial_board(
            number,
            &SerialOptions {
                folder: folder.join(format!("board-{number}")),
                auto_download: args.auto_download,
                fault: args.fault.clone(),
                kind: args.chip.clone().map_or(Choice::Virt, Choice::Chip),
            },
        )?;
        let (mac, port) = (format_mac(board.mac()), board.link());
        // what an emulator forwards is inside
        let url = match board.endpoint() {
            Some(at) => format!("inside http://{at}{MCP_PATH}"),
            None => network.relay_url(number)?,
        };
        print(
            false,
            &format!("board {number}  {mac}  {}  {url}\n", port.display()),
        );
        boards.push(board);
    }
    network.impair_all(args.impair);
    let exit = match args.command.split_first() {
        Some((program, arguments)) => inside(&network, program, arguments)?,
        None => {
            tell_way_in(&network);
            // Ended in order, so that no link is left to a terminal that may be another's by then.
            signals::or(watch(&boards)).await
        }
    };
    Ok(finish(&network, exit))
}

/// For ever, telling what goes wrong.
async fn watch(boards: &[SerialBoard]) -> Exit {
    loop {
        for trouble in boards.iter().filter_map(SerialBoard::trouble) {
            print(true, &format!("{trouble}\n"));
        }
        tokio::time::sleep(LOOK).await;
    }
}

fn enter(args: &Virtual) -> Result<VirtualNetwork, Error> {
    VirtualNetwork::enter(&Options {
        boards: args.boards,
        seed: args.seed,
        capture: args.pcap.clone(),
    })
}

fn finish(network: &VirtualNetwork, exit: Exit) -> Exit {
    match network.capture_error() {
        Some(error) => Exit::Infrastructure.because(&error.to_string()),
        None => exit,
    }
}

fn tell_way_in(network: &VirtualNetwork) {
    print(
        false,
        &format!("inside: {} COMMAND\nCtrl-C ends it\n", network.inside_command()),
    );
}

fn inside(
    network: &VirtualNetwork,
    program: &std::ffi::OsStr,
    arguments: &[std::ffi::OsString],
) -> Result<Exit, Error> {
    let status = network.run_inside(program, arguments)?;
    Ok(if status.success() {
        Exit::Passed
    } else {
        Exit::Failed.because(&format!("{}: {status}", program.display()))
    })
}

/// Until Ctrl-C, or until all boards have ended.
fn stay(boards: &mut VirtualBoards) -> Result<Exit, Error> {
    tell_way_in(&boards.network);
    while !boards.boards.is_empty() {
        let mut running = Vec::new();
        for mut up in boards.boards.drain(..) {
            match up.board.exit_status()? {
                Some(status) => print(false, &format!("board {} ended: {status}\n", up.board.number())),
                None => running.push(up),
            }
        }
        boards.boards = running;
        std::thread::sleep(LOOK);
    }
    Ok(Exit::Passed)
}
