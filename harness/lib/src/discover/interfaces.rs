//! The interfaces of this host.

use nix::ifaddrs::getifaddrs;
use nix::net::if_::{InterfaceFlags, if_nametoindex};
use nix::sys::socket::SockaddrStorage;
use serde::{Serialize, Serializer};
use std::fmt;
use std::net::IpAddr;

/// An address with its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Our address in it.
    pub address: IpAddr,
    /// Length of its prefix, bits.
    pub prefix: u8,
}

impl Network {
    /// Whether an address belongs to it.
    pub fn contains(&self, other: IpAddr) -> bool {
        let (own, other, width) = match (self.address, other) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                (u128::from(own.to_bits()), u128::from(other.to_bits()), 32)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => (own.to_bits(), other.to_bits(), 128),
            _ => return false,
        };
        let host_bits = u32::from(width - self.prefix.min(width));
        (own ^ other).checked_shr(host_bits).unwrap_or(0) == 0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// As `eth0`.
    pub name: String,
    /// Number of the system, from 1.
    pub index: u32,
    /// It is switched on and has a carrier.
    pub up: bool,
    /// It says that it carries multicast. Linux does not say so of loopback, which does.
    pub multicast: bool,
    /// It leads nowhere but to this host.
    pub loopback: bool,
    /// Its addresses.
    pub networks: Vec<Network>,
}

impl Interface {
    /// Whether packets to a multicast group can go out and come in.
    pub const fn carries_multicast(&self) -> bool {
        self.up && (self.multicast || self.loopback)
    }
}

/// Why there is nothing to listen on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InterfaceError {
    /// The system does not list them.
    #[error("the interfaces of this host can't be listed: {0}")]
    Unlisted(String),
    /// No interface has this name or address.
    #[error("no interface has the name or address {wanted:?}; there are {there}")]
    Unknown {
        /// What was asked for.
        wanted: String,
        /// Those that there are, by name.
        there: String,
    },
}

/// All interfaces, in the order of the system.
///
/// # Errors
/// [`InterfaceError::Unlisted`].
pub fn list() -> Result<Vec<Interface>, InterfaceError> {
    let entries = getifaddrs().map_err(|error| InterfaceError::Unlisted(error.to_string()))?;
    let mut interfaces: Vec<Interface> = Vec::new();
    for entry in entries {
        let at = interfaces
            .iter()
            .position(|known| known.name == entry.interface_name);
        let at = at.unwrap_or_else(|| {
            let has = |flag| entry.flags.contains(flag);
            interfaces.push(Interface {
                index: if_nametoindex(entry.interface_name.as_str()).unwrap_or(0),
                name: entry.interface_name.clone(),
                up: has(InterfaceFlags::IFF_UP) && has(InterfaceFlags::IFF_RUNNING),
                multicast: has(InterfaceFlags::IFF_MULTICAST),
                loopback: has(InterfaceFlags::IFF_LOOPBACK),
                networks: Vec::new(),
            });
            interfaces.len() - 1
        });
        if let Some(address) = entry.address.as_ref().and_then(ip) {
            let prefix = entry.netmask.as_ref().and_then(ip).map_or(0, ones);
            interfaces[at].networks.push(Network { address, prefix });
        }
    }
    Ok(interfaces)
}

/// Those with one of these names or addresses; without any, all that are up.
///
/// # Errors
/// [`InterfaceError::Unknown`].
pub fn choose(all: &[Interface], wanted: &[String]) -> Result<Vec<Interface>, InterfaceError> {
    let is = |interface: &Interface, wanted: &str| {
        let address = wanted.parse::<IpAddr>().ok();
        let at = |network: &Network| Some(network.address) == address;
        interface.name == wanted || interface.networks.iter().any(at)
    };
    if let Some(unknown) = wanted
        .iter()
        .find(|wanted| !all.iter().any(|interface| is(interface, wanted)))
    {
        let there: Vec<_> = all.iter().map(|interface| interface.name.as_str()).collect();
        return Err(InterfaceError::Unknown {
            wanted: unknown.clone(),
            there: there.join(", "),
        });
    }
    let chosen = |interface: &&Interface| match wanted {
        [] => interface.up,
        wanted => wanted.iter().any(|wanted| is(interface, wanted)),
    };
    Ok(all.iter().filter(chosen).cloned().collect())
}

