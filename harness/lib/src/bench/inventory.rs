//! `boards.toml`: the boards of a bench, by name. Pure, but for [`Inventory::load`] and [`find`].
//!
//! A person may add comments, fields and boards of their own, and put them in any order: a scan changes only what it
//! has found out, and leaves all else as it stands.

use super::mac::Mac;
use super::memory::Memories;
use super::ports::{self, Port};
use super::power::PowerBy;
use crate::target::Endpoint;
use espflash::target::Chip;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

/// The link to its port that an emulated board makes in its folder.
const PORT: &str = "port";
/// The first lines of a new inventory.
const HEAD: &str = "\
# The boards of this bench. `mcp-hil boards scan` adds boards and renews `port`, `mac`, `chip` and `usb`;
# everything else is yours. ci/boards.toml in the source of mcp-hil shows every field.

";

/// What a board is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoardKind {
    /// A board on a serial port.
    #[default]
    Board,
    /// A virtual board: its port is a pseudo-terminal.
    Virtual,
    /// An emulator of a whole chip.
    Chip,
}

impl BoardKind {
    /// As it is written.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Board => "board",
            Self::Virtual => "virtual",
            Self::Chip => "chip",
        }
    }
}

/// One board of an inventory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What it is made of.
    pub kind: BoardKind,
    /// Its serial port: best a link below `/dev/serial/by-id`, which stays when the device's number changes.
    pub port: PathBuf,
    /// Its MAC address, by which it is known.
    pub mac: Option<Mac>,
    /// Its chip.
    pub chip: Option<Chip>,
    /// Where it hangs, as `1-1.4`: bus and ports of hubs, as `uhubctl` and `lsusb -t` have it.
    pub usb: Option<String>,
    /// How it is reset.
    pub power: PowerBy,
    /// URL of its MCP endpoint, where mDNS does not get from there to here.
    pub endpoint: Option<String>,
    /// The emulator of a [`BoardKind::Chip`].
    pub emulator: Emulator,
    /// Baud rate of its console.
    pub console_baud: u32,
    /// Fastest baud rate for flashing, where the tool should not find out.
    pub flash_baud: Option<u32>,
    /// What people want to say about it.
    pub notes: String,
}

/// What stands for a chip, as an inventory has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Emulator {
    /// Flavour and path, as `qemu=PATH` or `esp-emu=PATH`; none: those of `MCP_HIL_CHIP_EMULATOR`.
    pub program: Option<String>,
    /// More arguments for it.
    pub arguments: Vec<String>,
}

/// Names an emulator for boards whose entry has none.
pub const EMULATOR: &str = "MCP_HIL_CHIP_EMULATOR";

impl Emulator {
    /// Flavour and path.
    pub fn named(&self) -> Option<String> {
        let of_environment = || std::env::var(EMULATOR).ok().filter(|value| !value.is_empty());
        self.program.clone().or_else(of_environment)
    }

    /// Whether its program is there.
    pub fn is_there(&self) -> bool {
        let named = self.named().unwrap_or_default();
        named
            .split_once('=')
            .is_some_and(|(_, program)| Path::new(program).is_file())
    }
}

impl Entry {
    /// Whether there is something to be used: a port, or the emulator that makes one.
    pub fn is_there(&self) -> bool {
        match self.kind {
            BoardKind::Chip => self.emulator.is_there(),
            BoardKind::Board | BoardKind::Virtual => ports::locate(&self.port, self.mac).is_some(),
        }
    }
}

/// Baud rate of a console, unless the inventory has another.
pub const CONSOLE_BAUD: u32 = 115_200;

impl Entry {
    /// A board of which only the port is known.
    pub fn on_port(name: &str, port: &Path) -> Self {
        Self {
            name: name.to_owned(),
            kind: BoardKind::Board,
            port: port.to_owned(),
            mac: None,
            chip: None,
            usb: None,
            power: PowerBy::default(),
            endpoint: None,
            emulator: Emulator::default(),
            console_baud: CONSOLE_BAUD,
            flash_baud: None,
            notes: String::new(),
        }
    }
}

