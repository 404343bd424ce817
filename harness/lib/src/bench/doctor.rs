//! Looks over a machine that is to run boards, and says what to mend.

use super::choose;
use super::inventory::{BoardKind, EMULATOR, Entry, Inventory};
use super::lease::{Holder, LeaseError, Leases};
use super::ports::{self, Port};
use super::power::PowerBy;
use rustix::fs::{Access, access};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Rules that keep other programs off the ports, as far as they are installed.
const RULES: [&str; 3] = [
    "/etc/udev/rules.d/99-mcp-hil.rules",
    "/usr/lib/udev/rules.d/99-mcp-hil.rules",
    "/lib/udev/rules.d/99-mcp-hil.rules",
];

/// How things stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Good,
    /// It will do, or only some things won't.
    Warning,
    /// Boards can't be used like this.
    Bad,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it stands.
    pub level: Level,
    /// What was looked at, and what was seen.
    pub text: String,
    /// What to do.
    pub mend: Option<String>,
}

impl Finding {
    fn good(text: impl Into<String>) -> Self {
        Self {
            level: Level::Good,
            text: text.into(),
            mend: None,
        }
    }

    fn warning(text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            level: Level::Warning,
            text: text.into(),
            mend: Some(mend.into()),
        }
    }

    fn bad(text: impl Into<String>, mend: impl Into<String>) -> Self {
        Self {
            level: Level::Bad,
            ..Self::warning(text, mend)
        }
    }

    /// A line, and one with what to do.
    pub fn show(&self) -> String {
        let mark = match self.level {
            Level::Good => "good ",
            Level::Warning => "warn ",
            Level::Bad => "BAD  ",
        };
        match &self.mend {
            None => format!("{mark} {}\n", self.text),
            Some(mend) => format!("{mark} {}\n        {mend}\n", self.text),
        }
    }
}

/// Looks at everything.
pub fn examine(inventory: Option<&Inventory>) -> Vec<Finding> {
    let ports = ports::list();
    let boards = inventory.map_or(&[][..], |inventory| &inventory.boards);
    let mut findings = vec![leases(&Leases::of_this_machine())];
    findings.push(match inventory {
        Some(inventory) => Finding::good(format!(
            "inventory {}: {} boards",
            inventory.file().display(),
            boards.len()
        )),
        None => Finding::warning(
            "there is no inventory",
            "`mcp-hil boards scan` writes one; a single board needs none",
        ),
    });
    findings.extend(serial_ports(&ports, boards));
    findings.extend(boards.iter().flat_map(examine_board));
    findings.extend(other_programs(
        &running(),
        RULES.iter().any(|rule| Path::new(rule).exists()),
    ));
    if boards.iter().any(|board| board.kind == BoardKind::Virtual) && !in_path("qemu-system-riscv32") {
        findings.push(Finding::bad(
            "virtual boards need qemu-system-riscv32, which is not in PATH",
            "apt-get install qemu-system-misc",
        ));
    }
    findings
}

fn leases(leases: &Leases) -> Finding {
    match leases.take("doctor", &Holder::here("mcp-hil doctor"), Duration::ZERO, |_| {}) {
        Ok(_) => Finding::good("leases can be taken"),
        Err(LeaseError::Held(_)) => Finding::good("leases can be taken (another doctor is at it)"),
        Err(error) => Finding::bad(
            format!("leases can't be taken: {error}"),
            "make the folder writable, or name another with MCP_HIL_LEASES",
        ),
    }
}

fn serial_ports(ports: &[Port], boards: &[Entry]) -> Vec<Finding> {
    let fit: Vec<_> = ports.iter().filter(|port| port.may_be_board()).collect();
    let mut findings = Vec::new();
    if fit.is_empty() && boards.iter().all(|board| board.kind == BoardKind::Board) {
        findings.push(Finding::warning(
            "no USB serial port of a known make is plugged in",
            "plug a board in with a cable that carries data; in a container or virtual machine, hand its port through",
        ));
    }
    for port in fit {
        let shown = port.path.display();
        findings
            .push(may_open(&port.path).unwrap_or_else(|| Finding::good(format!("{shown} may be opened"))));
        if port.id.is_none() {
            findings.push(Finding::warning(
                format!("{shown} has no link below /dev/serial/by-id, so its name changes with the order of plugging in"),
                "run udev on this machine, or name boards by their MAC address in the inventory",
            ));
        }
    }
    findings
}

/// What keeps us from opening a port; none if nothing does.
fn may_open(port: &Path) -> Option<Finding> {
    let shown = port.display();
    match access(port, Access::READ_OK | Access::WRITE_OK) {
        Ok(()) => None,
        Err(_) => {
            let mend = ports::way_in(port).unwrap_or_default();
            Some(Finding::bad(
                format!("{shown} may not be opened by this user"),
                mend,
            ))
        }
    }
}

