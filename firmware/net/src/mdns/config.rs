//! What the responder announces, checked once.

use core::fmt::{self, Write};
use core::num::NonZeroU16;

use domain::dep::octseq::array::Array;
use domain::dep::octseq::builder::OctetsBuilder;
use thiserror::Error;

/// Largest TXT record data, in bytes.
pub(super) const MAX_TXT: usize = 256;

/// Why a [`Config`], [`Label`] or [`Txt`] was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ConfigError {
    /// A host name that is not 1 to 63 letters, digits and inner hyphens (RFC 1123 §2.1).
    #[error("host name must be 1 to 63 letters, digits or inner hyphens, without a dot")]
    Host,
    /// An instance name that is not 1 to 63 bytes of UTF-8 without control characters (RFC 6763 §4.1.1).
    #[error("instance name must be 1 to 63 bytes without control characters")]
    Instance,
    /// Port 0.
    #[error("port must not be 0")]
    Port,
    /// A TXT key that is not one or more printable ASCII characters other than `=` (RFC 6763 §6.4).
    #[error("TXT key number {0} must be printable ASCII, not empty and without '='")]
    TxtKey(usize),
    /// A TXT key that is already there, letter case aside (RFC 6763 §6.4).
    #[error("TXT key number {0} repeats an earlier one")]
    TxtRepeated(usize),
    /// A TXT string over 255 bytes, or all of them together over 256 bytes.
    #[error("TXT key number {0} does not fit: 255 bytes a string, {MAX_TXT} bytes together")]
    TxtTooLong(usize),
}

/// One label of a domain name: 1 to 63 bytes of UTF-8. Dots and spaces are part of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Label {
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Label {
    /// Longest label, in bytes (RFC 1035 §2.3.4).
    pub const MAX: usize = 63;

    /// A host name without `.local`.
    pub fn host(name: &str) -> Result<Self, ConfigError> {
        let legal = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-');
        Self::new(name).filter(|_| legal).ok_or(ConfigError::Host)
    }

    /// A service instance name, meant for people.
    pub fn instance(name: &str) -> Result<Self, ConfigError> {
        Self::new(name)
            .filter(|_| !name.chars().any(char::is_control))
            .ok_or(ConfigError::Instance)
    }

    /// The name a board has by default, from its MAC address: `mcp-hil-` and the last three bytes in lowercase hex.
    pub fn from_mac(mac: [u8; 6]) -> Self {
        let mut label = Self {
            bytes: [0; Self::MAX],
            len: 0,
        };
        let [.., a, b, c] = mac;
        write!(label, "mcp-hil-{a:02x}{b:02x}{c:02x}").expect("14 bytes fit");
        label
    }

    fn new(name: &str) -> Option<Self> {
        let mut label = Self {
            bytes: [0; Self::MAX],
            len: 0,
        };
        label
            .write_str(name)
            .ok()
            .filter(|()| !name.is_empty())
            .map(|()| label)
    }

    /// The label as text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }

    /// The `number`th name tried, from 2 on: `base-2`, the base cut short where it would not fit.
    pub(super) fn numbered(&self, number: u16) -> Self {
        let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
        let base = self.as_str();
        let mut end = base.len().min(Self::MAX - 1 - digits);
        while !base.is_char_boundary(end) {
            end -= 1;
        }
        let mut label = Self {
            bytes: [0; Self::MAX],
            len: 0,
        };
        write!(label, "{}-{number}", &base[..end]).expect("cut to fit");
        label
    }
}

impl Write for Label {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let start = usize::from(self.len);
        let end = start + s.len();
        self.bytes
            .get_mut(start..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(s.as_bytes());
        self.len = end as u8;
        Ok(())
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// TXT record data (RFC 6763 §6). Everyone on the link can read it: no secrets.
#[derive(Clone)]
pub struct Txt(Array<MAX_TXT>);

impl Txt {
    /// Key and value pairs in the order given; none gives the single empty string that RFC 6763 §6.1 asks for.
    pub fn new(pairs: &[(&str, &str)]) -> Result<Self, ConfigError> {
        let mut data = Array::new();
        for (at, (key, value)) in pairs.iter().enumerate() {
            let number = at + 1;
            if key.is_empty() || !key.bytes().all(|b| (0x20..0x7f).contains(&b) && b != b'=') {
                return Err(ConfigError::TxtKey(number));
            }
            if pairs[..at]
                .iter()
                .any(|(earlier, _)| earlier.eq_ignore_ascii_case(key))
            {
                return Err(ConfigError::TxtRepeated(number));
            }
            let too_long = ConfigError::TxtTooLong(number);
            let len = u8::try_from(key.len() + 1 + value.len()).map_err(|_| too_long)?;
            for part in [&[len], key.as_bytes(), b"=", value.as_bytes()] {
                data.append_slice(part).map_err(|_| too_long)?;
            }
        }
        if pairs.is_empty() {
            data.append_slice(&[0]).expect("one byte fits");
        }
        Ok(Self(data))
    }

    /// What every board tells: `endpoint=mcp`, `id=` its MAC address in colons, `build=` the build id of its image. No build
    /// id, or one that is no hex number of at most 64 digits, gives an empty `build`.
    pub fn of_board(mac: [u8; 6], build: &str) -> Self {
        let legal = build.len() <= 64 && build.bytes().all(|b| b.is_ascii_hexdigit());
        let build = if legal { build } else { "" };
        let [a, b, c, d, e, f] = mac;
        let mut id = heapless::String::<17>::new();
        write!(id, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}").expect("17 bytes fit");
        Self::new(&[("endpoint", "mcp"), ("id", &id), ("build", build)]).expect("legal and short")
    }

    /// Length-prefixed strings, as on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl fmt::Debug for Txt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.as_slice().escape_ascii())
    }
}

/// What is announced.
#[derive(Clone, Debug)]
pub struct Config {
    pub(super) host: Label,
    pub(super) instance: Label,
    pub(super) port: NonZeroU16,
    pub(super) txt: Txt,
}

impl Config {
    /// Host name without `.local`, service instance name, TCP port of the service, TXT record.
    pub fn new(host: &str, instance: &str, port: u16, txt: Txt) -> Result<Self, ConfigError> {
        Ok(Self {
            host: Label::host(host)?,
            instance: Label::instance(instance)?,
            port: NonZeroU16::new(port).ok_or(ConfigError::Port)?,
            txt,
        })
    }

    /// TCP port of the service.
    pub fn port(&self) -> u16 {
        self.port.get()
    }
}
