//! The bench: boards on serial ports, who may use them, how they are flashed, started and listened to.
//!
//! Pure are [`failure`], [`mac`], [`configuration`], [`image`], [`recognise`], [`boot`] and most of [`inventory`]; the others
//! touch ports, files and processes. Nothing here speaks MCP.

pub mod boot;
pub mod capture;
pub mod choose;
pub mod configuration;
pub mod doctor;
pub mod failure;
pub mod flash;
pub mod image;
pub mod inventory;
pub mod lease;
pub mod mac;
pub mod memory;
pub mod overview;
pub mod ports;
pub mod power;
pub mod recognise;
pub mod symbols;
