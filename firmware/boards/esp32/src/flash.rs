//! Reads the configuration sector.
//!
//! Through the boot ROM's own function, as the bootloader does. `esp-storage`'s type would first ask the flash chip for
//! its size, in a way that not every emulator answers.

use esp_storage::ll::spiflash_read;
use mcp_hil_board_startup::configuration::{ConfigurationError, SECTOR};
use mcp_hil_board_startup::partition::{self, TABLE, TABLE_MAX};

/// Label of the configuration's partition.
const LABEL: &str = "config";

/// Memory for a sector. The ROM wants it word-aligned.
#[repr(C, align(4))]
pub struct Sector([u8; SECTOR]);

impl Sector {
    /// Empty.
    pub const fn new() -> Self {
        Self([0; SECTOR])
    }

    /// Fills the first `length` bytes from flash.
    fn read(&mut self, offset: u32, length: usize) -> Result<&[u8], ConfigurationError> {
        let bytes = &mut self.0[..length];
        // SAFETY: `bytes` is word-aligned memory of this length. An offset beyond the flash is refused by the ROM.
        unsafe { spiflash_read(offset, bytes.as_mut_ptr().cast(), length as u32) }
            .map_err(ConfigurationError::Unreadable)?;
        Ok(bytes)
    }
}

/// The bytes of the partition `config`, as many as a sector has.
pub fn read_configuration(sector: &'static mut Sector) -> Result<&'static [u8], ConfigurationError> {
    let table = sector.read(TABLE, TABLE_MAX)?;
    let partition = partition::find(table, LABEL)
        .filter(|partition| partition.size as usize >= SECTOR)
        .ok_or(ConfigurationError::Missing)?;
    sector.read(partition.offset, SECTOR)
}
