//! A firmware file as parts of a chip's flash: pure, but for the files of a partition table and a bootloader.

use super::configuration::LABEL;
use crate::board::build_id;
use esp_idf_part::{AppType, DataType, Partition, PartitionTable, Type};
use espflash::flasher::{FlashData, FlashSettings, FlashSize};
use espflash::image_format::{Metadata, Segment, idf::IdfBootloaderFormat};
use espflash::target::{Chip, XtalFrequency};
use std::io::Write;
use std::path::Path;

/// Where the partition table is, on every chip.
pub const TABLE: u32 = 0x8000;
/// Bytes of a partition table.
pub const TABLE_SIZE: u32 = 0xc00;
/// What flash is erased by.
const SECTOR: usize = 0x1000;
/// The partition table, if none is given: as in `firmware/boards/esp32/partitions.csv`.
pub const DEFAULT_TABLE: &str = "\
config,   data, undefined, 0x9000,   0x1000
factory,  app,  factory,   0x10000,  0x1f0000
";

/// A firmware file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// An ELF file, which becomes an application, with a bootloader and a partition table.
    Elf(Vec<u8>),
    /// An application as it stands in its partition.
    App(Vec<u8>),
    /// A whole flash, from address 0.
    Flash(Vec<u8>),
}

/// Bytes for a place in flash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is, for people.
    pub name: String,
    /// Its address.
    pub address: u32,
    /// Its bytes.
    pub data: Vec<u8>,
}

impl Part {
    fn new(name: &str, address: u32, data: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            address,
            data,
        }
    }
}

/// The chip that is to take it.
#[derive(Clone, Copy, Debug)]
pub struct Taker {
    /// The chip.
    pub chip: Chip,
    /// Its crystal.
    pub crystal: XtalFrequency,
    /// Its flash.
    pub flash: FlashSize,
}

/// Files that go along with an image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'a> {
    /// Partition table, as CSV or binary.
    pub table: Option<&'a Path>,
    /// Second-stage bootloader.
    pub bootloader: Option<&'a Path>,
    /// Configuration sector.
    pub sector: Option<&'a [u8]>,
}

/// Why a file can't be flashed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// It is not what a board takes.
    #[error("{0}")]
    Unusable(String),
    /// It is for another chip.
    #[error("the image is for {image}, the board is {board}")]
    WrongChip {
        /// Chip of the image.
        image: String,
        /// Chip of the board.
        board: Chip,
    },
}

fn unusable(reason: impl Into<String>) -> ImageError {
    ImageError::Unusable(reason.into())
}

impl Image {
    /// Tells by its first bytes what a file is.
    ///
    /// # Errors
    /// It is nothing that a board takes.
    pub fn read(bytes: Vec<u8>) -> Result<Self, ImageError> {
        let table = bytes.get(TABLE as usize..TABLE as usize + 2);
        if bytes.starts_with(b"\x7fELF") {
            Ok(Self::Elf(bytes))
        } else if table == Some(b"\xaa\x50") {
            Ok(Self::Flash(bytes))
        } else if bytes.first() == Some(&0xe9) && bytes.len() > 24 {
            Ok(Self::App(bytes))
        } else {
            Err(unusable(
                "it is no ELF file, no application image (which begins with 0xe9) and no image of a whole flash",
            ))
        }
    }

    /// The application in an image.
    ///
    /// # Errors
    /// It has none that can be found.
    pub fn application(&self) -> Result<&[u8], ImageError> {
        match self {
            Self::Elf(bytes) | Self::App(bytes) => Ok(bytes),
            Self::Flash(flash) => {
                let table = read_table(&flash[TABLE as usize..])?;
                let place = application_partition(&table)?;
                let start = (place.offset() as usize).min(flash.len());
                let end = start.saturating_add(place.size() as usize).min(flash.len());
                Ok(&flash[start..end])
            }
        }
    }