fn emulator(board: &Entry) -> Finding {
    let name = &board.name;
    match board.emulator.named() {
        Some(named) if board.emulator.is_there() => Finding::good(format!("{name}: emulated by {named}")),
        Some(named) => Finding::bad(
            format!("{name}: its emulator is not there: {named}"),
            "write qemu=PATH or esp-emu=PATH, of a file that is there",
        ),
        None => Finding::bad(
            format!("{name}: it has no emulator"),
            format!("give it `emulator` in the inventory, or set {EMULATOR}"),
        ),
    }
}

fn examine_board(board: &Entry) -> Vec<Finding> {
    let name = &board.name;
    let mut findings = Vec::new();
    if board.kind == BoardKind::Chip {
        findings.push(emulator(board));
        return findings;
    }
    match ports::locate(&board.port, board.mac) {
        None => findings.push(Finding::bad(
            format!("{name}: there is no port {}", board.port.display()),
            "plug it in or start it; if it moved, `mcp-hil boards scan` finds it again",
        )),
        Some(path) => findings.extend(may_open(&path).map(|finding| Finding {
            text: format!("{name}: {}", finding.text),
            ..finding
        })),
    }
    match Leases::of_this_machine().holder(&choose::lease_key(board)) {
        Ok(Some(holder)) => {
            let by = holder.describe(std::time::SystemTime::now());
            findings.push(Finding::good(format!("{name}: leased by {by}")));
        }
        Ok(None) => {}
        Err(error) => findings.push(Finding::bad(
            format!("{name}: {error}"),
            "make the folder of the leases writable for all users",
        )),
    }
    match &board.power {
        PowerBy::Hub { hub, .. } if !in_path("uhubctl") => findings.push(Finding::bad(
            format!("{name}: its power hangs on hub {hub}, and uhubctl is not in PATH"),
            "apt-get install uhubctl",
        )),
        PowerBy::Switch(fifo) if !fifo.exists() => findings.push(Finding::bad(
            format!("{name}: there is no switch {}", fifo.display()),
            "start the virtual board, or correct its `power` in the inventory",
        )),
        _ => {}
    }
    if board.mac.is_none() {
        findings.push(Finding::warning(
            format!(
                "{name}: the inventory has no MAC address, so another board in its place would not be noticed"
            ),
            "`mcp-hil boards scan` reads it from the chip",
        ));
    }
    if findings.iter().all(|finding| finding.level == Level::Good) {
        findings.push(Finding::good(format!("{name}: port {}", board.port.display())));
    }
    findings
}

/// Programs that open serial ports by themselves, in the middle of flashing. Pure.
fn other_programs(running: &[String], rule: bool) -> Vec<Finding> {
    let runs = |name: &str| running.iter().any(|program| program == name);
    let mut findings = Vec::new();
    if runs("ModemManager") && !rule {
        findings.push(Finding::warning(
            "ModemManager runs, and probes every new serial port for a modem",
            "install the udev rule of ci/99-mcp-hil.rules, which keeps it off, or remove ModemManager",
        ));
    }
    if runs("brltty") {
        findings.push(Finding::warning(
            "brltty runs, and takes the ports of some USB bridges for braille displays",
            "apt-get remove brltty, unless somebody needs it",
        ));
    }
    findings
}

fn running() -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let name = |process: fs::DirEntry| fs::read_to_string(process.path().join("comm")).ok();
    processes
        .filter_map(name)
        .map(|name| name.trim().to_owned())
        .collect()
}

fn in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| access(folder.join(program), Access::EXEC_OK).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(findings: &[Finding]) -> Vec<Level> {
        findings.iter().map(|finding| finding.level).collect()
    }

    #[test]
    fn programs_that_grab_ports_are_named() {
        let running = ["init", "ModemManager", "brltty"].map(str::to_owned);
        assert_eq!(
            levels(&other_programs(&running, false)),
            [Level::Warning, Level::Warning]
        );
        assert_eq!(levels(&other_programs(&running, true)), [Level::Warning]);
        assert_eq!(other_programs(&["sshd".to_owned()], false), []);
    }

    #[test]
    fn a_board_whose_port_is_missing_is_bad_and_told_what_to_do() {
        let mut board = Entry::on_port("bench-1", Path::new("/dev/no-such-port"));
        board.power = PowerBy::Switch("/no/such/switch".into());
        let findings = examine_board(&board);
        assert_eq!(levels(&findings), [Level::Bad, Level::Bad, Level::Warning]);
        assert!(
            findings[0]
                .show()
                .starts_with("BAD   bench-1: there is no port /dev/no-such-port\n        plug it in")
        );
    }

    #[test]
    fn a_sound_board_is_one_good_line() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut board = Entry::on_port("bench-1", file.path());
        board.mac = "60:55:f9:00:00:01".parse().ok();
        assert_eq!(levels(&examine_board(&board)), [Level::Good]);
    }
}
