//! ESP32 application images: header, segments, checksum, SHA-256.
//!
//! Source: "Firmware Image Format" in the documentation of esptool, ESP32-C3.

use sha2::{Digest, Sha256};

/// First byte of every image.
pub const MAGIC: u8 = 0xe9;
/// The chip id in the header of an image for the ESP32-C3.
pub const ESP32C3: u16 = 5;
const HEADER: usize = 24;
const SEGMENT_HEADER: usize = 8;
/// More segments no image has.
const MOST_SEGMENTS: usize = 16;
const HASH: usize = 32;

/// What lies at one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Where it belongs in memory.
    pub address: u32,
    /// Its place in the image.
    pub offset: usize,
    /// Its content.
    pub data: &'a [u8],
}

/// An image whose structure is right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Where it starts.
    pub entry: u32,
    /// Its parts, in the image's order.
    pub segments: Vec<Segment<'a>>,
    /// For which chip it was made.
    pub chip_id: u16,
    /// One byte over all segments.
    pub checksum: Sum<u8>,
    /// Over everything before it; none when the image has none.
    pub hash: Option<Sum<[u8; HASH]>>,
}

/// A sum over the content and the one that the image tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum<T> {
    /// Over the content.
    pub calculated: T,
    /// In the image.
    pub read: T,
}

impl<T: PartialEq> Sum<T> {
    /// True when the content is what it was.
    pub fn agrees(&self) -> bool {
        self.calculated == self.read
    }
}

/// Why something is no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoImage {
    /// It begins with this word instead of an image's header.
    Magic(u32),
    /// It tells more segments than an image can have, or none.
    Segments(u8),
    /// A segment of this length does not fit.
    Length(u32),
}

/// Reads an image at the beginning of `bytes`.
pub fn read(bytes: &[u8]) -> Result<Image<'_>, NoImage> {
    let first = word(bytes, 0).unwrap_or(u32::MAX);
    if first as u8 != MAGIC {
        return Err(NoImage::Magic(first));
    }
    let header = bytes.get(..HEADER).ok_or(NoImage::Magic(first))?;
    let count = header[1];
    if count == 0 || usize::from(count) > MOST_SEGMENTS {
        return Err(NoImage::Segments(count));
    }
    let mut at = HEADER;
    let mut segments = Vec::new();
    let mut checksum = 0xef;
    for _ in 0..count {
        let length = word(bytes, at + 4).ok_or(NoImage::Length(u32::MAX))?;
        let address = word(bytes, at).ok_or(NoImage::Length(length))?;
        let offset = at + SEGMENT_HEADER;
        let end = offset.saturating_add(length as usize);
        let data = bytes.get(offset..end).ok_or(NoImage::Length(length))?;
        checksum = data.iter().fold(checksum, |sum, byte| sum ^ byte);
        segments.push(Segment {
            address,
            offset,
            data,
        });
        at = end;
    }
    // The checksum is the last byte of a block of 16.
    let end = (at + 1).next_multiple_of(16);
    let read = *bytes.get(end - 1).ok_or(NoImage::Length(0))?;
    let hash = match header[HEADER - 1] {
        0 => None,
        _ => {
            let read = bytes.get(end..end + HASH).ok_or(NoImage::Length(0))?;
            Some(Sum {
                calculated: Sha256::digest(&bytes[..end]).into(),
                read: read.try_into().map_err(|_| NoImage::Length(0))?,
            })
        }
    };
    Ok(Image {
        entry: word(header, 4).unwrap_or_default(),
        segments,
        chip_id: u16::from_le_bytes([header[12], header[13]]),
        checksum: Sum {
            calculated: checksum,
            read,
        },
        hash,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An image with the given segments; its sums are right.
    pub(in crate::serial) fn image(entry: u32, chip_id: u16, segments: &[(u32, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![MAGIC, segments.len() as u8, 2, 0x2f];
        bytes.extend(entry.to_le_bytes());
        bytes.extend([0xee, 0, 0, 0]);
        bytes.extend(chip_id.to_le_bytes());
        bytes.extend([0; 9]);
        bytes.push(1);
        let mut checksum = 0xef;
        for (address, data) in segments {
            bytes.extend(address.to_le_bytes());
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(*data);
            checksum = data.iter().fold(checksum, |sum, byte| sum ^ byte);
        }
        bytes.resize((bytes.len() + 1).next_multiple_of(16) - 1, 0);
        bytes.push(checksum);
        let hash = Sha256::digest(&bytes);
        bytes.extend(hash);
        bytes
    }

    #[test]
    fn segments_and_sums_are_read() {
        let bytes = image(
            0x8000_0000,
            ESP32C3,
            &[(0x8000_0000, b"code"), (0x8010_0000, b"constants!!!")],
        );
        let image = read(&bytes).unwrap();
        let read: Vec<_> = image
            .segments
            .iter()
            .map(|s| (s.address, s.offset, s.data))
            .collect();
        assert_eq!(
            read,
            [
                (0x8000_0000, 32, &b"code"[..]),
                (0x8010_0000, 44, b"constants!!!")
            ]
        );
        assert_eq!((image.entry, image.chip_id), (0x8000_0000, 5));
        assert!(image.checksum.agrees() && image.hash.unwrap().agrees());
    }

    #[test]
    fn a_changed_byte_shows_in_both_sums() {
        let mut bytes = image(0, ESP32C3, &[(0, b"code")]);
        bytes[32] ^= 1;
        let image = read(&bytes).unwrap();
        assert_eq!(image.checksum.calculated, image.checksum.read ^ 1);
        assert!(!image.hash.unwrap().agrees());
    }

    #[test]
    fn what_is_no_image_is_told_from_a_broken_one() {
        assert_eq!(read(&[0xff; 64]), Err(NoImage::Magic(0xffff_ffff)));
        assert_eq!(read(&[]), Err(NoImage::Magic(0xffff_ffff)));
        let bytes = image(0, ESP32C3, &[(0, b"code")]);
        assert_eq!(read(&bytes[..30]), Err(NoImage::Length(0xffff_ffff)));
        assert_eq!(read(&bytes[..34]), Err(NoImage::Length(4)));
        assert_eq!(
            read(&bytes[..60]),
            Err(NoImage::Length(0)),
            "no place for the hash"
        );
        let mut many = bytes.clone();
        many[1] = 17;
        assert_eq!(read(&many), Err(NoImage::Segments(17)));
    }

    proptest::proptest! {
        #[test]
        fn no_image_makes_it_panic(mut bytes: Vec<u8>, count in 0u8..20, length: u32) {
            let _ = read(&bytes);
            bytes.splice(..bytes.len().min(2), [MAGIC, count]);
            if bytes.len() >= 32 {
                bytes[28..32].copy_from_slice(&length.to_le_bytes());
            }
            let _ = read(&bytes);
        }
    }
}
