//! `mcp-hil virtual`

use crate::args::Virtual;
use crate::exit::Exit;
use crate::output::print;
use crate::targets::virtual_::{BOOT_LIMIT, firmware};
use mcp_hil_virtual_board::{Board, BoardOptions, Error, Options, VirtualNetwork};
use std::time::Duration;

/// How often the boards are looked at while nothing else is to be done.
const LOOK: Duration = Duration::from_millis(200);

/// Must be called before the first thread is started.
pub fn run(args: &Virtual) -> Exit {
    let firmware = match firmware(args.firmware.as_deref()) {
        Ok(firmware) => firmware,
        Err(reason) => return Exit::Usage.because(&reason),
    };
    let options = Options {
        boards: args.boards,
        seed: args.seed,
        capture: args.pcap.clone(),
    };
    let ran = VirtualNetwork::enter(&options).and_then(|network| {
        let start = |number: usize| {
            let log = args
                .logs
                .as_ref()
                .map(|folder| folder.join(format!("board-{number}.log")));
            network.start_board(
                number,
                &firmware,
                &BoardOptions {
                    log,
                    ..BoardOptions::default()
                },
            )
        };
        let mut boards = (0..args.boards).map(start).collect::<Result<Vec<_>, _>>()?;
        for board in &boards {
            let serving = board.wait_until_serving(BOOT_LIMIT)?;
            let (number, outside) = (board.number(), network.relay_url(board.number())?);
            print(
                false,
                &format!("board {number}  {outside}  inside {}\n", serving.url),
            );
        }
        network.impair_all(args.impair);
        let exit = match args.command.split_first() {
            Some((program, arguments)) => inside(&network, program, arguments)?,
            None => stay(&network, &mut boards)?,
        };
        Ok(match network.capture_error() {
            Some(error) => Exit::Infrastructure.because(&error.to_string()),
            None => exit,
        })
    });
    ran.unwrap_or_else(|error| Exit::Infrastructure.because(&error.to_string()))
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
fn stay(network: &VirtualNetwork, boards: &mut Vec<Board>) -> Result<Exit, Error> {
    print(
        false,
        &format!("inside: {} COMMAND\nCtrl-C ends it\n", network.inside_command()),
    );
    while !boards.is_empty() {
        let mut running = Vec::new();
        for mut board in boards.drain(..) {
            match board.exit_status()? {
                Some(status) => print(false, &format!("board {} ended: {status}\n", board.number())),
                None => running.push(board),
            }
        }
        *boards = running;
        std::thread::sleep(LOOK);
    }
    Ok(Exit::Passed)
}