    /// GNU build id of the application, in lowercase hex; none if it has none.
    pub fn build_id(&self) -> Option<String> {
        match self {
            Self::Elf(elf) => build_id::of_elf(&object::File::parse(elf.as_slice()).ok()?).ok()?,
            Self::App(_) | Self::Flash(_) => build_id::in_bytes(self.application().ok()?),
        }
    }

    /// What goes where in the flash of a board. `present` is the partition table that the board has.
    ///
    /// # Errors
    /// [`ImageError`].
    pub fn parts(
        &self,
        taker: &Taker,
        extras: &Extras<'_>,
        present: Option<&[u8]>,
    ) -> Result<Vec<Part>, ImageError> {
        self.check_chip(taker.chip)?;
        let (mut parts, table) = match self {
            Self::Elf(elf) => of_elf(elf, taker, extras)?,
            Self::App(app) => of_app(app, taker, extras, present)?,
            Self::Flash(flash) => {
                if extras.table.is_some() || extras.bootloader.is_some() {
                    return Err(unusable(
                        "the image of a whole flash has its own bootloader and partition table",
                    ));
                }
                let table = read_table(&flash[TABLE as usize..])?;
                (of_flash(flash, &table), table)
            }
        };
        if let Some(sector) = extras.sector {
            let partition = configuration_partition(&table)?;
            parts.retain(|part| part.address != partition.offset());
            parts.push(Part::new("configuration", partition.offset(), sector.to_vec()));
        }
        let size = taker.flash.size();
        for part in &parts {
            if u64::from(part.address) + part.data.len() as u64 > u64::from(size) {
                return Err(unusable(format!(
                    "its {} ends at {:#x}, behind the flash of {size:#x} bytes",
                    part.name,
                    part.address as usize + part.data.len()
                )));
            }
        }
        Ok(parts)
    }

    fn check_chip(&self, chip: Chip) -> Result<(), ImageError> {
        let other = |image: String| Err(ImageError::WrongChip { image, board: chip });
        let header = match self {
            Self::Elf(elf) => {
                let metadata = Metadata::from_bytes(Some(elf));
                let named = metadata.chip_name().map(str::to_owned);
                return match named {
                    Some(named) if named != chip.to_string() => other(named),
                    _ => match elf.get(18..20) {
                        Some([0xf3, 0]) if is_riscv(chip) => Ok(()),
                        Some([94, 0]) if !is_riscv(chip) => Ok(()),
                        Some([0xf3, 0]) => other("a RISC-V chip".to_owned()),
                        Some([94, 0]) => other("an Xtensa chip".to_owned()),
                        _ => Err(unusable(
                            "it is an ELF file for no ESP32 chip: RISC-V and Xtensa are",
                        )),
                    },
                };
            }
            Self::App(app) => app.as_slice(),
            Self::Flash(flash) => flash.get(chip.boot_address() as usize..).unwrap_or_default(),
        };
        let Some(&[low, high]) = header.get(12..14) else {
            return Err(unusable("its header is cut off"));
        };
        if header[0] != 0xe9 {
            return Err(unusable(format!(
                "it has no bootloader at {:#x}",
                chip.boot_address()
            )));
        }
        match u16::from_le_bytes([low, high]) {
            id if id == chip.id() => Ok(()),
            id => other(
                Chip::try_from(id).map_or_else(|_| format!("chip number {id}"), |chip| chip.to_string()),
            ),
        }
    }
}

fn is_riscv(chip: Chip) -> bool {
    !matches!(chip, Chip::Esp32 | Chip::Esp32s2 | Chip::Esp32s3)
}

