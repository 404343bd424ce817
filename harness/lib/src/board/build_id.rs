//! The GNU build id of an ELF file.

use object::Object as _;
use std::path::Path;

/// Build id in lowercase hex; none if the file has none.
///
/// # Errors
/// What is wrong with the file.
pub fn of(file: &Path) -> Result<Option<String>, String> {
    let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
    let elf = object::File::parse(bytes.as_slice()).map_err(|error| error.to_string())?;
    let id = elf.build_id().map_err(|error| error.to_string())?;
    Ok(id.map(hex))
}

/// Bytes of a build id as boards tell it.
pub fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Build id of a file that must have one, so that what runs can be compared with it.
///
/// # Errors
/// What is wrong with the file.
pub fn required(file: &Path) -> Result<String, String> {
    of(file)?.ok_or_else(|| "it has no GNU build id, by which to tell what runs".to_owned())
}
