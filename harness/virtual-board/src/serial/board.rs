//! A board with a serial port: its handle, and what a caller can do to it.

use std::fs;
use std::io::{self, PipeWriter, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Mode;
use super::fault::Planned;
use super::kind::Choice;
use super::machine::Machine;
use super::switch::Switch;
use crate::Error;
use crate::machine::Wire;
use crate::plan::Mac;
use crate::relay::Relay;
use crate::tether::Tether;

/// The longest that a board takes to obey.
const OBEY: Duration = Duration::from_secs(10);

/// How a board with a serial port is switched on.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the board keeps `flash.bin`, `port` (a link to its serial port) and `switch` (see
    /// [`SerialBoard::switch`]). It is made if need be; what is in the flash stays.
    pub folder: PathBuf,
    /// Goes into download mode when a tool sends a SYNC, for tools that can't throw the switch: a pseudo-terminal has
    /// no DTR and RTS.
    pub auto_download: bool,
    /// What it does wrong.
    pub fault: Option<Planned>,
    /// What sits behind the port.
    pub kind: Choice,
}

impl Options {
    /// A sound board that keeps its things in this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Options {
            folder: folder.into(),
            auto_download: false,
            fault: None,
            kind: Choice::Virt,
        }
    }
}

/// A place on the network, and who looks after it.
pub(crate) struct Place {
    pub mac: Mac,
    pub wire: Option<Wire>,
    pub tether: Tether,
    pub relay: Option<(Arc<Relay>, usize)>,
    /// The place is free again when this is dropped.
    pub _taken: Arc<()>,
}

/// What the board's thread tells.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub port: Option<PathBuf>,
    pub trouble: Option<String>,
}

/// An order, and where its outcome goes.
pub(super) type Order = (Action, Sender<Result<(), Error>>);

/// What can be done to a board from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Power on, if need be, and a reset.
    Reset(Mode),
    PowerOff,
    Fault(Option<Planned>),
}

/// A board that is plugged in. Dropping it unplugs it.
pub struct SerialBoard {
    mac: Mac,
    folder: PathBuf,
    flash: PathBuf,
    endpoint: Option<SocketAddr>,
    told: Arc<Mutex<Told>>,
    orders: Option<Sender<Order>>,
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

impl SerialBoard {
    /// Switches a board on that is on no network: enough for flashing tools, and for the console of what was flashed.
    pub fn alone(mac: Mac, options: &Options) -> Result<Self, Error> {
        let place = Place {
            mac,
            wire: None,
            tether: Tether::start()?,
            relay: None,
            _taken: Arc::new(()),
        };
        Self::start(place, options)
    }

    pub(crate) fn start(place: Place, options: &Options) -> Result<Self, Error> {
        let (mac, folder) = (place.mac, options.folder.clone());
        fs::create_dir_all(&folder).map_err(Error::io(format!("make the folder {}", folder.display())))?;
        let kind = options.kind.make(&folder, mac, place.wire)?;
        let (flash, endpoint) = (kind.flash().to_owned(), kind.endpoint());
        let switch = Switch::make(&folder.join("switch"))
            .map_err(Error::io(format!("make the switch in {}", folder.display())))?;
        let told = Arc::new(Mutex::new(Told::default()));
        let (orders, inbox) = mpsc::channel();
        let (woken, wake) = io::pipe().map_err(Error::io("make the board's pipe"))?;
        let machine = Machine::new(place, options, kind, switch, Arc::clone(&told))?;
        let thread = thread::Builder::new()
            .name("serial board".to_owned())
            .spawn(move || machine.run(&inbox, woken))
            .map_err(Error::io("start the board's thread"))?;
        let board = SerialBoard {
            mac,
            folder,
            flash,
            endpoint,
            told,
            orders: Some(orders),
            wake,
            thread: Some(thread),
        };
        board.reset(Mode::Run)?;
        Ok(board)
    }

    /// The MAC address in its eFuses, and of its network card.
    pub fn mac(&self) -> Mac {
        self.mac
    }

    /// The path of its serial port at this moment, `/dev/pts/N`; none while it has vanished.
    pub fn port(&self) -> Option<PathBuf> {
        self.told().port.clone()
    }

    /// A link that leads to [`SerialBoard::port`] and does not change.
    pub fn link(&self) -> PathBuf {
        self.folder.join("port")
    }

    /// The file with the content of its flash.
    pub fn flash(&self) -> &Path {
        &self.flash
    }

    /// Where its MCP endpoint is reached, if that is not its address on the network: an emulator with a network of its
    /// own.
    pub fn endpoint(&self) -> Option<SocketAddr> {
        self.endpoint
    }

    /// A FIFO that takes the board's switches as lines: `run`, `download`, `off`, `fault NAME[@MOMENT]`, `fault none`.
    pub fn switch(&self) -> PathBuf {
        self.folder.join("switch")
    }

    /// Presses the reset button with the boot switch so. A board that is off is switched on.
    pub fn reset(&self, mode: Mode) -> Result<(), Error> {
        self.order(Action::Reset(mode))
    }

    /// Takes its power away; the port stays. [`SerialBoard::reset`] brings it back.
    pub fn power_off(&self) -> Result<(), Error> {
        self.order(Action::PowerOff)
    }

    /// From now on it fails so, or works again. Much of it shows only after the next reset.
    pub fn set_fault(&self, fault: Option<Planned>) -> Result<(), Error> {
        self.order(Action::Fault(fault))
    }

    /// What the machine did not let the board do, since the last time this was asked.
    pub fn trouble(&self) -> Option<String> {
        self.told().trouble.take()
    }

    fn told(&self) -> std::sync::MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn order(&self, action: Action) -> Result<(), Error> {
        let gone = || Error::io("reach the board's thread")(io::ErrorKind::BrokenPipe.into());
        let late = |_| Error::io("have the board obey")(io::ErrorKind::TimedOut.into());
        let (answer, obeyed) = mpsc::channel();
        let orders = self.orders.as_ref().ok_or_else(gone)?;
        orders.send((action, answer)).map_err(|_| gone())?;
        (&self.wake).write_all(&[0]).map_err(|_| gone())?;
        obeyed.recv_timeout(OBEY).map_err(late)?
    }
}

impl Drop for SerialBoard {
    fn drop(&mut self) {
        self.orders = None;
        let _ = (&self.wake).write_all(&[0]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The next order; none when there is none now. An error when the board is unplugged.
pub(super) fn next(inbox: &Receiver<Order>) -> Result<Option<Order>, mpsc::RecvError> {
    match inbox.try_recv() {
        Ok(order) => Ok(Some(order)),
        Err(mpsc::TryRecvError::Empty) => Ok(None),
        Err(mpsc::TryRecvError::Disconnected) => Err(mpsc::RecvError),
    }
}

#[cfg(test)]
#[path = "board_tests.rs"]
mod tests;
