//! A program as an ELF file, which is what QEMU takes.

/// 32-bit, little-endian, RISC-V, executable.
const IDENT: [u8; 16] = [0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const EXECUTABLE: u16 = 2;
const RISCV: u16 = 243;
const LOAD: u32 = 1;
const HEADER: usize = 52;
const PROGRAM_HEADER: usize = 32;

/// An ELF file that loads `segments` to their addresses.
pub fn elf(entry: u32, segments: &[(u32, &[u8])]) -> Vec<u8> {
    let mut file = IDENT.to_vec();
    file.extend(EXECUTABLE.to_le_bytes());
    file.extend(RISCV.to_le_bytes());
    // Version, entry, program headers, no section headers, no flags.
    words(&mut file, &[1, entry, HEADER as u32, 0, 0]);
    for half in [HEADER, PROGRAM_HEADER, segments.len(), 0, 0, 0] {
        file.extend((half as u16).to_le_bytes());
    }
    let mut at = HEADER + PROGRAM_HEADER * segments.len();
    for (address, data) in segments {
        let size = data.len() as u32;
        // Offset, virtual and physical address, size in file and memory, readable and writable and executable.
        words(
            &mut file,
            &[LOAD, at as u32, *address, *address, size, size, 7, 1],
        );
        at += data.len();
    }
    for (_, data) in segments {
        file.extend(*data);
    }
    file
}

fn words(file: &mut Vec<u8>, words: &[u32]) {
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_and_data_have_their_places() {
        let file = elf(0x8000_0004, &[(0x8000_0000, b"code"), (0x8020_0000, b"MCPC")]);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!(file.len(), 52 + 2 * 32 + 8);
        assert_eq!(
            (word(24), word(28), file[44]),
            (0x8000_0004, 52, 2),
            "entry, headers, their number"
        );
        assert_eq!((word(52), word(56), word(64), word(68)), (1, 116, 0x8000_0000, 4));
        assert_eq!(
            (word(84 + 4), word(84 + 12), word(84 + 16)),
            (120, 0x8020_0000, 4)
        );
        assert_eq!(&file[116..], b"codeMCPC");
    }
}
