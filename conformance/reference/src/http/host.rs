//! `Host` (RFC 9110, 7.2) and `Origin` (RFC 6454, 7) as values that can be compared.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Host {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Eq)]
enum Name {
    Address(IpAddr),
    /// In lowercase.
    Registered(String),
}

impl Host {
    /// Reads `name`, `name:port` or `[v6]:port`.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let value = str::from_utf8(value).ok()?;
        let (name, port) = match value.strip_prefix('[') {
            Some(rest) => {
                let (address, port) = rest.split_once(']')?;
                (Name::Address(IpAddr::V6(address.parse::<Ipv6Addr>().ok()?)), port)
            }
            None => {
                let (name, port) = value.split_at(value.find(':').unwrap_or(value.len()));
                (read_name(name)?, port)
            }
        };
        let port = match port.strip_prefix(':') {
            Some("") => None,
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse().ok()?),
            None if port.is_empty() => None,
            _ => return None,
        };
        Some(Self { name, port })
    }

    /// Whether this names the machine in a way that another site can't get a browser to use: DNS rebinding needs a
    /// name of the attacker's.
    pub(super) fn is_allowed(&self, names: &[String]) -> bool {
        match &self.name {
            Name::Address(_) => true,
            Name::Registered(name) => {
                name == "localhost" || names.iter().any(|known| known.eq_ignore_ascii_case(name))
            }
        }
    }
}

fn read_name(name: &str) -> Option<Name> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if name.is_empty() || !name.bytes().all(allowed) {
        return None;
    }
    Some(match name.parse::<Ipv4Addr>() {
        Ok(address) => Name::Address(address.into()),
        Err(_) => Name::Registered(name.to_ascii_lowercase()),
    })
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Origin {
    host: Host,
    default_port: u16,
}

impl Origin {
    /// Reads an `http` or `https` origin: scheme, host, port, and nothing after them.
    pub(super) fn read(value: &[u8]) -> Option<Self> {
        let (scheme, host) = str::from_utf8(value).ok()?.split_once("://")?;
        let default_port = match scheme.to_ascii_lowercase().as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        Some(Self {
            host: Host::read(host.as_bytes())?,
            default_port,
        })
    }

    /// Whether both name one host and port; a port left out is the default of the origin's scheme.
    pub(super) fn is_same(&self, host: &Host) -> bool {
        let port = |port: Option<u16>| port.unwrap_or(self.default_port);
        self.host.name == host.name && port(self.host.port) == port(host.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(host: &str) -> bool {
        Host::read(host.as_bytes()).is_some_and(|host| host.is_allowed(&["board.local".to_owned()]))
    }

    #[test]
    fn addresses_localhost_and_own_names_are_allowed() {
        for host in [
            "127.0.0.1",
            "192.168.1.7:8080",
            "[::1]",
            "[fe80::1]:80",
            "LocalHost:1",
            "board.local",
            "localhost:",
        ] {
            assert!(allowed(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "user@localhost",
            "::1",
            "[::1",
            "[::1]x",
            "localhost:99999",
            "localhost:+1",
            "localhost/",
            "127.1",
            "evil.example:80",
        ] {
            assert!(!allowed(host), "{host}");
        }
    }

    #[test]
    fn an_origin_equals_a_host_by_value() {
        let same = |origin: &str, host: &str| {
            Origin::read(origin.as_bytes())
                .is_some_and(|origin| origin.is_same(&Host::read(host.as_bytes()).unwrap()))
        };
        assert!(same("http://localhost:8000", "LOCALHOST:8000"));
        assert!(same("http://[0:0::1]:8000", "[::1]:8000"));
        assert!(same("http://localhost", "localhost:80"));
        assert!(same("https://localhost", "localhost"));
        for origin in [
            "http://localhost",
            "http://127.0.0.1:8000",
            "localhost:8000",
            "http://localhost:8000/",
            "ws://localhost:8000",
            "null",
        ] {
            assert!(!same(origin, "localhost:8000"), "{origin}");
        }
    }
}
