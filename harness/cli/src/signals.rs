//! Ends a command early, with everything that it started.

use crate::exit::Exit;
use std::io;
use tokio::signal::unix::{SignalKind, signal};

/// Runs a command until it ends or a signal comes. Then it is dropped, and with it its children and theirs.
pub async fn or(command: impl Future<Output = Exit>) -> Exit {
    tokio::select! {
        biased;
        exit = signalled() => match exit {
            Ok(exit) => exit.because("ended by a signal"),
            Err(error) => Exit::Infrastructure.because(&format!("signals can't be waited for: {error}")),
        },
        exit = command => exit,
    }
}

async fn signalled() -> io::Result<Exit> {
    tokio::select! {
        came = came(SignalKind::hangup()) => came.map(|()| Exit::HungUp),
        came = came(SignalKind::interrupt()) => came.map(|()| Exit::Interrupted),
        came = came(SignalKind::terminate()) => came.map(|()| Exit::Terminated),
    }
}

/// Waits for a signal; for ever, if whoever started us has it ignored, as `nohup` does.
async fn came(kind: SignalKind) -> io::Result<()> {
    if is_ignored(kind) {
        std::future::pending::<()>().await;
    }
    signal(kind)?.recv().await;
    Ok(())
}

/// As far as the system tells (Linux, `proc_pid_status(5)`, `SigIgn`).
fn is_ignored(kind: SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}
