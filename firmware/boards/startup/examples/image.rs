//! Makes flash images of an ELF file by espflash's library, without a board: the application, and all of the flash with
//! bootloader, partition table and application.
//!
//!     cargo run -p mcp-hil-board-startup --example image -- esp32c3 ELF PARTITIONS.csv APPLICATION.bin FLASH.bin

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use espflash::flasher::{FlashData, FlashSettings, FlashSize};
use espflash::image_format::idf::IdfBootloaderFormat;
use espflash::target::{Chip, XtalFrequency};

/// Of these boards, 4 MiB.
const FLASH: FlashSize = FlashSize::_4Mb;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [chip, elf, partitions, application, flash] = &arguments[..] else {
        return Err("usage: image CHIP ELF PARTITIONS.csv APPLICATION.bin FLASH.bin".into());
    };
    let settings = FlashSettings::new(None, Some(FLASH), None);
    let data = FlashData::new(settings, 0, None, chip.parse::<Chip>()?, XtalFrequency::_40Mhz);
    let elf = fs::read(elf).map_err(|error| format!("{elf}: {error}"))?;
    let image = IdfBootloaderFormat::new(&elf, &data, Some(Path::new(partitions)), None, None, None)?;
    if let Some(segment) = image.clone().ota_segments().next() {
        fs::write(application, &segment.data)?;
    }
    let mut whole = vec![0xff; FLASH.size() as usize]; // erased
    for segment in image.flash_segments() {
        let place = segment.addr as usize..segment.addr as usize + segment.data.len();
        let room = whole.get_mut(place).ok_or("the image is larger than the flash")?;
        room.copy_from_slice(&segment.data);
    }
    fs::write(flash, whole)?;
    Ok(())
}
