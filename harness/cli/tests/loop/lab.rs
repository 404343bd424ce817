//! Boards that are plugged in, and runs on them.

use mcp_hil_harness::board::firmware::VIRTUAL;
use std::fs::Permissions;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// `mcp-hil virtual --serial`, and a folder with an inventory of its boards, `desk-0` and so on.
pub struct Lab {
    boards: Child,
    folder: tempfile::TempDir,
    /// What gets a command into the boards' network.
    inside: Vec<String>,
}

/// The group of serial ports, on Debian and its kin.
const DIALOUT: u32 = 20;
/// What the note with a build id begins with.
const NOTE: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";

/// A process that ends with this, also when a test fails.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub time: Duration,
}

impl Lab {
    pub fn new(count: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let serial = folder.path().join("boards");
        let mut boards = Command::new(env!("CARGO_BIN_EXE_mcp-hil"))
            .args(["virtual", "--boards", &count.to_string(), "--serial"])
            .arg(&serial)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(boards.stdout.take().unwrap()).lines();
        let told = lines.map_while(Result::ok).find_map(|line| {
            Some(
                line.strip_prefix("inside: ")?
                    .strip_suffix(" COMMAND")?
                    .to_owned(),
            )
        });
        let inside = told.expect("the boards are there");
        let mut inventory = String::new();
        for board in 0..count {
            // from the lab's folder, in which all commands run
            let port = format!("boards/board-{board}/port");
            let mac = format!("02:00:0a:0d:25:{:02x}", 10 + board);
            inventory += &format!(
                "[boards.desk-{board}]\nkind = \"virtual\"\nport = {port:?}\nmac = \"{mac}\"\nchip = \"esp32c3\"\n"
            );
        }
        std::fs::write(folder.path().join("boards.toml"), inventory).unwrap();
        Self {
            boards,
            folder,
            inside: inside.split_whitespace().map(str::to_owned).collect(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A line for a board's switch.
    pub fn throw(&self, board: usize, line: &str) {
        let switch = self.path(&format!("boards/board-{board}/switch"));
        std::fs::write(switch, format!("{line}\n")).unwrap();
        // the board takes it by itself
        std::thread::sleep(Duration::from_millis(200));
    }

    /// `mcp-hil run` of the board's firmware, with these words, within the boards' network.
    pub fn command(&self, words: &[&str]) -> Command {
        self.command_of(firmware(), words)
    }

    fn command_of(&self, firmware: &Path, words: &[&str]) -> Command {
        let mut command = self.inside(&[env!("CARGO_BIN_EXE_mcp-hil"), "run"]);
        command.arg(firmware).args(["--filter", "/uptime"]).args(words);
        command
    }

    /// A command within the boards' network, in the lab's folder, with nothing of the caller's own.
    pub fn inside(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.inside[0]);
        command
            .args(&self.inside[1..])
            .args(words)
            .current_dir(self.folder.path())
            .env("MCP_HIL_STATE", self.path("state"))
            .env("MCP_HIL_LEASES", self.path("leases"))
            .env_remove("MCP_HIL_INVENTORY")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, words: &[&str]) -> Ran {
        ended(self.command(words))
    }

    /// A board's port.
    pub fn port(&self, desk: &str) -> PathBuf {
        self.path(&format!("boards/board-{}/port", desk.trim_start_matches("desk-")))
    }

    /// The same by a user who may not open the board's port, which is that of the group dialout for so long. Root is no such
    /// user, so it becomes nobody; anybody else gives up the powers that an owner of a namespace has.
    pub fn run_as_other(&self, board: usize, words: &[&str]) -> Ran {
        let port = self.port(&format!("desk-{board}")).canonicalize().unwrap();
        let before = std::fs::metadata(&port).unwrap();
        let root = is_root();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let mut words = words.to_vec();
        let other = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        let powerless = ["--bounding-set=-all", "--inh-caps=-all"];
        let (program, firmware) = (self.path("mcp-hil"), self.path("firmware.elf"));
        copy(Path::new(env!("CARGO_BIN_EXE_mcp-hil")), &program);
        copy(self::firmware(), &firmware);
        for folder in ["leases", "state", "logs"] {
            std::fs::create_dir_all(self.path(folder)).unwrap();
            mode(&self.path(folder), 0o1777);
        }
        mode(self.folder.path(), 0o755);
        if root {
            std::os::unix::fs::chown(&port, None, Some(DIALOUT)).unwrap();
        }
        mode(&port, if root { 0o660 } else { 0 });
        words.splice(0..0, ["run", firmware.to_str().unwrap(), "--filter", "/uptime"]);
        let mut command = self.inside(&["setpriv"]);
        command
            .args(if root { &other[..] } else { &powerless })
            .arg(program)
            .args(words);
        let ran = ended(command);
        std::os::unix::fs::chown(&port, None, Some(before.gid())).unwrap();
        mode(&port, before.mode() & 0o777);
        ran
    }

    /// The same of another file.
    pub fn run_file(&self, firmware: &Path, words: &[&str]) -> Ran {
        ended(self.command_of(firmware, words))
    }

    /// Has a board run another build.
    pub fn flash_other(&self, board: usize) {
        let file = self.changed_firmware("other.elf", NOTE.len());
        let ran = self.run_file(&file, &["--board", &format!("desk-{board}")]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    /// The firmware with one byte of its build id's note changed.
    pub fn changed_firmware(&self, name: &str, byte: usize) -> PathBuf {
        let mut other = std::fs::read(firmware()).unwrap();
        let at = other.windows(NOTE.len()).position(|window| window == NOTE);
        other[at.unwrap() + byte] ^= 0xff;
        let file = self.path(name);
        std::fs::write(&file, other).unwrap();
        file
    }

    /// The content of a board's flash, or of a part of it, as a file without the blank end.
    pub fn read_flash(&self, board: usize, name: &str, region: &str) -> PathBuf {
        let (desk, file) = (format!("desk-{board}"), self.path(name));
        let mut command = self.inside(&[env!("CARGO_BIN_EXE_mcp-hil"), "read-flash", &desk]);
        command.arg(&file).args(["--region", region]);
        let ran = ended(command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut content = std::fs::read(&file).unwrap();
        let used = content.iter().rposition(|byte| *byte != 0xff).unwrap() + 1;
        content.truncate(used);
        std::fs::write(&file, content).unwrap();
        file
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.boards.kill();
        let _ = self.boards.wait();
    }
}

pub fn ended(mut command: Command) -> Ran {
    let start = Instant::now();
    let output = command.output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        time: start.elapsed(),
    }
}

pub fn firmware() -> &'static Path {
    static FIRMWARE: OnceLock<PathBuf> = OnceLock::new();
    FIRMWARE.get_or_init(|| {
        let folder = VIRTUAL.find(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime
            .block_on(VIRTUAL.build(&folder, Path::new(env!("CARGO"))))
            .unwrap()
    })
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Where everybody may read and run it.
fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
    std::fs::set_permissions(to, Permissions::from_mode(0o755)).unwrap();
}

/// The first process that a process has started, from any of its threads.
pub fn child_of(parent: u32) -> Option<u32> {
    let threads = std::fs::read_dir(format!("/proc/{parent}/task")).ok()?.flatten();
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    children
        .collect::<String>()
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Whether a process is there. A zombie has no command line.
pub fn runs(pid: u32) -> bool {
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}
