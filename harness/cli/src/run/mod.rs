//! `mcp-hil run`: a firmware file onto boards, and the transcripts on them.

pub(crate) mod virtual_;

use crate::args::Run;
use crate::exit::Exit;
use crate::playing::Chosen;
use mcp_hil_harness::report::{self, Verdict, files};
use mcp_hil_harness::run::{Event, Firmware, Machine, Options, line, run as run_on};
use virtual_::VirtualBench;

/// Must be called before the first thread is started.
pub async fn run(args: Run) -> Exit {
    let firmware = match Firmware::read(&args.firmware) {
        Ok(firmware) if firmware.machine == Machine::Virt => firmware,
        Ok(firmware) => {
            return Exit::Usage.because(&format!(
                "{} does not start at an address of QEMU's virt machine (from 0x80000000); only such a firmware can be run without a board",
                firmware.file.display()
            ));
        }
        Err(error) => return Exit::Usage.because(&error.to_string()),
    };
    let chosen = match Chosen::new(&args.playing, &args.files) {
        Ok(chosen) => chosen,
        Err(exit) => return exit,
    };
    let bench = match VirtualBench::enter(args.boards, args.logs.as_deref()) {
        Ok(bench) => bench,
        Err(reason) => return Exit::Infrastructure.because(&reason),
    };
    let options = Options {
        contract: args.playing.contract,
        deadline_factor: args.playing.deadline_factor,
        ..Options::default()
    };
    let told = |event: Event<'_>| match event {
        Event::Stage(board, stage) => chosen.print(&line(board, stage)),
        // most firmware is not ours, and most of what is built in is about ours
        Event::Played(played) if matches!(played.verdict, Verdict::Skip(_)) => {}
        Event::Played(played) => chosen.tell(played),
    };
    let mut boards = bench.boards();
    let report = run_on(&mut boards, &firmware, &chosen.transcripts, &options, told).await;
    chosen.print(&report::skipped(&report));
    let written = args.logs.as_deref().map(|folder| files::write(folder, &report));
    drop(boards);
    if let Some(Err(error)) = written {
        return Exit::Infrastructure.because(&format!("the logs could not be written: {error}"));
    }
    if let Some(error) = bench.capture_error() {
        return Exit::Infrastructure.because(&error);
    }
    chosen.finish(&report)
}
