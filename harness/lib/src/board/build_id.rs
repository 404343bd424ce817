//! The GNU build id of an ELF file.

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};
use std::path::Path;

/// What an ELF note with a build id begins with: lengths of name and id, type, name.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
/// Bytes of an id.
const SHA1: usize = 20;

/// Build id in lowercase hex; none if the file has none.
///
/// # Errors
/// What is wrong with the file.
pub fn of(file: &Path) -> Result<Option<String>, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let elf = object::File::parse(bytes.as_slice()).map_err(|error| error.to_string())?;
    of_elf(&elf).map_err(|error| error.to_string())
}

/// The same of a file that was read.
///
/// # Errors
/// A section that is broken.
pub fn of_elf(elf: &object::File<'_>) -> Result<Option<String>, object::Error> {
    let id = elf.build_id()?.or_else(|| among_constants(elf));
    Ok(id.map(hex).or_else(|| stripped(elf)))
}

/// The id in an image, which has neither sections nor symbols: a whole ELF note somewhere in its bytes.
pub fn in_bytes(bytes: &[u8]) -> Option<String> {
    let at = bytes.windows(NOTE.len()).position(|window| window == NOTE)? + NOTE.len();
    bytes.get(at..at + SHA1).map(hex)
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The id of an ELF file that has lost its symbols.
fn stripped(elf: &object::File<'_>) -> Option<String> {
    elf.sections().find_map(|section| in_bytes(section.data().ok()?))
}

/// The id of a firmware that goes into a flash image, which has no place for notes: it lies at this symbol.
fn among_constants<'a>(elf: &object::File<'a>) -> Option<&'a [u8]> {
    let symbol = elf
        .symbols()
        .find(|symbol| symbol.name() == Ok("_build_id_note"))?;
    let length = NOTE.len() + SHA1;
    let note = elf
        .sections()
        .find_map(|section| section.data_range(symbol.address(), length as u64).ok().flatten())?;
    note.strip_prefix(NOTE)
}

/// Build id of a file that must have one, so that what runs can be compared with it.
///
/// # Errors
/// What is wrong with the file.
pub fn required(file: &Path) -> Result<String, String> {
    of(file)?.ok_or_else(|| "it has no GNU build id, by which to tell what runs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_found_wherever_it_is_and_must_be_whole() {
        let mut bytes = vec![1; 77];
        assert_eq!(in_bytes(&bytes), None);
        bytes.extend([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, b'G', b'N', b'U', 0]);
        assert_eq!(in_bytes(&bytes), None);
        bytes.extend(0..20);
        assert_eq!(
            in_bytes(&bytes).unwrap(),
            "000102030405060708090a0b0c0d0e0f10111213"
        );
    }
}
