//! What a chip prints and does after a reset: mask ROM, second-stage bootloader, application.
//!
//! Pure: flash in, text and decision out. The lines are the chip's, in our own rendering; what follows them is for the
//! machine that runs the program.

use std::fmt::Write;
use std::time::Duration;

use super::flash::Flash;
use super::image::{self, Image, NoImage};
use super::partitions::{self, Partition};
use super::{Cause, Mode};

/// How long a chip takes that can't boot until its watchdog or its bootloader resets it.
const AGAIN: Duration = Duration::from_millis(500);
/// Which lines a chip repeats that finds no bootloader, in that time.
const REPEATS: usize = 8;
/// The label of the partition that holds the configuration sector.
const CONFIGURATION: &str = "config";
/// Bytes of the configuration sector.
const CONFIGURATION_SIZE: u32 = 0x1000;

/// What a reset leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    /// For the console.
    pub text: String,
    /// What comes then.
    pub then: Then,
}

/// What a chip does when it has said what it had to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Then {
    /// It waits for commands of a flashing tool.
    Load,
    /// It runs this.
    Run(Program),
    /// It resets itself.
    Again {
        /// For this reason.
        cause: Cause,
        /// So much later.
        after: Duration,
    },
}

/// A program as it lies in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Where it starts.
    pub entry: u32,
    /// Addresses and what lies there.
    pub segments: Vec<(u32, Vec<u8>)>,
    /// The configuration sector; none when there is no partition for one.
    pub configuration: Option<Vec<u8>>,
}

/// What happens after a reset for this reason and with the boot switch so.
pub fn boot(flash: &Flash, mode: Mode, cause: Cause) -> Boot {
    let mut text = format!("ESP-ROM:esp32c3-api1-20210207\nBuild:Feb  7 2021\nrst:{cause},boot:{mode}\n");
    if cause != Cause::PowerOn {
        text.push_str("Saved PC:0x40048b82\n");
    }
    let then = match mode {
        Mode::Download => {
            text.push_str("waiting for download\n");
            Then::Load
        }
        Mode::Run => match first_stage(flash, &mut text) {
            Ok(()) => match second_stage(flash, &mut text) {
                Ok(program) => Then::Run(program),
                Err(message) => {
                    let _ = writeln!(text, "{message}");
                    Then::Again {
                        cause: Cause::System,
                        after: AGAIN,
                    }
                }
            },
            Err(message) => {
                let _ = writeln!(text, "{message}");
                Then::Again {
                    cause: Cause::Watchdog,
                    after: AGAIN,
                }
            }
        },
    };
    Boot {
        text: text.replace('\n', "\r\n"),
        then,
    }
}

/// The mask ROM loads the bootloader. An error is all that it says.
fn first_stage(flash: &Flash, text: &mut String) -> Result<(), String> {
    let bootloader = match image::read(flash.bytes()) {
        Ok(bootloader) => bootloader,
        Err(NoImage::Magic(word)) => {
            let line = format!("invalid header: 0x{word:08x}\n");
            return Err(line.repeat(REPEATS).trim_end().to_owned());
        }
        Err(NoImage::Segments(_) | NoImage::Length(_)) => {
            return Err("Invalid image block, can't boot.\nets_main.c 333".to_owned());
        }
    };
    text.push_str("SPIWP:0xee\nmode:DIO, clock div:1\n");
    for segment in &bootloader.segments {
        let _ = writeln!(
            text,
            "load:0x{:08x},len:0x{:x}",
            segment.address,
            segment.data.len()
        );
    }
    let sum = bootloader.checksum;
    if !sum.agrees() {
        return Err(format!(
            "csum err:0x{:02x}!=0x{:02x}\nets_main.c 329",
            sum.calculated, sum.read
        ));
    }
    if let Some(hash) = bootloader.hash.filter(|hash| !hash.agrees()) {
        let (calculated, expected) = (hex(&hash.calculated), hex(&hash.read));
        let _ = writeln!(
            text,
            "SHA-256 comparison failed:\nCalculated: {calculated}\nExpected: {expected}\nAttempting to boot anyway..."
        );
    }
    let _ = writeln!(text, "entry 0x{:08x}", bootloader.entry);
    Ok(())
}

