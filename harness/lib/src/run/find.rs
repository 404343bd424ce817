//! Which of the announced boards is the one that was started: pure.

use crate::discover::Found;
use crate::target::Endpoint;
use std::fmt;
use std::net::IpAddr;
use std::time::Instant;

/// By what a board is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clues {
    /// Its MAC address, as `02:00:0a:0d:25:0a`.
    pub mac: Option<String>,
    /// Its address.
    pub address: Option<IpAddr>,
    /// When it was started: what was heard of it before, another firmware said.
    pub since: Option<Instant>,
    /// Where it answers, if that is known beforehand: mDNS does not get from there to here.
    pub endpoint: Option<Endpoint>,
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
        if self
            .since
            .is_some_and(|since| found.heard.is_none_or(|at| at < since))
        {
            return false;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: &str = "02:00:0a:0d:25:0a";
    const ADDRESS: [u8; 4] = [10, 13, 37, 10];

    fn announced(id: Option<&str>, address: [u8; 4], build: Option<&str>) -> Found {
        let mut found = Found::default();
        found.id = id.map(str::to_owned);
        found.addresses.push(address.into());
        found.build = build.map(str::to_owned);
        found.complete = true;
        found
    }

    fn clues() -> Clues {
        Clues {
            mac: Some(MAC.to_owned()),
            address: Some(ADDRESS.into()),
            endpoint: None,
            since: None,
        }
    }

    #[test]
    fn the_mac_address_decides_where_one_is_told() {
        let other = announced(Some("02:00:0a:0d:25:0b"), ADDRESS, None);
        assert_eq!(clues().search(&[other], None), Match::Nobody);
        let moved = [announced(Some("02:00:0A:0D:25:0A"), [10, 13, 37, 99], None)];
        assert_eq!(clues().search(&moved, None), Match::Board(&moved[0]));
    }

    #[test]
    fn the_address_decides_where_none_is_told() {
        let found = [
            announced(None, [10, 13, 37, 11], None),
            announced(None, ADDRESS, None),
        ];
        assert_eq!(clues().search(&found, None), Match::Board(&found[1]));
    }

    #[test]
    fn the_build_that_was_started_wins_over_what_an_old_one_left() {
        let old = announced(Some(MAC), ADDRESS, Some("01"));
        let new = announced(Some(MAC), ADDRESS, Some("FF"));
        let found = [old.clone(), new];
        assert_eq!(clues().search(&found, Some("ff")), Match::Board(&found[1]));
        assert_eq!(clues().search(&[old], Some("ff")), Match::OtherBuild("01"));
    }

    #[test]
    fn a_build_that_is_not_told_or_not_known_is_no_other_build() {
        for (told, wanted) in [(None, Some("ff")), (Some(""), Some("ff")), (Some("01"), None)] {
            let found = [announced(Some(MAC), ADDRESS, told)];
            assert_eq!(clues().search(&found, wanted), Match::Board(&found[0]));
        }
    }

    #[test]
    fn what_was_heard_before_the_start_is_of_another_firmware() {
        let start = Instant::now();
        let clues = Clues {
            since: Some(start),
            ..clues()
        };
        let mut found = [announced(Some(MAC), ADDRESS, Some("01"))];
        for heard in [None, start.checked_sub(std::time::Duration::from_millis(1))] {
            found[0].heard = heard;
            assert_eq!(clues.search(&found, Some("ff")), Match::Nobody);
        }
        found[0].heard = Some(start);
        assert_eq!(clues.search(&found, Some("ff")), Match::OtherBuild("01"));
    }

    #[test]
    fn half_an_announcement_is_none_yet() {
        let mut half = announced(Some(MAC), ADDRESS, None);
        half.complete = false;
        assert_eq!(clues().search(&[half], None), Match::Nobody);
    }
}
