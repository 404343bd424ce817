//! The firmware's file: QEMU runs any file without a word, and a board then says nothing.

use std::fs;
use std::path::Path;

use object::{Architecture, Object};

use crate::Error;

/// Whether a file can run on a board, as far as its header tells.
///
/// # Errors
/// [`Error::Firmware`].
pub fn check(file: &Path) -> Result<(), Error> {
    let checked = fs::read(file)
        .map_err(|error| error.to_string())
        .and_then(|bytes| fits(&bytes));
    checked.map_err(|reason| Error::Firmware {
        path: file.to_owned(),
        reason,
    })
}

fn fits(bytes: &[u8]) -> Result<(), String> {
    let elf = object::File::parse(bytes).map_err(|error| format!("it is no ELF file ({error})"))?;
    match elf.architecture() {
        Architecture::Riscv32 => Ok(()),
        other => Err(format!(
            "it is for {other:?}, and the board runs 32-bit RISC-V; build one in firmware/boards/virt"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an ELF file that has nothing else (System V ABI, "ELF Header").
    fn header(class: u8, machine: u16) -> Vec<u8> {
        let length: u16 = if class == 1 { 52 } else { 64 };
        let mut header = vec![0; usize::from(length)];
        header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
        header[16..18].copy_from_slice(&2_u16.to_le_bytes());
        header[18..20].copy_from_slice(&machine.to_le_bytes());
        header[20] = 1;
        let at = usize::from(length) - 12;
        header[at..at + 2].copy_from_slice(&length.to_le_bytes());
        header
    }

    #[test]
    fn only_32_bit_risc_v_fits() {
        // EM_RISCV is 243, EM_X86_64 62, EM_XTENSA 94
        assert_eq!(fits(&header(1, 243)), Ok(()));
        assert!(fits(&header(2, 243)).unwrap_err().contains("Riscv64"));
        assert!(fits(&header(2, 62)).unwrap_err().contains("X86_64"));
        assert!(fits(&header(1, 94)).unwrap_err().contains("Xtensa"));
    }

    #[test]
    fn what_is_no_elf_file_is_told() {
        for bytes in [&b"#!/bin/sh\n"[..], b"", b"\x7fELF"] {
            assert!(fits(bytes).unwrap_err().contains("no ELF file"), "{bytes:?}");
        }
    }
}
