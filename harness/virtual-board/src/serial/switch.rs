//! A board's switches as a FIFO, for shells and other processes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode as Permissions, OFlags};
use rustix::io::Errno;

use super::Mode;
use super::board::Action;

/// A line that is longer is no order.
const MAX_LINE: usize = 256;

pub(super) struct Switch {
    fifo: OwnedFd,
    line: Vec<u8>,
}

impl Switch {
    /// Makes the FIFO, or takes the one that is there.
    pub fn make(path: &Path) -> io::Result<Self> {
        let permissions = Permissions::RUSR | Permissions::WUSR;
        match rustix::fs::mknodat(CWD, path, FileType::Fifo, permissions, 0) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // Open for writing too, so that it does not end with the last writer.
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fifo = rustix::fs::open(path, flags, Permissions::empty())?;
        if !FileType::from_raw_mode(rustix::fs::fstat(&fifo)?.st_mode).is_fifo() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "there is a file in its place",
            ));
        }
        Ok(Switch {
            fifo,
            line: Vec::new(),
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fifo.as_fd()
    }

    /// What was ordered, or what of it is no order.
    pub fn read(&mut self) -> Vec<Result<Action, String>> {
        let mut buffer = [0; 1024];
        let length = rustix::io::read(&self.fifo, &mut buffer).unwrap_or(0);
        let mut orders = Vec::new();
        for byte in &buffer[..length] {
            if *byte == b'\n' {
                let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
                orders.push(parse(&line));
            } else if self.line.len() < MAX_LINE {
                self.line.push(*byte);
            }
        }
        orders
    }
}

fn parse(line: &str) -> Result<Action, String> {
    match line.trim() {
        "run" => Ok(Action::Reset(Mode::Run)),
        "download" => Ok(Action::Reset(Mode::Download)),
        "off" => Ok(Action::PowerOff),
        "fault none" => Ok(Action::Fault(None)),
        other => match other.strip_prefix("fault ") {
            Some(fault) => match fault.parse() {
                Ok(planned) => Ok(Action::Fault(Some(planned))),
                Err(error) => Err(format!("the switch was told {other:?}: {error}")),
            },
            None => Err(format!(
                "the switch was told {other:?}; it knows: run, download, off, fault NAME[@MOMENT], fault none"
            )),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serial::fault::Fault;
    use std::io::Write;

    #[test]
    fn lines_are_orders_also_from_several_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("switch");
        let mut switch = Switch::make(&path).unwrap();
        let write = |text: &str| {
            let mut file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        write("down");
        assert_eq!(switch.read(), []);
        write("load\nrun\n");
        assert_eq!(
            switch.read(),
            [Ok(Action::Reset(Mode::Download)), Ok(Action::Reset(Mode::Run))]
        );
        write("fault hung\nfault none\noff\n");
        let hung = Action::Fault(Some(Fault::Hung.into()));
        assert_eq!(
            switch.read(),
            [Ok(hung), Ok(Action::Fault(None)), Ok(Action::PowerOff)]
        );
        write("reset\n");
        let error =
            "the switch was told \"reset\"; it knows: run, download, off, fault NAME[@MOMENT], fault none";
        assert_eq!(switch.read(), [Err(error.to_owned())]);
    }

    #[test]
    fn another_file_in_its_place_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("switch");
        std::fs::write(&path, "mine").unwrap();
        assert!(Switch::make(&path).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    }
}
