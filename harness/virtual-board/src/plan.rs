//! The address plan: who has which MAC and IPv4 address on the virtual network.
//!
//! A place keeps its MAC and address over restarts of its board, so what a test learnt about board 1 stays
//! true. A MAC address is `02:00` (locally administered) and the four bytes of the IPv4 address.

use std::net::Ipv4Addr;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// The name of the TAP interface on which the namespace's own stack meets the boards.
pub const HOST_INTERFACE: &str = "hil0";
/// The address of the namespace's own stack; also the boards' router and DHCP server.
pub const HOST_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 13, 37, 1);
/// Length of the network's prefix.
pub const PREFIX: u8 = 24;
/// The network's mask, as DHCP tells it.
pub const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 0);
/// How many boards the plan has places for.
pub const MAX_BOARDS: usize = 100;

const FIRST_BOARD: u8 = 10;

/// Last bytes of the addresses lent to machines that are not in the plan.
pub(crate) const DYNAMIC: std::ops::RangeInclusive<u8> = 200..=254;

/// The IPv4 address of a board, `10.13.37.10` for board 0.
///
/// # Panics
/// When `board` is not below [`MAX_BOARDS`].
pub fn board_address(board: usize) -> Ipv4Addr {
    assert!(board < MAX_BOARDS, "board {board} is outside the address plan");
    host(FIRST_BOARD + board as u8)
}

/// The address on the network with the given last byte.
pub(crate) fn host(last: u8) -> Ipv4Addr {
    let [a, b, c, _] = HOST_ADDRESS.octets();
    Ipv4Addr::new(a, b, c, last)
}

/// The MAC address that belongs to an IPv4 address of the plan.
pub fn mac_of(address: Ipv4Addr) -> Mac {
    let [a, b, c, d] = address.octets();
    [0x02, 0x00, a, b, c, d]
}

/// The IPv4 address that the plan keeps for a MAC address; none for a machine from outside the plan.
pub(crate) fn address_of(mac: Mac) -> Option<Ipv4Addr> {
    let address = Ipv4Addr::new(mac[2], mac[3], mac[4], mac[5]);
    (0..MAX_BOARDS)
        .map(board_address)
        .find(|planned| *planned == address && mac_of(*planned) == mac)
}

/// A MAC address as people write it, `02:00:0a:0d:25:0a`.
pub fn format_mac(mac: Mac) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn board_0_has_the_first_place() {
        assert_eq!(board_address(0), Ipv4Addr::new(10, 13, 37, 10));
        assert_eq!(format_mac(mac_of(board_address(0))), "02:00:0a:0d:25:0a");
    }

    #[test]
    fn a_mac_leads_back_to_its_address() {
        for board in 0..MAX_BOARDS {
            assert_eq!(
                address_of(mac_of(board_address(board))),
                Some(board_address(board))
            );
        }
        assert_eq!(address_of(mac_of(HOST_ADDRESS)), None);
        assert_eq!(address_of([0x52, 0x54, 0x0a, 0x0d, 0x25, 0x0a]), None);
    }

    #[test]
    fn boards_and_lent_addresses_do_not_overlap() {
        let last = board_address(MAX_BOARDS - 1).octets()[3];
        assert!(last < *DYNAMIC.start());
    }
}
