//! What a person does with such a board.

use crate::image;
use crate::lab::{Lab, Ran, Running, child_of, ended, firmware, runs};
use crate::stand_in::{FIRMWARE, MORE};
use libtest_mimic::{Arguments, Trial};
use mcp_hil_harness::board::build_id;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const MAC: &str = "02:00:00:00:c3:01";
const COMMAND: &str = env!("CARGO_BIN_EXE_mcp-hil");
const FLAVOURS: [&str; 2] = ["qemu", "esp-emu"];

pub fn run() -> ExitCode {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let trials = vec![
        trial("an_image_runs_on_an_emulated_chip_and_is_proved", a_run),
        trial("the_other_commands_take_it_for_a_board", other_commands),
        trial("an_emulator_that_can_t_be_had_is_named", no_emulator),
        trial("kill_9_leaves_no_emulator", killed),
        trial("on_the_virtual_network_it_is_found_over_mdns", on_the_switch),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// An inventory with an emulated chip, and a network without a way out.
struct Chip {
    lab: Lab,
}

impl Chip {
    fn new(flavour: &str) -> Self {
        let chip = Self { lab: Lab::new(1) };
        let program = stand_in(&chip.lab.path("emulator"));
        let more = MORE.map(|word| format!("{word:?}")).join(", ");
        chip.inventory(&format!(
            "emulator = \"{flavour}={}\"\narguments = [{more}]\n",
            program.display()
        ));
        chip.write("right.bin", &build());
        chip.write("wrong.bin", &"7".repeat(40));
        chip
    }

    fn inventory(&self, more: &str) {
        let entry = format!("[boards.emulated]\nkind = \"chip\"\nmac = {MAC:?}\nchip = \"esp32c3\"\n{more}");
        std::fs::write(self.lab.path("boards.toml"), entry).unwrap();
    }

    /// An image whose application has this build id.
    fn write(&self, name: &str, build: &str) {
        std::fs::write(self.lab.path(name), image::flash(build)).unwrap();
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.lab.inside(&[COMMAND]);
        command.args(words).env_remove("MCP_HIL_CHIP_EMULATOR");
        command
    }

    fn run(&self, words: &[&str]) -> Ran {
        ended(self.command(words))
    }
}

/// A program that is the stand-in.
fn stand_in(path: &Path) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\n{FIRMWARE}='{}' exec '{}' \"$@\"\n",
        firmware().display(),
        this.display()
    );
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_owned()
}

/// What the stand-in runs.
fn build() -> String {
    build_id::required(firmware()).unwrap()
}

fn says(ran: &Ran, code: i32, text: &str) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let said = ran.stdout.contains(text) || ran.stderr.contains(text);
    assert!(said, "no {text:?} in\n{}{}", ran.stdout, ran.stderr);
}

fn a_run() {
    for flavour in FLAVOURS {
        let chip = Chip::new(flavour);
        let uptime = ["--filter", "/uptime"];
        let run = |image: &str| chip.run(&[&["run", image][..], &uptime].concat());
        let first = run("right.bin");
        says(&first, 0, "2 passed, 0 failed");
        for stage in ["lease", "identify", "flash", "reset", "boot", "find", "replay"] {
            says(&first, 0, &format!("stage emulated {stage}  ("));
        }
        says(&first, 0, &format!("esp32c3, {MAC}"));
        let find = first
            .stdout
            .lines()
            .find(|line| line.starts_with("stage emulated find"))
            .unwrap();
        assert!(
            find.contains("mcp-hil-00c301 at http://127.0.0.1:") && find.ends_with(", runs this build"),
            "{find}"
        );
        says(&run("right.bin"), 0, "all of it was in flash already");
        says(&run("wrong.bin"), 3, "old-firmware: ");
        says(&run("right.bin"), 0, "2 passed, 0 failed");
        // a bench without it would have none
        chip.inventory("");
        says(&run("right.bin"), 2, "emulated has no emulator");
        let mut command = chip.command(&["run", "right.bin", "--filter", "/uptime"]);
        command.env(
            "MCP_HIL_CHIP_EMULATOR",
            format!("{flavour}={}", chip.lab.path("emulator").display()),
        );
        says(&ended(command), 0, "all of it was in flash already");
    }
}

