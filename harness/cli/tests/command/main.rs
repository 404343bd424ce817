//! Runs the real command against good and hostile targets and looks at exit code and text.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)] // a test may panic, also in its helpers

mod hostile;
mod run;
mod server;

mod access;
mod call;
mod diff;
mod exit_codes;
mod firmware;
mod limits;
mod media_type;
mod polling;
mod processes;
mod record;
mod reports;
mod revisions;
mod server_requests;
mod sessions;
mod signals;
mod snapshot;
mod steps;
mod terminal;
mod tls;
mod unusable;
