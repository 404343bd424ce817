//! Starts a board again: by the lines of its serial port, by the power of a hub's port, by a command, by a virtual board's switch.

use super::failure::{Failure, Kind};
use super::mac::Mac;
use super::ports;
use espflash::connection::{Connection, ResetAfterOperation, ResetBeforeOperation};
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use serialport::{SerialPortType, TTYPort, UsbPortInfo};
use std::fmt::Debug;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toml_edit::Item;

/// A command or a switch that takes longer has hung.
const LIMIT: Duration = Duration::from_secs(15);
/// A port is back by then, after its power was.
const BACK: Duration = Duration::from_secs(10);

/// What a board is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Start {
    /// The chip's ROM loader, which waits for a flashing tool.
    Download,
    /// What is in flash.
    Run,
}

impl Start {
    const fn word(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Run => "run",
        }
    }
}

/// Where a board is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Its name, for messages.
    pub board: String,
    /// Its port.
    pub port: PathBuf,
    /// Its MAC address, by which a port that moved is found.
    pub mac: Option<String>,
}

impl Site {
    /// Opens the port, wherever it is now.
    ///
    /// # Errors
    /// Those of [`ports::open`].
    pub fn open(&self, baud: u32) -> Result<TTYPort, Failure> {
        ports::open(&self.board, &self.port, self.mac(), baud, ports::PATIENCE)
    }

    /// The same, if it can be had at once.
    ///
    /// # Errors
    /// Those of [`ports::open`].
    pub fn open_now(&self, baud: u32) -> Result<TTYPort, Failure> {
        ports::open(&self.board, &self.port, self.mac(), baud, Duration::ZERO)
    }

    /// Its MAC address, as far as it is known.
    pub fn mac(&self) -> Option<Mac> {
        self.mac.as_deref().and_then(|mac| mac.parse().ok())
    }

    fn failed(&self, cause: impl Into<String>) -> Failure {
        Failure::new(Kind::PowerFailed, &self.board, cause)
    }
}

/// A way to start a board again.
pub trait Power: Debug {
    /// Starts it, and gives its port, opened early enough to read what it says first.
    ///
    /// # Errors
    /// Those of [`ports::open`], and [`Kind::PowerFailed`].
    fn restart(&self, site: &Site, start: Start, baud: u32) -> Result<TTYPort, Failure>;
}

/// How a board is started again, as an inventory has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PowerBy {
    /// DTR and RTS, or what stands for them on a chip's own USB port.
    #[default]
    Lines,
    /// Nothing: the board is in the right state, or takes itself there.
    None,
    /// A hub that switches the power of its ports: `uhubctl -l HUB -p PORT`.
    Hub {
        /// Its location, as `1-1`.
        hub: String,
        /// The board's port on it.
        port: u8,
    },
    /// A shell command for each kind of start. It is told `MCP_HIL_BOARD` and `MCP_HIL_PORT`.
    Command {
        /// Starts what is in flash.
        run: String,
        /// Starts the ROM loader.
        download: String,
    },
    /// The switch of a virtual board: a FIFO that takes `download` and `run`.
    Switch(PathBuf),
}

impl PowerBy {
    /// Reads the field `power` of an inventory.
    ///
    /// # Errors
    /// What would be right.
    pub fn read(item: Option<&Item>) -> Result<Self, String> {
        let Some(item) = item else {
            return Ok(Self::default());
        };
        match item.as_str() {
            Some("lines") => return Ok(Self::Lines),
            Some("none") => return Ok(Self::None),
            _ => {}
        }
        let table = item.as_table_like().ok_or(FORMS)?;
        let text = |key: &str| table.get(key).and_then(Item::as_str).map(str::to_owned);
        let number = |key: &str| {
            let number = table.get(key).and_then(Item::as_integer);
            number.and_then(|number| u8::try_from(number).ok())
        };
        if let (Some(hub), Some(port)) = (text("hub"), number("port")) {
            Ok(Self::Hub { hub, port })
        } else if let (Some(run), Some(download)) = (text("run"), text("download")) {
            Ok(Self::Command { run, download })
        } else if let Some(fifo) = text("switch") {
            Ok(Self::Switch(fifo.into()))
        } else {
            Err(FORMS.to_owned())
        }
    }
}

