//! The board's thread: one loop over the port, the guest, the switches and the time.

use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::board::{Action, Options, Order, Place, Told, next};
use super::failing::Failing;
use super::fault::Fault;
use super::guest::Guest;
use super::kind::{Kind, Then};
use super::loader::Effect;
use super::packet::{self, command};
use super::port::Port;
use super::slip;
use super::switch::Switch;
use super::{Cause, Mode};
use crate::Error;
use mcp_hil_harness::bench::flash::sync::ENDED;

/// The line's speed after a reset.
const BAUD: u32 = 115_200;
/// How long a watchdog waits that a tool has started, about as long as the tools set it.
const WATCHDOG: Duration = Duration::from_millis(20);
/// How long a port that moves is gone.
const GONE: Duration = Duration::from_millis(500);

/// What runs on the chip.
enum State {
    Off,
    /// The loader waits for commands.
    Load,
    Guest(Guest),
    /// Nothing can run; the chip resets itself.
    Again {
        at: Instant,
        cause: Cause,
    },
    /// It has power, and stands still until somebody resets it.
    Still,
}

pub(super) struct Machine {
    place: Place,
    kind: Box<dyn Kind>,
    port: Option<Port>,
    link: PathBuf,
    /// When a port that has gone comes back.
    back: Option<Instant>,
    switch: Switch,
    told: Arc<Mutex<Told>>,
    auto_download: bool,
    /// Looks for a SYNC while a program runs.
    watching: slip::Decoder,
    state: State,
    mode: Mode,
    baud: u32,
    /// When the watchdog bites that a tool has started.
    watchdog: Option<Instant>,
    failing: Failing,
}

impl Machine {
    pub fn new(
        place: Place,
        options: &Options,
        kind: Box<dyn Kind>,
        switch: Switch,
        told: Arc<Mutex<Told>>,
    ) -> Result<Self, Error> {
        let mut machine = Machine {
            place,
            kind,
            port: None,
            link: options.folder.join("port"),
            back: None,
            switch,
            told,
            auto_download: options.auto_download,
            watching: slip::Decoder::default(),
            state: State::Off,
            mode: Mode::Run,
            baud: BAUD,
            watchdog: None,
            failing: Failing::new(options.fault.clone(), Instant::now()),
        };
        machine.plug_in()?;
        Ok(machine)
    }

    /// Until the board is unplugged.
    pub fn run(mut self, inbox: &Receiver<Order>, mut woken: PipeReader) {
        loop {
            let ready = match self.wait(woken.as_fd()) {
                Ok(ready) => ready,
                Err(error) => return self.trouble(&error.to_string()),
            };
            if ready.woken {
                let _ = woken.read(&mut [0; 16]);
            }
            loop {
                match next(inbox) {
                    Ok(Some((action, answer))) => drop(answer.send(self.obey(action))),
                    Ok(None) => break,
                    Err(_) => return self.unplug(),
                }
            }
            if let Err(error) = self.step(&ready) {
                self.trouble(&error.to_string());
            }
        }
    }

