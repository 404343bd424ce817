//! Boards without hardware.
#![cfg(target_os = "linux")]

pub mod capture;
pub mod dhcp;
mod error;
mod fabric;
mod host;
pub mod impairment;
pub mod namespace;
pub mod plan;
pub mod switch;

pub use error::Error;
