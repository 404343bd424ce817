//! An emulator of the genuine ESP32-C3: its own mask ROM takes flashing tools, and it boots the C3's own images.
//!
//! There are two flavours with different command lines. None is in a package registry: the user names the program.
//! Download mode is a restart with another strap; between them the flash lives in the file alone.

use std::ffi::OsString;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::str::FromStr;
use std::time::Duration;

use super::{Kind, Line, Next, Then};
use crate::Error;
use crate::machine::Wire;
use crate::network::MCP_PORT;
use crate::plan::Mac;
use crate::serial::cable::Cable;
use crate::serial::fault::Fault;
use crate::serial::flash::FlashFile;
use crate::serial::loader::Effect;
use crate::serial::{Cause, Mode};
use crate::tether::Tether;

/// The strap pins for UART download mode.
const DOWNLOAD: &str = "0x02";
/// Bytes of an eFuse file.
const EFUSES: usize = 1024;
/// Where its blocks have the MAC address, last byte first, and the word with the revision's minor number.
const EFUSE_MAC: usize = 0x18;
const EFUSE_REVISION: usize = 0x24;
/// v0.3: bootloaders refuse older chips.
const REVISION: u32 = 3 << 18;
/// Between the end of an emulator, which is a reset it could not do itself, and the next.
const AGAIN: Duration = Duration::from_millis(500);

/// Whose command line an emulator takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Espressif's fork of QEMU and its relatives.
    Qemu,
    /// Espressif's `esp-emu`.
    EspEmu,
}

/// An emulator of the user's, written `qemu=PATH` or `esp-emu=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulator {
    /// How it is spoken to.
    pub flavour: Flavour,
    /// The program.
    pub program: PathBuf,
    /// What its command line has besides, at its end.
    pub arguments: Vec<String>,
}

/// A text that names no emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no emulator of a chip; write qemu=PATH or esp-emu=PATH")]
pub struct NoEmulator(String);

impl FromStr for Emulator {
    type Err = NoEmulator;

    fn from_str(text: &str) -> Result<Self, NoEmulator> {
        let flavour = |name| match name {
            "qemu" => Some(Flavour::Qemu),
            "esp-emu" => Some(Flavour::EspEmu),
            _ => None,
        };
        let (name, path) = text.split_once('=').unwrap_or_default();
        match flavour(name) {
            Some(flavour) if !path.is_empty() => Ok(Emulator {
                flavour,
                program: path.into(),
                arguments: Vec::new(),
            }),
            _ => Err(NoEmulator(text.to_owned())),
        }
    }
}

/// What hangs on the chip.
#[derive(Clone, Debug)]
struct Connections {
    flash: PathBuf,
    efuses: PathBuf,
    network: Network,
    /// Where its UART is a TCP server, another at each start; else it is on the standard streams.
    uart: Option<SocketAddr>,
}

/// How frames leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    /// To the switch.
    Wire(Wire),
    /// By the emulator's own network, where this port leads to the MCP endpoint.
    Forward(SocketAddr),
    /// To nowhere.
    Nothing,
}

/// The arguments for an emulator.
fn arguments(flavour: Flavour, mode: Mode, connections: &Connections) -> Vec<OsString> {
    match flavour {
        Flavour::Qemu => qemu(mode, connections),
        Flavour::EspEmu => esp_emu(mode, connections),
    }
}

fn qemu(mode: Mode, connections: &Connections) -> Vec<OsString> {
    let serial = match connections.uart {
        Some(address) => format!("tcp:{address},server=on,wait=off"),
        None => "stdio".to_owned(),
    };
    let network = match connections.network {
        Network::Wire(Wire { switch, board }) => {
            format!("socket,udp={switch},localaddr={board},model=esp32c3_wifi")
        }
        Network::Forward(at) => format!("user,hostfwd=tcp:{at}-:{MCP_PORT},model=esp32c3_wifi"),
        Network::Nothing => "none".to_owned(),
    };
    let mut arguments = words(&[
        "-M", "esp32c3", "-display", "none", "-monitor", "none", "-serial", &serial, "-drive",
    ]);
    arguments.push(drive(&connections.flash, "if=mtd,format=raw"));
    arguments.push("-drive".into());
    arguments.push(drive(&connections.efuses, "if=none,id=efuse,format=raw"));
    arguments.extend(words(&[
        "-global",
        "driver=nvram.esp32c3.efuse,property=drive,value=efuse",
        "-nic",
        &network,
    ]));
    if mode == Mode::Download {
        let strap = format!("driver=esp32c3.gpio,property=strap_mode,value={DOWNLOAD}");
        arguments.extend(words(&["-global", &strap]));
    }
    arguments
}

