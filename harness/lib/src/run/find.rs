//! Which of the announced boards is the one that was started: pure.

use crate::discover::Found;
use std::fmt;
use std::net::IpAddr;

/// By what a board is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clues {
    /// Its MAC address, as `02:00:0a:0d:25:0a`.
    pub mac: Option<String>,
    /// Its address.
    pub address: Option<IpAddr>,
}

impl fmt::Display for Clues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.mac, self.address) {
            (Some(mac), Some(address)) => write!(f, "{mac}, {address}"),
            (Some(mac), None) => f.write_str(mac),
            (None, Some(address)) => address.fmt(f),
            (None, None) => f.write_str("neither MAC address nor address known"),
        }
    }
}

/// What an announcement is to a board.
#[derive(Debug, PartialEq)]
pub enum Match<'a> {
    /// This board, running this build, or telling none.
    Board(&'a Found),
    /// This board, with another build.
    OtherBuild(&'a str),
    /// It is not announced, or not all of it yet.
    Nobody,
}

impl Clues {
    /// Whether an announcement is this board's. A MAC address in it decides; without one the address does.
    pub fn fit(&self, found: &Found) -> bool {
        match (&self.mac, &found.id) {
            (Some(mac), Some(id)) => mac.eq_ignore_ascii_case(id),
            _ => self
                .address
                .is_some_and(|address| found.addresses.contains(&address)),
        }
    }

    /// Looks for the board. What a build before has announced may still be about, so one with the right build wins.
    pub fn search<'a>(&self, found: &'a [Found], build: Option<&str>) -> Match<'a> {
        let mut other = Match::Nobody;
        for board in found.iter().filter(|board| board.complete && self.fit(board)) {
            match (build, board.build.as_deref().filter(|build| !build.is_empty())) {
                (Some(wanted), Some(running)) if !wanted.eq_ignore_ascii_case(running) => {
                    other = Match::OtherBuild(running);
                }
                _ => return Match::Board(board),
            }
        }
        other
    }
}
