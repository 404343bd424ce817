//! `mcp-hil run`: a firmware file onto boards, and the transcripts on them.

mod ports;
pub(crate) mod target;
mod virtual_;

use crate::args::Run;
use crate::exit::Exit;
use crate::playing::Chosen;
use mcp_hil_harness::access::Access;
use mcp_hil_harness::report::{self, Verdict, files};
use mcp_hil_harness::run::{Dut, Event, Firmware, Machine, Options, Stage, line, run as run_on};
use virtual_::VirtualBench;

/// Must be called before the first thread is started.
pub async fn run(args: Run) -> Exit {
    play(args).await.unwrap_or_else(|exit| exit)
}

async fn play(args: Run) -> Result<Exit, Exit> {
    let usage = |reason: &str| Exit::Usage.because(reason);
    let firmware = Firmware::read(&args.firmware).map_err(|error| usage(&error.to_string()))?;
    let access = Access::new(&args.access.options()).map_err(|error| usage(&error.to_string()))?;
    let chosen = Chosen::new(&args.playing, &args.files)?;
    let options = Options {
        build: firmware.build_id.clone(),
        symbols: (!firmware.is_image).then(|| firmware.file.clone()),
        contract: args.playing.contract.clone(),
        deadline_factor: args.playing.deadline_factor,
        access,
        ..Options::default()
    };
    let is_for_virt = firmware.machine == Machine::Virt;
    if args.chip.is_some() && is_for_virt {
        return Err(usage(&format!(
            "--chip is for firmware of the ESP32-C3; {} is for QEMU's virt machine",
            firmware.file.display()
        )));
    }
    let unnamed = args.board.is_empty() && args.any.is_empty();
    if !unnamed || !(is_for_virt || args.chip.is_some()) {
        if args.boards.is_some() || args.flash || args.fault.is_some() {
            return Err(usage(&format!(
                "--boards, --flash and --fault are for virtual boards, which take firmware for QEMU's virt machine (from 0x80000000); {} is for a chip",
                firmware.file.display()
            )));
        }
        let flashing = ports::flashing(&args.flashing, firmware)?;
        let wanted = ports::Wanted {
            named: args.board.clone(),
            any: args.any.clone(),
            inventory: args.inventory.clone(),
            wait: args.wait,
            logs: args.logs.clone(),
        };
        let mut leased = Vec::new();
        let told = |board: &str, stage: &Stage| {
            chosen.print(&line(board, stage));
            leased.push((board.to_owned(), stage.clone()));
        };
        let mut boards = match ports::acquire(&wanted, &flashing, told).await {
            Ok(boards) => boards,
            Err(refusal) => {
                let target = args.firmware.display().to_string();
                return Err(chosen.unjudged("run", &target, refusal.exit, &refusal.reason));
            }
        };
        return on_boards(&args, &mut boards, leased, chosen, &options).await;
    }
    let infrastructure = |reason: String| Exit::Infrastructure.because(&reason);
    let bench =
        VirtualBench::enter(args.boards.unwrap_or(1), args.logs.as_deref()).map_err(infrastructure)?;
    let flash = args.flash || args.fault.is_some() || args.chip.is_some() || firmware.is_image;
    let exit = if flash {
        let flashing = ports::flashing(&args.flashing, firmware)?;
        let (plugged, mut boards) = bench
            .plugged(&flashing, args.fault.as_ref(), args.chip.as_ref())
            .map_err(infrastructure)?;
        let exit = on_boards(&args, &mut boards, Vec::new(), chosen, &options).await;
        drop((boards, plugged));
        exit
    } else {
        on_boards(&args, &mut bench.boards(&firmware), Vec::new(), chosen, &options).await
    };
    match bench.capture_error() {
        Some(error) => Err(infrastructure(error)),
        None => exit,
    }
}

async fn on_boards<D: Dut>(
    args: &Run,
    boards: &mut [D],
    leased: Vec<(String, Stage)>,
    chosen: Chosen,
    options: &Options,
) -> Result<Exit, Exit> {
    let told = |event: Event<'_>| match event {
        Event::Stage(board, stage) => chosen.print(&line(board, stage)),
        // most firmware is not ours, and most of what is built in is about ours
        Event::Played(played) if matches!(played.verdict, Verdict::Skip(_)) => {}
        Event::Played(played) => chosen.tell(played),
    };
    let target = args.firmware.display().to_string();
    let mut report = run_on(&target, boards, &chosen.transcripts, options, told).await;
    report.stages.splice(..0, leased);
    chosen.print(&report::skipped(&report));
    if let Some(folder) = &args.logs {
        files::write(folder, &report).map_err(|error| {
            Exit::Infrastructure.because(&format!("the logs could not be written: {error}"))
        })?;
    }
    Ok(chosen.finish(&report))
}
