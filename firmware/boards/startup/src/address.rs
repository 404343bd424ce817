//! An IPv4 address of the board's own, as its configuration sector holds it.

use core::net::Ipv4Addr;

/// Longest prefix, bits: a longer one leaves no room for another host.
pub const PREFIX: u8 = 30;

/// Where the board is, without asking DHCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The board's address.
    pub ip: Ipv4Addr,
    /// Bits of the network's prefix, 1 to [`PREFIX`].
    pub prefix: u8,
    /// The way to other networks; another host of the same network.
    pub gateway: Option<Ipv4Addr>,
}

impl Address {
    /// Reads an entry's value: address (4 bytes), prefix (1 byte), and the gateway (4 bytes) where there is one. None if
    /// it can't be.
    pub fn read(value: &[u8]) -> Option<Self> {
        let (&[a, b, c, d, prefix], rest) = value.split_first_chunk()?;
        let ip = Ipv4Addr::new(a, b, c, d);
        let gateway = match *rest {
            [] => None,
            [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d)),
            _ => return None,
        };
        let legal = (1..=PREFIX).contains(&prefix)
            && is_host(ip, prefix)
            && gateway.is_none_or(|gateway| {
                gateway != ip && is_host(gateway, prefix) && network(gateway, prefix) == network(ip, prefix)
            });
        legal.then_some(Self { ip, prefix, gateway })
    }
}

/// Whether the address may be one host's: not of a group, of loopback or of "this" network (RFC 1122, 3.2.1.3), and
/// neither the first nor the last of its network.
fn is_host(address: Ipv4Addr, prefix: u8) -> bool {
    let host = address.to_bits() & host_mask(prefix);
    matches!(address.octets()[0], 1..=126 | 128..=223) && host != 0 && host != host_mask(prefix)
}

fn network(address: Ipv4Addr, prefix: u8) -> u32 {
    address.to_bits() & !host_mask(prefix)
}

fn host_mask(prefix: u8) -> u32 {
    u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0)
}