/// A value of QEMU's `-drive`, in which a comma of the path is doubled.
fn drive(path: &Path, rest: &str) -> OsString {
    format!("file={},{rest}", path.to_string_lossy().replace(',', ",,")).into()
}

fn esp_emu(mode: Mode, connections: &Connections) -> Vec<OsString> {
    let mut arguments = words(&["--chip", "esp32c3", "--firmware"]);
    arguments.push(connections.flash.clone().into());
    arguments.push("--efuse".into());
    arguments.push(connections.efuses.clone().into());
    if let Some(address) = connections.uart {
        arguments.extend(words(&["--uart-tcp", &address.to_string()]));
    }
    if let Network::Forward(at) = connections.network {
        arguments.extend(words(&["--net", &format!("user,hostfwd=tcp:{at}-:{MCP_PORT}")]));
    }
    if mode == Mode::Download {
        arguments.extend(words(&["--strap-mode", DOWNLOAD]));
    }
    arguments
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The content of an eFuse file.
fn efuses(mac: Mac) -> Vec<u8> {
    let mut bytes = vec![0; EFUSES];
    for (place, byte) in bytes[EFUSE_MAC..].iter_mut().zip(mac.iter().rev()) {
        *place = *byte;
    }
    bytes[EFUSE_REVISION..EFUSE_REVISION + 4].copy_from_slice(&REVISION.to_le_bytes());
    bytes
}

pub(in crate::serial) struct Chip {
    emulator: Emulator,
    connections: Connections,
    cable: Option<Cable>,
}

impl Chip {
    pub fn new(folder: &Path, mac: Mac, wire: Option<Wire>, emulator: &Emulator) -> Result<Self, Error> {
        let program = &emulator.program;
        if !program.is_file() {
            return Err(Error::ProgramMissing {
                program: program.display().to_string(),
                advice: "it was named as the emulator of an ESP32-C3",
            });
        }
        let (flash, path) = (folder.join("flash.bin"), folder.join("efuses.bin"));
        FlashFile::open(&flash).map_err(Error::io(format!("open the flash {}", flash.display())))?;
        fs::write(&path, efuses(mac)).map_err(Error::io(format!("write the eFuses {}", path.display())))?;
        // Only QEMU speaks to a switch, and has its UART on the standard streams.
        let (network, uart) = match (emulator.flavour, wire) {
            (Flavour::Qemu, Some(wire)) => (Network::Wire(wire), None),
            (Flavour::Qemu, None) => (Network::Forward(free_port()?), None),
            (Flavour::EspEmu, _) => (Network::Forward(free_port()?), Some(free_port()?)),
        };
        Ok(Chip {
            emulator: emulator.clone(),
            connections: Connections {
                flash,
                efuses: path,
                network,
                uart,
            },
            cable: None,
        })
    }
}

/// A TCP port of loopback that nobody has at this moment.
fn free_port() -> Result<SocketAddr, Error> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(Error::io("find a free port"))
}

impl Kind for Chip {
    fn reset(&mut self, mode: Mode, _cause: Cause, fault: Option<Fault>) -> Result<Next, Error> {
        let mut connections = self.connections.clone();
        if connections.uart.is_some() {
            // the one before may be in TIME-WAIT (RFC 9293, 3.3.2)
            connections.uart = Some(free_port()?);
        }
        self.cable = None;
        if let Network::Wire(wire) = connections.network {
            let cable = Cable::lay(Some(wire), fault)?;
            connections.network = cable.end().map_or(Network::Nothing, Network::Wire);
            self.cable = Some(cable);
        }
        let mut command: Command = Tether::command(&self.emulator.program);
        command
            .args(arguments(self.emulator.flavour, mode, &connections))
            .args(&self.emulator.arguments);
        let log = connections.flash.with_file_name("emulator.log");
        let line = connections
            .uart
            .map_or(Line::Streams, |address| Line::Tcp(address, log));
        Ok(Next {
            text: String::new(),
            then: Then::Guest(Box::new(command), line),
        })
    }