/// What is wrong with an inventory.
#[derive(Debug, thiserror::Error)]
pub enum InventoryError {
    /// It can't be read or written.
    #[error("{file}: {error}")]
    File {
        /// Its path.
        file: PathBuf,
        /// What the system said.
        error: std::io::Error,
    },
    /// It is no TOML.
    #[error("{file}: {error}")]
    Toml {
        /// Its path.
        file: PathBuf,
        /// Where and why.
        error: Box<toml_edit::TomlError>,
    },
    /// A field can't be used.
    #[error("{file}: {}: {reason}", place(.board, .field))]
    Field {
        /// Path of the inventory.
        file: PathBuf,
        /// Name of the board.
        board: String,
        /// The field.
        field: String,
        /// What would be right.
        reason: String,
    },
    /// A table stands there that is none of boards: where it is misspelt, it would hide all of its boards.
    #[error("{}: {name} is no part of an inventory; a board is a table [boards.NAME]", .file.display())]
    NoBoard {
        /// Path of the inventory.
        file: PathBuf,
        /// What stands there.
        name: String,
    },
    /// Two boards share what only one can have.
    #[error("{file}: {one} and {other} have the same {what}")]
    Twice {
        /// Path of the inventory.
        file: PathBuf,
        /// A board.
        one: String,
        /// Another.
        other: String,
        /// `mac` or `port`.
        what: &'static str,
    },
}

/// An inventory, as it stands in its file.
#[derive(Clone, Debug)]
pub struct Inventory {
    file: PathBuf,
    is_new: bool,
    document: DocumentMut,
    /// Its boards, in the order of the file.
    pub boards: Vec<Entry>,
}

/// The inventory that is meant: `named`, else that of `MCP_HIL_INVENTORY`, else `boards.toml` in the current folder or above it, else
/// `mcp-hil/boards.toml` in the user's folder of configuration. A path that was named need not be there.
pub fn find(named: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os("MCP_HIL_INVENTORY").filter(|value| !value.is_empty());
    let near = || {
        let here = std::env::current_dir().ok()?;
        here.ancestors()
            .map(|folder| folder.join("boards.toml"))
            .find(|file| file.is_file())
    };
    named
        .map(Path::to_owned)
        .or_else(|| variable().map(PathBuf::from))
        .or_else(near)
        .or_else(|| of_user().filter(|file| file.is_file()))
}

/// The user's own inventory, whether it is there or not.
pub fn of_user() -> Option<PathBuf> {
    let set = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")))?;
    Some(folder.join("mcp-hil/boards.toml"))
}

