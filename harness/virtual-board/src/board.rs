//! A board: QEMU's riscv32 `virt` machine running a firmware, with its console.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use mcp_hil_harness::board::build_id;

use crate::Error;
use crate::console::{BootStage, Console, Content, NotSeen};
use crate::firmware;
use crate::machine::{self, Wire};
use crate::plan::{Mac, board_address, mac_of};
use crate::relay::Relay;
use crate::tether::Tether;

/// How many lines of the console an error shows.
const TAIL: usize = 20;
/// How long QEMU may take to die once it was killed.
const KILL: Duration = Duration::from_secs(5);

/// How a board is started.
#[derive(Clone, Debug, Default)]
pub struct BoardOptions {
    /// Where the console is logged; the file is emptied first.
    pub log: Option<PathBuf>,
    /// A file with its configuration sector (`fixtures/configuration`); none: the board goes by its defaults.
    pub configuration: Option<PathBuf>,
    /// More arguments for QEMU.
    pub qemu_arguments: Vec<OsString>,
}

/// A running board. Dropping it switches it off.
pub struct Board {
    number: usize,
    elf: PathBuf,
    /// Of the ELF file; empty when it has none.
    build_id: String,
    console: Arc<Console>,
    input: Option<ChildStdin>,
    child: Child,
}

/// What a board that serves has told on its console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serving {
    /// Its MCP endpoint, reached inside.
    pub url: String,
    /// How long it took from power-on.
    pub after: Duration,
}

impl Board {
    pub(crate) fn start(
        number: usize,
        wire: Wire,
        elf: &Path,
        options: &BoardOptions,
        tether: &Tether,
        relay: &Arc<Relay>,
    ) -> Result<Self, Error> {
        machine::require_qemu()?;
        firmware::check(elf)?;
        let build_id = build_id::of(elf).map_err(|reason| Error::Firmware {
            path: elf.to_owned(),
            reason,
        })?;
        let log = options.log.as_ref().map(|path| {
            File::create(path).map_err(Error::io(format!("write the console log {}", path.display())))
        });
        let mut command = machine::command(
            Some(wire),
            mac_of(board_address(number)),
            &[machine::RANDOM_NUMBERS],
        );
        if let Some(file) = &options.configuration {
            command.arg("-device").arg(loader(file));
        }
        command.arg("-kernel").arg(elf).args(&options.qemu_arguments);
        // What QEMU itself complains about belongs between the lines of the board.
        let (output, written) = io::pipe().map_err(Error::io("make the console's pipe"))?;
        let errors = written
            .try_clone()
            .map_err(Error::io("make the console's pipe"))?;
        command.stdin(Stdio::piped()).stdout(written).stderr(errors);

        let console = Arc::new(Console::new(log.transpose()?));
        let mut child = tether
            .spawn(command)
            .map_err(Error::io(format!("start {}", machine::QEMU)))?;
        let input = child.stdin.take();
        let mut board = Board {
            number,
            elf: elf.to_owned(),
            build_id: build_id.unwrap_or_default(),
            console,
            input,
            child,
        };
        relay.set_open(number, true);
        let (console, relay) = (Arc::clone(&board.console), Arc::clone(relay));
        let reading = thread::Builder::new()
            .name(format!("console {number}"))
            .spawn(move || {
                console.read(output);
                relay.set_open(number, false);
                console.end();
            });
        if let Err(error) = reading {
            let _ = board.child.kill();
            return Err(Error::io("read the console")(error));
        }
        Ok(board)
    }

    /// Its place on the network, from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its MAC address.
    pub fn mac(&self) -> Mac {
        mac_of(self.planned_address())
    }

    /// The address that DHCP gives it.
    pub fn planned_address(&self) -> Ipv4Addr {
        board_address(self.number)
    }

    /// What it prints.
    pub fn console(&self) -> &Console {
        &self.console
    }

    /// The same, for one that looks at it while the board is used.
    pub fn shared_console(&self) -> Arc<Console> {
        Arc::clone(&self.console)
    }

    /// Waits until it answers requests, and makes sure that it runs the firmware it was started with.
    pub fn wait_until_serving(&self, timeout: Duration) -> Result<Serving, Error> {
        let told = |content: &Content| {
            let serving = content.stage("serving")?;
            let url = serving.field("url")?.to_owned();
            let running = content
                .stage("build")
                .and_then(|stage| stage.field("id"))
                .unwrap_or_default()
                .to_owned();
            Some((
                Serving {
                    url,
                    after: serving.at - self.console.started(),
                },
                running,
            ))
        };
        let (serving, running) = self.wait_for("stage=serving", timeout, told)?;
        if running != self.build_id {
            let (board, path, wanted) = (self.number, self.elf.clone(), self.build_id.clone());
            return Err(Error::OtherBuild {
                board,
                path,
                wanted,
                running,
            });
        }
        Ok(serving)
    }

    /// Waits until it reports a stage of its start (`address`, `serving`, …) since its last reset.
    pub fn wait_for_stage(&self, name: &str, timeout: Duration) -> Result<BootStage, Error> {
        self.wait_for(&format!("stage={name}"), timeout, |content| {
            content.stage(name).cloned()
        })
    }

    /// Waits until `look` finds something on the console; `what` says in an error what that is.
    pub fn wait_for<T>(
        &self,
        what: &str,
        timeout: Duration,
        look: impl FnMut(&Content) -> Option<T>,
    ) -> Result<T, Error> {
        self.console.wait(timeout, look).map_err(|not_seen| {
            let (board, what, tail) = (self.number, what.to_owned(), self.console.tail(TAIL));
            match not_seen {
                NotSeen::TimedOut => Error::BoardSilent {
                    board,
                    what,
                    timeout,
                    tail,
                },
                NotSeen::Ended => Error::BoardEnded { board, what, tail },
            }
        })
    }

    /// Types a line on its console.
    pub fn type_line(&mut self, line: &str) -> Result<(), Error> {
        let step = || format!("type on the console of board {}", self.number);
        let Some(input) = &mut self.input else {
            return Err(Error::io(step())(io::ErrorKind::BrokenPipe.into()));
        };
        input
            .write_all(format!("{line}\n").as_bytes())
            .map_err(Error::io(step()))
    }

    /// Its process, for a person who wants to look at it.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended; none while it runs. A board that was told to shut down ends with code 0.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child
            .try_wait()
            .map_err(Error::io(format!("ask for the end of board {}", self.number)))
    }

    /// Waits for its end; none when it still runs when the time is up.
    pub fn wait_for_exit(&mut self, timeout: Duration) -> Result<Option<ExitStatus>, Error> {
        let deadline = Instant::now() + timeout;
        // The console ends with the process, or an instant before.
        let _ = self.console.wait(timeout, |_| None::<()>);
        loop {
            let status = self.exit_status()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Takes its power away. It says no goodbye.
    pub fn kill(&mut self) -> Result<(), Error> {
        self.child
            .kill()
            .map_err(Error::io(format!("kill board {}", self.number)))?;
        self.wait_for_exit(KILL).map(drop)
    }
}

/// The argument by which QEMU lays a file where the board looks for its configuration, at power-on and at each reset.
fn loader(file: &Path) -> OsString {
    let mut argument = OsString::from(format!(
        "loader,addr={:#x},force-raw=on,file=",
        machine::CONFIGURATION
    ));
    // a comma in a name is written twice
    for (index, part) in file
        .as_os_str()
        .as_bytes()
        .split(|byte| *byte == b',')
        .enumerate()
    {
        argument.push(if index == 0 { "" } else { ",," });
        argument.push(OsStr::from_bytes(part));
    }
    argument
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
