//! The partition table at 0x8000.
//!
//! Source: "Partition Tables" in the ESP-IDF programming guide.

use md5::{Digest, Md5};

use super::flash::SIZE;

/// Where the table lies.
pub const OFFSET: u32 = 0x8000;
/// How long it may be.
pub const LENGTH: u32 = 0xc00;
const ENTRY: usize = 32;
const PARTITION: [u8; 2] = [0xaa, 0x50];
const DIGEST: [u8; 2] = [0xeb, 0xeb];
const END: [u8; 2] = [0xff, 0xff];

/// One row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// 0 is an application, 1 is data.
    pub kind: u8,
    /// For an application 0 is "factory", 0x10 to 0x1f are those that are updated over the air.
    pub subtype: u8,
    /// Where it begins.
    pub offset: u32,
    /// Its size.
    pub size: u32,
    /// Its name.
    pub label: String,
}

impl Partition {
    /// True for a program.
    pub fn is_app(&self) -> bool {
        self.kind == 0
    }
}

/// What is wrong with a table, in the words of the bootloader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTable {
    /// An entry begins with something else.
    #[error("partition {0} invalid magic number 0x{1:x}")]
    Magic(usize, u16),
    /// A partition ends after the flash.
    #[error(
        "partition {index} invalid - offset 0x{offset:x} size 0x{size:x} exceeds flash chip size 0x{SIZE:x}"
    )]
    TooLong {
        /// Which entry.
        index: usize,
        /// Where it begins.
        offset: u32,
        /// How long it would be.
        size: u32,
    },
    /// The table was changed or cut.
    #[error("Incorrect MD5 checksum")]
    Digest,
    /// There is no digest.
    #[error("No MD5 checksum found in partition table")]
    NoDigest,
}

/// Reads a table.
pub fn read(bytes: &[u8]) -> Result<Vec<Partition>, BadTable> {
    let mut partitions = Vec::new();
    let mut verified = false;
    for (index, entry) in bytes.as_chunks::<ENTRY>().0.iter().enumerate() {
        let word = |at: usize| u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]]);
        match [entry[0], entry[1]] {
            PARTITION => {
                let (offset, size) = (word(4), word(8));
                if offset.checked_add(size).is_none_or(|end| end as usize > SIZE) {
                    return Err(BadTable::TooLong { index, offset, size });
                }
                let label = entry[12..28].split(|byte| *byte == 0).next().unwrap_or_default();
                partitions.push(Partition {
                    kind: entry[2],
                    subtype: entry[3],
                    offset,
                    size,
                    label: String::from_utf8_lossy(label).into_owned(),
                });
            }
            DIGEST => {
                if Md5::digest(&bytes[..index * ENTRY])[..] != entry[16..] {
                    return Err(BadTable::Digest);
                }
                verified = true;
            }
            END => break,
            other => return Err(BadTable::Magic(index, u16::from_le_bytes(other))),
        }
    }
    if partitions.is_empty() {
        return Err(BadTable::Magic(0, 0xffff));
    }
    if verified {
        Ok(partitions)
    } else {
        Err(BadTable::NoDigest)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A table with a digest.
    pub(in crate::serial) fn table(partitions: &[(&str, u8, u8, u32, u32)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (label, kind, subtype, offset, size) in partitions {
            bytes.extend([0xaa, 0x50, *kind, *subtype]);
            bytes.extend(offset.to_le_bytes());
            bytes.extend(size.to_le_bytes());
            let mut name = label.as_bytes().to_vec();
            name.resize(20, 0);
            bytes.extend(name);
        }
        let digest = Md5::digest(&bytes);
        bytes.extend([0xeb, 0xeb]);
        bytes.extend([0xff; 14]);
        bytes.extend(digest);
        bytes.resize(LENGTH as usize, 0xff);
        bytes
    }

    #[test]
    fn rows_are_read_and_the_digest_is_checked() {
        let mut bytes = table(&[
            ("config", 1, 6, 0x9000, 0x1000),
            ("factory", 0, 0, 0x1_0000, 0x1f_0000),
        ]);
        let read_back = read(&bytes).unwrap();
        assert_eq!(read_back[0].label, "config");
        assert_eq!((read_back[1].offset, read_back[1].size), (0x1_0000, 0x1f_0000));
        assert!(!read_back[0].is_app() && read_back[1].is_app());
        bytes[8] ^= 1;
        assert_eq!(read(&bytes), Err(BadTable::Digest));
    }

    #[test]
    fn bad_tables_are_told_in_the_bootloaders_words() {
        let says = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        assert_eq!(says(&[0xff; 64]), "partition 0 invalid magic number 0xffff");
        assert_eq!(says(&[0x12; 32]), "partition 0 invalid magic number 0x1212");
        let long = table(&[("factory", 0, 0, 0x1_0000, 0x40_0000)]);
        assert_eq!(
            says(&long),
            "partition 0 invalid - offset 0x10000 size 0x400000 exceeds flash chip size 0x400000"
        );
        let mut undigested = table(&[("factory", 0, 0, 0x1_0000, 0x1000)]);
        undigested[32..64].fill(0xff);
        assert_eq!(says(&undigested), "No MD5 checksum found in partition table");
    }
}
