//! The flashing process: takes a job on standard input, does it with the `espflash` library, tells events on standard output.
//!
//! The library's calls block and can't be called off, so this is a process of its own, which the harness kills at the
//! deadline. It ends by itself when its standard input does, that is, when the harness is gone.

use super::job::{Event, Identity, Job, Task};
use super::sync;
use crate::bench::failure::{Failure, Kind};
use crate::bench::image::{
    Extras, Image, ImageError, TABLE, TABLE_SIZE, Taker, configuration_partition, read_table, told,
};
use crate::bench::power::{Power as _, Start, usb_of};
use espflash::command::Command;
use espflash::connection::{Connection, ResetAfterOperation, ResetBeforeOperation};
use espflash::flasher::{DeviceInfo, Flasher};
use espflash::image_format::Segment;
use espflash::target::ProgressCallbacks;
use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{BufRead, Read, Write};
use std::path::Path;
use std::time::Duration;

/// At this rate every ROM loader starts.
const FIRST_BAUD: u32 = 115_200;
/// How often the board is reset before it is given up.
const RESETS: usize = 3;
/// Bytes of flash in an answer, and answers that need not be waited for, as in espflash's own command.
const BLOCK: u32 = 0x1000;
const IN_FLIGHT: u32 = 64;
/// A new rate is tried with so many questions, each answered in this time; the register is one that every chip has.
const QUESTIONS: usize = 4;
const PROMPT: Duration = Duration::from_millis(300);
const MAGIC: u32 = 0x4000_1000;
/// What a loader says of bytes that were spoilt on their way.
const SPOILT: [&str; 6] = [
    "CRC",
    "checksum",
    "length",
    "Invalid message",
    "compress",
    "enough data",
];

/// Does the job on standard input. Ends the process when standard input ends.
pub fn serve() {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    // whoever gave the job is gone
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(1);
    });
    let out = Out(RefCell::new(std::io::stdout()));
    let event = match read.map_err(|error| error.to_string()).and_then(|_| {
        serde_json::from_str::<Job>(&line)
            .map_err(|error| format!("no job: line {}, column {}", error.line(), error.column()))
    }) {
        Ok(job) => match all_rates(&job, &out) {
            Ok(()) => Event::Done,
            Err(Trouble::Refused(reason)) => Event::Refused(reason),
            Err(Trouble::Failed(failure) | Trouble::Line(failure)) => Event::Failed(failure),
        },
        Err(reason) => Event::Refused(reason),
    };
    out.tell(&event);
}

/// Where events go.
struct Out(RefCell<std::io::Stdout>);

impl Out {
    fn tell(&self, event: &Event) {
        let text = serde_json::to_string(event).unwrap_or_default();
        let mut out = self.0.borrow_mut();
        // with nobody to read it this process ends by its input
        let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    }
}

