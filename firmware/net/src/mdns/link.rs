//! The link that the board is on.

use core::net::Ipv4Addr;

/// An address with the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) address: Ipv4Addr,
    pub(super) prefix: u8,
}

impl Link {
    /// Whether an address is that of a neighbour, from whom packets may come (RFC 6762 §11).
    ///
    /// Link-local addresses can't come through a router, so they are neighbours on any link.
    pub(super) fn has(self, address: Ipv4Addr) -> bool {
        let host_bits = u32::MAX.checked_shr(self.prefix.into()).unwrap_or(0);
        let same_network = (self.address.to_bits() ^ address.to_bits()) & !host_bits == 0;
        let broadcast = self.prefix < 31 && address.to_bits() & host_bits == host_bits;
        let nobody = address.is_unspecified() || address.is_multicast() || address.is_broadcast();
        !nobody && (address.is_link_local() || same_network && !broadcast)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_on_the_subnet_or_link_local() {
        let link = Link {
            address: Ipv4Addr::new(192, 168, 4, 2),
            prefix: 24,
        };
        for neighbour in ["192.168.4.2", "192.168.4.1", "192.168.4.254", "169.254.7.7"] {
            assert!(link.has(neighbour.parse().unwrap()), "{neighbour}");
        }
        for stranger in [
            "192.168.5.1",
            "10.0.0.1",
            "192.168.4.255",
            "0.0.0.0",
            "224.0.0.251",
            "255.255.255.255",
        ] {
            assert!(!link.has(stranger.parse().unwrap()), "{stranger}");
        }
    }

    #[test]
    fn prefixes_of_every_length_are_taken() {
        let link = |prefix| Link {
            address: Ipv4Addr::new(10, 1, 2, 3),
            prefix,
        };
        assert!(link(0).has(Ipv4Addr::new(93, 184, 216, 34)));
        assert!(link(31).has(Ipv4Addr::new(10, 1, 2, 2)) && link(31).has(Ipv4Addr::new(10, 1, 2, 3)));
        assert!(link(32).has(Ipv4Addr::new(10, 1, 2, 3)) && !link(32).has(Ipv4Addr::new(10, 1, 2, 2)));
        assert!(
            !link(200).has(Ipv4Addr::new(10, 1, 2, 2)),
            "more than 32 bits count as 32"
        );
    }
}
