//! A pseudo-terminal in the place of a serial port.
//!
//! As on a UART, what is sent while nobody has the port open is lost, and the next one to open it starts afresh.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, QueueSelector, ioctl_tiocnxcl, tcflush, tcgetattr, tcsetattr};

/// Bytes that wait for a host that does not read. Further ones are lost.
const MOST_WAITING: usize = 256 << 10;

pub(super) struct Port {
    master: OwnedFd,
    /// Kept open: with the last end closed, the terminal would lose its raw mode and echo what the board says.
    slave: OwnedFd,
    events: OwnedFd,
    path: PathBuf,
    openers: usize,
    waiting: VecDeque<u8>,
}

impl Port {
    pub fn open() -> io::Result<Self> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let name = ptsname(&master, Vec::new())?;
        let path = PathBuf::from(name.to_string_lossy().into_owned());
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&path, flags, Mode::empty())?;
        let events = inotify::init(inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK)?;
        inotify::add_watch(&events, &path, WatchFlags::OPEN | WatchFlags::CLOSE)?;
        let port = Port {
            master,
            slave,
            events,
            path,
            openers: 0,
            waiting: VecDeque::new(),
        };
        port.make_raw()?;
        Ok(port)
    }

    /// The path of the end that a tool opens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// To be polled for input, and for output while [`Port::is_waiting`].
    pub fn line(&self) -> BorrowedFd<'_> {
        self.master.as_fd()
    }

    /// To be polled for input: somebody opens or closes the port.
    pub fn events(&self) -> BorrowedFd<'_> {
        self.events.as_fd()
    }

    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What the host has sent; empty when there is nothing.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut buffer = [0; 4096];
        match rustix::io::read(&self.master, &mut buffer) {
            Ok(length) => Ok(buffer[..length].to_vec()),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends bytes to whoever has the port open.
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.look_who_is_there()?;
        if self.openers > 0 {
            let room = MOST_WAITING.saturating_sub(self.waiting.len());
            self.waiting.extend(&bytes[..bytes.len().min(room)]);
        }
        self.flush()
    }

    /// Sends what waits, as far as the host takes it.
    pub fn flush(&mut self) -> io::Result<()> {
        while !self.waiting.is_empty() {
            let (first, _) = self.waiting.as_slices();
            match rustix::io::write(&self.master, first) {
                Ok(length) => drop(self.waiting.drain(..length)),
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Takes note of who opened or closed the port.
    pub fn look_who_is_there(&mut self) -> io::Result<()> {
        let (mut opened, mut closed) = (0, 0);
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut reader = Reader::new(&self.events, &mut buffer);
        loop {
            match reader.next() {
                Ok(event) if event.events().contains(ReadFlags::OPEN) => opened += 1,
                Ok(event)
                    if event
                        .events()
                        .intersects(ReadFlags::CLOSE_WRITE | ReadFlags::CLOSE_NOWRITE) =>
                {
                    closed += 1;
                }
                Ok(_) => {}
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let before = self.openers;
        self.openers = (self.openers + opened).saturating_sub(closed);
        if self.openers == 0 && before + opened > 0 {
            self.leave_as_found()?;
        }
        Ok(())
    }

    /// What the last one to have the port open did to it must not reach the next.
    fn leave_as_found(&mut self) -> io::Result<()> {
        self.waiting.clear();
        tcflush(&self.slave, QueueSelector::IFlush)?;
        ioctl_tiocnxcl(&self.slave)?;
        self.make_raw()
    }

    fn make_raw(&self) -> io::Result<()> {
        let mut settings = tcgetattr(&self.slave)?;
        settings.make_raw();
        tcsetattr(&self.slave, OptionalActions::Now, &settings)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::io::{Read, Write};

    fn open(port: &Port) -> File {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(port.path())
            .unwrap()
    }

    #[test]
    fn bytes_pass_as_they_are_both_ways() {
        let mut port = Port::open().unwrap();
        let mut host = open(&port);
        port.send(b"\x00\r\n\x03\x11\xff").unwrap();
        let mut read = [0; 6];
        host.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"\x00\r\n\x03\x11\xff");
        host.write_all(b"\r\n\x04\x13\x7f").unwrap();
        assert_eq!(port.read().unwrap(), b"\r\n\x04\x13\x7f");
        assert_eq!(port.read().unwrap(), b"", "nothing is echoed, and nothing waits");
    }

    #[test]
    fn what_nobody_hears_is_lost() {
        let mut port = Port::open().unwrap();
        port.send(b"nobody").unwrap();
        let host = open(&port);
        port.send(b"not read").unwrap();
        drop(host);
        port.send(b"nobody").unwrap();
        let mut host = open(&port);
        port.send(b"heard").unwrap();
        let mut read = [0; 16];
        let length = host.read(&mut read).unwrap();
        assert_eq!(&read[..length], b"heard");
    }

    #[test]
    fn a_host_that_does_not_read_takes_no_endless_memory() {
        let mut port = Port::open().unwrap();
        let _host = open(&port);
        for _ in 0..100 {
            port.send(&[b'x'; 10_000]).unwrap();
        }
        assert!(port.is_waiting());
        assert!(port.waiting.len() <= MOST_WAITING);
    }
}