/// What ends a try.
enum Trouble {
    /// It can't be done with any board.
    Refused(String),
    /// It failed, and would at any rate.
    Failed(Failure),
    /// Bytes were lost or spoilt: a lower rate may do.
    Line(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

fn all_rates(job: &Job, out: &Out) -> Result<(), Trouble> {
    let (last, faster) = job
        .bauds
        .split_last()
        .map_or((FIRST_BAUD, [].as_slice()), |(last, faster)| (*last, faster));
    for baud in faster {
        match once(job, *baud, out) {
            Err(Trouble::Line(failure)) => out.tell(&Event::Slower {
                baud: *baud,
                why: failure.cause,
            }),
            ended => return ended,
        }
    }
    once(job, last, out)
}

fn once(job: &Job, baud: u32, out: &Out) -> Result<(), Trouble> {
    let mut flasher = connect(job, out)?;
    let done = known(job, &mut flasher, out).and_then(|info| {
        speed_up(job, &mut flasher, baud)?;
        out.tell(&Event::Baud(baud));
        task(job, &mut flasher, &info, out)
    });
    if let Err(Trouble::Line(_)) = done {
        let heard = sync::drain(&mut flasher.into_connection().into_serial());
        if !heard.is_empty() {
            out.tell(&Event::Output(sync::lines(&heard)));
        }
    }
    done
}

/// Resets the board into its ROM loader and loads the library's stub into its RAM.
fn connect(job: &Job, out: &Out) -> Result<Flasher, Trouble> {
    let mut failure = None;
    for _ in 0..RESETS {
        let mut port = job.power.restart(&job.site, Start::Download, FIRST_BAUD)?;
        if let Err(error) = sync::sync(&job.site.board, &mut port) {
            let hopeless = matches!(error.kind, Kind::PortLost | Kind::PowerFailed);
            out.tell(&Event::Output(error.output.clone()));
            failure = Some(error);
            if hopeless {
                break;
            }
            continue;
        }
        let mut connection = Connection::new(
            port,
            usb_of(&job.site),
            // the harness resets the board itself, with its console open
            ResetAfterOperation::NoResetNoStub,
            ResetBeforeOperation::NoReset,
            FIRST_BAUD,
        );
        let connected = match recognise(job, &mut connection) {
            Ok(None) => Flasher::try_connect(connection, true, true, !job.force, None, None),
            Ok(Some(wrong)) => return Err(wrong.into()),
            Err(error) => Err(Box::new((error, connection))),
        };
        match connected {
            Ok(flasher) => return Ok(flasher),
            Err(lost) => {
                let (error, connection) = *lost;
                let heard = sync::lines(&sync::drain(&mut connection.into_serial()));
                out.tell(&Event::Output(heard.clone()));
                let cause = format!("the ROM loader answered, and then no more: {}", told(&error));
                let failed = Failure::new(Kind::NoSync, &job.site.board, cause).with_output(heard);
                failure = Some(failed);
            }
        }
    }
    let failure = failure.unwrap_or_else(|| Failure::new(Kind::NoSync, &job.site.board, "no answer"));
    Err(Trouble::Failed(failure))
}

/// Before anything is sent to it but questions: in what the board is another than the one named.
fn recognise(job: &Job, connection: &mut Connection) -> Result<Option<Failure>, espflash::Error> {
    connection.begin()?;
    let wrong = |kind, cause: String| Ok(Some(Failure::new(kind, &job.site.board, cause)));
    let chip = connection.detect_chip(false)?;
    if let Some(wanted) = job.chip.as_ref().filter(|wanted| **wanted != chip.to_string()) {
        return wrong(
            Kind::WrongChip,
            format!("the board is an {chip}, not an {wanted}"),
        );
    }
    let mac = chip.mac_address(connection)?;
    match job.site.mac().filter(|wanted| mac.parse() != Ok(*wanted)) {
        Some(wanted) => {
            let port = job.site.port.display();
            wrong(
                Kind::WrongBoard,
                format!("on {port} is the board {mac}, not {wanted}"),
            )
        }
        None => Ok(None),
    }
}

/// What the board is.
fn known(job: &Job, flasher: &mut Flasher, out: &Out) -> Result<DeviceInfo, Trouble> {
    let board = &job.site.board;
    let info = flasher
        .device_info()
        .map_err(|error| spoilt(job, Kind::NoSync, &error))?;
    if flasher.secure_download_mode() {
        let cause = "the chip is in secure download mode: it may not be read";
        return Err(Failure::new(Kind::WriteFailed, board, cause).into());
    }
    let mac = info.mac_address.clone().unwrap_or_default();
    out.tell(&Event::Identified(Identity {
        chip: info.chip.to_string(),
        revision: info.revision.map(|(major, minor)| format!("{major}.{minor}")),
        mac,
        flash: info.flash_size.size(),
    }));
    Ok(info)
}

fn speed_up(job: &Job, flasher: &mut Flasher, baud: u32) -> Result<(), Trouble> {
    if baud > FIRST_BAUD && !matches!(job.task, Task::Identify) {
        let spoilt = |error| spoilt(job, Kind::WriteFailed, &error);
        flasher.change_baud(baud).map_err(spoilt)?;
        // before anything is written: questions whose answers come at once, if they come
        for _ in 0..QUESTIONS {
            let ask = |connection: &mut Connection| connection.command(Command::ReadReg { address: MAGIC });
            flasher.connection().with_timeout(PROMPT, ask).map_err(spoilt)?;
        }
    }
    Ok(())
}

/// An error of the library, while bytes went to and fro.
fn spoilt(job: &Job, kind: Kind, error: &espflash::Error) -> Trouble {
    let board = &job.site.board;
    if !job.site.port.exists() {
        return Failure::new(
            Kind::PortLost,
            board,
            format!("{} went away", job.site.port.display()),
        )
        .into();
    }
    match error {
        espflash::Error::VerifyFailed => Failure::new(
            Kind::VerifyFailed,
            board,
            "what the flash holds is not what was written",
        )
        .into(),
        espflash::Error::RomError(_) if !SPOILT.iter().any(|word| told(error).contains(word)) => {
            Failure::new(kind, board, told(error)).into()
        }
        _ => Trouble::Line(Failure::new(kind, board, told(error))),
    }
}

fn task(job: &Job, flasher: &mut Flasher, info: &DeviceInfo, out: &Out) -> Result<(), Trouble> {
    let spoilt = |error| spoilt(job, Kind::WriteFailed, &error);
    match &job.task {
        Task::Identify => Ok(()),
        Task::Write {
            image,
            table,
            bootloader,
            sector,
        } => {
            let shown = image.display();
            let bytes =
                std::fs::read(image).map_err(|error| Trouble::Refused(format!("{shown}: {error}")))?;
            let refused = |error: ImageError| match error {
                ImageError::WrongChip { .. } => {
                    Failure::new(Kind::WrongChip, &job.site.board, error.to_string()).into()
                }
                ImageError::Unusable(reason) => Trouble::Refused(format!("{shown}: {reason}")),
            };
            let image = Image::read(bytes).map_err(refused)?;
            let present = match (&image, table) {
                (Image::App(_), None) => Some(present_table(job, flasher)?),
                _ => None,
            };
            let taker = Taker {
                chip: info.chip,
                crystal: info.crystal_frequency,
                flash: info.flash_size,
            };
            let extras = Extras {
                table: table.as_deref(),
                bootloader: bootloader.as_deref(),
                sector: sector.as_ref().map(|sector| sector.0.as_slice()),
            };
            let parts = image
                .parts(&taker, &extras, present.as_deref())
                .map_err(refused)?;
            for part in parts {
                write(job, flasher, &part.name, part.address, &part.data, out)?;
            }
            Ok(())
        }
        Task::Configure { sector } => {
            let refused = |error: ImageError| Trouble::Refused(format!("the board can't be told: {error}"));
            let table = read_table(&present_table(job, flasher)?).map_err(refused)?;
            let address = configuration_partition(&table).map_err(refused)?.offset();
            write(job, flasher, "configuration", address, &sector.0, out)
        }
        Task::Erase { region: None } => flasher.erase_flash().map_err(spoilt),
        Task::Erase {
            region: Some((address, size)),
        } => {
            within(*address, *size, info)?;
            if address % BLOCK != 0 || size % BLOCK != 0 || *size == 0 {
                return Err(Trouble::Refused(format!(
                    "flash is erased by sectors: give multiples of {BLOCK:#x}"
                )));
            }
            flasher.erase_region(*address, *size).map_err(spoilt)
        }
        Task::Read { address, size, file } => {
            let size = size.unwrap_or_else(|| info.flash_size.size().saturating_sub(*address));
            within(*address, size, info)?;
            read(flasher, *address, size, file).map_err(spoilt)
        }
    }
}

fn within(address: u32, size: u32, info: &DeviceInfo) -> Result<(), Trouble> {
    let flash = info.flash_size.size();
    match u64::from(address) + u64::from(size) <= u64::from(flash) && size > 0 {
        true => Ok(()),
        false => Err(Trouble::Refused(format!(
            "{size:#x} bytes from {address:#x} on are not within the flash of {flash:#x} bytes"
        ))),
    }
}

fn write(
    job: &Job,
    flasher: &mut Flasher,
    name: &str,
    address: u32,
    data: &[u8],
    out: &Out,
) -> Result<(), Trouble> {
    out.tell(&Event::Part {
        name: name.to_owned(),
        address,
        bytes: data.len(),
    });
    let segment = Segment {
        addr: address,
        data: Cow::Borrowed(data),
    };
    let mut progress = Progress { out, total: 0 };
    flasher
        .write_bins_to_flash(&[segment], &mut progress)
        .map_err(|error| spoilt(job, Kind::WriteFailed, &error))
}

fn read(flasher: &mut Flasher, address: u32, size: u32, file: &Path) -> Result<(), espflash::Error> {
    flasher.read_flash(address, size, BLOCK, IN_FLIGHT, file.to_owned())
}

fn present_table(job: &Job, flasher: &mut Flasher) -> Result<Vec<u8>, Trouble> {
    let file = tempfile::NamedTempFile::new()
        .map_err(|error| Trouble::Refused(format!("no temporary file: {error}")))?;
    read(flasher, TABLE, TABLE_SIZE, file.path()).map_err(|error| spoilt(job, Kind::WriteFailed, &error))?;
    let mut table = Vec::new();
    file.as_file()
        .read_to_end(&mut table)
        .map_err(|error| Trouble::Refused(format!("no temporary file: {error}")))?;
    Ok(table)
}

/// Tells the library's progress.
struct Progress<'a> {
    out: &'a Out,
    total: usize,
}

impl ProgressCallbacks for Progress<'_> {
    fn init(&mut self, _: u32, total: usize) {
        self.total = total;
        self.out.tell(&Event::Progress { done: 0, total });
    }

    fn update(&mut self, done: usize) {
        self.out.tell(&Event::Progress {
            done,
            total: self.total,
        });
    }

    fn verifying(&mut self) {}

    fn finish(&mut self, skipped: bool) {
        self.out.tell(if skipped {
            &Event::Unchanged
        } else {
            &Event::Verified
        });
    }
}