fn of_elf(elf: &[u8], taker: &Taker, extras: &Extras<'_>) -> Result<(Vec<Part>, PartitionTable), ImageError> {
    let settings = FlashSettings::new(None, Some(taker.flash), None);
    let data = FlashData::new(settings, 0, None, taker.chip, taker.crystal);
    // the library takes a table by its path only
    let mut default = tempfile::Builder::new()
        .suffix(".csv")
        .tempfile()
        .map_err(|error| unusable(format!("no temporary file: {error}")))?;
    default
        .write_all(DEFAULT_TABLE.as_bytes())
        .map_err(|error| unusable(format!("no temporary file: {error}")))?;
    let table = extras.table.unwrap_or_else(|| default.path());
    let format = IdfBootloaderFormat::new(elf, &data, Some(table), extras.bootloader, Some(TABLE), None)
        .map_err(|error| unusable(told(&error)))?;
    let table = format.partition_table();
    let names = ["bootloader", "partition table", "application"];
    let part = |(name, segment): (&str, Segment<'_>)| {
        Part::new(name, segment.addr, padded(segment.data.into_owned()))
    };
    let parts = names.into_iter().zip(format.flash_segments()).map(part).collect();
    Ok((parts, table))
}

fn of_app(
    app: &[u8],
    taker: &Taker,
    extras: &Extras<'_>,
    present: Option<&[u8]>,
) -> Result<(Vec<Part>, PartitionTable), ImageError> {
    let read =
        |path: &Path| std::fs::read(path).map_err(|error| unusable(format!("{}: {error}", path.display())));
    let mut parts = Vec::new();
    if let Some(bootloader) = extras.bootloader {
        parts.push(Part::new(
            "bootloader",
            taker.chip.boot_address(),
            padded(read(bootloader)?),
        ));
    }
    let table = match (extras.table, present) {
        (Some(path), _) => {
            let table = PartitionTable::try_from(read(path)?)
                .map_err(|error| unusable(format!("{}: {error}", path.display())))?;
            let bytes = table.to_bin().map_err(|error| unusable(format!("{}: {error}", path.display())))?;
            parts.push(Part::new("partition table", TABLE, bytes));
            table
        }
        (None, Some(present)) => read_table(present).map_err(|_| {
            unusable("it is an application alone, and the board has no partition table yet: flash the ELF file or the image of a whole flash, or give --bootloader and --partitions")
        })?,
        (None, None) => return Err(unusable("it is an application alone: give its partition table")),
    };
    let place = application_partition(&table)?;
    if app.len() > place.size() as usize {
        return Err(unusable(format!(
            "it has {} bytes, the partition {} only {}",
            app.len(),
            place.name(),
            place.size()
        )));
    }
    parts.push(Part::new("application", place.offset(), padded(app.to_vec())));
    Ok((parts, table))
}

/// The partitions of a whole flash that are not blank; the board keeps what it has in the others.
fn of_flash(flash: &[u8], table: &PartitionTable) -> Vec<Part> {
    let mut places = vec![
        ("bootloader", 0, TABLE),
        ("partition table", TABLE, SECTOR as u32),
    ];
    for partition in table.partitions() {
        let name = match partition.ty() {
            Type::App => "application",
            _ if partition.name() == LABEL => "configuration",
            _ => "data",
        };
        places.push((name, partition.offset(), partition.size()));
    }
    let part = |(name, address, size): (&str, u32, u32)| {
        let start = (address as usize).min(flash.len());
        let end = (address as usize).saturating_add(size as usize).min(flash.len());
        let place = &flash[start..end];
        let used = place.iter().rposition(|byte| *byte != 0xff)? + 1;
        let used = used.next_multiple_of(4).min(place.len());
        Some(Part::new(name, address, place[..used].to_vec()))
    };
    places.into_iter().filter_map(part).collect()
}