/// The bootloader finds the application and loads it.
fn second_stage(flash: &Flash, text: &mut String) -> Result<Program, String> {
    let _ = writeln!(text, "I (24) boot: 2nd stage bootloader of the virtual board");
    let part = |offset, size| flash.read(offset, size).unwrap_or_default();
    let table = partitions::read(part(partitions::OFFSET, partitions::LENGTH)).map_err(|bad| {
        format!(
            "E (36) flash_parts: {bad}\nE (37) boot: Failed to verify partition table\n\
             E (38) boot: load partition table error!"
        )
    })?;
    let _ = writeln!(
        text,
        "I (36) boot: Partition Table:\nI (37) boot: ## Label            Usage          Type ST Offset   Length"
    );
    for (index, row) in table.iter().enumerate() {
        let Partition {
            label,
            kind,
            subtype,
            offset,
            size,
        } = row;
        let usage = match (kind, subtype) {
            (0, 0) => "factory app",
            (0, _) => "OTA app",
            _ => "Unknown data",
        };
        let _ = writeln!(
            text,
            "I (38) boot: {index:>2} {label:<16} {usage:<16} {kind:02x} {subtype:02x} {offset:08x} {size:08x}"
        );
    }
    text.push_str("I (40) boot: End of partition table\n");
    // Without data about updates the bootloader takes "factory", or else the first.
    let Some(app) = table
        .iter()
        .filter(|row| row.is_app())
        .min_by_key(|row| row.subtype)
    else {
        return Err("E (41) boot: No bootable app partitions in the partition table".to_owned());
    };
    let usage = if app.subtype == 0 { "Factory" } else { "OTA" };
    let loaded = load(part(app.offset, app.size), app.offset, text).map_err(|message| {
        format!(
            "E (60) esp_image: {message}\nE (61) boot: {usage} app partition is not bootable\n\
             E (62) boot: No bootable app partitions in the partition table"
        )
    })?;
    let _ = writeln!(
        text,
        "I (90) boot: Loaded app from partition at offset 0x{:x}",
        app.offset
    );
    let configuration = table.iter().find(|row| row.label == CONFIGURATION);
    Ok(Program {
        entry: loaded.entry,
        segments: loaded
            .segments
            .iter()
            .map(|segment| (segment.address, segment.data.to_vec()))
            .collect(),
        configuration: configuration.map(|row| part(row.offset, row.size.min(CONFIGURATION_SIZE)).to_vec()),
    })
}

