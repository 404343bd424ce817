//! The network as a whole.

use std::ffi::OsStr;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{self, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::board::{Board, BoardOptions};
use crate::capture::Capture;
use crate::console::Console;
use crate::fabric::{End, Fabric};
use crate::impairment::Impairment;
use crate::machine::{self, Wire};
use crate::namespace::{self, Entered};
use crate::plan::{MAX_BOARDS, board_address, mac_of};
use crate::relay::{self, Relay};
use crate::serial::board::{Options as SerialOptions, Place, SerialBoard};
use crate::switch::{Counters, PortId, Switch};
use crate::tether::{Tether, require_setpriv};
use crate::{Error, dhcp, host};

/// TCP port of a board's MCP endpoint.
pub const MCP_PORT: u16 = 18791;
/// Path of a board's MCP endpoint.
pub const MCP_PATH: &str = "/mcp";

/// The switch's port to the namespace's own stack; board n has port n + 1.
const HOST_PORT: PortId = 0;
/// First UDP port of the boards' wires: below the ports the kernel gives to programs.
const FIRST_WIRE: u16 = 20_000;

/// Run inside by [`VirtualNetwork::run_inside`] as the first process of a PID namespace. Its own `/proc` is a
/// comfort that some containers forbid. It does not become the command, because a first process ignores Ctrl-C.
const INSIDE: &str = r#"mount -t proc proc /proc 2>/dev/null; "$@"; exit $?"#;

/// What a network is made for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How many boards there is room for, up to [`MAX_BOARDS`].
    pub boards: usize,
    /// Makes losses and other chances repeat from run to run.
    pub seed: u64,
    /// Where frames are captured, as pcapng; the file is emptied first.
    pub capture: Option<PathBuf>,
}

/// The network this process is inside of. Dropping it stops switch and relay and kills boards that still run; the
/// process stays in the namespace.
pub struct VirtualNetwork {
    boards: usize,
    entered: Entered,
    // Dropped in this order: first the boards die, then what they talk to.
    tether: Tether,
    relay: Arc<Relay>,
    fabric: Fabric,
    consoles: Mutex<Vec<Option<Arc<Console>>>>,
    /// The places that boards with a serial port have.
    serial: Mutex<Vec<Weak<()>>>,
}

impl VirtualNetwork {
    /// Looks whether this machine has all that a network and its boards need, so that nobody waits for a build in vain.
    ///
    /// # Errors
    /// What is missing, with what to change.
    pub fn prerequisites() -> Result<(), Error> {
        machine::require_qemu()?;
        require_setpriv()?;
        namespace::check()?;
        host::check()
    }

    /// Moves this process into a new network and starts switch, DHCP server and relay there. To be called before
    /// the first thread is started; as root, or as a user who may make user namespaces and open `/dev/net/tun`.
    ///
    /// # Errors
    /// Everything that the machine refuses, with what to change. The process may be inside the namespace already,
    /// so it should end.
    pub fn enter(options: &Options) -> Result<Self, Error> {
        let boards = options.boards;
        if boards > MAX_BOARDS {
            return Err(Error::TooManyBoards {
                boards,
                limit: MAX_BOARDS,
            });
        }
        let capture = options.capture.as_deref().map(Capture::create).transpose()?;
        let listeners = relay::listen(boards)?;
        let entered = namespace::enter()?;

        let tap = host::open()?;
        let mut switch = Switch::new(options.seed);
        switch.serve_dhcp(dhcp::Server::new());
        let fabric = Fabric::start(switch, capture)?;
        fabric.add_port("host", End::Tap(tap));
        for board in 0..boards {
            fabric.add_port(&format!("board {board}"), End::Datagrams(open_wire(wire(board))?));
        }
        let target = |board| SocketAddr::from((board_address(board), MCP_PORT));
        let relays = listeners
            .into_iter()
            .enumerate()
            .map(|(board, listener)| (listener, target(board)));
        let relay = Arc::new(Relay::start(relays.collect())?);
        let consoles = Mutex::new(vec![None; boards]);
        let serial = Mutex::new((0..boards).map(|_| Weak::new()).collect());
        Ok(VirtualNetwork {
            boards,
            entered,
            tether: Tether::start()?,
            relay,
            fabric,
            consoles,
            serial,
        })
    }

    /// How many boards there is room for.
    pub fn size(&self) -> usize {
        self.boards
    }

    /// Starts a board in a place that is free. It is on its way up when this returns:
    /// [`Board::wait_until_serving`] tells when it answers.
    pub fn start_board(&self, board: usize, elf: &Path, options: &BoardOptions) -> Result<Board, Error> {
        self.check(board)?;
        self.check_free(board)?;
        let mut consoles = self.consoles.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Board::start(board, wire(board), elf, options, &self.tether, &self.relay)?;
        consoles[board] = Some(started.shared_console());
        Ok(started)
    }

