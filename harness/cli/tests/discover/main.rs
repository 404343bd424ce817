//! Discovery on loopback, against responders as faulty as boards get, and against the native board. Every test has a
//! type of service of its own, so that none sees the boards of another.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod browser;
mod command;
mod native;
mod responder;