fn other_commands() {
    for flavour in FLAVOURS {
        let chip = Chip::new(flavour);
        let flash = chip.run(&["flash", "emulated", "right.bin"]);
        says(&flash, 0, "written and verified");
        says(&flash, 0, ": http://127.0.0.1:");
        let monitor = [
            "monitor",
            "emulated",
            "--reset",
            "--until",
            "stage=serving",
            "--timeout",
            "20s",
        ];
        let seen = chip.run(&monitor);
        says(&seen, 0, "ESP-ROM:esp32c3");
        says(&seen, 0, "boot: Loaded app from partition at offset 0x10000");
        let replay = chip.run(&[
            "replay",
            "board:emulated",
            "--firmware",
            "right.bin",
            "--filter",
            "/uptime",
        ]);
        says(&replay, 0, "2 passed, 0 failed");
        says(
            &chip.run(&["read-flash", "emulated", "back.bin", "--region", "0,0x11000"]),
            0,
            "69632 bytes",
        );
        let (back, right) = (chip.lab.path("back.bin"), chip.lab.path("right.bin"));
        let (back, right) = (std::fs::read(back).unwrap(), std::fs::read(right).unwrap());
        assert!(back[APPLICATION..right.len()] == right[APPLICATION..]);
        let boards = chip.run(&["boards"]);
        says(&boards, 0, "emulated  esp32c3  02:00:00:00:c3:01  ");
        says(&boards, 0, "  free  ");
        says(&boards, 0, "right.bin");
        says(&chip.run(&["boards", "scan"]), 3, "no board is plugged in");
        says(
            &chip.run(&["doctor"]),
            0,
            &format!("good  emulated: emulated by {flavour}="),
        );
        says(&chip.run(&["erase", "emulated"]), 0, "erased all of its flash");
        says(
            &chip.run(&["replay", "board:emulated", "--filter", "/uptime"]),
            1,
            "boot-loop: ",
        );
    }
}

const APPLICATION: usize = 0x10000;

fn no_emulator() {
    let chip = Chip::new("qemu");
    let run = || chip.run(&["run", "right.bin", "--filter", "/uptime"]);
    chip.inventory("emulator = \"qemu=/no/such/program\"\n");
    says(&run(), 3, "emulated: power-failed: /no/such/program ");
    says(&chip.run(&["boards"]), 0, "no emulator");
    says(
        &chip.run(&["doctor"]),
        3,
        "its emulator is not there: qemu=/no/such/program",
    );
    chip.inventory("emulator = \"/no/flavour\"\n");
    says(&run(), 2, "write qemu=PATH or esp-emu=PATH");
    // an emulator that does not speak this command line says so itself
    let other = chip.lab.path("other");
    std::fs::write(
        &other,
        "#!/bin/sh\necho \"no such model: esp32c3_wifi\" >&2; exit 7\n",
    )
    .unwrap();
    std::fs::set_permissions(&other, std::fs::Permissions::from_mode(0o755)).unwrap();
    chip.inventory(&format!("emulator = \"qemu={}\"\n", other.display()));
    let ran = run();
    says(
        &ran,
        3,
        "emulated run: power-failed: the board's program has ended: exit status: 7",
    );
    says(&ran, 3, "no such model: esp32c3_wifi");
    chip.inventory("emulator = \"esp-emu=/bin/false\"\n");
    says(
        &run(),
        3,
        "emulated: power-failed: cannot reach the UART of the board's program",
    );
}

fn killed() {
    let chip = Chip::new("qemu");
    let mut command = chip.command(&["monitor", "emulated"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut monitor = Running(command.spawn().unwrap());
    let mut lines = BufReader::new(monitor.0.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("invalid header")));
    let leased = chip.run(&["flash", "emulated", "right.bin"]);
    says(&leased, 3, "board-leased: emulated is leased by ");
    let emulator = child_of(monitor.0.id()).expect("it emulates");
    // SIGKILL
    drop(monitor);
    let end = Instant::now() + Duration::from_secs(5);
    while runs(emulator) {
        assert!(Instant::now() < end, "the emulator {emulator} is still there");
        std::thread::sleep(Duration::from_millis(20));
    }
    says(
        &chip.run(&["run", "right.bin", "--filter", "/uptime"]),
        0,
        "2 passed, 0 failed",
    );
}

/// QEMU's family speaks to the virtual network's switch, so everything is as on a network: DHCP, mDNS, several boards.
fn on_the_switch() {
    let folder = tempfile::tempdir().unwrap();
    let (emulator, image) = (
        stand_in(&folder.path().join("emulator")),
        folder.path().join("right.bin"),
    );
    std::fs::write(&image, image::flash(&build())).unwrap();
    let mut command = Command::new(COMMAND);
    command
        .arg("run")
        .arg(image)
        .args(["--filter", "/uptime", "--boards", "2", "--chip"])
        .arg(format!("qemu={}", emulator.display()))
        .env("MCP_HIL_STATE", folder.path());
    let ran = ended(command);
    says(&ran, 0, "4 passed, 0 failed");
    for (board, mac, address) in [("board-0", "0d250a", 10), ("board-1", "0d250b", 11)] {
        let found = format!("mcp-hil-{mac} at http://10.13.37.{address}:18791/mcp, runs this build");
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with(&format!("stage {board} find")));
        assert!(line.unwrap().ends_with(&found), "{ran:?}");
    }
}
