//! The partition table of ESP-IDF's bootloader: 32 bytes an entry, at most 95, little-endian ("Partition Tables" in
//! ESP-IDF's programming guide).

/// Where the table is in flash, by default.
pub const TABLE: u32 = 0x8000;
/// Largest table, bytes.
pub const TABLE_MAX: usize = 0xc00;

const ENTRY: usize = 32;
const ENTRY_MAGIC: [u8; 2] = [0xaa, 0x50];

/// A part of the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// First byte in flash.
    pub offset: u32,
    /// Bytes.
    pub size: u32,
}

/// The first partition with this label, at most 16 bytes. The table ends at the first entry that is none, such as its
/// MD5 or erased flash.
pub fn find(table: &[u8], label: &str) -> Option<Partition> {
    let (entries, _) = table.as_chunks::<ENTRY>();
    entries
        .iter()
        .take_while(|entry| entry.starts_with(&ENTRY_MAGIC))
        .find(|entry| name(entry) == label.as_bytes())
        .map(|entry| {
            let [_, _, _, _, o0, o1, o2, o3, s0, s1, s2, s3, ..] = *entry;
            Partition {
                offset: u32::from_le_bytes([o0, o1, o2, o3]),
                size: u32::from_le_bytes([s0, s1, s2, s3]),
            }
        })
}

/// An entry's label, without the zeros that fill it up.
fn name(entry: &[u8; ENTRY]) -> &[u8] {
    let label = &entry[12..28];
    label.split(|byte| *byte == 0).next().unwrap_or_default()
}
