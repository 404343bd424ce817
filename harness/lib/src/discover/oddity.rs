//! What is odd about an announcement, in words.

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;

/// One oddity. What the network says is quoted, so that it can't write on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// A PTR record names it, and no SRV record followed.
    NoService,
    /// SRV with port 0.
    PortZero,
    /// SRV with the root as its target.
    NoHostname,
    /// A hostname that mDNS does not resolve (RFC 6762, 3).
    NotLocal(String),
    /// Neither A nor AAAA for this hostname.
    NoAddress(String),
    /// For want of an announced address, the one that its packets come from.
    SenderUsed(IpAddr),
    /// Another board has this hostname.
    SameHostname {
        /// The hostname.
        hostname: String,
        /// The other boards, as instance and address.
        others: Vec<String>,
    },
    /// Other boards have the same instance name, at these addresses.
    SameInstance(Vec<IpAddr>),
    /// An address that no board can have.
    NoBoardAddress(IpAddr),
    /// Loopback, announced on a network.
    Loopback {
        /// The address.
        address: IpAddr,
        /// Where it was heard.
        interface: String,
    },
    /// An address on none of our networks.
    OffSubnet {
        /// The address.
        address: IpAddr,
        /// Our networks.
        ours: String,
    },
    /// There is no IPv4 address.
    Ipv6Only {
        /// And none that is valid beyond one link.
        link_local: bool,
    },
    /// No TXT record.
    TextMissing,
    /// A TXT record without keys.
    TextEmpty,
    /// No key `endpoint` among others.
    EndpointMissing,
    /// `endpoint` without a value.
    EndpointEmpty,
    /// The key in another letter case.
    EndpointCase(String),
    /// The key more than once (RFC 6763, 6.4: the first counts).
    EndpointTwice(usize),
    /// `path` in place of `endpoint`.
    PathInstead(String),
    /// A value with a slash in front.
    EndpointSlash(String),
    /// A whole URL as the value.
    EndpointUrl {
        /// The URL.
        url: String,
        /// It has another host or port than the SRV record.
        elsewhere: bool,
    },
    /// A value that no path can be made of.
    EndpointUnusable(String),
}

impl Oddity {
    /// A word for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoService => "no-srv",
            Self::PortZero => "port-zero",
            Self::NoHostname => "no-hostname",
            Self::NotLocal(_) => "hostname-not-local",
            Self::NoAddress(_) => "no-address",
            Self::SenderUsed(_) => "sender-used",
            Self::SameHostname { .. } => "same-hostname",
            Self::SameInstance(_) => "same-instance",
            Self::NoBoardAddress(_) => "no-board-address",
            Self::Loopback { .. } => "loopback-announced",
            Self::OffSubnet { .. } => "off-subnet",
            Self::Ipv6Only { .. } => "ipv6-only",
            Self::TextMissing => "txt-missing",
            Self::TextEmpty => "txt-empty",
            Self::EndpointMissing => "endpoint-missing",
            Self::EndpointEmpty => "endpoint-empty",
            Self::EndpointCase(_) => "endpoint-case",
            Self::EndpointTwice(_) => "endpoint-twice",
            Self::PathInstead(_) => "path-instead",
            Self::EndpointSlash(_) => "endpoint-slash",
            Self::EndpointUrl { .. } => "endpoint-url",
            Self::EndpointUnusable(_) => "endpoint-unusable",
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoService => f.write_str("it is named (PTR) and not described: no SRV record, so no port and no hostname"),
            Self::PortZero => f.write_str("its SRV record says port 0, where nothing can answer"),
            Self::NoHostname => f.write_str("its SRV record names no host"),
            Self::NotLocal(host) => write!(f, "its hostname {host:?} is not under .local"),
            Self::NoAddress(host) => write!(f, "there is no address (A, AAAA) of its hostname {host:?}"),
            Self::SenderUsed(address) => {
                write!(f, "{address} is where its packets come from; it does not announce this address")
            }
            Self::SameHostname { hostname, others } => write!(
                f,
                "its hostname {hostname:?} is also that of {}: whoever goes by hostname reaches only one of them",
                others.join(" and of ")
            ),
            Self::SameInstance(others) => {
                let others: Vec<_> = others.iter().map(IpAddr::to_string).collect();
                write!(
                    f,
                    "another board has the same instance name, at {}: most browsers show only one of them",
                    others.join(" and ")
                )
            }
            Self::NoBoardAddress(address) => write!(f, "it announces {address}, which is no address of a board"),
            Self::Loopback { address, interface } => {
                write!(f, "it announces {address} on {interface:?}: that leads back to whoever asks")
            }
            Self::OffSubnet { address, ours } => {
                write!(f, "{address} is on none of our networks ({ours}), so it may not be reachable")
            }
            Self::Ipv6Only { link_local: false } => {
                f.write_str("it has only IPv6 addresses: clients that don't put them in brackets can't use them")
            }
            Self::Ipv6Only { link_local: true } => f.write_str(
                "it has only a link-local IPv6 address, which is of use only together with our interface's name",
            ),
            Self::TextMissing => f.write_str("there is no TXT record; the endpoint is taken to be mcp"),
            Self::TextEmpty => f.write_str("its TXT record is empty; the endpoint is taken to be mcp"),
            Self::EndpointMissing => {
                f.write_str("its TXT record has no key endpoint; the endpoint is taken to be mcp")
            }
            Self::EndpointEmpty => {
                f.write_str("its TXT key endpoint has no value; the endpoint is taken to be mcp")
            }
            Self::EndpointCase(key) => {
                write!(f, "its TXT key is {key:?}: clients that look for \"endpoint\" in lower case miss it")
            }
            Self::EndpointTwice(times) => {
                write!(f, "its TXT record has the key endpoint {times} times; the first counts")
            }
            Self::PathInstead(value) => {
                write!(f, "its TXT record has path={value:?} in place of endpoint; it is used as the endpoint")
            }
            Self::EndpointSlash(value) => write!(
                f,
                "its TXT endpoint {value:?} begins with a slash: clients that add one themselves ask for {:?}",
                format!("/{value}")
            ),
            Self::EndpointUrl { url, elsewhere } => write!(
                f,
                "its TXT endpoint is a whole URL, {url:?}{}; its path is used, at the announced address and port",
                if *elsewhere { ", and of another host or port" } else { "" }
            ),
            Self::EndpointUnusable(value) => {
                write!(f, "its TXT endpoint {value:?} is no path; the endpoint is taken to be mcp")
            }
        }
    }
}

impl Serialize for Oddity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Oddity", 2)?;
        fields.serialize_field("code", self.code())?;
        fields.serialize_field("text", &self.to_string())?;
        fields.end()
    }
}
