//! A firmware file that is to be run.

use crate::board::build_id::of_elf;
use object::{Architecture, Object as _, ObjectKind};
use std::path::{Path, PathBuf};

/// Where QEMU's `virt` machine has its memory.
const VIRT_MEMORY: std::ops::Range<u64> = 0x8000_0000..0x1_0000_0000;

/// An ELF file, looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    /// Its path.
    pub file: PathBuf,
    /// GNU build id in lowercase hex; without one, what runs can't be compared with the file.
    pub build_id: Option<String>,
    /// The machine that it is for.
    pub machine: Machine,
}

/// What can run a firmware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// QEMU's riscv32 `virt` machine, or another with memory there.
    Virt,
    /// Some other 32-bit RISC-V.
    OtherRiscV,
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
    /// Not an ELF file, or a broken one.
    #[error("{} is no ELF file: {reason}", .file.display())]
    NoElf {
        /// Its path.
        file: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// For another machine.
    #[error("{} is for {found}; a firmware is an executable for 32-bit RISC-V", .file.display())]
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
        let bytes = std::fs::read(file).map_err(|reason| FirmwareError::Unreadable {
            file: file.to_owned(),
            reason,
        })?;
        Self::parse(file, &bytes)
    }

    fn parse(file: &Path, bytes: &[u8]) -> Result<Self, FirmwareError> {
        let no_elf = |error: object::Error| FirmwareError::NoElf {
            file: file.to_owned(),
            reason: error.to_string(),
        };
        let elf = object::File::parse(bytes).map_err(no_elf)?;
        let executable = matches!(elf.kind(), ObjectKind::Executable);
        if elf.architecture() != Architecture::Riscv32 || !executable {
            return Err(FirmwareError::OtherMachine {
                file: file.to_owned(),
                found: format!("{:?} ({:?})", elf.architecture(), elf.kind()),
            });
        }
        Ok(Self {
            file: file.to_owned(),
            build_id: of_elf(&elf).map_err(no_elf)?,
            machine: if VIRT_MEMORY.contains(&elf.entry()) {
                Machine::Virt
            } else {
                Machine::OtherRiscV
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Firmware::parse(Path::new("x"), &elf(RISC_V, EXECUTABLE, entry))
                .unwrap()
                .machine
        };
        assert_eq!(machine(0x8000_0000), Machine::Virt);
        assert_eq!(machine(0x4038_0000), Machine::OtherRiscV);
    }

    #[test]
    fn what_is_no_firmware_is_named() {
        let said = |bytes: &[u8]| Firmware::parse(Path::new("x"), bytes).unwrap_err().to_string();
        assert!(said(b"hello").starts_with("x is no ELF file: "));
        assert!(said(&elf(X86, EXECUTABLE, 0)).starts_with("x is for I386 "));
        assert!(said(&elf(RISC_V, OBJECT, 0)).contains("Relocatable"));
    }
}
