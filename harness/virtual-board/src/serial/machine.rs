//! The board's thread: one loop over the port, the guest, the switches and the time.

use std::fs;
use std::io::{self, PipeReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use super::board::{Action, Options, Order, Place, Told, next};
use super::fault::{Fault, Moment, Planned};
use super::kind::{Kind, Line, Then};
use super::loader::Effect;
use super::packet::{self, command};
use super::port::Port;
use super::slip;
use super::switch::Switch;
use super::{Cause, Mode};
use crate::Error;
use crate::tether::Tether;

/// The line's speed after a reset.
const BAUD: u32 = 115_200;
/// Above this a slow line damages bytes.
const SLOW: u32 = 460_800;
/// How long a watchdog waits that a tool has started, about as long as the tools set it.
const WATCHDOG: Duration = Duration::from_millis(20);
/// How long a port that moves is gone.
const GONE: Duration = Duration::from_millis(500);
/// Between two bytes of a trickle, and between two bursts of noise.
const TRICKLE: Duration = Duration::from_millis(50);
const NOISE: Duration = Duration::from_millis(10);
/// Bytes of a burst.
const BURST: usize = 64;
/// How long a program may take to offer its UART.
const CONNECT: Duration = Duration::from_secs(5);
/// How much of the console is looked at for a fault's moment.
const RECENT: usize = 8 << 10;

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

struct Guest {
    child: Child,
    /// Does not block.
    input: OwnedFd,
    output: OwnedFd,
}

impl Guest {
    fn start(mut command: Command, line: &Line, tether: &Tether) -> Result<Self, Error> {
        let step = "start the board's program";
        match line {
            Line::Streams => {
                let (output, written) = io::pipe().map_err(Error::io(step))?;
                let errors = written.try_clone().map_err(Error::io(step))?;
                command.stdin(Stdio::piped()).stdout(written).stderr(errors);
                let mut child = tether.spawn(command).map_err(Error::io(step))?;
                let Some(input) = child.stdin.take() else {
                    return Err(Error::io(step)(io::ErrorKind::BrokenPipe.into()));
                };
                rustix::io::ioctl_fionbio(&input, true).map_err(|error| Error::io(step)(error.into()))?;
                let (input, output) = (input.into(), output.into());
                Ok(Guest { child, input, output })
            }
            Line::Tcp(address) => {
                command.stdin(Stdio::null()).stdout(Stdio::null());
                let mut child = tether.spawn(command).map_err(Error::io(step))?;
                let stream = connect(*address, &mut child);
                if stream.is_err() {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                let step = format!("reach the UART of the board's program at {address}");
                let stream = stream.map_err(Error::io(&step))?;
                stream.set_nonblocking(true).map_err(Error::io(&step))?;
                let (input, output) = (stream.try_clone().map_err(Error::io(step))?.into(), stream.into());
                Ok(Guest { child, input, output })
            }
        }
    }
}

/// Connects to a server that is about to be there.
fn connect(address: SocketAddr, child: &mut Child) -> io::Result<TcpStream> {
    let deadline = Instant::now() + CONNECT;
    loop {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = child.try_wait()? {
            return Err(io::Error::other(format!("it has ended: {status}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A fault that was asked for.
struct Pending {
    planned: Planned,
    asked: Instant,
    begun: bool,
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
    fault: Option<Pending>,
    /// The next byte of a trickle, or burst of noise.
    chatter: Instant,
    random: u32,
    recent: String,
}

impl Machine {
    pub fn new(
        place: Place,
        options: &Options,
        kind: Box<dyn Kind>,
        switch: Switch,
        told: Arc<Mutex<Told>>,
    ) -> Result<Self, Error> {
        let now = Instant::now();
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
            fault: options.fault.clone().map(|planned| Pending::new(planned, now)),
            chatter: now,
            random: 1,
            recent: String::new(),
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
                fds.push(PollFd::from_borrowed_fd(guest.output.as_fd(), PollFlags::IN));
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
        let fault = self.fault.as_ref().filter(|pending| !pending.begun);
        let fault = fault.and_then(|pending| match pending.planned.at {
            Moment::After(time) => Some(pending.asked + time),
            _ => None,
        });
        let chatter = self.chatters().map(|_| self.chatter);
        [again, self.back, self.watchdog, fault, chatter]
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
        if let Some(every) = self.chatters()
            && self.chatter <= now
        {
            self.chatter = now + every;
            let bytes = self.chatter_bytes();
            self.send_raw(&bytes)?;
        }
        self.begin_fault(now)
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
                self.fault = planned.map(|planned| Pending::new(planned, now));
                if self.port.is_none() && self.back.is_none() {
                    self.plug_in()?;
                }
                self.begin_fault(now)
            }
        }
    }

    fn reset(&mut self, mode: Mode, cause: Cause) -> Result<(), Error> {
        self.enter(State::Off);
        self.watchdog = None;
        self.mode = mode;
        self.baud = BAUD;
        self.recent.clear();
        self.watching = slip::Decoder::default();
        let fault = self.fault.as_ref().map(|pending| pending.planned.fault);
        let begun = self
            .fault
            .as_ref()
            .filter(|pending| pending.begun || pending.planned.at == Moment::Start);
        let next = self.kind.reset(mode, cause, begun.and(fault))?;
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
        self.damage(&mut bytes);
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
            // A guest that does not listen loses bytes, as a UART does.
            State::Guest(guest) => drop(rustix::io::write(&guest.input, &bytes)),
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
        let mut buffer = [0; 4096];
        match rustix::io::read(&guest.output, &mut buffer) {
            Ok(0) => {
                let status = guest
                    .child
                    .wait()
                    .map_err(Error::io("wait for the board's program"))?;
                self.enter(match self.kind.ended(status) {
                    Some((cause, after)) => State::Again {
                        at: Instant::now() + after,
                        cause,
                    },
                    None => State::Still,
                });
                Ok(())
            }
            Ok(length) => {
                let before = self.begun();
                for line in buffer[..length].split_inclusive(|byte| *byte == b'\n') {
                    self.say(line)?;
                    self.begin_fault(Instant::now())?;
                    // What a board does not live to say after that line is not heard.
                    if self.begun() != before {
                        break;
                    }
                }
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(error) => {
                self.enter(State::Off);
                Err(Error::io("read what the board's program prints")(error.into()))
            }
        }
    }

    /// Sends what belongs to the console.
    fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.recent.push_str(&String::from_utf8_lossy(bytes));
        if self.recent.len() > RECENT {
            let cut = self.recent.len() - RECENT / 2;
            let cut = (cut..)
                .find(|at| self.recent.is_char_boundary(*at))
                .unwrap_or(cut);
            self.recent.drain(..cut);
        }
        self.send(bytes)
    }

    fn send(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut bytes = bytes.to_vec();
        self.damage(&mut bytes);
        self.send_raw(&bytes)
    }

    fn send_raw(&mut self, bytes: &[u8]) -> Result<(), Error> {
        match &mut self.port {
            Some(port) => port.send(bytes).map_err(Error::io("use the serial port")),
            None => Ok(()),
        }
    }

    /// What a line does that is too slow for the speed on it.
    fn damage(&self, bytes: &mut [u8]) {
        if self.has_begun(Fault::SlowLine) && self.baud > SLOW {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = byte.rotate_left(3) ^ 0x5a);
        }
    }

    fn begun(&self) -> bool {
        self.fault.as_ref().is_some_and(|pending| pending.begun)
    }

    fn has_begun(&self, fault: Fault) -> bool {
        let pending = self.fault.as_ref();
        pending.is_some_and(|pending| pending.begun && pending.planned.fault == fault)
    }

    /// How often bytes come by themselves.
    fn chatters(&self) -> Option<Duration> {
        if self.has_begun(Fault::Trickle) {
            Some(TRICKLE)
        } else if self.has_begun(Fault::LineNoise) {
            Some(NOISE)
        } else {
            None
        }
    }

    fn chatter_bytes(&mut self) -> Vec<u8> {
        if self.has_begun(Fault::Trickle) {
            return vec![b'\n'];
        }
        let mut burst = vec![0; BURST];
        for byte in &mut burst {
            // Xorshift: any bytes will do, the same each time.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            *byte = self.random as u8;
        }
        burst
    }

    /// Begins the fault if its moment has come.
    fn begin_fault(&mut self, now: Instant) -> Result<(), Error> {
        let Some(pending) = &mut self.fault else {
            return Ok(());
        };
        let come = match &pending.planned.at {
            Moment::Start => true,
            Moment::Blocks(count) => self.kind.blocks() >= *count,
            Moment::Console(text) => self.recent.contains(text),
            Moment::After(time) => pending.asked + *time <= now,
        };
        if pending.begun || !come {
            return Ok(());
        }
        pending.begun = true;
        match pending.planned.fault {
            Fault::PortLost => self.pull_out(None),
            Fault::PortMoved => self.pull_out(Some(now + GONE)),
            Fault::Rebooted => return self.reset(Mode::Run, Cause::Watchdog),
            Fault::Hung => match &self.state {
                State::Guest(guest) => {
                    let id = Pid::from_raw(guest.child.id() as i32);
                    let _ = kill(id, Signal::SIGSTOP);
                }
                _ => self.enter(State::Still),
            },
            _ => {}
        }
        Ok(())
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

impl Pending {
    fn new(planned: Planned, asked: Instant) -> Self {
        Pending {
            planned,
            asked,
            begun: false,
        }
    }
}

/// What [`Machine::wait`] has seen.
struct Ready {
    woken: bool,
    switch: bool,
    guest: bool,
    port: bool,
}