impl Inventory {
    /// One without boards, to be written to a file.
    pub fn new(file: &Path) -> Self {
        Self {
            file: file.to_owned(),
            is_new: true,
            document: DocumentMut::new(),
            boards: Vec::new(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`InventoryError`].
    pub fn load(file: &Path) -> Result<Self, InventoryError> {
        let text = std::fs::read_to_string(file).map_err(|error| InventoryError::File {
            file: file.to_owned(),
            error,
        })?;
        Self::parse(&text, file)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`InventoryError`].
    pub fn parse(text: &str, file: &Path) -> Result<Self, InventoryError> {
        let document: DocumentMut = text.parse().map_err(|error| InventoryError::Toml {
            file: file.to_owned(),
            error: Box::new(error),
        })?;
        let is_table = |item: &Item| item.is_table_like() || item.is_array_of_tables();
        if let Some((other, _)) = document
            .iter()
            .find(|(name, item)| *name != "boards" && is_table(item))
        {
            return Err(InventoryError::NoBoard {
                file: file.to_owned(),
                name: other.to_owned(),
            });
        }
        let boards = match document.get("boards") {
            None => Vec::new(),
            Some(boards) => {
                let boards = boards
                    .as_table_like()
                    .ok_or_else(|| field(file, "", "", "must be a table of boards"))?;
                boards
                    .iter()
                    .map(|(name, item)| entry(file, name, item))
                    .collect::<Result<_, _>>()?
            }
        };
        let inventory = Self {
            file: file.to_owned(),
            is_new: false,
            document,
            boards,
        };
        inventory.check_unique()?;
        Ok(inventory)
    }

    fn check_unique(&self) -> Result<(), InventoryError> {
        for (at, one) in self.boards.iter().enumerate() {
            for other in &self.boards[at + 1..] {
                let what = if one.mac.is_some() && one.mac == other.mac {
                    "mac"
                } else if one.port == other.port {
                    "port"
                } else {
                    continue;
                };
                return Err(InventoryError::Twice {
                    file: self.file.clone(),
                    one: one.name.clone(),
                    other: other.name.clone(),
                    what,
                });
            }
        }
        Ok(())
    }

    /// Its path.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The board of a name.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.boards.iter().find(|board| board.name == name)
    }

    /// Takes up what a scan found: a board that is known by its MAC address, or else by its port, gets what is new; any other is added.
    /// Gives the board's name and whether something changed.
    pub fn take_up(&mut self, found: &Scanned) -> (String, bool) {
        let by_mac = self.boards.iter().position(|board| board.mac == Some(found.mac));
        let by_port = || {
            let mut boards = self.boards.iter();
            boards.position(|board| board.mac.is_none() && found.port.is(&board.port))
        };
        let name = match by_mac.or_else(by_port) {
            Some(at) => self.boards[at].name.clone(),
            None => self.free_name(found.chip),
        };
        let before = self.document.to_string();
        let table = self.table(&name);
        // a port that leads to the board may be written in any way
        let leads = table
            .get("port")
            .and_then(Item::as_str)
            .is_some_and(|port| found.port.is(Path::new(port)));
        if !leads {
            set(table, "port", &found.port.stable().display().to_string());
        }
        set(table, "mac", &found.mac.to_string());
        set(table, "chip", &found.chip.to_string());
        if let Some(usb) = &found.port.usb {
            set(table, "usb", &usb.location);
        }
        let after = self.document.to_string();
        // what we wrote can be read
        if let Ok(read) = Self::parse(&after, &self.file) {
            self.boards = read.boards;
        }
        (name, before != after)
    }

    fn free_name(&self, chip: Chip) -> String {
        (1..)
            .map(|number| format!("{chip}-{number}"))
            .find(|name| self.get(name).is_none())
            .unwrap_or_default()
    }

    fn table(&mut self, name: &str) -> &mut dyn TableLike {
        let boards = self.document.entry("boards").or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        // both were checked when the file was read
        let boards = boards.as_table_like_mut().expect("`boards` is a table");
        let board = boards.entry(name).or_insert_with(|| Item::Table(Table::new()));
        board.as_table_like_mut().expect("a board is a table")
    }

    /// Its text.
    pub fn text(&self) -> String {
        let head = if self.is_new { HEAD } else { "" };
        format!("{head}{}", self.document)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// [`InventoryError::File`].
    pub fn save(&self) -> Result<(), InventoryError> {
        let failed = |error| InventoryError::File {
            file: self.file.clone(),
            error,
        };
        if let Some(folder) = self.file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let draft = self.file.with_extension("toml.new");
        std::fs::write(&draft, self.text()).map_err(failed)?;
        std::fs::rename(&draft, &self.file).map_err(failed)
    }
}

/// Sets a text and keeps the comment behind it.
fn set(table: &mut dyn TableLike, key: &str, text: &str) {
    match table.get_mut(key) {
        Some(item) if item.as_str() == Some(text) => {}
        Some(item) => {
            let decor = item.as_value().map(|value| value.decor().clone());
            *item = value(text);
            if let (Some(decor), Some(value)) = (decor, item.as_value_mut()) {
                *value.decor_mut() = decor;
            }
        }
        None => {
            table.insert(key, value(text));
        }
    }
}

/// A board that a scan found.
#[derive(Clone, Debug)]
pub struct Scanned {
    /// Where it is.
    pub port: Port,
    /// Its MAC address.
    pub mac: Mac,
    /// Its chip.
    pub chip: Chip,
}

/// `boards.NAME.FIELD`, as far as there is one.
fn place(board: &str, field: &str) -> String {
    let parts = ["boards", board, field];
    parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".")
}

fn field(file: &Path, board: &str, field: &str, reason: &str) -> InventoryError {
    InventoryError::Field {
        file: file.to_owned(),
        board: board.to_owned(),
        field: field.to_owned(),
        reason: reason.to_owned(),
    }
}

fn entry(file: &Path, name: &str, item: &Item) -> Result<Entry, InventoryError> {
    let wrong = |key: &str, reason: &str| field(file, name, key, reason);
    let table = item
        .as_table_like()
        .ok_or_else(|| wrong("", "must be a table, as [boards.NAME]"))?;
    let usable = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !usable {
        return Err(wrong("", "a board's name has letters, digits, - _ and ."));
    }
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => item
            .as_str()
            .map(Some)
            .ok_or_else(|| wrong(key, "must be a string")),
    };
    let baud = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(item) => item
            .as_integer()
            .and_then(|baud| u32::try_from(baud).ok())
            .filter(|baud| (300..=4_000_000).contains(baud))
            .map(Some)
            .ok_or_else(|| wrong(key, "must be a baud rate from 300 to 4000000")),
    };
    let kind = match text("kind")? {
        None | Some("board") => BoardKind::Board,
        Some("virtual") => BoardKind::Virtual,
        Some("chip") => BoardKind::Chip,
        Some(_) => return Err(wrong("kind", "must be \"board\", \"virtual\" or \"chip\"")),
    };
    let (port, folder) = (text("port")?, text("folder")?);
    let port = match (kind, port, folder) {
        (BoardKind::Chip, None, Some(folder)) => Path::new(folder).join(PORT),
        (BoardKind::Chip, None, None) => Memories::of_user().folder_of(name).join(PORT),
        (BoardKind::Chip, Some(_), _) => {
            return Err(wrong(
                "port",
                "is made by the emulator; name the folder of its things, if any",
            ));
        }
        (_, _, Some(_)) => return Err(wrong("folder", "is for boards of the kind \"chip\"")),
        (_, Some(port), None) if !port.is_empty() => PathBuf::from(port),
        _ => {
            return Err(wrong(
                "port",
                "is missing: the path of the serial port, best below /dev/serial/by-id",
            ));
        }
    };
    let mac = text("mac")?
        .map(str::parse)
        .transpose()
        .map_err(|error: super::mac::MacError| wrong("mac", &error.to_string()))?;
    let chip = text("chip")?
        .map(str::parse)
        .transpose()
        .map_err(|_| wrong("chip", "is not known; as esp32c3 or esp32c6"))?;
    let power = match (table.get("power"), kind) {
        // a pseudo-terminal has no lines; a virtual board has its switch beside its port
        (None, BoardKind::Virtual | BoardKind::Chip) => PowerBy::Switch(port.with_file_name("switch")),
        (Some(_), BoardKind::Chip) => return Err(wrong("power", "is the emulator's; leave it out")),
        (power, _) => PowerBy::read(power).map_err(|reason| wrong("power", &reason))?,
    };
    let endpoint = text("endpoint")?;
    if let Some(Err(error)) = endpoint.map(Endpoint::parse) {
        return Err(wrong("endpoint", &error.to_string()));
    }
    let emulator = Emulator {
        program: text("emulator")?.map(str::to_owned),
        arguments: arguments(table.get("arguments"))
            .ok_or_else(|| wrong("arguments", "must be a list of strings"))?,
    };
    if kind != BoardKind::Chip && emulator != Emulator::default() {
        return Err(wrong(
            "kind",
            "must be \"chip\" for a board with emulator or arguments",
        ));
    }
    if kind == BoardKind::Chip && mac.is_none() {
        return Err(wrong(
            "mac",
            "is missing: the address that the emulated chip is to have, as 02:00:00:00:00:01",
        ));
    }
    Ok(Entry {
        name: name.to_owned(),
        kind,
        port,
        endpoint: endpoint.map(str::to_owned),
        emulator,
        mac,
        chip,
        usb: text("usb")?.map(str::to_owned),
        power,
        console_baud: baud("console_baud")?.unwrap_or(CONSOLE_BAUD),
        flash_baud: baud("flash_baud")?,
        notes: text("notes")?.unwrap_or_default().to_owned(),
    })
}