    /// Switches a board with a serial port on, in a place that is free.
    pub fn start_serial_board(&self, board: usize, options: &SerialOptions) -> Result<SerialBoard, Error> {
        self.check(board)?;
        self.check_free(board)?;
        let taken = Arc::new(());
        let mut serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        serial[board] = Arc::downgrade(&taken);
        let place = Place {
            mac: mac_of(board_address(board)),
            wire: Some(wire(board)),
            tether: self.tether.clone(),
            relay: Some((Arc::clone(&self.relay), board)),
            _taken: taken,
        };
        SerialBoard::start(place, options)
    }

    /// Where a board is reached from outside, by programs of this machine. It is the same whatever runs in the
    /// board's place; while nothing runs, connections are closed at once.
    pub fn relay_address(&self, board: usize) -> Result<SocketAddr, Error> {
        self.check(board)?;
        Ok(self.relay.address(board))
    }

    /// [`VirtualNetwork::relay_address`] as the URL of the board's MCP endpoint.
    pub fn relay_url(&self, board: usize) -> Result<String, Error> {
        Ok(format!("http://{}{MCP_PATH}", self.relay_address(board)?))
    }

    /// Changes what a board's cable does to frames put on it from now on.
    pub fn impair(&self, board: usize, impairment: Impairment) -> Result<(), Error> {
        self.fabric.impair(self.port(board)?, impairment);
        Ok(())
    }

    /// [`VirtualNetwork::impair`] for all boards. A frame between a board and this process crosses one such
    /// cable, a frame between two boards two.
    pub fn impair_all(&self, impairment: Impairment) {
        for board in 0..self.boards {
            self.fabric.impair(board + 1, impairment);
        }
    }

    /// Cuts a board's cable, or mends it. The board is not told.
    pub fn connect(&self, board: usize, connected: bool) -> Result<(), Error> {
        self.fabric.connect(self.port(board)?, connected);
        Ok(())
    }

    /// What went over a board's cable so far.
    pub fn counters(&self, board: usize) -> Result<Counters, Error> {
        Ok(self.fabric.counters(self.port(board)?))
    }

    /// What went between the switch and the namespace's own stack so far.
    pub fn host_counters(&self) -> Counters {
        self.fabric.counters(HOST_PORT)
    }

    /// Why the capture ended early, once; none when all is well.
    pub fn capture_error(&self) -> Option<Error> {
        self.fabric.capture_error()
    }

    /// The beginning of a command line that runs the rest of it inside, for another shell of the same user.
    pub fn inside_command(&self) -> String {
        let user = match self.entered {
            Entered::Network => "",
            Entered::UserAndNetwork => " --user --preserve-credentials",
        };
        format!("nsenter --target {}{user} --net", process::id())
    }

    /// Runs a program inside, on this process's terminal, until it ends. Whatever it started ends with it, and with
    /// this process. The code is 127 when there is no such program.
    pub fn run_inside<A: AsRef<OsStr>>(&self, program: &OsStr, arguments: &[A]) -> Result<ExitStatus, Error> {
        namespace::require_unshare()?;
        let mut command = Tether::command("unshare");
        command.args([
            "--pid",
            "--mount",
            "--fork",
            "--kill-child",
            "--",
            "sh",
            "-c",
            INSIDE,
            "sh",
        ]);
        command.arg(program).args(arguments);
        let step = || format!("run {} in the virtual network", program.display());
        let mut child = self.tether.spawn(command).map_err(Error::io(step()))?;
        child.wait().map_err(Error::io(step()))
    }

    fn check(&self, board: usize) -> Result<(), Error> {
        if board < self.boards {
            Ok(())
        } else {
            Err(Error::NoSuchBoard {
                board,
                size: self.boards,
            })
        }
    }

    fn check_free(&self, board: usize) -> Result<(), Error> {
        let consoles = self.consoles.lock().unwrap_or_else(PoisonError::into_inner);
        let serial = self.serial.lock().unwrap_or_else(PoisonError::into_inner);
        let running = consoles[board].as_ref().is_some_and(|console| !console.ended());
        if running || serial[board].strong_count() > 0 {
            return Err(Error::BoardRunning { board });
        }
        Ok(())
    }

    fn port(&self, board: usize) -> Result<PortId, Error> {
        self.check(board)?;
        Ok(board + 1)
    }
}

fn wire(board: usize) -> Wire {
    let end = |offset| SocketAddr::from((Ipv4Addr::LOCALHOST, FIRST_WIRE + 2 * board as u16 + offset));
    Wire {
        switch: end(0),
        board: end(1),
    }
}

/// The switch's end of a wire.
fn open_wire(wire: Wire) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = UdpSocket::bind(wire.switch)?;
        socket.connect(wire.board)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    open().map_err(Error::io("open a board's wire"))
}
