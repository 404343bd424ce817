//! One download of data into flash, plain or deflated: what lies between a BEGIN and an END.

use flate2::{Decompress, FlushDecompress, Status};

use super::flash::{Flash, SECTOR};
use super::packet::Failure;

/// The window of a zlib stream, which is also the most that is written at once.
const WINDOW: usize = 32 << 10;

/// A download that has begun.
pub struct Transfer {
    next: u32,
    /// Bytes of the flash that are still to come.
    left: u32,
    /// Where erased flash ends.
    erased: u32,
    inflate: Option<Inflate>,
    /// The stub wants exactly the size that was announced. Tools round it up for the ROM.
    exact: bool,
}

struct Inflate {
    stream: Box<Decompress>,
    done: bool,
}

impl Transfer {
    /// Begins. The ROM erases everything at once, the stub as it goes.
    pub fn begin(
        flash: &mut Flash,
        offset: u32,
        size: u32,
        deflated: bool,
        stub: bool,
    ) -> Result<Self, Failure> {
        flash.read(offset, size).map_err(|_| Failure::Act)?;
        let mut transfer = Transfer {
            next: offset,
            left: size,
            erased: offset / SECTOR as u32 * SECTOR as u32,
            inflate: deflated.then(|| Inflate {
                stream: Box::new(Decompress::new(true)),
                done: false,
            }),
            exact: stub,
        };
        if !stub {
            transfer.erase_to(flash, offset + size)?;
        }
        Ok(transfer)
    }

    /// True when it began with FLASH_DEFL_BEGIN.
    pub fn is_deflated(&self) -> bool {
        self.inflate.is_some()
    }

    /// Where the next byte goes.
    pub fn position(&self) -> u32 {
        self.next
    }

    /// Takes a block.
    pub fn data(&mut self, flash: &mut Flash, data: &[u8]) -> Result<(), Failure> {
        match self.inflate.take() {
            Some(mut inflate) => {
                let written = self.inflate(flash, &mut inflate, data);
                self.inflate = Some(inflate);
                written
            }
            None if self.left == 0 => Err(Failure::TooMuch),
            None => {
                // The last block is filled up to its size.
                let length = data.len().min(self.left as usize);
                self.write(flash, &data[..length])
            }
        }
    }

    /// Ends, well if everything has come.
    pub fn end(self) -> Result<(), Failure> {
        if self.left > 0 && self.exact {
            Err(Failure::NotEnough)
        } else {
            Ok(())
        }
    }

    fn inflate(&mut self, flash: &mut Flash, inflate: &mut Inflate, mut data: &[u8]) -> Result<(), Failure> {
        while !inflate.done {
            let mut window = Vec::with_capacity(WINDOW);
            let before = inflate.stream.total_in();
            let status = inflate
                .stream
                .decompress_vec(data, &mut window, FlushDecompress::None)
                .map_err(|_| Failure::Inflate)?;
            data = &data[(inflate.stream.total_in() - before) as usize..];
            inflate.done = status == Status::StreamEnd;
            if window.len() > self.left as usize {
                return Err(Failure::TooMuch);
            }
            self.write(flash, &window)?;
            if data.is_empty() && window.len() < WINDOW {
                break;
            }
        }
        if inflate.done && self.left > 0 && self.exact {
            Err(Failure::NotEnough)
        } else {
            Ok(())
        }
    }

    fn write(&mut self, flash: &mut Flash, data: &[u8]) -> Result<(), Failure> {
        let length = data.len() as u32;
        self.erase_to(flash, self.next + length)?;
        flash.program(self.next, data).map_err(|_| Failure::Act)?;
        let written = flash.read(self.next, length).map_err(|_| Failure::Act)?;
        if written != data {
            return Err(Failure::Write);
        }
        self.next += length;
        self.left -= length;
        Ok(())
    }