/// The table of 0xc00 bytes or more at its start.
///
/// # Errors
/// It is none.
pub fn read_table(bytes: &[u8]) -> Result<PartitionTable, ImageError> {
    let bytes = &bytes[..bytes.len().min(TABLE_SIZE as usize)];
    // the library panics on what it does not know
    let is_known = |entry: &[u8]| {
        let subtype = usize::from(entry[3]);
        let known = match entry[2] {
            0 => AppType::from_repr(subtype).is_some(),
            1 => DataType::from_repr(subtype).is_some(),
            _ => true,
        };
        known && entry[28] & !3 == 0 && entry[29..] == [0; 3]
    };
    let mut entries = bytes
        .chunks_exact(32)
        .take_while(|entry| entry.starts_with(b"\xaa\x50"));
    if let Some(at) = entries.position(|entry| !is_known(entry)) {
        return Err(unusable(format!(
            "the partition table can't be read: entry {at} has a subtype or flags that are not known"
        )));
    }
    PartitionTable::try_from_bytes(bytes.to_vec())
        .map_err(|error| unusable(format!("the partition table can't be read: {error}")))
}

/// Where the configuration sector is.
///
/// # Errors
/// There is no place for it.
pub fn configuration_partition(table: &PartitionTable) -> Result<&Partition, ImageError> {
    table
        .find(LABEL)
        .filter(|partition| partition.size() as usize >= SECTOR)
        .ok_or_else(|| unusable("the partition table has no partition `config` of 0x1000 bytes, which takes the configuration"))
}

/// Flash is written by words.
fn padded(mut data: Vec<u8>) -> Vec<u8> {
    data.resize(data.len().next_multiple_of(4), 0xff);
    data
}

/// What the header of an application image tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where it begins to run.
    pub entry: u32,
    /// The chip that it is for, if it is a known one.
    pub chip: Option<Chip>,
}

/// Reads an application image as far as it takes to know that it is a whole one (esptool's documentation, "Firmware Image
/// Format"): a header of 24 bytes, then segments of an address, a length, and so many bytes.
///
/// # Errors
/// It is none, or is cut off.
pub fn of_application(image: &[u8]) -> Result<Header, ImageError> {
    let word = |at: usize| {
        let bytes = image.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    };
    let segments = match image.get(..2) {
        Some([0xe9, segments]) => *segments,
        _ => {
            return Err(unusable(
                "where its application should be is none: it does not begin with 0xe9",
            ));
        }
    };
    let walk = || {
        let mut at = 24_usize;
        for _ in 0..segments {
            at = at.checked_add(8)?.checked_add(word(at + 4)? as usize)?;
        }
        (at <= image.len()).then_some(())
    };
    let cut_off = || {
        unusable(format!(
            "its application image is cut off: it has {} bytes, its segments need more",
            image.len()
        ))
    };
    walk().ok_or_else(cut_off)?;
    let chip = u16::from_le_bytes([image[12], image[13]]);
    Ok(Header {
        entry: word(4).ok_or_else(cut_off)?,
        chip: Chip::try_from(chip).ok(),
    })
}

/// Where the application is that starts if nobody has chosen another.
fn application_partition(table: &PartitionTable) -> Result<&Partition, ImageError> {
    table
        .find("factory")
        .or_else(|| table.find_by_type(Type::App))
        .ok_or_else(|| unusable("the partition table has no partition for an application"))
}

