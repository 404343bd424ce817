//! The process that runs a board's program, with its UART.

use std::fs::{self, File};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustix::io::Errno;

use super::kind::Line;
use crate::Error;
use crate::tether::Tether;

/// How long a program may take to offer its UART.
const CONNECT: Duration = Duration::from_secs(5);

/// A running program. Dropping it ends it.
pub(super) struct Guest {
    child: Child,
    input: OwnedFd,
    output: OwnedFd,
}

impl Guest {
    /// Starts it.
    pub fn start(mut command: Command, line: &Line, tether: &Tether) -> Result<Self, Error> {
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
            Line::Tcp(address, log) => {
                let said = File::create(log).map_err(Error::io(format!("write {}", log.display())))?;
                let errors = said.try_clone().map_err(Error::io(step))?;
                command.stdin(Stdio::null()).stdout(said).stderr(errors);
                let mut child = tether.spawn(command).map_err(Error::io(step))?;
                let stream = connect(*address, &mut child, log);
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

    /// To be polled for what it prints.
    pub fn output(&self) -> BorrowedFd<'_> {
        self.output.as_fd()
    }

    /// What it has printed, none at its end.
    pub fn read(&self) -> io::Result<Option<Vec<u8>>> {
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.output, &mut buffer) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(buffer[..length].to_vec())),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Some(Vec::new())),
            Err(error) => Err(error.into()),
        }
    }

    /// Types to it. One that does not listen loses bytes, as a UART does.
    pub fn write(&self, bytes: &[u8]) {
        let _ = rustix::io::write(&self.input, bytes);
    }

    /// Has it stand still.
    pub fn stop(&self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGSTOP);
    }

    /// Waits for its end, which it has announced by the end of what it prints.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait()
    }
}

/// Connects to a server that is about to be there.
fn connect(address: SocketAddr, child: &mut Child, log: &Path) -> io::Result<TcpStream> {
    let deadline = Instant::now() + CONNECT;
    loop {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok(stream),
            Err(error) if Instant::now() >= deadline => return Err(error),
            Err(_) => {}
        }
        if let Some(status) = child.try_wait()? {
            let said = fs::read(log).unwrap_or_default();
            let said = String::from_utf8_lossy(&said);
            let last = said.lines().last().map(|line| format!(", and says: {line}"));
            return Err(io::Error::other(format!(
                "it has ended: {status}{}",
                last.unwrap_or_default()
            )));
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
