//! The registers that flashing tools look at: identity in the eFuses, and the SPI controller that asks the flash for
//! its id. All others keep what is written to them.
//!
//! Source: ESP32-C3 Technical Reference Manual, chapters 4 (eFuse) and 27 (SPI).

use std::collections::BTreeMap;
use std::ops::Range;

use super::flash::JEDEC_ID;
use crate::plan::Mac;

/// A word in the mask ROM by which old tools know a chip.
const CHIP_MAGIC: u32 = 0x4000_1000;
const UART_CLOCK_DIVIDER: u32 = 0x6000_0014;
const UART_DATE: u32 = 0x6000_007c;
/// Of the SPI controller, from its base.
const SPI_USER2: u32 = 0x20;
const SPI_MISO_BITS: u32 = 0x28;
const SPI_DATA: u32 = 0x58;
/// Bit of the SPI controller's first register that starts a command, and is clear when it is done.
const SPI_START: u32 = 1 << 18;
const WATCHDOG_CONFIG: u32 = 0x6000_8090;
const WATCHDOG_PROTECT: u32 = 0x6000_80a8;
const WATCHDOG_KEY: u32 = 0x50d8_3aa1;
const WATCHDOG_ENABLE: u32 = 1 << 31;
/// No tool writes more registers than this; further ones are not kept.
const MOST: usize = 1024;

/// What a chip says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// As in image headers: 5 is the ESP32-C3.
    pub chip_id: u32,
    /// The word at 0x40001000.
    pub magic: u32,
    /// The factory MAC address in the eFuses.
    pub mac: Mac,
    /// Where code and data can be loaded.
    pub ram: &'static [Range<u32>],
    /// The address of the SPI controller that the flash hangs on.
    pub spi: u32,
    /// The address of the eFuses' block 1.
    pub efuses: u32,
}

impl Identity {
    /// An ESP32-C3 of revision v0.3.
    pub fn esp32c3(mac: Mac) -> Self {
        Identity {
            chip_id: 5,
            magic: 0x1b31_506f,
            mac,
            // Instruction RAM, data RAM, RTC RAM.
            ram: &[
                0x4037_c000..0x403e_0000,
                0x3fc8_0000..0x3fce_0000,
                0x5000_0000..0x5000_2000,
            ],
            spi: 0x6000_2000,
            efuses: 0x6000_8844,
        }
    }

    /// An ESP32-C6.
    pub fn esp32c6(mac: Mac) -> Self {
        Identity {
            chip_id: 13,
            magic: 0x2ce0_806f,
            mac,
            ram: &[0x4080_0000..0x4088_0000, 0x5000_0000..0x5000_4000],
            spi: 0x6000_3000,
            efuses: 0x600b_0844,
        }
    }
}

/// The registers of one chip.
#[derive(Clone, Debug)]
pub struct Registers {
    words: BTreeMap<u32, u32>,
    spi: u32,
}

impl Registers {
    /// As after a reset.
    pub fn new(identity: &Identity) -> Self {
        let [a, b, c, d, e, f] = identity.mac;
        let efuses = identity.efuses;
        let words = [
            (CHIP_MAGIC, identity.magic),
            // 40 MHz / 115200
            (UART_CLOCK_DIVIDER, 347),
            (UART_DATE, 0x0200_8270),
            (efuses, u32::from_be_bytes([c, d, e, f])),
            (efuses + 4, u32::from_be_bytes([0, 0, a, b])),
            // Revision 0.3, package QFN32, 4 MB of flash inside, …
            (efuses + 12, 3 << 18 | 1 << 27),
            // … by GigaDevice.
            (efuses + 16, 2),
        ];
        Registers {
            words: words.into_iter().collect(),
            spi: identity.spi,
        }
    }

    /// The word at an address; 0 where nothing is known.
    pub fn read(&self, address: u32) -> u32 {
        self.words.get(&address).copied().unwrap_or_default()
    }

    /// Writes the bits of the mask. True when that starts a watchdog, which resets the chip.
    pub fn write(&mut self, address: u32, value: u32, mask: u32, attached: bool) -> bool {
        if address == CHIP_MAGIC {
            return false; // read-only memory
        }
        let word = self.read(address) & !mask | value & mask;
        if self.words.len() < MOST || self.words.contains_key(&address) {
            self.words.insert(address, word);
        }
        if address == self.spi && word & SPI_START != 0 {
            self.run_spi_command(attached);
        }
        let unlocked = self.read(WATCHDOG_PROTECT) == WATCHDOG_KEY;
        address == WATCHDOG_CONFIG && word & WATCHDOG_ENABLE != 0 && unlocked
    }

    fn run_spi_command(&mut self, attached: bool) {
        let spi = self.spi;
        let answered = match self.read(spi + SPI_USER2) as u8 {
            // Pins that lead nowhere read high.
            _ if !attached => u32::MAX,
            0x9f => JEDEC_ID,
            // The three status registers: nothing is busy or protected.
            0x05 | 0x35 | 0x15 => 0,
            _ => u32::MAX,
        };
        let bits = self.read(spi + SPI_MISO_BITS).min(31);
        self.words
            .insert(spi + SPI_DATA, answered & (u32::MAX >> (31 - bits)));
        let busy = self.read(spi);
        self.words.insert(spi, busy & !SPI_START);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPI: u32 = 0x6000_2000;

    fn registers() -> Registers {
        Registers::new(&Identity::esp32c3([0x02, 0x00, 0x0a, 0x0d, 0x25, 0x0b]))
    }

    #[test]
    fn the_mac_address_lies_in_the_efuses_last_byte_first() {
        assert_eq!(registers().read(0x6000_8844), 0x0a0d_250b);
        assert_eq!(registers().read(0x6000_8848), 0x0200);
    }

    #[test]
    fn the_spi_controller_asks_the_flash_for_its_id() {
        let mut registers = registers();
        registers.write(SPI + SPI_USER2, 7 << 28 | 0x9f, u32::MAX, true);
        registers.write(SPI + SPI_MISO_BITS, 23, u32::MAX, true);
        registers.write(SPI, SPI_START, u32::MAX, true);
        assert_eq!(registers.read(SPI) & SPI_START, 0);
        assert_eq!(registers.read(SPI + SPI_DATA), 0x16_40c8);
        registers.write(SPI, SPI_START, u32::MAX, false);
        assert_eq!(
            registers.read(SPI + SPI_DATA),
            0xff_ffff,
            "the pins are not attached"
        );
    }

    #[test]
    fn a_write_touches_the_bits_of_its_mask() {
        let mut registers = registers();
        registers.write(0x6000_8010, 0xffff_ffff, 0x0f, true);
        assert_eq!(registers.read(0x6000_8010), 0x0f);
        registers.write(CHIP_MAGIC, 0, u32::MAX, true);
        assert_eq!(
            registers.read(CHIP_MAGIC),
            0x1b31_506f,
            "the ROM can't be written"
        );
    }

    #[test]
    fn a_watchdog_bites_only_when_it_was_unlocked() {
        let mut registers = registers();
        assert!(!registers.write(WATCHDOG_CONFIG, WATCHDOG_ENABLE, u32::MAX, true));
        registers.write(WATCHDOG_PROTECT, WATCHDOG_KEY, u32::MAX, true);
        assert!(registers.write(WATCHDOG_CONFIG, WATCHDOG_ENABLE, u32::MAX, true));
    }
}
