//! Which board is meant, and the right to use it.

use super::failure::{Failure, Kind};
use super::flash::job::BAUDS;
use super::inventory::{BoardKind, Entry, Inventory};
use super::lease::{Holder, Lease, LeaseError, Leases};
use super::memory::Memories;
use super::ports::{self, Port};
use super::power::Site;
use espflash::target::Chip;
use std::path::Path;
use std::time::{Duration, Instant};

/// What a user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The only board that there is.
    Only,
    /// A name of the inventory, or the path of a port.
    Named(String),
    /// The first that is free, of this chip.
    Any(Chip),
}

/// Why there is no board.
#[derive(Debug, thiserror::Error)]
pub enum ChooseError {
    /// What was asked for is not there, or not clear: said with what there is.
    #[error("{0}")]
    Unclear(String),
    /// The bench can't give it now.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
}

/// The boards that are meant: one, or with [`Wanted::Any`] all that would do. `ports` are those of this machine. Pure.
///
/// # Errors
/// [`ChooseError`], with the boards that there are.
pub fn candidates(
    wanted: &Wanted,
    inventory: Option<&Inventory>,
    ports: &[Port],
) -> Result<Vec<Entry>, ChooseError> {
    let boards = inventory.map_or(&[][..], |inventory| inventory.boards.as_slice());
    let unclear = |text: String| Err(ChooseError::Unclear(text));
    match wanted {
        Wanted::Named(name) => {
            if let Some(board) = boards.iter().find(|board| board.name == *name) {
                return Ok(vec![board.clone()]);
            }
            if name.contains('/') {
                let path = Path::new(name);
                // a board of the inventory, named by its port, is still that board
                let known = boards.iter().find(|board| same_port(&board.port, path));
                return Ok(vec![known.cloned().unwrap_or_else(|| Entry::on_port(name, path))]);
            }
            match inventory {
                Some(inventory) => unclear(format!(
                    "there is no board {name:?} in {}; there are {}",
                    inventory.file().display(),
                    names(boards)
                )),
                None => unclear(format!(
                    "there is no inventory to find the board {name:?} in; `mcp-hil boards scan` writes one, or name a port by its path"
                )),
            }
        }
        Wanted::Any(chip) => {
            let fit: Vec<_> = boards
                .iter()
                .filter(|board| board.chip == Some(*chip))
                .cloned()
                .collect();
            if fit.is_empty() {
                return unclear(format!(
                    "no board of the inventory is an {chip}; there are {}",
                    names(boards)
                ));
            }
            Ok(fit)
        }
        Wanted::Only => match boards {
            [board] => Ok(vec![board.clone()]),
            [] => only_port(ports).map(|port| vec![port]),
            _ => unclear(format!("there are several boards; name one of {}", names(boards))),
        },
    }
}

fn only_port(ports: &[Port]) -> Result<Entry, ChooseError> {
    let fit: Vec<_> = ports.iter().filter(|port| port.may_be_board()).collect();
    match fit.as_slice() {
        [port] => Ok(Entry::on_port(&port.path.display().to_string(), port.stable())),
        [] => Err(Box::new(Failure::new(
            Kind::PortMissing,
            "board",
            "no board is plugged in: no USB serial port of a known make",
        ))
        .into()),
        _ => {
            let paths: Vec<_> = fit.iter().map(|port| port.path.display().to_string()).collect();
            Err(ChooseError::Unclear(format!(
                "several boards are plugged in; name one of {}, or give them names with `mcp-hil boards scan`",
                paths.join(", ")
            )))
        }
    }
}

