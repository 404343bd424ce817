//! A firmware file that is to be run.

use crate::bench::image::{Image, of_application};
use crate::bench::inventory::{BoardKind, Entry};
use crate::board::build_id::of_elf;
use espflash::image_format::Metadata;
use object::{Architecture, Object as _, ObjectKind};
use std::io;
use std::path::{Path, PathBuf};

/// Where QEMU's `virt` machine has its memory.
const VIRT_MEMORY: std::ops::Range<u64> = 0x8000_0000..0x1_0000_0000;

/// A firmware file, looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// Its path.
    pub file: PathBuf,
    /// GNU build id in lowercase hex; without one, what runs can't be compared with the file.
    pub build_id: Option<String>,
    /// The machine that it is for.
    pub machine: Machine,
    /// Chip that it names, as `esp32c3`.
    pub chip: Option<String>,
    /// It is an image for flash, and no ELF file: only a flash can take it.
    pub is_image: bool,
}

/// What can run a firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// QEMU's riscv32 `virt` machine, or another with memory there.
    Virt,
    /// A chip with a flash.
    Chip,
}

/// Why a file is no firmware.
#[derive(Debug, thiserror::Error)]
pub enum FirmwareError {
    /// It can't be read.
    #[error("{}: {reason}", .file.display())]
    Unreadable {
        /// Its path.
        file: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Nothing that a board takes, or broken.
    #[error("{} is no firmware: {reason}", .file.display())]
    NoFirmware {
        /// Its path.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// For another machine.
    #[error("{} is for {found}; a firmware is an executable for 32-bit RISC-V or Xtensa", .file.display())]
    OtherMachine {
        /// Its path.
        file: PathBuf,
        /// What it is for.
        found: String,
    },
}

impl Firmware {
    /// Reads a file.
    ///
    /// # Errors
    /// [`FirmwareError`].
    pub fn read(file: &Path) -> Result<Self, FirmwareError> {
        let unreadable = |reason| FirmwareError::Unreadable {
            file: file.to_owned(),
            reason,
        };
        // a device may never end
        if !std::fs::metadata(file).map_err(unreadable)?.is_file() {
            return Err(unreadable(io::Error::other("it is no regular file")));
        }
        let bytes = std::fs::read(file).map_err(unreadable)?;
        Self::parse(file, bytes)
    }

    /// Whether a board can run it, as far as the inventory tells.
    pub fn fits(&self, board: &Entry) -> bool {
        let same_chip = || match (&self.chip, board.chip) {
            (Some(chip), Some(board)) => *chip == board.to_string(),
            _ => true,
        };
        match board.kind {
            BoardKind::Virtual => self.machine == Machine::Virt,
            BoardKind::Board | BoardKind::Chip => self.machine == Machine::Chip && same_chip(),
        }
    }

    fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, FirmwareError> {
        let wrong = |reason: String| FirmwareError::NoFirmware {
            file: file.to_owned(),
            reason,
        };
        let image = Image::read(bytes).map_err(|error| wrong(error.to_string()))?;
        if let Image::Elf(bytes) = &image {
            return Self::parse_elf(file, bytes);
        }
        let application = image.application().map_err(|error| wrong(error.to_string()))?;
        let header = of_application(application).map_err(|error| wrong(error.to_string()))?;
        Ok(Self {
            file: file.to_owned(),
            build_id: image.build_id(),
            machine: machine_at(header.entry.into()),
            chip: header.chip.map(|chip| chip.to_string()),
            is_image: true,
        })
    }

    fn parse_elf(file: &Path, bytes: &[u8]) -> Result<Self, FirmwareError> {
        let wrong = |error: object::Error| FirmwareError::NoFirmware {
            file: file.to_owned(),
            reason: error.to_string(),
        };
        let elf = object::File::parse(bytes).map_err(wrong)?;
        let executable = matches!(elf.kind(), ObjectKind::Executable);
        let known = matches!(elf.architecture(), Architecture::Riscv32 | Architecture::Xtensa);
        if !known || !executable {
            return Err(FirmwareError::OtherMachine {
                file: file.to_owned(),
                found: format!("{:?} ({:?})", elf.architecture(), elf.kind()),
            });
        }
        Ok(Self {
            file: file.to_owned(),
            build_id: of_elf(&elf).map_err(wrong)?,
            machine: machine_at(elf.entry()),
            chip: Metadata::from_bytes(Some(bytes)).chip_name().map(str::to_owned),
            is_image: false,
        })
    }
}

const fn machine_at(entry: u64) -> Machine {
    if entry >= VIRT_MEMORY.start && entry < VIRT_MEMORY.end {
        Machine::Virt
    } else {
        Machine::Chip
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_an_end_is_not_read() {
        let error = Firmware::read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zero: it is no regular file");
    }

    /// The head of an ELF file with nothing in it (System V ABI, "ELF Header").
    fn elf(machine: u16, kind: u16, entry: u32) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x01\x01\x01".to_vec();
        bytes.resize(16, 0);
        bytes.extend(kind.to_le_bytes());
        bytes.extend(machine.to_le_bytes());
        bytes.extend(1_u32.to_le_bytes());
        bytes.extend(entry.to_le_bytes());
        bytes.extend([0; 12]);
        for half in [52_u16, 32, 0, 40, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        bytes
    }

    const RISC_V: u16 = 243;
    const X86: u16 = 3;
    const EXECUTABLE: u16 = 2;
    const OBJECT: u16 = 1;

    #[test]
    fn the_entry_tells_the_machine() {
        let machine = |entry| {
            Firmware::parse(Path::new("x"), elf(RISC_V, EXECUTABLE, entry))
                .unwrap()
                .machine
        };
        assert_eq!(machine(0x8000_0000), Machine::Virt);
        assert_eq!(machine(0x4038_0000), Machine::Chip);
    }

    /// An application image of one segment ("Firmware Image Format" of esptool's documentation) that holds an ELF note with a
    /// build id of 20 times 7.
    fn application(chip: u8, entry: u32) -> Vec<u8> {
        let mut note = vec![9; 100];
        note.extend(b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0");
        note.extend([7; 20]);
        let mut image = vec![0xe9, 1, 2, 0x20];
        image.extend(entry.to_le_bytes());
        image.resize(24, 0);
        image[12] = chip;
        image.extend(entry.to_le_bytes());
        image.extend(u32::try_from(note.len()).unwrap().to_le_bytes());
        image.extend(note);
        image.resize(image.len().next_multiple_of(16), 0);
        image
    }

    #[test]
    fn images_tell_their_chip_their_machine_and_their_build() {
        let read = |bytes| Firmware::parse(Path::new("x"), bytes).unwrap();
        let app = read(application(5, 0x4038_0000));
        assert_eq!(
            (app.machine, app.chip.as_deref(), app.is_image),
            (Machine::Chip, Some("esp32c3"), true)
        );
        assert_eq!(app.build_id, Some("07".repeat(20)));
        assert_eq!(read(application(5, 0x8000_0000)).machine, Machine::Virt);
        // a whole flash: the application is where its table says, and what else is in flash has no say
        let table = esp_idf_part::PartitionTable::try_from_str("app, app, ota_0, 0x20000, 0x10000").unwrap();
        let mut flash = vec![0xff; 0x30000];
        flash[..140].copy_from_slice(&application(13, 0)[..140]);
        flash[0x8000..0x8c00].copy_from_slice(&table.to_bin().unwrap());
        let mut app = application(5, 0x8000_0000);
        let id = app.iter().rposition(|byte| *byte == 7).unwrap();
        app[id] = 8;
        flash[0x20000..0x20000 + app.len()].copy_from_slice(&app);
        let whole = read(flash.clone());
        assert_eq!(
            (whole.machine, whole.chip.as_deref()),
            (Machine::Virt, Some("esp32c3"))
        );
        assert_eq!(whole.build_id, Some("07".repeat(19) + "08"));
        // no note
        flash[0x20000 + 40..0x20000 + app.len()].fill(0);
        assert_eq!(read(flash).build_id, None);
    }

    #[test]
    fn a_board_takes_what_is_for_it() {
        let inventory = "[boards.v]\nkind = \"virtual\"\nport = \"/v\"\nchip = \"esp32c3\"\n[boards.c3]\nport = \"/c3\"\nchip = \"esp32c3\"\n\
            [boards.c6]\nport = \"/c6\"\nchip = \"esp32c6\"\n[boards.some]\nport = \"/some\"\n";
        let inventory =
            crate::bench::inventory::Inventory::parse(inventory, Path::new("boards.toml")).unwrap();
        let takers = |image: Vec<u8>| {
            let firmware = Firmware::parse(Path::new("x"), image).unwrap();
            let fit = inventory.boards.iter().filter(|board| firmware.fits(board));
            fit.map(|board| board.name.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(takers(application(5, 0x8000_0000)), ["v"]);
        assert_eq!(takers(application(5, 0x4038_0000)), ["c3", "some"]);
        assert_eq!(takers(elf(RISC_V, EXECUTABLE, 0x4038_0000)), ["c3", "c6", "some"]);
    }

    #[test]
    fn what_is_no_firmware_is_named() {
        let said = |bytes: Vec<u8>| Firmware::parse(Path::new("x"), bytes).unwrap_err().to_string();
        assert!(
            said(b"hello".to_vec()).starts_with("x is no firmware: it is no ELF file, no application image")
        );
        assert!(said(elf(X86, EXECUTABLE, 0)).starts_with("x is for I386 "));
        assert!(said(elf(RISC_V, OBJECT, 0)).contains("Relocatable"));
        let mut cut = application(5, 0x4038_0000);
        cut.truncate(30);
        assert_eq!(
            said(cut),
            "x is no firmware: its application image is cut off: it has 30 bytes, its segments need more"
        );
        let mut flash = vec![0xff; 0x20000];
        flash[0x8000..0x8002].copy_from_slice(b"\xaa\x50");
        assert!(said(flash).starts_with("x is no firmware: the partition table can't be read: "));
    }
}