/// The one that is up and on whose network an address is: of several the narrowest.
pub fn towards(all: &[Interface], address: IpAddr) -> Option<&Interface> {
    let prefix = |interface: &&Interface| {
        let networks = interface.networks.iter();
        let near = networks.filter(|network| network.contains(address));
        near.map(|network| network.prefix).max()
    };
    let near = all
        .iter()
        .filter(|interface| interface.up && prefix(interface).is_some());
    near.max_by_key(prefix)
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().count_ones(),
        IpAddr::V6(mask) => mask.to_bits().count_ones(),
    };
    u8::try_from(ones).unwrap_or(128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        let (address, prefix) = text.split_once('/').unwrap();
        Network {
            address: address.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
        }
    }

    #[test]
    fn a_network_holds_its_addresses() {
        for (net, address, holds) in [
            ("192.168.1.7/24", "192.168.1.255", true),
            ("192.168.1.7/24", "192.168.2.1", false),
            ("10.0.0.1/32", "10.0.0.1", true),
            ("10.0.0.1/32", "10.0.0.2", false),
            ("10.0.0.1/0", "8.8.8.8", true),
            ("fe80::1/64", "fe80::2", true),
            ("fe80::1/64", "fe80:1::2", false),
            ("::1/0", "2001:db8::1", true),
            ("10.0.0.1/8", "::1", false),
        ] {
            assert_eq!(
                network(net).contains(address.parse().unwrap()),
                holds,
                "{address} in {net}"
            );
        }
    }

    #[test]
    fn an_address_is_reached_by_the_narrowest_network_that_holds_it() {
        let all = [
            interface("wide", true, "10.0.0.1/8"),
            interface("narrow", true, "10.1.0.1/16"),
            interface("down", false, "10.1.2.1/24"),
        ];
        let towards = |address: &str| {
            let found = towards(&all, address.parse().unwrap());
            found.map(|interface| interface.name.as_str())
        };
        assert_eq!(towards("10.1.2.3"), Some("narrow"));
        assert_eq!(towards("10.2.0.1"), Some("wide"));
        assert_eq!(towards("192.168.0.1"), None);
    }

    fn interface(name: &str, up: bool, net: &str) -> Interface {
        Interface {
            name: name.to_owned(),
            index: 1,
            up,
            multicast: true,
            loopback: false,
            networks: vec![network(net)],
        }
    }

    #[test]
    fn interfaces_are_chosen_by_name_or_address() {
        let all = [
            interface("eth0", true, "10.0.0.1/8"),
            interface("tap0", false, "10.9.0.1/24"),
        ];
        let names = |wanted: &[&str]| {
            let wanted: Vec<_> = wanted.iter().map(|text| (*text).to_owned()).collect();
            choose(&all, &wanted).map(|chosen| chosen.into_iter().map(|one| one.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap(), ["eth0"]);
        assert_eq!(names(&["10.9.0.1"]).unwrap(), ["tap0"]);
        assert_eq!(names(&["tap0", "eth0"]).unwrap(), ["eth0", "tap0"]);
        let unknown = names(&["eth0", "eth1"]).unwrap_err().to_string();
        assert_eq!(
            unknown,
            "no interface has the name or address \"eth1\"; there are eth0, tap0"
        );
    }

    #[test]
    fn this_host_has_loopback() {
        let loopback = list()
            .unwrap()
            .into_iter()
            .find(|interface| interface.loopback)
            .unwrap();
        assert!(loopback.up && loopback.carries_multicast() && loopback.index > 0);
        assert!(
            loopback.networks.contains(&network("127.0.0.1/8")),
            "{loopback:?}"
        );
    }
}