/// An error of a library with its causes, in one line.
pub fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAKER: Taker = Taker {
        chip: Chip::Esp32c3,
        crystal: XtalFrequency::_40Mhz,
        flash: FlashSize::_4Mb,
    };

    fn app(chip: u8) -> Vec<u8> {
        let mut app = vec![0; 30];
        (app[0], app[12]) = (0xe9, chip);
        app
    }

    fn whole() -> Vec<u8> {
        let mut flash = vec![0xff; 0x30000];
        flash[..30].copy_from_slice(&app(5));
        let table = PartitionTable::try_from_str(DEFAULT_TABLE)
            .unwrap()
            .to_bin()
            .unwrap();
        flash[0x8000..0x8000 + table.len()].copy_from_slice(&table);
        flash[0x10000..0x1001e].copy_from_slice(&app(5));
        flash[0x20000] = 1;
        flash
    }

    fn places(parts: &[Part]) -> Vec<(&str, u32, usize)> {
        parts
            .iter()
            .map(|part| (part.name.as_str(), part.address, part.data.len()))
            .collect()
    }

    #[test]
    fn the_default_table_is_that_of_the_firmware() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/boards/esp32/partitions.csv");
        let firmware = PartitionTable::try_from(std::fs::read(file).unwrap()).unwrap();
        assert_eq!(PartitionTable::try_from_str(DEFAULT_TABLE).unwrap(), firmware);
    }

    #[test]
    fn a_whole_flash_is_written_where_it_is_not_blank() {
        let image = Image::read(whole()).unwrap();
        let parts = image.parts(&TAKER, &Extras::default(), None).unwrap();
        let wanted = [
            ("bootloader", 0, 32),
            ("partition table", 0x8000, 0xc00),
            ("application", 0x10000, 0x10004),
        ];
        // of the table only what is used, and its checksum
        assert_eq!(places(&parts)[0], wanted[0]);
        assert_eq!(places(&parts)[2], wanted[2]);
        assert_eq!((parts.len(), parts[1].address), (3, 0x8000));
        let sector = vec![7; 4096];
        let extras = Extras {
            sector: Some(&sector),
            ..Extras::default()
        };
        let parts = image.parts(&TAKER, &extras, None).unwrap();
        assert_eq!(places(&parts)[3], ("configuration", 0x9000, 4096));
    }

    #[test]
    fn an_application_goes_where_the_boards_table_says() {
        let image = Image::read(app(5)).unwrap();
        let table = whole()[0x8000..].to_vec();
        let parts = image.parts(&TAKER, &Extras::default(), Some(&table)).unwrap();
        assert_eq!(places(&parts), [("application", 0x10000, 32)]);
        let blank = vec![0xff; 0xc00];
        let error = image.parts(&TAKER, &Extras::default(), Some(&blank)).unwrap_err();
        assert!(error.to_string().contains("no partition table yet"), "{error}");
    }

    #[test]
    fn an_image_for_another_chip_is_refused() {
        let image = Image::read(app(13)).unwrap();
        let error = image.parts(&TAKER, &Extras::default(), None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the image is for esp32c6, the board is esp32c3"
        );
        let mut elf = vec![0; 64];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[18] = 94;
        let error = Image::read(elf)
            .unwrap()
            .parts(&TAKER, &Extras::default(), None)
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the image is for an Xtensa chip, the board is esp32c3"
        );
    }

    #[test]
    fn a_table_with_what_nobody_knows_is_refused() {
        let table = PartitionTable::try_from_str(DEFAULT_TABLE)
            .unwrap()
            .to_bin()
            .unwrap();
        assert!(read_table(&table).is_ok());
        for (at, byte) in [(3, 0x7f), (32 + 3, 0x7f), (28, 4), (63, 1)] {
            let mut wrong = table.clone();
            wrong[at] = byte;
            let error = read_table(&wrong).unwrap_err().to_string();
            assert!(
                error.ends_with("has a subtype or flags that are not known"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for bytes in [vec![], vec![0xe9], b"#!/bin/sh".to_vec(), vec![0xff; 0x9000]] {
            assert!(Image::read(bytes).is_err());
        }
        let mut elf = vec![0; 20];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[18] = 0xf3;
        assert!(
            Image::read(elf)
                .unwrap()
                .parts(&TAKER, &Extras::default(), None)
                .is_err()
        );
    }

    #[test]
    fn an_image_behind_the_end_of_flash_is_refused() {
        let small = Taker {
            flash: FlashSize::_1Mb,
            ..TAKER
        };
        let mut flash = whole();
        flash.resize(0x180000, 0xff);
        flash[0x17fff0] = 0;
        let error = Image::read(flash)
            .unwrap()
            .parts(&small, &Extras::default(), None)
            .unwrap_err();
        assert!(
            error.to_string().contains("behind the flash of 0x100000 bytes"),
            "{error}"
        );
    }
}
