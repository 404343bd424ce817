//! Which hosts and origins a request may name. Without this any web page could reach the device through a name of
//! its own that resolves to the device's address (DNS rebinding).

use core::net::{Ipv4Addr, Ipv6Addr};

use super::fault::Fault;

/// The names a device answers to, besides IP literals and `localhost`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hosts<'a> {
    names: &'a [&'a str],
}

impl<'a> Hosts<'a> {
    /// `names` are whole host names such as `board.local`, without port; letter case doesn't matter.
    pub const fn new(names: &'a [&'a str]) -> Self {
        Self { names }
    }

    /// Judges the value of `Host`, or the authority of a target in absolute form.
    pub(super) fn check<'v>(&self, value: &'v [u8]) -> Result<Authority<'v>, Fault> {
        let authority = Authority::parse(value).ok_or(Fault::HostSyntax)?;
        let allowed = match authority.host {
            Host::V4(_) | Host::V6(_) => true,
            Host::Name(name) => {
                let known = core::iter::once(&"localhost").chain(self.names);
                known.into_iter().any(|n| n.eq_ignore_ascii_case(name))
            }
        };
        if allowed {
            Ok(authority)
        } else {
            Err(Fault::HostForbidden)
        }
    }
}

/// `HOST[:PORT]`, parsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Authority<'a> {
    host: Host<'a>,
    port: Option<u16>,
}

#[derive(Clone, Copy, Debug)]
enum Host<'a> {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Name(&'a str),
}

impl PartialEq for Host<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::V4(a), Self::V4(b)) => a == b,
            (Self::V6(a), Self::V6(b)) => a == b,
            (Self::Name(a), Self::Name(b)) => a.eq_ignore_ascii_case(b),
            _ => false,
        }
    }
}

impl<'a> Authority<'a> {
    fn parse(value: &'a [u8]) -> Option<Self> {
        let text = core::str::from_utf8(value).ok()?;
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (literal, rest) = rest.split_once(']')?;
            (Host::V6(literal.parse().ok()?), rest)
        } else {
            let (name, port) = text.find(':').map_or((text, ""), |colon| text.split_at(colon));
            // An empty host is legal in `Host` (RFC 9112, 3.2); it names nobody.
            if !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=".contains(&b))
            {
                return None;
            }
            let host = name
                .parse()
                .map_or_else(|_| Host::Name(name.strip_suffix('.').unwrap_or(name)), Host::V4);
            (host, port)
        };
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            Some("") => None,
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => Some(digits.parse().ok()?),
            _ => return None,
        };
        Some(Self { host, port })
    }

    /// Whether `origin`, the value of an `Origin` header (RFC 6454, 7), names this authority over http or https.
    pub(super) fn is_origin(&self, origin: &[u8]) -> bool {
        let (rest, default) = if let Some(rest) = origin.strip_prefix(b"http://") {
            (rest, 80)
        } else if let Some(rest) = origin.strip_prefix(b"https://") {
            (rest, 443)
        } else {
            return false;
        };
        let Some(other) = Authority::parse(rest) else {
            return false;
        };
        self.host == other.host && self.port.unwrap_or(default) == other.port.unwrap_or(default)
    }
}
