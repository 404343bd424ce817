//! The configuration sector: what a board is told when it is flashed. The format is that of
//! `fixtures/configuration/README.md`.

use core::fmt;

use crc::{CRC_32_ISO_HDLC, Crc, NoTable};
use mcp_device_net::mdns::Label;
use thiserror::Error;

use crate::address::{Address, PREFIX};

/// Size of the sector, bytes.
pub const SECTOR: usize = 4096;
/// Size of its header, bytes.
pub const HEADER: usize = 12;
/// First bytes of a sector that was written.
pub const MAGIC: [u8; 4] = *b"MCPC";
/// The version read here.
pub const VERSION: u16 = 1;
/// Most bytes of entries.
pub const ENTRIES: usize = SECTOR - HEADER;

/// Longest name of a network, bytes (IEEE 802.11, 9.4.2.2).
pub const SSID: usize = 32;
/// Shortest and longest bearer token, bytes.
pub const TOKEN: [usize; 2] = [16, 128];

const WITHOUT_TABLE: Crc<u32, NoTable> = Crc::<u32, NoTable>::new(&CRC_32_ISO_HDLC);

/// What the sector holds. It borrows the sector's bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configuration<'a> {
    /// The network to join.
    pub wifi: Option<Wifi<'a>>,
    /// Host name without `.local`; by default made of the MAC address.
    pub hostname: Option<Label>,
    /// Bearer token that every request must carry.
    pub token: Option<Secret<'a>>,
    /// Address of the board; by default DHCP gives one.
    pub address: Option<Address>,
}

/// A Wi-Fi network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wifi<'a> {
    /// Its name, 1 to [`SSID`] bytes of any kind.
    pub ssid: &'a [u8],
    /// A passphrase of 8 to 63 printable ASCII characters, or a key of 64 hex digits; none for an open network.
    pub password: Option<Secret<'a>>,
}

/// A text that must not be printed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Secret<'a>(&'a str);

impl<'a> Secret<'a> {
    /// The text, for the one who needs it.
    pub fn reveal(self) -> &'a str {
        self.0
    }
}

impl fmt::Debug for Secret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// Why a sector can't be used. None of these tells what a secret holds.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigurationError {
    /// Erased flash, or no place for a configuration.
    #[error("there is none")]
    Missing,
    /// Flash that can't be read.
    #[error("the flash can't be read: code {0}")]
    Unreadable(i32),
    /// Something else lies there.
    #[error("the sector holds something else: it does not begin with MCPC")]
    Magic,
    /// Written for another firmware.
    #[error(
        "it has version {0}; this firmware reads version {VERSION}: write it anew, or flash the firmware that fits"
    )]
    Version(u16),
    /// More entries than a sector has room for, or than were read.
    #[error("it claims {0} bytes of entries; there is room for {1}")]
    Length(usize, usize),
    /// A bit has flipped, or the sector was not written to its end.
    #[error("its CRC-32 is wrong: it is damaged, or was not written to its end")]
    Crc,
    /// An entry that is longer than what is left, from this byte of the sector on.
    #[error("the entry at byte {0} runs past the end")]
    Entry(usize),
    /// Two entries with this tag.
    #[error("entry {0} is there twice")]
    Repeated(u8),
    /// A bad name of the network.
    #[error("the network's name must be 1 to {SSID} bytes")]
    Ssid,
    /// A bad password.
    #[error(
        "the password must be 8 to 63 printable ASCII characters, or 64 hex digits; an open network has none"
    )]
    Password,
    /// A password, but no network.
    #[error("there is a password, but no network's name")]
    PasswordAlone,
    /// A bad host name.
    #[error("the host name must be 1 to 63 letters, digits or inner hyphens, without a dot")]
    Hostname,
    /// A bad token.
    #[error("the token must be {low} to {high} letters, digits or -._~+/, and may end in =", low = TOKEN[0], high = TOKEN[1])]
    Token,
    /// A bad address.
    #[error(
        "the address must be a host's with a prefix of 1 to {PREFIX} bits, and the gateway another host of the same network"
    )]
    Address,
}

const TAG_SSID: u8 = 1;
const TAG_PASSWORD: u8 = 2;
const TAG_HOSTNAME: u8 = 3;
const TAG_TOKEN: u8 = 4;
const TAG_ADDRESS: u8 = 5;

