//! The configuration sector: memory that was filled before the board started.

use mcp_hil_board_startup::configuration::{Configuration, ConfigurationError, SECTOR};
use mcp_hil_board_startup::stage::Sector;

unsafe extern "C" {
    #[link_name = "_configuration"]
    static CONFIGURATION: [u8; SECTOR];
}

/// What lies there; nothing where RAM is as it was at power-on.
pub fn read() -> Sector<'static> {
    // SAFETY: the linker script keeps this memory for the sector alone, and nothing writes there.
    let sector = unsafe { &CONFIGURATION };
    if sector.starts_with(&[0; 4]) {
        return Err(ConfigurationError::Missing);
    }
    Configuration::parse(sector)
}
