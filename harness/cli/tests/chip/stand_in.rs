//! A stand-in for an emulator of the genuine ESP32-C3, of which no registry carries one. It takes the command lines of both
//! flavours and refuses any other; with the strap it is the ROM's loader; without it, it prints what a chip prints on its way up and then runs, in
//! the place of what was flashed, the `virt` board's firmware in QEMU, with the network that it was given and the MAC address of its
//! eFuses. What it can't show: the mask ROM, the C3's own code, its Wi-Fi.

use mcp_hil_virtual_board::serial::boot::{Then, boot};
use mcp_hil_virtual_board::serial::flash::FlashFile;
use mcp_hil_virtual_board::serial::loader::{Defect, Effect, Loader};
use mcp_hil_virtual_board::serial::registers::Identity;
use mcp_hil_virtual_board::serial::{Cause, Mode};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio, exit};

/// Environment variable with the firmware that runs in the place of what was flashed; set, it makes this program the stand-in.
pub const FIRMWARE: &str = "MCP_HIL_TEST_STAND_IN_RUNS";
/// What a person may add to the command line.
pub const MORE: [&str; 2] = ["--wifi-ssid", "bench"];

/// What a command line says.
#[derive(Debug)]
struct Options {
    flash: PathBuf,
    efuses: PathBuf,
    mode: Mode,
    /// Where the UART listens; none: it is on the standard streams.
    uart: Option<SocketAddr>,
    /// As QEMU's `-netdev` has it.
    network: String,
}

pub fn run(arguments: &[String]) -> ! {
    let mut words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Some(rest) = words.strip_suffix(&MORE) {
        words = rest.to_vec();
    }
    let options = match words.first() {
        Some(&"-M") => qemu(&words),
        _ => esp_emu(&words),
    };
    let Some(options) = options else {
        eprintln!("stand-in: no such command line: {arguments:?}");
        exit(9);
    };
    let (input, output): (Box<dyn Read + Send>, Box<dyn Write + Send>) = match options.uart {
        None => (Box::new(std::io::stdin()), Box::new(std::io::stdout())),
        Some(at) => {
            let (line, _) = TcpListener::bind(at).unwrap().accept().unwrap();
            (Box::new(line.try_clone().unwrap()), Box::new(line))
        }
    };
    match options.mode {
        Mode::Download => load(&options, input, output),
        Mode::Run => start(&options, input, output),
    }
}

fn qemu(words: &[&str]) -> Option<Options> {
    let [
        "-M",
        "esp32c3",
        "-display",
        "none",
        "-monitor",
        "none",
        "-serial",
        serial,
        "-drive",
        flash,
        "-drive",
        efuses,
        "-global",
        "driver=nvram.esp32c3.efuse,property=drive,value=efuse",
        "-nic",
        network,
        rest @ ..,
    ] = words
    else {
        return None;
    };
    let mode = match rest {
        [] => Mode::Run,
        ["-global", "driver=esp32c3.gpio,property=strap_mode,value=0x02"] => Mode::Download,
        _ => return None,
    };
    let uart = match *serial {
        "stdio" => None,
        tcp => {
            let address = tcp.strip_prefix("tcp:")?.strip_suffix(",server=on,wait=off")?;
            Some(address.parse().ok()?)
        }
    };
    let drive =
        |drive: &str, rest: &str| Some(PathBuf::from(drive.strip_prefix("file=")?.strip_suffix(rest)?));
    Some(Options {
        flash: drive(flash, ",if=mtd,format=raw")?,
        efuses: drive(efuses, ",if=none,id=efuse,format=raw")?,
        mode,
        uart,
        network: netdev(network.strip_suffix(",model=esp32c3_wifi")?)?,
    })
}

/// A network of the C3's as one of the `virt` machine's.
fn netdev(network: &str) -> Option<String> {
    if let Some(wire) = network.strip_prefix("socket,udp=") {
        let (switch, board) = wire.split_once(",localaddr=")?;
        let (switch, board): (SocketAddr, SocketAddr) = (switch.parse().ok()?, board.parse().ok()?);
        return Some(format!(
            "dgram,id=net,local.type=inet,local.host={},local.port={},remote.type=inet,remote.host={},remote.port={}",
            board.ip(),
            board.port(),
            switch.ip(),
            switch.port()
        ));
    }
    let forward = network.strip_prefix("user,")?;
    Some(format!("user,id=net,{forward}"))
}