fn same_port(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

fn names(boards: &[Entry]) -> String {
    match boards {
        [] => "none".to_owned(),
        _ => boards
            .iter()
            .map(|board| board.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    }
}

/// What the lease of a board is called.
pub fn lease_key(board: &Entry) -> String {
    match board.kind {
        // there while it runs, and another each time
        BoardKind::Chip => board
            .port
            .display()
            .to_string()
            .trim_start_matches('/')
            .to_owned(),
        BoardKind::Board | BoardKind::Virtual => ports::key(&board.port),
    }
}

/// What the memory of a board is called: its MAC address, which stays with it, or else its port.
pub fn memory_key(board: &Entry) -> String {
    board
        .mac
        .map_or_else(|| ports::key(&board.port), |mac| mac.to_string())
}

/// Takes the lease of the first board that is free, and waits so long for one. `waiting` is told once who has them.
///
/// # Errors
/// [`Kind::BoardLeased`], or a file of leases that can't be used.
pub fn lease(
    leases: &Leases,
    boards: &[Entry],
    holder: &Holder,
    wait: Duration,
    mut waiting: impl FnMut(&str),
) -> Result<(Entry, Lease), Box<Failure>> {
    let start = Instant::now();
    let mut told = false;
    loop {
        let mut held = Vec::new();
        for board in boards {
            match leases.take(&lease_key(board), holder, Duration::ZERO, |_| {}) {
                Ok(lease) => return Ok((board.clone(), lease)),
                Err(error @ LeaseError::Held(_)) => held.push(format!("{} is {error}", board.name)),
                Err(error) => {
                    let mut failure = Failure::new(Kind::BoardLeased, &board.name, error.to_string());
                    failure.advice = Some(
                        "make the folder of the leases writable, or name another with MCP_HIL_LEASES"
                            .to_owned(),
                    );
                    return Err(failure.into());
                }
            }
        }
        let held = held.join("; ");
        if start.elapsed() >= wait {
            let board = boards.first().map_or("board", |board| board.name.as_str());
            return Err(Failure::new(Kind::BoardLeased, board, held).into());
        }
        if !told {
            told = true;
            waiting(&held);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Where a board is.
pub fn site(board: &Entry) -> Site {
    Site {
        board: board.name.clone(),
        port: board.port.clone(),
        mac: board.mac.map(|mac| mac.to_string()),
    }
}

/// Baud rates to try with a board: what the user says, what the inventory says, what held the last time, or all.
pub fn bauds(board: &Entry, asked: Option<u32>, memories: &Memories) -> Vec<u32> {
    if let Some(baud) = asked.or(board.flash_baud) {
        return vec![baud];
    }
    match memories.read(&memory_key(board)).flash_baud {
        Some(held) => BAUDS.into_iter().filter(|baud| *baud <= held).collect(),
        None => BAUDS.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ports::Usb;

    fn inventory(text: &str) -> Inventory {
        Inventory::parse(text, Path::new("boards.toml")).unwrap()
    }

    fn port(path: &str, vendor: u16) -> Port {
        Port {
            path: path.into(),
            id: None,
            usb: Some(Usb {
                id: (vendor, 1),
                ..Usb::default()
            }),
        }
    }

    fn chosen(wanted: &Wanted, inventory: Option<&Inventory>, ports: &[Port]) -> Result<Vec<String>, String> {
        candidates(wanted, inventory, ports)
            .map(|boards| boards.into_iter().map(|board| board.name).collect())
            .map_err(|error| error.to_string())
    }

    const TWO: &str = "[boards.a]\nport = \"/dev/a\"\nchip = \"esp32c3\"\n[boards.b]\nport = \"/dev/b\"\nchip = \"esp32c6\"\n";

    #[test]
    fn one_board_needs_no_name() {
        let modem = port("/dev/ttyACM9", 0x1bc7);
        let one = [port("/dev/ttyACM0", 0x303a), modem.clone()];
        assert_eq!(chosen(&Wanted::Only, None, &one).unwrap(), ["/dev/ttyACM0"]);
        let two = [port("/dev/ttyACM0", 0x303a), port("/dev/ttyUSB0", 0x10c4)];
        let asked = chosen(&Wanted::Only, None, &two).unwrap_err();
        assert!(
            asked.contains("name one of /dev/ttyACM0, /dev/ttyUSB0"),
            "{asked}"
        );
        let none = chosen(&Wanted::Only, None, &[modem]).unwrap_err();
        assert!(none.contains("port-missing: no board is plugged in"), "{none}");
        let asked = chosen(&Wanted::Only, Some(&inventory(TWO)), &one).unwrap_err();
        assert!(asked.ends_with("name one of a, b"), "{asked}");
    }

    #[test]
    fn a_board_is_named_by_its_name_or_its_port() {
        let two = inventory(TWO);
        let named = |name: &str| chosen(&Wanted::Named(name.to_owned()), Some(&two), &[]);
        assert_eq!(named("b").unwrap(), ["b"]);
        assert_eq!(named("/dev/b").unwrap(), ["b"]);
        assert_eq!(named("/dev/c").unwrap(), ["/dev/c"]);
        assert!(named("c").unwrap_err().ends_with("there are a, b"));
        assert_eq!(
            chosen(&Wanted::Any(Chip::Esp32c6), Some(&two), &[]).unwrap(),
            ["b"]
        );
        assert!(chosen(&Wanted::Any(Chip::Esp32h2), Some(&two), &[]).is_err());
    }

    #[test]
    fn of_several_the_first_free_one_is_leased() {
        let folder = tempfile::tempdir().unwrap();
        let leases = Leases::in_folder(folder.path());
        let boards = inventory(TWO).boards;
        let take = || lease(&leases, &boards, &Holder::here("test"), Duration::ZERO, |_| {});
        let (first, _one) = take().unwrap();
        let (second, _other) = take().unwrap();
        assert_eq!((first.name.as_str(), second.name.as_str()), ("a", "b"));
        let failure = take().unwrap_err();
        assert_eq!(failure.kind, Kind::BoardLeased);
        assert!(
            failure.cause.contains("a is leased by") && failure.cause.contains("b is leased by"),
            "{failure}"
        );
    }

    #[test]
    fn the_rate_that_held_is_tried_first() {
        let folder = tempfile::tempdir().unwrap();
        let memories = Memories::in_folder(folder.path());
        let board = &inventory(TWO).boards[0];
        assert_eq!(bauds(board, None, &memories), BAUDS);
        memories.change(&memory_key(board), |memory| memory.flash_baud = Some(460_800));
        assert_eq!(bauds(board, None, &memories), [460_800, 115_200]);
        assert_eq!(bauds(board, Some(921_600), &memories), [921_600]);
    }
}
