//! The command line of QEMU's riscv32 `virt` machine, which is every virtual board's.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::Error;
use crate::plan::{Mac, format_mac};
use crate::tether::{Tether, require};

pub(crate) const QEMU: &str = "qemu-system-riscv32";
/// The device without which the firmware does not start.
pub(crate) const RANDOM_NUMBERS: &str = "virtio-rng-device";
/// Where in memory the firmware looks for its configuration sector (`fixtures/configuration`).
pub(crate) const CONFIGURATION: u32 = 0x8020_0000;

/// The two UDP ports on the namespace's loopback between which a board's frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wire {
    /// Where the switch listens.
    pub switch: SocketAddr,
    /// Where the board listens.
    pub board: SocketAddr,
}

pub(crate) fn require_qemu() -> Result<(), Error> {
    require(
        QEMU,
        "install qemu-system-misc (Debian, Ubuntu) or qemu-system-riscv (Fedora), 7.2 or newer",
    )
}

/// The machine with its console on the standard streams. Without a wire it has a network card all the same, on which
/// nothing is heard.
pub(crate) fn command(wire: Option<Wire>, mac: Mac, devices: &[&str]) -> Command {
    let mut command = Tether::command(QEMU);
    command.args(["-M", "virt", "-m", "8M", "-bios", "none", "-nodefaults"]);
    command.args(["-display", "none", "-monitor", "none", "-serial", "stdio"]);
    command.arg("-netdev").arg(match wire {
        Some(Wire { switch, board }) => format!(
            "dgram,id=net,local.type=inet,local.host={},local.port={},remote.type=inet,remote.host={},remote.port={}",
            board.ip(),
            board.port(),
            switch.ip(),
            switch.port(),
        ),
        None => "hubport,id=net,hubid=0".to_owned(),
    });
    let mac = format_mac(mac);
    command
        .arg("-device")
        .arg(format!("virtio-net-device,netdev=net,mac={mac}"));
    for device in devices {
        command.args(["-device", device]);
    }
    // An interrupt from the keyboard is the harness's to handle; it may want to say goodbye first.
    command.process_group(0);
    command
}
