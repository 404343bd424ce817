//! The `mcp-hil` command: arguments in, exit code out. The work is done by `mcp-hil-harness` and `mcp-hil-reference`.

mod access;
mod allowed;
mod args;
mod bench;
mod check;
mod conversation;
mod diff;
mod discover;
mod exit;
mod help;
mod known;
mod output;
mod playing;
mod record;
mod reference;
mod replay;
mod reports;
mod requirements;
#[cfg(target_os = "linux")]
mod run;
mod signals;
mod snapshot;
pub mod suite;
pub mod targets;
mod tools;
#[cfg(target_os = "linux")]
mod virtual_;

pub use args::Args;
pub use exit::Exit;
pub use help::FIRST_STEPS;
pub use suite::{check, main};

/// Runs a command to its end.
pub fn run(args: Args) -> Exit {
    // one thread, this one: children must be started from a thread that lives as long as the process
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Exit::Infrastructure.because(&format!("the runtime did not start: {error}")),
    };
    let exit = runtime.block_on(async {
        match args.command {
            args::Command::Replay(replay) => signals::or(replay::run(replay)).await,
            args::Command::Check(check) => signals::or(check::run(check)).await,
            args::Command::Requirements(args) => requirements::run(&args),
            #[cfg(target_os = "linux")]
            args::Command::Run(args) => signals::or(run::run(*args)).await,
            args::Command::Record(record) => signals::or(record::run(record)).await,
            args::Command::Diff(diff) => signals::or(diff::run(diff)).await,
            args::Command::Snapshot(snapshot) => signals::or(snapshot::run(snapshot)).await,
            args::Command::Tools(tools) => signals::or(tools::list(tools)).await,
            args::Command::Call(call) => signals::or(tools::call(call)).await,
            args::Command::Reference(reference) => signals::or(reference::run(reference)).await,
            args::Command::Discover(discover) => signals::or(discover::run(discover)).await,
            args::Command::Boards(boards) => signals::or(bench::boards::run(boards)).await,
            args::Command::Flash(flash) => signals::or(bench::flash::flash(flash)).await,
            args::Command::Config(config) => signals::or(bench::flash::config(config)).await,
            args::Command::Erase(erase) => signals::or(bench::flash::erase(erase)).await,
            args::Command::ReadFlash(read) => signals::or(bench::flash::read(read)).await,
            args::Command::Monitor(monitor) => signals::or(bench::monitor::run(monitor)).await,
            args::Command::Doctor(doctor) => bench::doctor::run(&doctor),
            args::Command::Completions { shell } => help::completions(shell),
            args::Command::Man => help::man(),
            args::Command::FlashingProcess => {
                mcp_hil_harness::bench::flash::child::serve();
                Exit::Passed
            }
            // waits outside the runtime, and its children follow it by themselves
            #[cfg(target_os = "linux")]
            args::Command::Virtual(args) => virtual_::run(&args).await,
        }
    });
    // a task that still reads a pipe must not keep the process
    runtime.shutdown_background();
    exit
}
