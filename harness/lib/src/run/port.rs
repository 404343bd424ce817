//! A board on a serial port, real or virtual: flashed, reset, listened to.

use super::{Clues, Dut, Firmware, Stages, Started};
use crate::bench::boot::Watched;
use crate::bench::capture::Capture;
use crate::bench::choose;
use crate::bench::failure::{Failure, Kind};
use crate::bench::flash::job::{Event, Job, Secret, Task};
use crate::bench::flash::{self, Done, FlashError};
use crate::bench::inventory::Entry;
use crate::bench::memory::{self, Memories};
use crate::bench::power::{Power as _, Start};
use crate::target::Endpoint;
use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What is written to boards, and how.
#[derive(Clone, Debug)]
pub struct Flashing {
    /// This program: its child flashes.
    pub program: PathBuf,
    /// The firmware.
    pub firmware: Firmware,
    /// Partition table in place of the built-in one.
    pub table: Option<PathBuf>,
    /// Bootloader in place of the built-in one.
    pub bootloader: Option<PathBuf>,
    /// Configuration sector.
    pub sector: Option<Secret>,
    /// Baud rate, where the fastest that holds is not wanted.
    pub baud: Option<u32>,
    /// Flashing ends by then.
    pub deadline: Duration,
    /// Write what is in flash already, too.
    pub force: bool,
}

/// A board, and the right to use it.
#[derive(Debug)]
pub struct Port {
    name: String,
    board: Entry,
    /// What is written to it; none: what is in its flash is started.
    flashing: Option<Arc<Flashing>>,
    log: Option<PathBuf>,
    memories: Memories,
    // the console lets go of the port before anybody else may have it
    console: Option<Arc<Watched>>,
    _held: Box<dyn Any + Send>,
}

impl Port {
    /// A board, and what must live as long as it is used: its lease, unless nobody else can know it.
    pub fn new(board: Entry, held: impl Any + Send, flashing: Option<Arc<Flashing>>) -> Self {
        Self {
            name: folder_name(&board),
            board,
            flashing,
            log: None,
            memories: Memories::of_user(),
            console: None,
            _held: Box::new(held),
        }
    }

    /// With a file to the end of which its console is written.
    #[must_use]
    pub fn with_log(mut self, log: Option<PathBuf>) -> Self {
        self.log = log;
        self
    }

    fn failed(&self, kind: Kind, cause: String) -> Failure {
        Failure::new(kind, &self.name, cause)
    }

    async fn flash(&self, flashing: &Flashing, stages: &Stages<'_>) -> Result<Done, Failure> {
        let job = Job {
            site: choose::site(&self.board),
            power: self.board.power.clone(),
            chip: self.board.chip.map(|chip| chip.to_string()),
            bauds: choose::bauds(&self.board, flashing.baud, &self.memories),
            force: flashing.force,
            task: Task::Write {
                image: flashing.firmware.file.clone(),
                table: flashing.table.clone(),
                bootloader: flashing.bootloader.clone(),
                sector: flashing.sector.clone(),
            },
        };
        let start = Instant::now();
        let mut identified = None;
        let told = |event: &Event| {
            if let (Event::Identified(identity), None) = (event, identified) {
                identified = Some(start.elapsed());
                let note = format!("{}, {}", identity.chip, identity.mac);
                stages.done("identify", start.elapsed(), note);
            }
        };
        let key = choose::memory_key(&self.board);
        let asked = flashing.baud.or(self.board.flash_baud);
        let ended = flash::run(&flashing.program, &job, flashing.deadline, told).await;
        let time = start.elapsed().saturating_sub(identified.unwrap_or_default());
        let failed = |failure: Failure| {
            let stage = if identified.is_some() { "flash" } else { "identify" };
            stages.failed(stage, time, &failure);
            failure
        };
        match ended {
            Ok(done) => {
                stages.done("flash", time, written(&done));
                self.memories.change(&key, |memory| {
                    if asked.is_none() && done.baud > 0 {
                        memory.flash_baud = Some(done.baud);
                    }
                    memory.firmware = Some(seen(&flashing.firmware));
                });
                Ok(done)
            }
            Err(FlashError::Failed(failure)) => {
                // the next time all rates are tried again
                self.memories.change(&key, |memory| memory.flash_baud = None);
                Err(failed(*failure))
            }
            Err(FlashError::Refused(reason)) => Err(failed(self.failed(Kind::WriteFailed, reason))),
        }
    }

    /// Resets it and reads its console from the first byte on.
    async fn restart(&self, mac: Option<String>) -> Result<(Instant, Watched), Failure> {
        let (board, log, name) = (self.board.clone(), self.log.clone(), self.name.clone());
        let firmware = self.flashing.as_ref().map(|flashing| flashing.firmware.clone());
        let restart = move || {
            let mut site = choose::site(&board);
            site.mac = mac.or(site.mac);
            let at = Instant::now();
            let port = board.power.restart(&site, Start::Run, board.console_baud)?;
            let capture =
                Capture::start(port, &site, board.console_baud, log.as_deref()).map_err(|error| {
                    let shown = log.unwrap_or_default();
                    let cause = format!("the console can't be written to {}: {error}", shown.display());
                    Failure::new(Kind::PortLost, &name, cause)
                })?;
            let (build, file) = firmware.map_or_else(Default::default, |one| (one.build_id, one.file));
            Ok((at, Watched::new(capture, &name, build, &file)))
        };
        let restarted = tokio::task::spawn_blocking(restart).await;
        restarted.map_err(|error| self.failed(Kind::PowerFailed, format!("a thread ended: {error}")))?
    }
}

impl Dut for Port {
    fn name(&self) -> &str {
        &self.name
    }

    async fn start(&mut self, stages: &Stages<'_>) -> Result<Started, Failure> {
        // a console that is still read would take what the loader answers
        self.console = None;
        let mut mac = self.board.mac.map(|mac| mac.to_string());
        if let Some(flashing) = &self.flashing {
            mac = Some(self.flash(flashing, stages).await?.identity.mac);
        }
        let restart = async {
            let (at, console) = self.restart(mac.clone()).await?;
            Ok(((at, Arc::new(console)), String::new()))
        };
        let endpoint = match self.board.endpoint.as_deref().map(Endpoint::parse) {
            None => None,
            Some(Ok(endpoint)) => Some(endpoint),
            Some(Err(error)) => {
                let mut failure = self.failed(Kind::Refused, error.to_string());
                failure.advice = Some("correct the board's endpoint in the inventory".to_owned());
                return Err(failure);
            }
        };
        let (at, console) = stages.run("reset", restart).await?;
        self.console = Some(Arc::clone(&console));
        Ok(Started {
            at,
            console,
            clues: Clues {
                mac,
                address: None,
                endpoint,
                since: None,
            },
        })
    }
}

/// A board's name, as it is used for folders and in reports.
fn folder_name(board: &Entry) -> String {
    board.name.trim_start_matches('/').replace('/', "_")
}

fn seen(firmware: &Firmware) -> memory::Firmware {
    let name = firmware.file.file_name().unwrap_or_default();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    memory::Firmware {
        file: name.to_string_lossy().into_owned(),
        build_id: firmware.build_id.clone(),
        seen: since.map_or(0, |since| since.as_secs()),
    }
}

fn written(done: &Done) -> String {
    let bytes: usize = done
        .parts
        .iter()
        .filter(|part| !part.unchanged)
        .map(|part| part.bytes)
        .sum();
    match bytes {
        0 => "all of it was in flash already".to_owned(),
        _ => format!("{bytes} bytes written and verified at {} baud", done.baud),
    }
}
