//! 4 MiB of NOR flash: erasing sets all bits of a sector, programming only clears bits.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes of flash.
pub const SIZE: usize = 4 << 20;
/// The smallest part that can be erased.
pub const SECTOR: usize = 0x1000;
/// What the flash answers to JEDEC's "read identification" (0x9f), first byte lowest: GigaDevice, type 0x40, 2^22 bytes.
pub const JEDEC_ID: u32 = 0x16_40c8;

/// The content of a flash chip.
#[derive(Clone)]
pub struct Flash {
    bytes: Vec<u8>,
    /// What the file does not have yet.
    changed: Option<Range<usize>>,
}

/// An address or length outside the chip, or not on a sector's edge where that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("outside the flash")]
pub struct OutOfRange;

impl Flash {
    /// An erased chip.
    pub fn erased() -> Self {
        Flash {
            bytes: vec![0xff; SIZE],
            changed: None,
        }
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A part of it.
    pub fn read(&self, offset: u32, length: u32) -> Result<&[u8], OutOfRange> {
        self.bytes.get(range(offset, length)?).ok_or(OutOfRange)
    }

    /// Clears those bits that are clear in `data`.
    pub fn program(&mut self, offset: u32, data: &[u8]) -> Result<(), OutOfRange> {
        let range = range(offset, u32::try_from(data.len()).map_err(|_| OutOfRange)?)?;
        for (cell, byte) in self.bytes[range.clone()].iter_mut().zip(data) {
            *cell &= byte;
        }
        self.mark(range);
        Ok(())
    }

    /// Sets all bits of every sector that the range touches.
    pub fn erase(&mut self, offset: u32, length: u32) -> Result<(), OutOfRange> {
        let touched = range(offset, length)?;
        if touched.is_empty() {
            return Ok(());
        }
        let sectors = touched.start / SECTOR * SECTOR..touched.end.next_multiple_of(SECTOR);
        self.bytes[sectors.clone()].fill(0xff);
        self.mark(sectors);
        Ok(())
    }

    fn mark(&mut self, range: Range<usize>) {
        self.changed = Some(match self.changed.take() {
            Some(before) => before.start.min(range.start)..before.end.max(range.end),
            None => range,
        });
    }
}

fn range(offset: u32, length: u32) -> Result<Range<usize>, OutOfRange> {
    let (start, length) = (offset as usize, length as usize);
    match start.checked_add(length) {
        Some(end) if end <= SIZE => Ok(start..end),
        _ => Err(OutOfRange),
    }
}

/// The file in which a flash chip's content survives.
pub struct FlashFile {
    path: PathBuf,
    file: File,
}

impl FlashFile {
    /// Opens the file, or makes it, erased. A file of another length is refused.
    pub fn open(path: &Path) -> io::Result<(Self, Flash)> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        let mut flash = Flash::erased();
        match file.metadata()?.len() as usize {
            0 => file.write_all_at(&flash.bytes, 0)?,
            SIZE => file.read_exact_at(&mut flash.bytes, 0)?,
            other => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("a flash file has {SIZE} bytes, this has {other}"),
                ));
            }
        }
        let path = path.to_owned();
        Ok((FlashFile { path, file }, flash))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what has changed since the last time.
    pub fn save(&self, flash: &mut Flash) -> io::Result<()> {
        match flash.changed.take() {
            Some(range) => self
                .file
                .write_all_at(&flash.bytes[range.clone()], range.start as u64),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programming_only_clears_bits() {
        let mut flash = Flash::erased();
        flash.program(0x10, &[0b1010]).unwrap();
        flash.program(0x10, &[0b0110]).unwrap();
        assert_eq!(flash.read(0x10, 1), Ok(&[0b0010][..]));
        flash.erase(0x0, 1).unwrap();
        assert_eq!(flash.read(0x10, 1), Ok(&[0xff][..]));
    }

    #[test]
    fn erasing_takes_whole_sectors_and_no_more() {
        let mut flash = Flash::erased();
        flash.program(0, &vec![0; 3 * SECTOR]).unwrap();
        flash.erase(SECTOR as u32 + 5, 1).unwrap();
        assert_eq!(flash.read(SECTOR as u32 - 1, 2), Ok(&[0, 0xff][..]));
        assert_eq!(flash.read(2 * SECTOR as u32 - 1, 2), Ok(&[0xff, 0][..]));
    }

    #[test]
    fn nothing_is_outside() {
        let mut flash = Flash::erased();
        assert_eq!(flash.read(SIZE as u32 - 1, 2), Err(OutOfRange));
        assert_eq!(flash.program(u32::MAX, &[0; 2]), Err(OutOfRange));
        assert_eq!(flash.erase(0, u32::MAX), Err(OutOfRange));
        assert_eq!(flash.read(SIZE as u32 - 1, 1), Ok(&[0xff][..]));
    }

    #[test]
    fn the_file_has_what_was_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("flash.bin");
        let (file, mut flash) = FlashFile::open(&path).unwrap();
        flash.program(0x1234, b"hello").unwrap();
        flash.program(0x20_0000, b"there").unwrap();
        file.save(&mut flash).unwrap();
        let (_, again) = FlashFile::open(&path).unwrap();
        assert_eq!(again.read(0x1234, 5), Ok(&b"hello"[..]));
        assert_eq!(again.bytes(), flash.bytes());
        std::fs::write(&path, b"short").unwrap();
        let error = FlashFile::open(&path).err().unwrap().to_string();
        assert_eq!(error, "a flash file has 4194304 bytes, this has 5");
    }
}