const FORMS: &str = "must be \"lines\", \"none\", { hub = \"1-1\", port = 4 }, { run = \"COMMAND\", download = \"COMMAND\" } or { switch = \"FIFO\" }";

impl Power for PowerBy {
    fn restart(&self, site: &Site, start: Start, baud: u32) -> Result<TTYPort, Failure> {
        match self {
            Self::None => site.open(baud),
            Self::Lines => by_lines(site, start, baud),
            Self::Hub { hub, port } => by_hub(site, start, baud, hub, *port),
            Self::Command { run, download } => {
                let command = match start {
                    Start::Run => run,
                    Start::Download => download,
                };
                let opened = site.open(baud)?;
                clear(&opened);
                shell(site, command)?;
                Ok(opened)
            }
            Self::Switch(fifo) => {
                let opened = site.open(baud)?;
                clear(&opened);
                switch(site, fifo, start)?;
                Ok(opened)
            }
        }
    }
}

/// What came before the restart says nothing about what comes after.
fn clear(port: &TTYPort) {
    let _ = serialport::SerialPort::clear(port, serialport::ClearBuffer::Input);
}

fn by_lines(site: &Site, start: Start, baud: u32) -> Result<TTYPort, Failure> {
    let port = site.open(baud)?;
    let usb = usb_of(site);
    let mut connection = Connection::new(
        port,
        usb,
        ResetAfterOperation::HardReset,
        ResetBeforeOperation::NoReset,
        baud,
    );
    let done = match start {
        Start::Download => connection.reset_to_flash(false),
        Start::Run => connection.reset(),
    };
    done.map_err(|error| {
        let port = site.port.display();
        let mut failure = site.failed(format!("{port} has no DTR and RTS that reset a board: {error}"));
        failure.advice = Some(
            "say in the inventory how the board is reset, as power = \"none\" or { run = …, download = … }"
                .to_owned(),
        );
        failure
    })?;
    Ok(connection.into_serial())
}

/// What decides on the sequence of the lines: a chip's own USB port has another than a bridge.
pub(super) fn usb_of(site: &Site) -> UsbPortInfo {
    let info = ports::locate(&site.port, site.mac()).and_then(|path| {
        let real = path.canonicalize().ok()?;
        let ports = if Path::new("/sys/class/tty").is_dir() {
            serialport::available_ports().ok()?
        } else {
            Vec::new()
        };
        ports.into_iter().find(|port| Path::new(&port.port_name) == real)
    });
    match info.map(|info| info.port_type) {
        Some(SerialPortType::UsbPort(usb)) => usb,
        _ => UsbPortInfo {
            vid: 0,
            pid: 0,
            serial_number: None,
            manufacturer: None,
            product: None,
            location: None,
        },
    }
}

fn by_hub(site: &Site, start: Start, baud: u32, hub: &str, port: u8) -> Result<TTYPort, Failure> {
    let port = port.to_string();
    let mut command = Command::new("uhubctl");
    command.args(["-l", hub, "-p", &port, "-a", "cycle", "-d", "1"]);
    run(site, command, "uhubctl")?;
    let end = Instant::now() + BACK;
    loop {
        // a device that has just come may be there before udev has given it to its group
        match site.open_now(baud) {
            Ok(opened) if start == Start::Run => return Ok(opened),
            Ok(_) => return by_lines(site, start, baud),
            Err(failure) if Instant::now() > end => return Err(failure),
            Err(_) => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn shell(site: &Site, line: &str) -> Result<(), Failure> {
    let mut command = Command::new("sh");
    command
        .args(["-c", line])
        .env("MCP_HIL_BOARD", &site.board)
        .env("MCP_HIL_PORT", &site.port);
    run(site, command, line)
}

/// Runs a command to its end; it and all that it started are ended at the deadline.
fn run(site: &Site, mut command: Command, shown: &str) -> Result<(), Failure> {
    let output = tempfile::tempfile().and_then(|file| Ok((file.try_clone()?, file.try_clone()?, file)));
    let (stdout, stderr, mut kept) =
        output.map_err(|error| site.failed(format!("no temporary file: {error}")))?;
    command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .process_group(0);
    let mut child = command
        .spawn()
        .map_err(|error| site.failed(format!("`{shown}` does not start: {error}")))?;
    let end = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(20)),
            _ => break None,
        }
    };
    let why = match status {
        Some(status) if status.success() => return Ok(()),
        Some(status) => format!("`{shown}`: {status}"),
        None => {
            if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
            let _ = child.wait();
            format!("`{shown}` did not end within {} s", LIMIT.as_secs())
        }
    };
    let mut said = String::new();
    let _ = std::io::Seek::rewind(&mut kept);
    let _ = std::io::Read::read_to_string(&mut std::io::Read::take(&mut kept, 10_000), &mut said);
    let said = said.lines().map(str::to_owned).collect();
    Err(site.failed(why).with_output(said))
}