impl<'a> Configuration<'a> {
    /// Reads a sector. What lies behind the entries is passed over, and so are entries with an unknown tag.
    pub fn parse(sector: &'a [u8]) -> Result<Self, ConfigurationError> {
        let entries = checked_entries(sector)?;
        let [ssid, password, hostname, token, address] = values(entries)?;
        let ssid = ssid.map(read_ssid).transpose()?;
        let password = password.map(read_password).transpose()?;
        let wifi = match (ssid, password) {
            (Some(ssid), password) => Some(Wifi { ssid, password }),
            (None, None) => None,
            (None, Some(_)) => return Err(ConfigurationError::PasswordAlone),
        };
        Ok(Self {
            wifi,
            hostname: hostname.map(read_hostname).transpose()?,
            token: token.map(read_token).transpose()?,
            address: address.map(read_address).transpose()?,
        })
    }
}

/// The bytes of the entries, after all that the header says has been checked.
fn checked_entries(sector: &[u8]) -> Result<&[u8], ConfigurationError> {
    let room = sector.len().min(SECTOR).saturating_sub(HEADER);
    let Some((&[m0, m1, m2, m3, v0, v1, l0, l1, crc @ ..], rest)) = sector.split_first_chunk::<HEADER>()
    else {
        return Err(ConfigurationError::Length(0, room));
    };
    let magic = [m0, m1, m2, m3];
    if magic == [0xff; 4] {
        return Err(ConfigurationError::Missing);
    }
    if magic != MAGIC {
        return Err(ConfigurationError::Magic);
    }
    let version = u16::from_le_bytes([v0, v1]);
    if version != VERSION {
        return Err(ConfigurationError::Version(version));
    }
    let length = usize::from(u16::from_le_bytes([l0, l1]));
    let entries = rest
        .get(..length)
        .filter(|_| length <= room)
        .ok_or(ConfigurationError::Length(length, room))?;
    let mut digest = WITHOUT_TABLE.digest();
    digest.update(&[m0, m1, m2, m3, v0, v1, l0, l1]);
    digest.update(entries);
    if digest.finalize() != u32::from_le_bytes(crc) {
        return Err(ConfigurationError::Crc);
    }
    Ok(entries)
}

/// The values of the known tags, in the order of the tags.
fn values(entries: &[u8]) -> Result<[Option<&[u8]>; 5], ConfigurationError> {
    let mut values = [None; 5];
    let mut rest = entries;
    while !rest.is_empty() {
        let at = HEADER + entries.len() - rest.len();
        let [tag, length, after @ ..] = rest else {
            return Err(ConfigurationError::Entry(at));
        };
        let (value, next) = after
            .split_at_checked(usize::from(*length))
            .ok_or(ConfigurationError::Entry(at))?;
        let known = match *tag {
            TAG_SSID => Some(0),
            TAG_PASSWORD => Some(1),
            TAG_HOSTNAME => Some(2),
            TAG_TOKEN => Some(3),
            TAG_ADDRESS => Some(4),
            _ => None,
        };
        if let Some(place) = known.and_then(|index: usize| values.get_mut(index))
            && place.replace(value).is_some()
        {
            return Err(ConfigurationError::Repeated(*tag));
        }
        rest = next;
    }
    Ok(values)
}

fn read_ssid(value: &[u8]) -> Result<&[u8], ConfigurationError> {
    if (1..=SSID).contains(&value.len()) {
        Ok(value)
    } else {
        Err(ConfigurationError::Ssid)
    }
}

fn read_password(value: &[u8]) -> Result<Secret<'_>, ConfigurationError> {
    let legal = match value.len() {
        8..=63 => value.iter().all(|byte| (0x20..0x7f).contains(byte)),
        64 => value.iter().all(u8::is_ascii_hexdigit),
        _ => false,
    };
    secret(value)
        .filter(|_| legal)
        .ok_or(ConfigurationError::Password)
}

fn read_hostname(value: &[u8]) -> Result<Label, ConfigurationError> {
    core::str::from_utf8(value)
        .ok()
        .and_then(|name| Label::host(name).ok())
        .ok_or(ConfigurationError::Hostname)
}

/// A `b64token` (RFC 6750, 2.1).
fn read_token(value: &[u8]) -> Result<Secret<'_>, ConfigurationError> {
    let [low, high] = TOKEN;
    let padding = value.iter().rev().take_while(|byte| **byte == b'=').count();
    let body = &value[..value.len() - padding];
    let legal = (low..=high).contains(&value.len())
        && !body.is_empty()
        && body
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(byte));
    secret(value).filter(|_| legal).ok_or(ConfigurationError::Token)
}

fn read_address(value: &[u8]) -> Result<Address, ConfigurationError> {
    Address::read(value).ok_or(ConfigurationError::Address)
}

fn secret(value: &[u8]) -> Option<Secret<'_>> {
    core::str::from_utf8(value).ok().map(Secret)
}
