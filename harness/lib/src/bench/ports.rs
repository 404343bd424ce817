//! Serial ports: which there are, how they are called, why one can't be opened.

use super::failure::{Failure, Kind};
use super::mac::Mac;
use serialport::{SerialPortType, TTYPort, UsbPortInfo};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Names of ports that stay when the numbers of devices change, made by udev.
const BY_ID: &str = "/dev/serial/by-id";
/// Vendors of the USB chips that such boards have: Espressif, Silicon Labs, WCH, FTDI.
const VENDORS: [u16; 4] = [0x303a, 0x10c4, 0x1a86, 0x0403];
/// A port that was just closed by a program that ended, or that comes back after a reset, can be had a moment later.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// A serial port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Its device, as `/dev/ttyACM0`.
    pub path: PathBuf,
    /// Its link below `/dev/serial/by-id`.
    pub id: Option<PathBuf>,
    /// What USB tells of it.
    pub usb: Option<Usb>,
}

/// What USB tells of a port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usb {
    /// Where it hangs, as `1-1.4`.
    pub location: String,
    /// Vendor and product.
    pub id: (u16, u16),
    /// Serial number; for a chip's own USB port it is the MAC address.
    pub serial: Option<String>,
    /// What it calls itself.
    pub product: Option<String>,
}

impl Port {
    /// The name that stays.
    pub fn stable(&self) -> &Path {
        self.id.as_deref().unwrap_or(&self.path)
    }

    /// Whether a path leads here.
    pub fn is(&self, path: &Path) -> bool {
        path == self.path
            || Some(path) == self.id.as_deref()
            || path.canonicalize().is_ok_and(|real| real == self.path)
    }

    /// Whether this may be a board: it hangs on USB, by one of the chips that such boards have.
    pub fn may_be_board(&self) -> bool {
        self.usb.as_ref().is_some_and(|usb| VENDORS.contains(&usb.id.0))
    }
}

/// The ports of this machine, in the order of their names.
pub fn list() -> Vec<Port> {
    // the library panics where there is no sysfs, as in some containers
    if cfg!(target_os = "linux") && !Path::new("/sys/class/tty").is_dir() {
        return Vec::new();
    }
    let ids = ids();
    let port = |info: serialport::SerialPortInfo| {
        let path = PathBuf::from(info.port_name);
        let id = ids
            .iter()
            .find(|(real, _)| *real == path)
            .map(|(_, link)| link.clone());
        let usb = match info.port_type {
            SerialPortType::UsbPort(usb) => Some(describe(usb)),
            _ => None,
        };
        Port { path, id, usb }
    };
    let mut ports: Vec<_> = serialport::available_ports()
        .unwrap_or_default()
        .into_iter()
        .map(port)
        .collect();
    ports.sort_by(|one, other| one.path.cmp(&other.path));
    ports
}

fn describe(usb: UsbPortInfo) -> Usb {
    let location = usb.location.map(|location| {
        let chain: Vec<_> = location.port_chain().iter().map(u8::to_string).collect();
        format!("{}-{}", location.bus_id(), chain.join("."))
    });
    Usb {
        location: location.unwrap_or_default(),
        id: (usb.vid, usb.pid),
        serial: usb.serial_number,
        product: usb.product,
    }
}

/// Device and link of each port that udev has named.
fn ids() -> Vec<(PathBuf, PathBuf)> {
    let Ok(links) = fs::read_dir(BY_ID) else {
        return Vec::new();
    };
    links
        .flatten()
        .filter_map(|link| Some((link.path().canonicalize().ok()?, link.path())))
        .collect()
}

/// Where a board's port is now: where the inventory says, or else the port whose USB serial number is the board's MAC address.
pub fn locate(port: &Path, mac: Option<Mac>) -> Option<PathBuf> {
    if port.exists() {
        return Some(port.to_owned());
    }
    let mac = mac?;
    let is_mac = |usb: &Usb| usb.serial.as_deref().and_then(|serial| serial.parse().ok()) == Some(mac);
    list()
        .into_iter()
        .find(|port| port.usb.as_ref().is_some_and(is_mac))
        .map(|port| port.path)
}

/// What the lease of a port is called: the same for everyone who means this port, however it is written.
pub fn key(port: &Path) -> String {
    let real = port.canonicalize().unwrap_or_else(|_| port.to_owned());
    let id = ids()
        .into_iter()
        .find(|(device, _)| *device == real)
        .map(|(_, link)| link);
    id.unwrap_or(real)
        .display()
        .to_string()
        .trim_start_matches('/')
        .to_owned()
}