/// One line into the FIFO. The board says on its console what came of it.
fn switch(site: &Site, fifo: &Path, start: Start) -> Result<(), Failure> {
    // without waiting for a reader: no board is there then
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let thrown = OpenOptions::new()
        .write(true)
        .custom_flags(flags)
        .open(fifo)
        .and_then(|mut fifo| fifo.write_all(format!("{}\n", start.word()).as_bytes()));
    thrown.map_err(|error| {
        let mut failure = site.failed(format!(
            "no virtual board has its switch at {}: {error}",
            fifo.display()
        ));
        failure.advice = Some("start the virtual board again".to_owned());
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serialport::SerialPort as _;

    fn site(port: &TTYPort) -> Site {
        Site {
            board: "bench-1".to_owned(),
            port: port.name().unwrap().into(),
            mac: None,
        }
    }

    /// A port that can be opened, and the other end that keeps it.
    fn pty() -> (TTYPort, Site) {
        let (board, port) = TTYPort::pair().unwrap();
        let site = site(&port);
        (board, site)
    }

    #[test]
    fn a_command_is_told_the_board_and_what_it_says_is_kept_when_it_fails() {
        let (_board, site) = pty();
        let power = |run: &str| PowerBy::Command {
            run: run.to_owned(),
            download: "exit 9".to_owned(),
        };
        power("test \"$MCP_HIL_BOARD\" = bench-1 && test -e \"$MCP_HIL_PORT\"")
            .restart(&site, Start::Run, 115_200)
            .unwrap();
        let failed = power("echo no relay; exit 3")
            .restart(&site, Start::Run, 115_200)
            .unwrap_err();
        assert_eq!(failed.kind, Kind::PowerFailed);
        assert_eq!(failed.output, ["no relay"]);
        assert!(failed.cause.ends_with("exit status: 3"), "{failed}");
    }

    #[test]
    fn a_switch_is_told_what_to_start() {
        let (_board, site) = pty();
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("switch");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let power = PowerBy::Switch(fifo.clone());
        let nobody = power.restart(&site, Start::Run, 115_200).unwrap_err();
        assert!(
            nobody.cause.starts_with("no virtual board has its switch"),
            "{nobody}"
        );
        let mut board = OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        drop(power.restart(&site, Start::Download, 115_200).unwrap());
        power.restart(&site, Start::Run, 115_200).unwrap();
        let mut heard = [0; 13];
        std::io::Read::read_exact(&mut board, &mut heard).unwrap();
        assert_eq!(&heard, b"download\nrun\n");
    }

    #[test]
    fn a_pseudo_terminal_has_no_lines() {
        let (_board, site) = pty();
        let failed = PowerBy::Lines.restart(&site, Start::Run, 115_200).unwrap_err();
        assert_eq!(failed.kind, Kind::PowerFailed, "{failed}");
        assert!(failed.mend().contains("power = \"none\""));
    }

    #[test]
    fn the_forms_of_an_inventory_are_read() {
        let read = |text: &str| {
            let document: toml_edit::DocumentMut = text.parse().unwrap();
            PowerBy::read(document.get("power"))
        };
        assert_eq!(read(""), Ok(PowerBy::Lines));
        assert_eq!(read("power = \"none\""), Ok(PowerBy::None));
        assert_eq!(
            read("power = { switch = \"/s\" }"),
            Ok(PowerBy::Switch("/s".into()))
        );
        assert!(read("power = { hub = \"1-1\" }").is_err());
        assert!(read("power = 3").is_err());
    }
}