    fn erase_to(&mut self, flash: &mut Flash, end: u32) -> Result<(), Failure> {
        if end > self.erased {
            flash
                .erase(self.erased, end - self.erased)
                .map_err(|_| Failure::Act)?;
            self.erased = end.next_multiple_of(SECTOR as u32);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn deflated(data: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    /// Compresses to a third, so that a block inflates to more than a window now and then.
    fn sample(length: usize) -> Vec<u8> {
        (0..length)
            .map(|n| if n % 3 == 0 { ((n * n) >> 7) as u8 } else { 0 })
            .collect()
    }

    #[test]
    fn deflated_blocks_become_the_data() {
        let (data, mut flash) = (sample(300_000), Flash::erased());
        let mut transfer = Transfer::begin(&mut flash, 0x1_0000, data.len() as u32, true, true).unwrap();
        for block in deflated(&data).chunks(0x400) {
            transfer.data(&mut flash, block).unwrap();
        }
        transfer.end().unwrap();
        assert_eq!(flash.read(0x1_0000, data.len() as u32), Ok(&data[..]));
    }

    #[test]
    fn zeros_that_inflate_to_many_windows_all_arrive() {
        let (data, mut flash) = (vec![0; 1 << 20], Flash::erased());
        let mut transfer = Transfer::begin(&mut flash, 0, 1 << 20, true, true).unwrap();
        transfer.data(&mut flash, &deflated(&data)).unwrap();
        transfer.end().unwrap();
        assert_eq!(flash.read(0, 1 << 20), Ok(&data[..]));
    }

    #[test]
    fn the_padding_of_the_last_block_is_not_written() {
        let mut flash = Flash::erased();
        flash.program(0x3000, &[0x11]).unwrap();
        let mut transfer = Transfer::begin(&mut flash, 0x1000, 5, false, true).unwrap();
        transfer.data(&mut flash, b"hello\0\0\0").unwrap();
        transfer.end().unwrap();
        assert_eq!(flash.read(0x1000, 6), Ok(&b"hello\xff"[..]));
        assert_eq!(
            flash.read(0x3000, 1),
            Ok(&[0x11][..]),
            "no other sector was erased"
        );
    }

    #[test]
    fn the_rom_erases_at_the_beginning_and_the_stub_as_it_goes() {
        let begin = |stub| {
            let mut flash = Flash::erased();
            flash.program(0x1000, &[0; 0x2000]).unwrap();
            Transfer::begin(&mut flash, 0x1000, 0x2000, false, stub).unwrap();
            flash.read(0x2fff, 1).unwrap()[0]
        };
        assert_eq!((begin(false), begin(true)), (0xff, 0));
    }

    #[test]
    fn the_rom_is_told_a_size_that_was_rounded_up() {
        let mut flash = Flash::erased();
        let mut transfer = Transfer::begin(&mut flash, 0, 0x400, true, false).unwrap();
        transfer.data(&mut flash, &deflated(b"hello")).unwrap();
        transfer.end().unwrap();
        assert_eq!(flash.read(0, 6), Ok(&b"hello\xff"[..]));
    }

    #[test]
    fn too_much_too_little_and_rubbish_are_told_apart() {
        let flash = &mut Flash::erased();
        let begin = |flash: &mut Flash, size| Transfer::begin(flash, 0, size, true, true).unwrap();
        assert_eq!(
            begin(flash, 4).data(flash, &deflated(b"hello")),
            Err(Failure::TooMuch)
        );
        assert_eq!(
            begin(flash, 6).data(flash, &deflated(b"hello")),
            Err(Failure::NotEnough)
        );
        assert_eq!(begin(flash, 5).data(flash, b"hello"), Err(Failure::Inflate));
        assert_eq!(begin(flash, 5).end(), Err(Failure::NotEnough));
        let outside = Transfer::begin(flash, 0x3f_f000, 0x1001, false, false).err();
        assert_eq!(outside, Some(Failure::Act));
    }
}
