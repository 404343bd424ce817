//! Which hosts and origins a request may name. Without this any web page could reach the device through a name of
//! its own that resolves to the device's address (DNS rebinding).

use core::cell::Cell;
use core::net::{Ipv4Addr, Ipv6Addr};

use super::fault::Fault;
use crate::mdns::Label;

/// The names a device answers to, besides IP literals and `localhost`.
#[derive(Clone, Debug, Default)]
pub struct Hosts<'a> {
    names: &'a [&'a str],
    announced: Cell<Option<Label>>,
}

impl<'a> Hosts<'a> {
    /// `names` are whole host names such as `board.local`, without port; letter case doesn't matter.
    pub const fn new(names: &'a [&'a str]) -> Self {
        let announced = Cell::new(None);
        Self { names, announced }
    }

    /// The device is now announced over mDNS as the host `name` in `local`, which it answers to besides, and no longer to
    /// the name that it was announced by before.
    pub fn announce(&self, name: Label) {
        self.announced.set(Some(name));
    }

    fn is_announced(&self, name: &str) -> bool {
        let ours = self.announced.get();
        ours.is_some_and(|ours| {
            name.rsplit_once('.').is_some_and(|(host, domain)| {
                host.eq_ignore_ascii_case(ours.as_str()) && domain.eq_ignore_ascii_case("local")
            })
        })
    }

    /// Judges the value of `Host`, or the authority of a target in absolute form.
    pub(super) fn check<'v>(&self, value: &'v [u8]) -> Result<Authority<'v>, Fault> {
        let authority = Authority::parse(value).ok_or(Fault::HostSyntax)?;
        let allowed = match authority.host {
            Host::V4(_) | Host::V6(_) => true,
            Host::Name(name) => {
                let known = core::iter::once(&"localhost").chain(self.names);
                known.into_iter().any(|n| n.eq_ignore_ascii_case(name)) || self.is_announced(name)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_announced_name_follows_a_renaming() {
        let hosts = Hosts::new(&["board.example"]);
        let allowed = |name: &str| hosts.check(name.as_bytes()).map(drop);
        assert_eq!(allowed("board.local"), Err(Fault::HostForbidden));

        hosts.announce(Label::host("board").unwrap());
        for name in ["board.local", "Board.LOCAL.:18791", "board.example"] {
            assert_eq!(allowed(name), Ok(()), "{name}");
        }
        for name in ["board", "board.locale", "a.board.local", "board-2.local"] {
            assert_eq!(allowed(name), Err(Fault::HostForbidden), "{name}");
        }

        hosts.announce(Label::host("board-2").unwrap());
        assert_eq!(allowed("board-2.local"), Ok(()));
        assert_eq!(
            allowed("board.local"),
            Err(Fault::HostForbidden),
            "it is another's"
        );
        assert_eq!(allowed("board.example"), Ok(()));
    }
}
