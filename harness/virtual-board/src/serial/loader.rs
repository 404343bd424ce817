//! The serial loader of the ESP32-C3: its mask ROM, and the flasher stub that tools put over it. Bytes in, bytes and
//! effects out; it does no I/O and has no clock.
//!
//! Code that is loaded into RAM can't be run here. Whatever is entered is taken for a flasher stub, and from then on
//! the loader speaks as one does.
//!
//! Source: "Serial Protocol" in the documentation of esptool, ESP32-C3.

use std::ops::Range;

use md5::{Digest, Md5};

use super::flash::{Flash, SIZE};
use super::packet::{self, Answer, Failure, Request, command, words};
use super::registers::{Identity, Registers};
use super::slip;
use super::transfer::Transfer;

/// How much READ_FLASH_SLOW answers, always.
const SLOW_READ: u32 = 64;
/// How much READ_FLASH sends ahead at most, whatever the host says.
const MOST_UNACKNOWLEDGED: u32 = 0x1_0000;
/// How many answers a SYNC has.
const SYNC_ANSWERS: usize = 8;
/// What the ROM, but not the stub, puts into the value of a SYNC's answer.
const SYNC_VALUE: u32 = 0x2012_0707;

/// What the loader wants done, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Bytes for the host.
    Send(Vec<u8>),
    /// The line's speed from now on.
    Baud(u32),
    /// The chip resets. It comes back in the mode that the strap pins had at the last real reset.
    Restart,
    /// The chip leaves the loader and boots from flash.
    Boot,
    /// The watchdog is started, which resets everything soon.
    Watchdog,
}

/// What is wrong with a loader that is to fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defect {
    /// Nothing.
    #[default]
    None,
    /// No byte is answered.
    Silent,
    /// Blocks for the flash fail after that many.
    WriteFails {
        /// Blocks that are still written.
        after: usize,
    },
    /// One bit of each download is not what was sent. Nobody is told.
    FlipsBit,
}

/// A loader that waits for commands.
pub struct Loader {
    identity: Identity,
    decoder: slip::Decoder,
    registers: Registers,
    stub: bool,
    attached: bool,
    flash_size: u32,
    ram: Option<Range<u32>>,
    loaded: Vec<Range<u32>>,
    transfer: Option<Transfer>,
    reading: Option<Reading>,
    defect: Defect,
    blocks: usize,
}

/// A READ_FLASH under way.
struct Reading {
    range: Range<u32>,
    block: u32,
    window: u32,
    sent: u32,
}

type Done = Result<Answer, Failure>;
const OK: Done = Ok(Answer {
    value: 0,
    data: Vec::new(),
});

impl Loader {
    /// The ROM's loader after a reset into download mode.
    pub fn new(identity: Identity, defect: Defect) -> Self {
        Loader {
            registers: Registers::new(&identity),
            identity,
            decoder: slip::Decoder::default(),
            stub: false,
            attached: false,
            flash_size: SIZE as u32,
            ram: None,
            loaded: Vec::new(),
            transfer: None,
            reading: None,
            defect,
            blocks: 0,
        }
    }

