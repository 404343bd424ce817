//! How a board comes up, as far as that is pure: bytes, events and times in, decisions and console lines out. It never
//! does I/O, reads no clock and knows no chip.
//!
//! - [`configuration`]: what is written into a board's configuration sector
//! - [`address`]: the IPv4 address in it
//! - [`partition`]: where that sector is in the flash of an ESP32
//! - [`guard`]: the bearer token that the configuration asks for
//! - [`station`]: when a Wi-Fi station joins, waits and gives up
//! - [`stage`]: what the console tells of these
#![no_std]

pub mod address;
pub mod configuration;
pub mod guard;
pub mod partition;
pub mod stage;
pub mod station;