fn esp_emu(words: &[&str]) -> Option<Options> {
    let [
        "--chip",
        "esp32c3",
        "--firmware",
        flash,
        "--efuse",
        efuses,
        "--uart-tcp",
        uart,
        "--net",
        network,
        rest @ ..,
    ] = words
    else {
        return None;
    };
    let mode = match rest {
        [] => Mode::Run,
        ["--strap-mode", "0x02"] => Mode::Download,
        _ => return None,
    };
    Some(Options {
        flash: flash.into(),
        efuses: efuses.into(),
        mode,
        uart: Some(uart.parse().ok()?),
        network: netdev(network)?,
    })
}

/// The MAC address of an eFuse file, if the chip in it is one that bootloaders take: v0.3.
fn efuses(path: &Path) -> [u8; 6] {
    let bytes = std::fs::read(path).unwrap();
    let word = u32::from_le_bytes(bytes[0x24..0x28].try_into().unwrap());
    assert_eq!(word >> 18 & 7, 3, "the revision of the chip");
    let mut mac: [u8; 6] = bytes[0x18..0x1e].try_into().unwrap();
    mac.reverse();
    mac
}

/// The ROM's loader.
fn load(options: &Options, mut input: Box<dyn Read>, mut output: Box<dyn Write>) -> ! {
    let (file, mut flash) = FlashFile::open(&options.flash).unwrap();
    let text = boot(&flash, Mode::Download, Cause::PowerOn).text;
    output.write_all(text.as_bytes()).unwrap();
    output.flush().unwrap();
    let mut loader = Loader::new(Identity::esp32c3(efuses(&options.efuses)), Defect::None);
    let mut bytes = [0; 4096];
    loop {
        let length = input.read(&mut bytes).unwrap_or(0);
        if length == 0 {
            exit(0);
        }
        for effect in loader.receive(&bytes[..length], &mut flash) {
            match effect {
                Effect::Send(answer) => output.write_all(&answer).unwrap(),
                Effect::Baud(_) => {}
                Effect::Restart | Effect::Boot | Effect::Watchdog => exit(0),
            }
        }
        output.flush().unwrap();
        file.save(&mut flash).unwrap();
    }
}

/// The chip's way up, and then the other firmware.
fn start(options: &Options, mut input: Box<dyn Read + Send>, mut output: Box<dyn Write + Send>) -> ! {
    let (_, flash) = FlashFile::open(&options.flash).unwrap();
    let mut cause = Cause::PowerOn;
    loop {
        let started = boot(&flash, Mode::Run, cause);
        output.write_all(started.text.as_bytes()).unwrap();
        output.flush().unwrap();
        match started.then {
            Then::Again { cause: next, after } => {
                std::thread::sleep(after);
                cause = next;
            }
            Then::Run(_) | Then::Load => break,
        }
    }
    let mac = efuses(&options.efuses)
        .map(|byte| format!("{byte:02x}"))
        .join(":");
    // whoever is killed at once is gone before its child asks for the signal
    let only_ours = format!("test $PPID = {} && exec \"$0\" \"$@\"", std::process::id());
    let mut child = Command::new("setpriv")
        .args([
            "--pdeathsig",
            "KILL",
            "sh",
            "-c",
            &only_ours,
            "qemu-system-riscv32",
        ])
        .args([
            "-M",
            "virt",
            "-m",
            "8M",
            "-bios",
            "none",
            "-nodefaults",
            "-display",
            "none",
            "-monitor",
            "none",
        ])
        .args([
            "-serial",
            "stdio",
            "-device",
            "virtio-rng-device",
            "-netdev",
            &options.network,
        ])
        .args(["-device", &format!("virtio-net-device,netdev=net,mac={mac}")])
        .arg("-kernel")
        .arg(std::env::var_os(FIRMWARE).unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut typed, mut printed) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    std::thread::spawn(move || std::io::copy(&mut input, &mut typed));
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = printed.read(&mut bytes) {
        if output
            .write_all(&bytes[..length])
            .and_then(|()| output.flush())
            .is_err()
        {
            break;
        }
    }
    let _ = child.kill();
    exit(0)
}
