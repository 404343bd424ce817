//! The configuration sector that a board reads at its start (`fixtures/configuration/README.md`): pure.
//!
//! No value is ever in a message, in `Debug` or in a log: most of them are secret.

use serde::Deserialize;
use std::fmt;
use std::net::Ipv4Addr;

/// Bytes of a flash sector.
pub const SECTOR: usize = 4096;
/// Label of the partition that holds it.
pub const LABEL: &str = "config";

/// What a board is told.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configuration {
    #[serde(default, rename = "$schema")]
    _schema: Option<String>,
    /// The Wi-Fi network to join.
    pub wifi: Option<Wifi>,
    /// Host name without `.local`.
    pub hostname: Option<String>,
    /// Bearer token that every request must carry.
    pub token: Option<String>,
    /// Its own address; none for DHCP.
    pub ipv4: Option<Ipv4>,
}

/// An IPv4 address of a board's own.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ipv4 {
    /// Address and bits of the prefix, as `192.168.4.20/24`.
    pub address: String,
    /// The way to other networks.
    pub gateway: Option<String>,
}

impl fmt::Debug for Ipv4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ipv4").finish_non_exhaustive()
    }
}

impl Ipv4 {
    /// The value of its entry; none if there are no such hosts.
    fn entry(&self) -> Option<Vec<u8>> {
        let (address, bits) = self.address.split_once('/')?;
        let address: Ipv4Addr = address.parse().ok()?;
        let prefix: u8 = bits.parse().ok().filter(|bits| (1..=30).contains(bits))?;
        let mask = u32::MAX << (32 - prefix);
        let is_host = |host: Ipv4Addr| {
            let own = host.to_bits() & !mask;
            matches!(host.octets()[0], 1..=126 | 128..=223) && own != 0 && own != !mask
        };
        let mut entry = address.octets().to_vec();
        entry.push(prefix);
        if let Some(gateway) = &self.gateway {
            let gateway: Ipv4Addr = gateway.parse().ok()?;
            let is_near = gateway.to_bits() & mask == address.to_bits() & mask;
            if !is_near || gateway == address || !is_host(gateway) {
                return None;
            }
            entry.extend(gateway.octets());
        }
        is_host(address).then_some(entry)
    }
}

/// A Wi-Fi network.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wifi {
    /// Its name.
    pub ssid: String,
    /// WPA2 passphrase or key; none for an open network.
    pub password: Option<String>,
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Configuration").finish_non_exhaustive()
    }
}

impl fmt::Debug for Wifi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wifi").finish_non_exhaustive()
    }
}

/// What can't be told to a board. Says where, never what.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// No JSON, or not of the schema's shape.
    #[error(
        "not the JSON of a configuration, line {line} column {column}: it has \"wifi\": {{\"ssid\", \"password\"}}, \"hostname\", \"token\", \"ipv4\": {{\"address\", \"gateway\"}}"
    )]
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
    },
    /// A value that no board takes.
    #[error("{place}: {wanted}")]
    Value {
        /// JSON Pointer.
        place: &'static str,
        /// What would be right.
        wanted: &'static str,
    },
}

impl Configuration {
    /// Reads JSON.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn parse(json: &str) -> Result<Self, ConfigurationError> {
        // the library's own message may quote a value
        let read: Self = serde_json::from_str(json).map_err(|error| ConfigurationError::Json {
            line: error.line(),
            column: error.column(),
        })?;
        read.check()?;
        Ok(read)
    }

    /// From single values, as an environment has them; none if none is set.
    ///
    /// # Errors
    /// [`ConfigurationError::Value`].
    pub fn from_values(
        ssid: Option<String>,
        password: Option<String>,
        hostname: Option<String>,
        token: Option<String>,
    ) -> Result<Option<Self>, ConfigurationError> {
        if password.is_some() && ssid.is_none() {
            return Err(wrong("/wifi/ssid", "is missing, and a password is given"));
        }
        let configuration = Self {
            _schema: None,
            wifi: ssid.map(|ssid| Wifi { ssid, password }),
            hostname,
            token,
            ipv4: None,
        };
        if configuration == Self::default() {
            return Ok(None);
        }
        configuration.check()?;
        Ok(Some(configuration))
    }

    fn check(&self) -> Result<(), ConfigurationError> {
        if let Some(wifi) = &self.wifi {
            if !(1..=32).contains(&wifi.ssid.len()) {
                return Err(wrong("/wifi/ssid", "must have 1 to 32 bytes"));
            }
            let key = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let phrase = |text: &str| {
                (8..=63).contains(&text.len()) && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
            };
            if wifi
                .password
                .as_deref()
                .is_some_and(|text| !key(text) && !phrase(text))
            {
                return Err(wrong(
                    "/wifi/password",
                    "must be 8 to 63 printable ASCII characters, or 64 hex digits",
                ));
            }
        }
        if self.hostname.as_deref().is_some_and(|name| !is_hostname(name)) {
            return Err(wrong(
                "/hostname",
                "must be 1 to 63 letters, digits and inner hyphens",
            ));
        }
        if self.token.as_deref().is_some_and(|token| !is_token(token)) {
            return Err(wrong(
                "/token",
                "must be 16 to 128 letters, digits and - . _ ~ + /, and then perhaps =",
            ));
        }
        if self.ipv4.as_ref().is_some_and(|ipv4| ipv4.entry().is_none()) {
            return Err(wrong(
                "/ipv4",
                "must be a host's address with 1 to 30 bits of prefix, as 192.168.4.20/24, and perhaps another host of its network",
            ));
        }
        Ok(())
    }

    /// The whole sector.
    pub fn sector(&self) -> Vec<u8> {
        let wifi = self.wifi.as_ref();
        let text = |text: &String| text.clone().into_bytes();
        let values = [
            (1, wifi.map(|wifi| text(&wifi.ssid))),
            (2, wifi.and_then(|wifi| wifi.password.as_ref().map(text))),
            (3, self.hostname.as_ref().map(text)),
            (4, self.token.as_ref().map(text)),
            (5, self.ipv4.as_ref().and_then(Ipv4::entry)),
        ];
        let mut entries = Vec::new();
        for (tag, value) in values {
            let Some(value) = value else { continue };
            // checked: no value has more than 128 bytes
            if let Ok(length) = u8::try_from(value.len()) {
                entries.extend([tag, length]);
                entries.extend(value);
            }
        }
        let length = u16::try_from(entries.len()).unwrap_or_default();
        let mut sector = Vec::with_capacity(SECTOR);
        sector.extend(b"MCPC");
        sector.extend(1_u16.to_le_bytes());
        sector.extend(length.to_le_bytes());
        let mut crc = crc32fast::Hasher::new();
        crc.update(&sector);
        crc.update(&entries);
        sector.extend(crc.finalize().to_le_bytes());
        sector.extend(entries);
        sector.resize(SECTOR, 0xff);
        sector
    }
}

