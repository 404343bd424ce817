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
    let mut hangup = signal(SignalKind::hangup())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(tokio::select! {
        _ = hangup.recv() => Exit::HungUp,
        _ = interrupt.recv() => Exit::Interrupted,
        _ = terminate.recv() => Exit::Terminated,
    })
}