    /// How many blocks of data for the flash it has taken since the reset.
    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// Takes what came over the line.
    pub fn receive(&mut self, mut bytes: &[u8], flash: &mut Flash) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(frame) = self.decoder.next(&mut bytes) {
            if self.defect == Defect::Silent {
                continue;
            }
            if let Some(reading) = self.reading.take() {
                self.go_on_reading(reading, &frame, flash, &mut effects);
            } else if let Some(request) = packet::parse(&frame) {
                self.run(&request, flash, &mut effects);
                if matches!(effects.last(), Some(Effect::Restart | Effect::Boot)) {
                    break;
                }
            } else if !self.stub {
                let unknown =
                    packet::answer(frame.get(1).copied().unwrap_or(0), &Err(Failure::Invalid), false);
                send(&mut effects, &unknown);
            }
        }
        effects
    }

    fn run(&mut self, request: &Request, flash: &mut Flash, effects: &mut Vec<Effect>) {
        let done = self.execute(request, flash);
        let answered = packet::answer(request.command, &done, self.stub);
        let times = if request.command == command::SYNC && done.is_ok() {
            SYNC_ANSWERS
        } else {
            1
        };
        for _ in 0..times {
            send(effects, &answered);
        }
        if done.is_ok() {
            self.follow(request, flash, effects);
        }
    }

    fn execute(&mut self, request: &Request, flash: &mut Flash) -> Done {
        let payload = &request.payload[..];
        match request.command {
            command::SYNC => Ok(Answer {
                value: if self.stub { 0 } else { SYNC_VALUE },
                data: Vec::new(),
            }),
            command::READ_REG => {
                let [address] = words(payload).ok_or(Failure::Length)?;
                let value = self.registers.read(address);
                Ok(Answer {
                    value,
                    data: Vec::new(),
                })
            }
            command::WRITE_REG if !payload.is_empty() && payload.len().is_multiple_of(16) => OK,
            command::GET_SECURITY_INFO => Ok(self.security_info()),
            command::SPI_ATTACH => {
                let [_] = words(payload).ok_or(Failure::Length)?;
                self.attached = true;
                OK
            }
            command::SPI_SET_PARAMS => {
                let [_, size, _, _, _, _] = words(payload).ok_or(Failure::Length)?;
                self.flash_size = size.min(SIZE as u32);
                OK
            }
            command::CHANGE_BAUDRATE => words::<2>(payload).map_or(Err(Failure::Length), |_| OK),
            command::MEM_BEGIN => self.begin_ram(payload),
            command::MEM_DATA => self.load_ram(request),
            command::MEM_END => self.end_ram(payload),
            command::FLASH_BEGIN => self.begin_flash(payload, false, flash),
            command::FLASH_DEFL_BEGIN => self.begin_flash(payload, true, flash),
            command::FLASH_DATA | command::FLASH_DEFL_DATA => self.write_flash(request, flash),
            command::FLASH_END | command::FLASH_DEFL_END => {
                let [_] = words(payload).ok_or(Failure::Length)?;
                let transfer = self.transfer.take().ok_or(Failure::NotBegun)?;
                transfer.end().map(|()| Answer::default())
            }
            command::SPI_FLASH_MD5 => {
                let [offset, size] = words(payload).ok_or(Failure::Length)?;
                let digest = Md5::digest(self.part(flash, offset, size)?);
                let data = if self.stub {
                    digest.to_vec()
                } else {
                    hex(&digest).into_bytes()
                };
                Ok(Answer { value: 0, data })
            }
            command::READ_FLASH_SLOW if !self.stub => {
                let [offset, size] = words(payload).ok_or(Failure::Length)?;
                if size > SLOW_READ {
                    return Err(Failure::Act);
                }
                let mut data = self.part(flash, offset, size)?.to_vec();
                data.resize(SLOW_READ as usize, 0);
                Ok(Answer { value: 0, data })
            }
            command::READ_FLASH if self.stub => {
                let [offset, size, block, window] = words(payload).ok_or(Failure::Length)?;
                self.part(flash, offset, size)?;
                if block == 0 || window == 0 {
                    return Err(Failure::Act);
                }
                OK
            }
            command::ERASE_FLASH if self.stub => {
                flash.erase(0, SIZE as u32).map_err(|_| Failure::Act)?;
                OK
            }
            command::ERASE_REGION if self.stub => {
                let [offset, size] = words(payload).ok_or(Failure::Length)?;
                self.part(flash, offset, size)?;
                flash.erase(offset, size).map_err(|_| Failure::Act)?;
                OK
            }
            command::RUN_USER_CODE if self.stub => OK,
            _ => Err(Failure::Invalid),
        }
    }

    /// What a command does after its answer.
    fn follow(&mut self, request: &Request, flash: &Flash, effects: &mut Vec<Effect>) {
        let payload = &request.payload[..];
        match (request.command, words(payload), words(payload)) {
            (command::WRITE_REG, ..) => {
                for write in payload.chunks(16) {
                    let Some([address, value, mask, _]) = words(write) else {
                        return;
                    };
                    if self
                        .registers
                        .write(address, value, mask, self.attached || self.stub)
                    {
                        effects.push(Effect::Watchdog);
                    }
                }
            }
            (command::CHANGE_BAUDRATE, Some([baud]), _) => effects.push(Effect::Baud(baud)),
            // The second word is the address of what was loaded.
            (command::MEM_END, Some([_]), Some([_, entry])) if entry != 0 => {
                self.stub = true;
                send(effects, b"OHAI");
            }
            (command::FLASH_END | command::FLASH_DEFL_END, Some([0]), _) => effects.push(Effect::Restart),
            // To the stub this only ends the download.
            (command::FLASH_END | command::FLASH_DEFL_END, ..) if !self.stub => {
                effects.push(Effect::Boot);
            }
            (command::RUN_USER_CODE, ..) => effects.push(Effect::Boot),
            (command::READ_FLASH, ..) => {
                let Some([offset, size, block, window]) = words(payload) else {
                    return;
                };
                let reading = Reading {
                    range: offset..offset + size,
                    block,
                    window: window.min(MOST_UNACKNOWLEDGED),
                    sent: 0,
                };
                self.go_on_reading(reading, &0u32.to_le_bytes(), flash, effects);
            }
            _ => {}
        }
    }

    /// Sends what the window has room for. `acknowledged` is a frame with the number of bytes that the host has.
    fn go_on_reading(
        &mut self,
        mut reading: Reading,
        acknowledged: &[u8],
        flash: &Flash,
        effects: &mut Vec<Effect>,
    ) {
        let Some([acknowledged]) = words(acknowledged) else {
            return;
        };
        let total = reading.range.end - reading.range.start;
        if acknowledged > reading.sent {
            return;
        }
        while reading.sent < total && reading.sent - acknowledged < reading.window {
            let length = reading.block.min(total - reading.sent);
            let Ok(block) = flash.read(reading.range.start + reading.sent, length) else {
                return;
            };
            send(effects, block);
            reading.sent += length;
        }
        if acknowledged < total {
            self.reading = Some(reading);
        } else if let Ok(all) = flash.read(reading.range.start, total) {
            send(effects, &Md5::digest(all));
        }
    }

    fn security_info(&self) -> Answer {
        // Flags, count of the flash encryption, purposes of seven keys: nothing is locked.
        let mut data = vec![0; 12];
        data.extend(self.identity.chip_id.to_le_bytes());
        // The eFuses' layout.
        data.extend(3u32.to_le_bytes());
        Answer { value: 0, data }
    }

    fn begin_ram(&mut self, payload: &[u8]) -> Done {
        let [size, _, _, offset] = words(payload).ok_or(Failure::Length)?;
        let range = offset..offset.checked_add(size).ok_or(Failure::Act)?;
        if !self
            .identity
            .ram
            .iter()
            .any(|ram| ram.start <= range.start && range.end <= ram.end)
        {
            return Err(Failure::Act);
        }
        self.ram = Some(range);
        OK
    }

    fn load_ram(&mut self, request: &Request) -> Done {
        let length = block(request)?.len() as u32;
        let ram = self.ram.as_mut().ok_or(Failure::NotBegun)?;
        if length > ram.end - ram.start {
            return Err(Failure::TooMuch);
        }
        self.loaded.push(ram.start..ram.start + length);
        ram.start += length;
        OK
    }

    fn end_ram(&mut self, payload: &[u8]) -> Done {
        let [stay, entry] = words(payload).ok_or(Failure::Length)?;
        self.ram = None;
        let loaded = self.loaded.iter().any(|range| range.contains(&entry));
        if stay == 0 && !loaded {
            Err(Failure::Act)
        } else {
            OK
        }
    }

    fn begin_flash(&mut self, payload: &[u8], deflated: bool, flash: &mut Flash) -> Done {
        let [size, _, _, offset] = words(payload).ok_or(Failure::Length)?;
        let encrypted = payload.get(16..).and_then(words).is_some_and(|[flag]| flag != 0);
        if encrypted {
            return Err(Failure::Act);
        }
        self.part(flash, offset, size)?;
        self.transfer = Some(Transfer::begin(flash, offset, size, deflated, self.stub)?);
        OK
    }

    fn write_flash(&mut self, request: &Request, flash: &mut Flash) -> Done {
        let data = block(request)?;
        let transfer = self.transfer.as_mut().ok_or(Failure::NotBegun)?;
        if transfer.is_deflated() != (request.command == command::FLASH_DEFL_DATA) {
            return Err(Failure::NotBegun);
        }
        if matches!(self.defect, Defect::WriteFails { after } if self.blocks >= after) {
            return Err(Failure::Write);
        }
        let start = transfer.position();
        transfer.data(flash, data)?;
        self.blocks += 1;
        if self.defect == Defect::FlipsBit {
            flip_bit(flash, start..transfer.position());
        }
        OK
    }

    /// A part of the flash, if it is attached and within the size that the host has told.
    fn part<'a>(&self, flash: &'a Flash, offset: u32, size: u32) -> Result<&'a [u8], Failure> {
        let within = offset.checked_add(size).is_some_and(|end| end <= self.flash_size);
        if !within || !(self.attached || self.stub) {
            return Err(Failure::Act);
        }
        flash.read(offset, size).map_err(|_| Failure::Act)
    }
}

/// The data behind the four words of a block.
fn block(request: &Request) -> Result<&[u8], Failure> {
    let [length] = words(&request.payload).ok_or(Failure::Length)?;
    let data = request.payload.get(16..).ok_or(Failure::Length)?;
    if data.len() != length as usize {
        return Err(Failure::Length);
    }
    if u32::from(packet::checksum(data)) != request.checksum & 0xff {
        return Err(Failure::Checksum);
    }
    Ok(data)
}

/// Clears the first bit that is set.
fn flip_bit(flash: &mut Flash, range: Range<u32>) {
    let written = flash
        .read(range.start, range.end - range.start)
        .unwrap_or_default();
    let Some(at) = written.iter().position(|byte| *byte != 0) else {
        return;
    };
    let byte = written[at] & (written[at] - 1);
    let _ = flash.program(range.start + at as u32, &[byte]);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn send(effects: &mut Vec<Effect>, payload: &[u8]) {
    effects.push(Effect::Send(slip::encode(payload)));
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