const fn wrong(place: &'static str, wanted: &'static str) -> ConfigurationError {
    ConfigurationError::Value { place, wanted }
}

fn is_hostname(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
}

fn is_token(token: &str) -> bool {
    let body = token.trim_end_matches('=');
    (16..=128).contains(&token.len())
        && !body.is_empty()
        && body
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_samples_become_the_bytes_of_the_samples() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/configuration");
        let mut compared = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let file = file.unwrap().path();
            if file.extension().is_none_or(|extension| extension != "hex") {
                continue;
            }
            let hex: String = std::fs::read_to_string(&file)
                .unwrap()
                .split_whitespace()
                .collect();
            let wanted: Vec<_> = (0..hex.len() / 2)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let json = std::fs::read_to_string(file.with_extension("json")).unwrap();
            let sector = Configuration::parse(&json).unwrap().sector();
            assert_eq!(sector.len(), SECTOR);
            assert_eq!(sector[..wanted.len()], wanted, "{}", file.display());
            assert!(sector[wanted.len()..].iter().all(|byte| *byte == 0xff));
            compared += 1;
        }
        assert_eq!(compared, 5);
    }

    #[test]
    fn what_no_board_takes_is_refused_without_being_quoted() {
        for (json, place) in [
            (r#"{"wifi": {"ssid": ""}}"#, "/wifi/ssid"),
            (
                r#"{"wifi": {"ssid": "a", "password": "S3CRET"}}"#,
                "/wifi/password",
            ),
            (
                r#"{"wifi": {"ssid": "a", "password": "S3CRET\u0007x"}}"#,
                "/wifi/password",
            ),
            (r#"{"hostname": "-S3CRET"}"#, "/hostname"),
            (r#"{"token": "S3CRET"}"#, "/token"),
            (r#"{"ipv4": {"address": "10.0.0.255/24"}}"#, "/ipv4"),
            (r#"{"ipv4": {"address": "10.0.0.5/31"}}"#, "/ipv4"),
            (
                r#"{"ipv4": {"address": "10.0.0.5/24", "gateway": "10.0.1.1"}}"#,
                "/ipv4",
            ),
            (r#"{"token": 3}"#, "line 1 column 11"),
            (r#"{"S3CRET": 1}"#, "line 1 column 9"),
            ("{\"token\": \"S3CRET", "line 1 column"),
        ] {
            let error = Configuration::parse(json).unwrap_err().to_string();
            assert!(error.contains(place), "{error}");
            assert!(!error.contains("S3CRET"), "{error}");
        }
    }

    #[test]
    fn values_of_an_environment_make_a_configuration_or_none() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(Configuration::from_values(None, None, None, None), Ok(None));
        let some = Configuration::from_values(text("lab"), text("long enough"), None, None)
            .unwrap()
            .unwrap();
        assert_eq!(
            some,
            Configuration::parse(r#"{"wifi": {"ssid": "lab", "password": "long enough"}}"#).unwrap()
        );
        assert!(Configuration::from_values(None, text("long enough"), None, None).is_err());
        assert_eq!(format!("{some:?}"), "Configuration { .. }");
    }
}
