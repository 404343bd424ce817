//! The usual kind: our loader and bootloader, and QEMU's `virt` machine for what was flashed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::{Kind, Line, Next, Then};
use crate::Error;
use crate::machine::{self, Wire};
use crate::plan::Mac;
use crate::serial::boot::{self, Program};
use crate::serial::cable::Cable;
use crate::serial::fault::Fault;
use crate::serial::flash::{Flash, FlashFile};
use crate::serial::loader::{Defect, Effect, Loader};
use crate::serial::registers::Identity;
use crate::serial::{Cause, Mode, program};

/// The machine's memory.
const MEMORY: std::ops::Range<u32> = 0x8000_0000..0x8080_0000;
/// Between two attempts of a program that does not fit, or that panics.
const AGAIN: Duration = Duration::from_millis(500);

pub(in crate::serial) struct Virt {
    mac: Mac,
    wire: Option<Wire>,
    cable: Option<Cable>,
    file: FlashFile,
    flash: Flash,
    /// Where writes go that are to be forgotten.
    scratch: Option<Flash>,
    loader: Option<Loader>,
    program: PathBuf,
}

impl Virt {
    pub fn new(folder: &Path, mac: Mac, wire: Option<Wire>) -> Result<Self, Error> {
        machine::require_qemu()?;
        let path = folder.join("flash.bin");
        let (file, flash) =
            FlashFile::open(&path).map_err(Error::io(format!("open the flash {}", path.display())))?;
        Ok(Virt {
            mac,
            wire,
            cable: None,
            file,
            flash,
            scratch: None,
            loader: None,
            program: folder.join("program.elf"),
        })
    }

    fn loader(&self, fault: Option<Fault>) -> Loader {
        let [.., last] = self.mac;
        let mut other = self.mac;
        other[5] = last ^ 0x80;
        let identity = match fault {
            Some(Fault::WrongChip) => Identity::esp32c6(self.mac),
            Some(Fault::WrongBoard) => Identity::esp32c3(other),
            _ => Identity::esp32c3(self.mac),
        };
        let defect = match fault {
            Some(Fault::NoSync | Fault::LineNoise | Fault::Trickle) => Defect::Silent,
            Some(Fault::WriteFailed) => Defect::WriteFails { after: 1 },
            Some(Fault::VerifyFailed) => Defect::FlipsBit,
            _ => Defect::None,
        };
        Loader::new(identity, defect)
    }

    fn guest(&mut self, program: &Program, fault: Option<Fault>) -> Result<Result<Command, String>, Error> {
        let mut segments: Vec<(u32, &[u8])> = Vec::new();
        for (address, data) in &program.segments {
            let end = address.checked_add(data.len() as u32);
            if *address < MEMORY.start || end.is_none_or(|end| end > MEMORY.end) {
                return Ok(Err(format!(
                    "E (91) boot: segment at 0x{address:08x} is not in this board's memory, 0x{:08x} to 0x{:08x}: \
                     firmware of another board",
                    MEMORY.start, MEMORY.end
                )));
            }
            segments.push((*address, data));
        }
        if let Some(configuration) = &program.configuration {
            segments.push((machine::CONFIGURATION, configuration));
        }
        let path = self.program.clone();
        fs::write(&path, program::elf(program.entry, &segments))
            .map_err(Error::io(format!("write the program {}", path.display())))?;
        let devices: &[&str] = if fault == Some(Fault::BootPanic) {
            &[]
        } else {
            &[machine::RANDOM_NUMBERS]
        };
        let cable = Cable::lay(self.wire, fault)?;
        let mut command = machine::command(cable.end(), self.mac, devices);
        self.cable = Some(cable);
        command.arg("-kernel").arg(path);
        Ok(Ok(command))
    }
}

impl Kind for Virt {
    fn reset(&mut self, mode: Mode, cause: Cause, fault: Option<Fault>) -> Result<Next, Error> {
        self.loader = None;
        self.scratch = None;
        self.cable = None;
        let damaged = (fault == Some(Fault::BootLoop)).then(|| damaged(&self.flash));
        let boot::Boot { mut text, then } = boot::boot(damaged.as_ref().unwrap_or(&self.flash), mode, cause);
        let then = match then {
            boot::Then::Load => {
                self.loader = Some(self.loader(fault));
                self.scratch = (fault == Some(Fault::OldFirmware)).then(|| self.flash.clone());
                Then::Load
            }
            boot::Then::Again { cause, after } => Then::Again { cause, after },
            boot::Then::Run(program) => match self.guest(&program, fault)? {
                Ok(command) => Then::Guest(Box::new(command), Line::Streams),
                Err(reason) => {
                    text.push_str(&format!("{reason}\r\n"));
                    Then::Again {
                        cause: Cause::System,
                        after: AGAIN,
                    }
                }
            },
        };
        Ok(Next { text, then })
    }

    fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Effect>, Error> {
        let Some(loader) = &mut self.loader else {
            return Ok(Vec::new());
        };
        let effects = loader.receive(bytes, self.scratch.as_mut().unwrap_or(&mut self.flash));
        let path = self.file.path().display();
        self.file
            .save(&mut self.flash)
            .map_err(Error::io(format!("write the flash {path}")))?;
        Ok(effects)
    }

    fn blocks(&self) -> usize {
        self.loader.as_ref().map_or(0, Loader::blocks)
    }

    fn ended(&self, status: ExitStatus) -> Option<(Cause, Duration)> {
        // The firmware ends QEMU with 0 when it was told to shut down, and with 1 when it panicked.
        (status.code() == Some(1)).then_some((Cause::Processor, AGAIN))
    }

    fn flash(&self) -> &Path {
        self.file.path()
    }
}

/// The flash with a bit changed in its first application.
fn damaged(flash: &Flash) -> Flash {
    /// Where tools put the first application, and then its headers.
    const CODE: u32 = 0x1_0000 + 32;
    let mut damaged = flash.clone();
    let word = flash.read(CODE, 4).unwrap_or_default();
    let changed: Vec<u8> = word.iter().map(|byte| byte & byte.wrapping_sub(1)).collect();
    let _ = damaged.program(CODE, &changed);
    damaged
}