    /// Waits until something is to be done.
    fn wait(&self, woken: BorrowedFd<'_>) -> io::Result<Ready> {
        let mut fds = vec![
            PollFd::from_borrowed_fd(woken, PollFlags::IN),
            PollFd::from_borrowed_fd(self.switch.fd(), PollFlags::IN),
        ];
        let guest = match &self.state {
            State::Guest(guest) => {
                fds.push(PollFd::from_borrowed_fd(guest.output(), PollFlags::IN));
                Some(fds.len() - 1)
            }
            _ => None,
        };
        let port = self.port.as_ref().map(|port| {
            let output = if port.is_waiting() {
                PollFlags::OUT
            } else {
                PollFlags::empty()
            };
            fds.push(PollFd::from_borrowed_fd(port.line(), PollFlags::IN | output));
            fds.push(PollFd::from_borrowed_fd(port.events(), PollFlags::IN));
            fds.len() - 2
        });
        let timeout = self.next_moment().map(|at| {
            let left = at.saturating_duration_since(Instant::now());
            Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            }
        });
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let is_ready = |index: usize| !fds[index].revents().is_empty();
        Ok(Ready {
            woken: is_ready(0),
            switch: is_ready(1),
            guest: guest.is_some_and(is_ready),
            port: port.is_some_and(|port| is_ready(port) || is_ready(port + 1)),
        })
    }

    /// The first instant at which something is to be done.
    fn next_moment(&self) -> Option<Instant> {
        let again = match self.state {
            State::Again { at, .. } => Some(at),
            _ => None,
        };
        [again, self.back, self.watchdog, self.failing.next_moment()]
            .into_iter()
            .flatten()
            .min()
    }

    fn step(&mut self, ready: &Ready) -> Result<(), Error> {
        if ready.switch {
            for order in self.switch.read() {
                match order {
                    Ok(action) => self.obey(action)?,
                    Err(reason) => self.trouble(&reason),
                }
            }
        }
        if ready.port {
            self.hear()?;
        }
        if ready.guest {
            self.hear_guest()?;
        }
        let now = Instant::now();
        if self.back.is_some_and(|at| at <= now) {
            self.back = None;
            self.plug_in()?;
        }
        if self.watchdog.is_some_and(|at| at <= now) {
            self.reset(Mode::Run, Cause::RtcWatchdog)?;
        }
        if let State::Again { at, cause } = self.state
            && at <= now
        {
            self.reset(self.mode, cause)?;
        }
        if let Some(bytes) = self.failing.chatter(now) {
            self.send_raw(&bytes)?;
        }
        self.begin_fault(now).map(drop)
    }

    fn obey(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Reset(mode) => self.reset(mode, Cause::PowerOn),
            Action::PowerOff => {
                self.enter(State::Off);
                Ok(())
            }
            Action::Fault(planned) => {
                let now = Instant::now();
                self.failing = Failing::new(planned, now);
                if self.port.is_none() && self.back.is_none() {
                    self.plug_in()?;
                }
                self.begin_fault(now).map(drop)
            }
        }
    }

    fn reset(&mut self, mode: Mode, cause: Cause) -> Result<(), Error> {
        self.enter(State::Off);
        self.watchdog = None;
        self.mode = mode;
        self.baud = BAUD;
        self.failing.forget_console();
        self.watching = slip::Decoder::default();
        let next = self.kind.reset(mode, cause, self.failing.at_reset())?;
        self.say(next.text.as_bytes())?;
        match next.then {
            Then::Load => self.enter(State::Load),
            Then::Again { cause, after } => self.enter(State::Again {
                at: Instant::now() + after,
                cause,
            }),
            Then::Guest(command, line) => {
                let guest = Guest::start(*command, &line, &self.place.tether)?;
                self.enter(State::Guest(guest));
            }
        }
        Ok(())
    }

    /// Changes what runs. The way in from the machine's network is open while a guest runs.
    fn enter(&mut self, state: State) {
        self.state = state;
        if let Some((relay, number)) = &self.place.relay {
            relay.set_open(*number, matches!(self.state, State::Guest(_)));
        }
    }

    /// Takes what the host has sent.
    fn hear(&mut self) -> Result<(), Error> {
        let Some(port) = &mut self.port else { return Ok(()) };
        let step = "use the serial port";
        port.look_who_is_there().map_err(Error::io(step))?;
        port.flush().map_err(Error::io(step))?;
        let mut bytes = port.read().map_err(Error::io(step))?;
        self.failing.damage(self.baud, &mut bytes);
        let may_be_called = self.auto_download && self.mode == Mode::Run && !matches!(self.state, State::Off);
        if may_be_called && self.has_sync(&bytes) {
            self.reset(Mode::Download, Cause::PowerOn)?;
        }
        match &mut self.state {
            State::Load => {
                let effects = self.kind.receive(&bytes)?;
                for effect in effects {
                    self.follow(effect)?;
                }
            }
            State::Guest(guest) => guest.write(&bytes),
            State::Off | State::Again { .. } | State::Still => {}
        }
        Ok(())
    }

    fn has_sync(&mut self, mut bytes: &[u8]) -> bool {
        let mut frames = std::iter::from_fn(|| self.watching.next(&mut bytes));
        frames.any(|frame| packet::parse(&frame).is_some_and(|request| request.command == command::SYNC))
    }

    fn follow(&mut self, effect: Effect) -> Result<(), Error> {
        match effect {
            Effect::Send(bytes) => self.send(&bytes),
            Effect::Baud(baud) => {
                self.baud = baud;
                Ok(())
            }
            Effect::Restart => self.reset(self.mode, Cause::System),
            Effect::Boot => self.reset(Mode::Run, Cause::System),
            Effect::Watchdog => {
                self.watchdog = Some(Instant::now() + WATCHDOG);
                Ok(())
            }
        }
    }

    /// Takes what the guest has printed, or its end.
    fn hear_guest(&mut self) -> Result<(), Error> {
        let State::Guest(guest) = &mut self.state else {
            return Ok(());
        };
        match guest.read() {
            Ok(Some(printed)) => self.hear_lines(&printed),
            Ok(None) => {
                let status = guest.wait().map_err(Error::io("wait for the board's program"))?;
                let again = self.kind.ended(status);
                self.enter(match again {
                    Some((cause, after)) => State::Again {
                        at: Instant::now() + after,
                        cause,
                    },
                    None => State::Still,
                });
                match again {
                    None if !status.success() => self.say(format!("\r\n{ENDED}{status}\r\n").as_bytes()),
                    _ => Ok(()),
                }
            }
            Err(error) => {
                self.enter(State::Still);
                Err(Error::io("read what the board's program prints")(error))
            }
        }
    }

    fn hear_lines(&mut self, printed: &[u8]) -> Result<(), Error> {
        for line in printed.split_inclusive(|byte| *byte == b'\n') {
            self.say(line)?;
            // What a board does not live to say after that line is not heard.
            if self.begin_fault(Instant::now())? {
                break;
            }
        }
        Ok(())
    }

    /// Sends what belongs to the console.
    fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.failing.note(bytes);
        self.send(bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut bytes = bytes.to_vec();
        self.failing.damage(self.baud, &mut bytes);
        self.send_raw(&bytes)
    }

    fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.port {
            Some(port) => port.send(bytes).map_err(Error::io("use the serial port")),
            None => Ok(()),
        }
    }

    /// Begins the fault if its moment has come; true when it does.
    fn begin_fault(&mut self, now: Instant) -> Result<bool, Error> {
        let Some(fault) = self.failing.begin(now, self.kind.blocks()) else {
            return Ok(false);
        };
        match fault {
            Fault::PortLost => self.pull_out(None),
            Fault::PortMoved => self.pull_out(Some(now + GONE)),
            Fault::Rebooted => self.reset(Mode::Run, Cause::Watchdog)?,
            Fault::Hung => match &self.state {
                State::Guest(guest) => guest.stop(),
                _ => self.enter(State::Still),
            },
            _ => {}
        }
        Ok(true)
    }

    /// A new port, under a path that is free.
    fn plug_in(&mut self) -> Result<(), Error> {
        let port = Port::open().map_err(Error::io("open a pseudo-terminal"))?;
        let link = &self.link;
        let _ = fs::remove_file(link);
        std::os::unix::fs::symlink(port.path(), link)
            .map_err(Error::io(format!("make the link {}", link.display())))?;
        self.tell(|told| told.port = Some(port.path().to_owned()));
        self.port = Some(port);
        Ok(())
    }

    fn pull_out(&mut self, back: Option<Instant>) {
        self.port = None;
        self.back = back;
        let _ = fs::remove_file(&self.link);
        self.tell(|told| told.port = None);
    }

    fn unplug(mut self) {
        self.enter(State::Off);
        self.pull_out(None);
    }

    fn trouble(&self, text: &str) {
        self.tell(|told| told.trouble = Some(text.to_owned()));
    }

    fn tell(&self, change: impl FnOnce(&mut Told)) {
        change(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// What [`Machine::wait`] has seen.
struct Ready {
    woken: bool,
    switch: bool,
    guest: bool,
    port: bool,
}
