//! Boards of the kind `chip`: an emulator of the genuine ESP32-C3 in the place of a board. No registry carries one, so a
//! stand-in has its place here; this program is both.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
#[path = "../loop/lab.rs"]
#[allow(dead_code)] // the other tests use it all
mod lab;
#[cfg(target_os = "linux")]
mod stand_in;
#[cfg(target_os = "linux")]
mod tests;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    if std::env::var_os(stand_in::FIRMWARE).is_some() {
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        stand_in::run(&arguments);
    }
    tests::run()
}