    fn receive(&mut self, _bytes: &[u8]) -> Result<Vec<Effect>, Error> {
        Ok(Vec::new())
    }

    fn blocks(&self) -> usize {
        0
    }

    fn ended(&self, status: ExitStatus) -> Option<(Cause, Duration)> {
        status.success().then_some((Cause::System, AGAIN))
    }

    fn flash(&self) -> &Path {
        &self.connections.flash
    }

    fn endpoint(&self) -> Option<SocketAddr> {
        match self.connections.network {
            Network::Forward(at) => Some(at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(flavour: Flavour, mode: Mode, network: Network, uart: Option<&str>) -> String {
        let connections = Connections {
            flash: "/b/flash.bin".into(),
            efuses: "/b/a,b.bin".into(),
            network,
            uart: uart.map(|address| address.parse().unwrap()),
        };
        let arguments = arguments(flavour, mode, &connections);
        arguments.join(" ".as_ref()).into_string().unwrap()
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().unwrap()
    }

    #[test]
    fn the_command_lines_of_the_qemu_family() {
        let wire = Network::Wire(Wire {
            switch: at("127.0.0.1:20000"),
            board: at("127.0.0.1:20001"),
        });
        assert_eq!(
            line(Flavour::Qemu, Mode::Run, wire, None),
            "-M esp32c3 -display none -monitor none -serial stdio -drive file=/b/flash.bin,if=mtd,format=raw \
             -drive file=/b/a,,b.bin,if=none,id=efuse,format=raw \
             -global driver=nvram.esp32c3.efuse,property=drive,value=efuse \
             -nic socket,udp=127.0.0.1:20000,localaddr=127.0.0.1:20001,model=esp32c3_wifi"
        );
        let forward = Network::Forward(at("127.0.0.1:4000"));
        let downloading = line(Flavour::Qemu, Mode::Download, forward, Some("127.0.0.1:5000"));
        assert!(
            downloading.contains(" -serial tcp:127.0.0.1:5000,server=on,wait=off "),
            "{downloading}"
        );
        assert!(
            downloading.ends_with(
                " -nic user,hostfwd=tcp:127.0.0.1:4000-:18791,model=esp32c3_wifi \
                 -global driver=esp32c3.gpio,property=strap_mode,value=0x02"
            ),
            "{downloading}"
        );
    }

    #[test]
    fn the_command_lines_of_esp_emu() {
        let forward = Network::Forward(at("127.0.0.1:4000"));
        assert_eq!(
            line(Flavour::EspEmu, Mode::Download, forward, Some("127.0.0.1:5000")),
            "--chip esp32c3 --firmware /b/flash.bin --efuse /b/a,b.bin --uart-tcp 127.0.0.1:5000 \
             --net user,hostfwd=tcp:127.0.0.1:4000-:18791 --strap-mode 0x02"
        );
        assert_eq!(
            line(Flavour::EspEmu, Mode::Run, Network::Nothing, None),
            "--chip esp32c3 --firmware /b/flash.bin --efuse /b/a,b.bin"
        );
    }

    #[test]
    fn an_emulator_is_named_with_its_flavour() {
        let emulator: Emulator = "qemu=/opt/esp/qemu-system-riscv32".parse().unwrap();
        assert_eq!(emulator.flavour, Flavour::Qemu);
        assert_eq!(emulator.program, Path::new("/opt/esp/qemu-system-riscv32"));
        assert_eq!("esp-emu=x".parse::<Emulator>().unwrap().flavour, Flavour::EspEmu);
        for wrong in ["", "qemu", "qemu=", "/opt/esp/qemu"] {
            let error = wrong.parse::<Emulator>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("{wrong:?} names no emulator of a chip; write qemu=PATH or esp-emu=PATH")
            );
        }
    }

    #[test]
    fn efuses_hold_the_mac_address_and_a_revision_that_bootloaders_take() {
        let bytes = efuses([0x02, 0x00, 0x0a, 0x0d, 0x25, 0x0b]);
        assert_eq!(bytes[0x18..0x1e], [0x0b, 0x25, 0x0d, 0x0a, 0x00, 0x02]);
        assert_eq!(bytes[0x24..0x28], [0, 0, 0x0c, 0]);
    }
}
