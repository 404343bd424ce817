//! When the board is to end.

use std::future::Future;
use std::io::{self, Read};
use std::thread;

use async_signal::{Signal, Signals};
use embassy_futures::select::select;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use futures_lite::StreamExt;

static STDIN_ENDED: embassy_sync::signal::Signal<CriticalSectionRawMutex, ()> =
    embassy_sync::signal::Signal::new();

/// Done on SIGTERM or SIGINT, and when the standard input ends if that is asked for.
pub fn asked_for(on_stdin_eof: bool) -> io::Result<impl Future<Output = ()>> {
    let mut signals = Signals::new([Signal::Term, Signal::Int])?;
    if on_stdin_eof {
        thread::spawn(watch_stdin);
    }
    Ok(async move {
        select(signals.next(), STDIN_ENDED.wait()).await;
    })
}

fn watch_stdin() {
    let mut ignored = [0; 256];
    loop {
        match io::stdin().read(&mut ignored) {
            Ok(0) => break,
            Err(error) if error.kind() != io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    STDIN_ENDED.signal(());
}
