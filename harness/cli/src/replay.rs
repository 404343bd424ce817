//! `mcp-hil replay`.

use crate::args::Replay;
use crate::exit::Exit;
use crate::playing::Chosen;
use crate::targets::{self, Options};
use mcp_hil_harness::replay::replay;

pub async fn run(args: Replay) -> Exit {
    let chosen = match Chosen::new(&args.playing, &args.files) {
        Ok(chosen) => chosen,
        Err(exit) => return exit,
    };
    let options = Options {
        firmware: args.firmware,
        deadline_factor: args.playing.deadline_factor,
        access: args.access.options(),
        #[cfg(target_os = "linux")]
        impair: args.impair,
        #[cfg(target_os = "linux")]
        seed: args.seed,
        #[cfg(target_os = "linux")]
        pcap: args.pcap,
    };
    let mut open = match targets::open(&args.target, &options).await {
        Ok(open) => open,
        Err(error) => return chosen.unjudged("replay", &args.target, error.code(), &error.to_string()),
    };
    if let Some(contract) = args.playing.contract {
        for subject in &mut open.subjects {
            subject.contract = Some(contract.clone());
        }
    }
    let factor = args.playing.deadline_factor;
    let tell = |played: &_| chosen.tell(played);
    let report = replay(&args.target, &open.subjects, &chosen.transcripts, factor, tell).await;
    drop(open);
    chosen.finish(&report)
}