/// Opens a board's port for it alone. One that is busy or missing is asked for again, for so long.
///
/// # Errors
/// [`Kind::PortMissing`], [`Kind::PermissionDenied`], [`Kind::PortBusy`].
pub fn open(
    board: &str,
    port: &Path,
    mac: Option<Mac>,
    baud: u32,
    patience: Duration,
) -> Result<TTYPort, Failure> {
    let start = Instant::now();
    loop {
        match open_once(board, port, mac, baud) {
            Err(failure) if failure.kind != Kind::PermissionDenied && start.elapsed() < patience => {
                std::thread::sleep(Duration::from_millis(50));
            }
            opened => return opened,
        }
    }
}

fn open_once(board: &str, port: &Path, mac: Option<Mac>, baud: u32) -> Result<TTYPort, Failure> {
    let missing = || {
        let cause = format!("there is no {}", port.display());
        Failure::new(Kind::PortMissing, board, cause)
    };
    let path = locate(port, mac).ok_or_else(missing)?;
    let shown = path.display();
    let builder = serialport::new(shown.to_string(), baud).timeout(Duration::from_millis(100));
    builder.open_native().map_err(|error| match error.kind() {
        serialport::ErrorKind::Io(std::io::ErrorKind::NotFound) => missing(),
        serialport::ErrorKind::Io(std::io::ErrorKind::PermissionDenied) => Failure {
            advice: way_in(&path),
            ..Failure::new(
                Kind::PermissionDenied,
                board,
                format!("{shown} may not be opened"),
            )
        },
        serialport::ErrorKind::NoDevice => {
            let cause = format!("{shown} is open in another program{}", user_of(&path));
            Failure::new(Kind::PortBusy, board, cause)
        }
        _ => Failure::new(Kind::PortMissing, board, format!("{shown}: {error}")),
    })
}

/// How to be allowed to open a device, as far as its owner and the machine's groups tell.
pub(super) fn way_in(device: &Path) -> Option<String> {
    let meta = fs::metadata(device).ok()?;
    let groups = fs::read_to_string("/etc/group").ok()?;
    Some(advice(meta.mode(), meta.gid(), &groups))
}

fn advice(mode: u32, gid: u32, groups: &str) -> String {
    let gid = gid.to_string();
    let group = groups
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&gid.as_str()));
    match group {
        Some(fields) if mode & 0o060 == 0o060 && fields[0] != "root" => format!(
            "join the group {0}: `sudo usermod -aG {0} $USER`, then log in again; or install the udev rule of ci/99-mcp-hil.rules",
            fields[0]
        ),
        _ => "install the udev rule of ci/99-mcp-hil.rules, which gives serial ports to the group dialout, and join that group"
            .to_owned(),
    }
}

/// ` (NAME, pid N)` of a process that has the device open, as far as we may look.
fn user_of(device: &Path) -> String {
    let Ok(real) = device.canonicalize() else {
        return String::new();
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut users = processes.filter_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let mut open = fs::read_dir(process.path().join("fd")).ok()?.flatten();
        let has = open.any(|fd| fs::read_link(fd.path()).is_ok_and(|path| path == real));
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        (has && pid != std::process::id()).then(|| format!(" ({}, pid {pid})", name.trim()))
    });
    users.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUPS: &str = "root:x:0:\ndialout:x:20:ann\n";

    #[test]
    fn who_may_not_open_a_port_learns_the_group() {
        assert!(
            advice(0o020_660, 20, GROUPS)
                .starts_with("join the group dialout: `sudo usermod -aG dialout $USER`")
        );
        assert!(advice(0o020_600, 0, GROUPS).starts_with("install the udev rule"));
    }

    #[test]
    fn a_port_that_is_not_there_is_missing() {
        let failure = open(
            "bench-1",
            Path::new("/dev/no-such-port"),
            None,
            115_200,
            Duration::ZERO,
        )
        .unwrap_err();
        assert_eq!(
            failure.to_string(),
            "bench-1: port-missing: there is no /dev/no-such-port"
        );
    }

    #[test]
    fn a_port_that_is_open_already_is_busy() {
        let (_board, port) = TTYPort::pair().unwrap();
        let path = PathBuf::from(serialport::SerialPort::name(&port).unwrap());
        drop(port);
        let held = open("bench-1", &path, None, 115_200, Duration::ZERO).unwrap();
        let failure = open("bench-1", &path, None, 115_200, Duration::ZERO).unwrap_err();
        assert_eq!(failure.kind, Kind::PortBusy, "{failure}");
        drop(held);
        open("bench-1", &path, None, 115_200, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_lease_has_one_key_however_the_port_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (device, link) = (folder.path().join("ttyX"), folder.path().join("link"));
        fs::write(&device, "").unwrap();
        std::os::unix::fs::symlink(&device, &link).unwrap();
        assert_eq!(key(&device), key(&link));
    }
}