fn load<'a>(bytes: &'a [u8], offset: u32, text: &mut String) -> Result<Image<'a>, String> {
    let app = image::read(bytes).map_err(|no_image| match no_image {
        NoImage::Magic(u32::MAX) => {
            format!("image at 0x{offset:x} has invalid magic byte (nothing flashed here?)")
        }
        NoImage::Magic(_) => format!("image at 0x{offset:x} has invalid magic byte"),
        NoImage::Segments(count) => format!("image at 0x{offset:x} segment count {count} exceeds max 16"),
        NoImage::Length(length) => format!("invalid segment length 0x{length:x}"),
    })?;
    if app.chip_id != image::ESP32C3 {
        return Err(format!(
            "mismatch chip ID, expected {}, found {}",
            image::ESP32C3,
            app.chip_id
        ));
    }
    for (index, segment) in app.segments.iter().enumerate() {
        let (paddr, vaddr, size) = (
            offset as usize + segment.offset,
            segment.address,
            segment.data.len(),
        );
        let _ = writeln!(
            text,
            "I (50) esp_image: segment {index}: paddr={paddr:08x} vaddr={vaddr:08x} size={size:05x}h ({size:6}) load"
        );
    }
    if !app.checksum.agrees() {
        let sum = app.checksum;
        return Err(format!(
            "Checksum failed. Calculated 0x{:x} read 0x{:x}",
            sum.calculated, sum.read
        ));
    }
    if app.hash.is_some_and(|hash| !hash.agrees()) {
        return Err("Image hash failed - image is corrupt".to_owned());
    }
    Ok(app)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::image::tests::image;
    use crate::serial::partitions::tests::table;

    const APP: u32 = 0x1_0000;

    fn flashed() -> Flash {
        let mut flash = Flash::erased();
        let bootloader = image(0x403c_c710, 5, &[(0x3fcd_5820, b"boot")]);
        flash.program(0, &bootloader).unwrap();
        let rows = [
            ("config", 1, 6, 0x9000, 0x1000),
            ("factory", 0, 0, APP, 0x1f_0000),
        ];
        flash.program(0x8000, &table(&rows)).unwrap();
        flash.program(0x9000, b"MCPC").unwrap();
        let app = image(0x8000_0000, 5, &[(0x8000_0000, b"code"), (0x8010_3000, b"data")]);
        flash.program(APP, &app).unwrap();
        flash
    }

    fn run(flash: &Flash) -> Boot {
        boot(flash, Mode::Run, Cause::PowerOn)
    }

    /// The last line.
    fn says(flash: &Flash) -> String {
        let Boot { text, then } = run(flash);
        assert!(matches!(then, Then::Again { .. }), "{text}");
        text.lines().last().unwrap().to_owned()
    }

    #[test]
    fn a_flashed_program_is_loaded_with_its_configuration() {
        let Boot { text, then } = run(&flashed());
        let Then::Run(program) = then else {
            panic!("{text}")
        };
        assert_eq!(program.entry, 0x8000_0000);
        assert_eq!(
            program.segments,
            [(0x8000_0000, b"code".to_vec()), (0x8010_3000, b"data".to_vec())]
        );
        let configuration = program.configuration.unwrap();
        assert_eq!((&configuration[..4], configuration.len()), (&b"MCPC"[..], 4096));
        assert!(text.starts_with("ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nSPIWP:0xee\r\n"), "{text}");
        assert!(
            text.ends_with("boot: Loaded app from partition at offset 0x10000\r\n"),
            "{text}"
        );
    }

    #[test]
    fn download_mode_waits() {
        let Boot { text, then } = boot(&Flash::erased(), Mode::Download, Cause::System);
        assert_eq!(then, Then::Load);
        assert!(
            text.contains("rst:0x3 (RTC_SW_SYS_RST),boot:0x4 (DOWNLOAD(USB/UART0/1))\r\nSaved PC:0x"),
            "{text}"
        );
        assert!(text.ends_with("\r\nwaiting for download\r\n"), "{text}");
    }

    #[test]
    fn erased_flash_has_no_header() {
        let Boot { text, then } = run(&Flash::erased());
        assert_eq!(text.matches("invalid header: 0xffffffff\r\n").count(), 8);
        let cause = Cause::Watchdog;
        assert_eq!(then, Then::Again { cause, after: AGAIN });
    }

    #[test]
    fn each_thing_that_is_wrong_has_its_line() {
        let mut flash = flashed();
        flash.erase(APP, 0x1000).unwrap();
        assert_eq!(
            says(&flash),
            "E (62) boot: No bootable app partitions in the partition table"
        );
        assert!(
            run(&flash).text.contains(
                "E (60) esp_image: image at 0x10000 has invalid magic byte (nothing flashed here?)"
            )
        );

        let broken = |offset: u32| {
            let mut flash = flashed();
            let byte = flash.read(offset, 1).unwrap()[0];
            flash.program(offset, &[byte & (byte - 1)]).unwrap();
            run(&flash).text
        };
        // "c" of "code" is 0x63; the sum was 0xef ^ "code" ^ "data" = 0xf2.
        assert!(
            broken(APP + 32).contains("E (60) esp_image: Checksum failed. Calculated 0xf3 read 0xf2\r\n"),
            "{}",
            broken(APP + 32)
        );
        // A byte of the header that no sum but the hash covers.
        assert!(broken(APP + 3).contains("E (60) esp_image: Image hash failed - image is corrupt\r\n"));
        assert!(broken(APP + 12).contains("mismatch chip ID, expected 5, found 4\r\n"));
        assert!(broken(0x8005).contains("E (36) flash_parts: Incorrect MD5 checksum\r\n"));
        assert!(broken(32).contains("csum err:0x"));
        assert!(broken(3).contains("SHA-256 comparison failed:\r\n"));
        assert!(broken(3).contains("Loaded app"), "the ROM boots all the same");
    }

    #[test]
    fn a_table_is_needed() {
        let mut flash = flashed();
        flash.erase(0x8000, 0x1000).unwrap();
        assert_eq!(says(&flash), "E (38) boot: load partition table error!");
        let mut flash = flashed();
        flash.erase(0x8000, 0x1000).unwrap();
        flash
            .program(0x8000, &table(&[("config", 1, 6, 0x9000, 0x1000)]))
            .unwrap();
        assert_eq!(
            says(&flash),
            "E (41) boot: No bootable app partitions in the partition table"
        );
    }
}
