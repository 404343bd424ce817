//! `virtual`

use super::{Kind, Open, OpenError, Opening, Options};
use mcp_hil_harness::replay::{CONTRACT, Subject};
use mcp_hil_harness::target::{Endpoint, Target};
use mcp_hil_virtual_board::{BoardOptions, Options as NetworkOptions, VirtualNetwork};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const KIND: Kind = Kind {
    syntax: "virtual",
    about: "a RISC-V board in QEMU on a network of its own, with the firmware of --firmware or the checkout's",
    open,
};

/// Time from power-on to serving. DHCP asks again after 10 s when a frame is lost.
pub const BOOT_LIMIT: Duration = Duration::from_secs(30);

/// The virt board's firmware, from the top of a checkout.
const FIRMWARE: &str = "firmware/boards/virt/target/riscv32imc-unknown-none-elf/release/mcp-device-virt";

fn open(name: &str, options: &Options) -> Option<Opening> {
    (name == "virtual").then(|| Box::pin(std::future::ready(start(options))) as Opening)
}

fn start(options: &Options) -> Result<Open, OpenError> {
    let firmware = firmware(options.firmware.as_deref()).map_err(OpenError::Usage)?;
    let infrastructure = |error: mcp_hil_virtual_board::Error| OpenError::Infrastructure(error.to_string());
    let network = VirtualNetwork::enter(&NetworkOptions {
        boards: 1,
        ..NetworkOptions::default()
    });
    let network = network.map_err(infrastructure)?;
    let board = network
        .start_board(0, &firmware, &BoardOptions::default())
        .map_err(infrastructure)?;
    let limit = BOOT_LIMIT.mul_f64(options.deadline_factor);
    let serving = board.wait_until_serving(limit).map_err(infrastructure)?;
    let endpoint =
        Endpoint::parse(&serving.url).map_err(|error| OpenError::Infrastructure(error.to_string()))?;
    let subject = Subject {
        name: "virtual".to_owned(),
        target: Target::Http(endpoint),
        contract: Some(CONTRACT.to_owned()),
    };
    // dropped in this order: the board before what it hangs on
    Ok(Open {
        subject,
        _guard: Box::new((board, network)),
    })
}

/// The firmware that was named, or that of the checkout around the current folder.
pub fn firmware(named: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(file) = named {
        return match file.is_file() {
            true => Ok(file.to_owned()),
            false => Err(format!("--firmware {}: there is no such file", file.display())),
        };
    }
    let here = std::env::current_dir().map_err(|error| format!("the current folder: {error}"))?;
    let found = here
        .ancestors()
        .map(|folder| folder.join(FIRMWARE))
        .find(|file| file.is_file());
    found.ok_or_else(|| {
        format!(
            "no virtual board's firmware around {}: build it with `cargo build --release` in firmware/boards/virt of a checkout, or give one with --firmware FILE",
            here.display()
        )
    })
}