fn arguments(item: Option<&Item>) -> Option<Vec<String>> {
    let Some(item) = item else {
        return Some(Vec::new());
    };
    let words = item
        .as_array()?
        .iter()
        .map(|word| Some(word.as_str()?.to_owned()));
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ports::Usb;

    const FILE: &str = "boards.toml";
    const BENCH: &str = r#"# my bench
title = "lab 3" # not ours

[boards.window]   # on the sill
owner = "ann"
mac = "60:55:F9:00:00:01" # printed on the can
port = "/dev/ttyOLD"   # moves
chip = "esp32c3"
power = { hub = "1-1", port = 4 }

[boards.fake]
kind = "virtual"
port = "/run/board-1"
"#;

    fn parse(text: &str) -> Result<Inventory, InventoryError> {
        Inventory::parse(text, Path::new(FILE))
    }

    fn scanned(path: &str, mac: &str) -> Scanned {
        Scanned {
            port: Port {
                path: path.into(),
                id: Some(format!("/dev/serial/by-id/{}", mac.replace(':', "")).into()),
                usb: Some(Usb {
                    location: "1-1.2".to_owned(),
                    ..Usb::default()
                }),
            },
            mac: mac.parse().unwrap(),
            chip: Chip::Esp32c3,
        }
    }

    #[test]
    fn a_misspelt_table_hides_no_board() {
        for text in ["[board.window]\nport = \"/dev/ttyACM0\"", "[[board]]"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains("a board is a table [boards.NAME]"), "{error}");
        }
    }

    #[test]
    fn a_board_is_read_with_its_defaults() {
        let inventory = parse(BENCH).unwrap();
        let names: Vec<_> = inventory.boards.iter().map(|board| board.name.as_str()).collect();
        assert_eq!(names, ["window", "fake"]);
        let window = inventory.get("window").unwrap();
        assert_eq!(window.mac, "60:55:f9:00:00:01".parse().ok());
        assert_eq!((window.chip, window.console_baud), (Some(Chip::Esp32c3), 115_200));
        let hub = "1-1".to_owned();
        assert_eq!(window.power, PowerBy::Hub { hub, port: 4 });
        let fake = inventory.get("fake").unwrap();
        let switch = PowerBy::Switch("/run/switch".into());
        assert_eq!((fake.kind, &fake.power), (BoardKind::Virtual, &switch));
    }

    #[test]
    fn a_scan_renews_what_it_knows_and_keeps_all_else() {
        let mut inventory = parse(BENCH).unwrap();
        let taken = inventory.take_up(&scanned("/dev/ttyACM7", "60:55:f9:00:00:01"));
        assert_eq!(taken, ("window".to_owned(), true));
        let wanted = BENCH
            .replace("/dev/ttyOLD", "/dev/serial/by-id/6055f9000001")
            .replace("60:55:F9", "60:55:f9")
            .replace("port = 4 }\n", "port = 4 }\nusb = \"1-1.2\"\n");
        assert_eq!(inventory.text(), wanted);
        let again = inventory.take_up(&scanned("/dev/ttyACM7", "60:55:f9:00:00:01"));
        assert_eq!(again, ("window".to_owned(), false));
    }

    #[test]
    fn a_new_board_is_added_behind_the_others() {
        let mut inventory = parse(BENCH).unwrap();
        let taken = inventory.take_up(&scanned("/dev/ttyACM1", "60:55:f9:00:00:02"));
        assert_eq!(taken, ("esp32c3-1".to_owned(), true));
        let text = inventory.text();
        assert!(text.starts_with(BENCH), "{text}");
        assert!(
            text.ends_with(
                "\n[boards.esp32c3-1]\nport = \"/dev/serial/by-id/6055f9000002\"\nmac = \"60:55:f9:00:00:02\"\nchip = \"esp32c3\"\nusb = \"1-1.2\"\n"
            ),
            "{text}"
        );
        assert_eq!(inventory.boards.len(), 3);
    }

    #[test]
    fn a_first_scan_writes_a_file_that_explains_itself() {
        let mut inventory = Inventory::new(Path::new(FILE));
        inventory.take_up(&scanned("/dev/ttyACM0", "60:55:f9:00:00:02"));
        let text = inventory.text();
        assert!(text.starts_with("# The boards of this bench."), "{text}");
        assert!(text.contains("\n[boards.esp32c3-1]\n"), "{text}");
        assert!(!text.contains("[boards]"), "{text}");
        assert_eq!(parse(&text).unwrap().boards, inventory.boards);
    }

    #[test]
    fn the_sample_of_the_documentation_can_be_used() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci/boards.toml");
        let boards = Inventory::load(&file).unwrap().boards;
        assert_eq!(boards.len(), 5);
        let hub = "1-1".to_owned();
        assert_eq!(boards[1].power, PowerBy::Hub { hub, port: 3 });
        assert_eq!(boards[1].flash_baud, Some(921_600));
        assert_eq!(
            boards[3].power,
            PowerBy::Switch("/run/boards/board-0/switch".into())
        );
        let chip = &boards[4];
        assert_eq!(
            (chip.kind, chip.port.as_path()),
            (BoardKind::Chip, Path::new("/var/lib/boards/emulated/port"))
        );
        assert_eq!(
            chip.power,
            PowerBy::Switch("/var/lib/boards/emulated/switch".into())
        );
        assert_eq!(
            chip.emulator.program.as_deref(),
            Some("qemu=/opt/esp/bin/qemu-system-riscv32")
        );
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, wanted) in [
            (
                "[boards.a]\nmac = \"x\"\nport = \"/p\"",
                "boards.toml: boards.a.mac: \"x\" is no MAC address",
            ),
            ("[boards.a]\n", "boards.toml: boards.a.port: is missing"),
            (
                "[boards.a]\nport = 3",
                "boards.toml: boards.a.port: must be a string",
            ),
            (
                "[boards.a]\nport = \"/p\"\nchip = \"z80\"",
                "boards.toml: boards.a.chip: is not known",
            ),
            (
                "[boards.a]\nport = \"/p\"\nkind = \"toy\"",
                "boards.toml: boards.a.kind: must be",
            ),
            (
                "[boards.a]\nport = \"/p\"\nconsole_baud = 0",
                "boards.toml: boards.a.console_baud: must be",
            ),
            (
                "[boards.\"a b\"]\nport = \"/p\"",
                "boards.toml: boards.a b: a board's name",
            ),
            ("boards = 3", "boards.toml: boards: must be a table"),
            (
                "[boards.a]\nkind = \"chip\"",
                "boards.toml: boards.a.mac: is missing: the address that the emulated chip is to have",
            ),
            (
                "[boards.a]\nkind = \"chip\"\nport = \"/p\"",
                "boards.toml: boards.a.port: is made by the emulator",
            ),
            (
                "[boards.a]\nkind = \"chip\"\npower = \"none\"\nmac = \"02:00:00:00:00:01\"",
                "boards.toml: boards.a.power: is the emulator's",
            ),
            (
                "[boards.a]\nport = \"/p\"\nemulator = \"qemu=/q\"",
                "boards.toml: boards.a.kind: must be \"chip\"",
            ),
            (
                "[boards.a]\nport = \"/p\"\nfolder = \"/f\"",
                "boards.toml: boards.a.folder: is for boards of the kind \"chip\"",
            ),
            (
                "[boards.a]\nport = \"/p\"\nendpoint = \"ftp://x\"",
                "boards.toml: boards.a.endpoint: \"ftp://x\" is not an http URL",
            ),
            (
                "[boards.a]\nport = \"/p\"\n[boards.b]\nport = \"/p\"",
                "boards.toml: a and b have the same port",
            ),
            ("[boards.a\n", "boards.toml: TOML parse error at line 1"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
