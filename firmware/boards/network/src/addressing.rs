//! Where a board's address comes from.

use core::time::Duration;

use embassy_net::{Config, DhcpConfig, Ipv4Cidr, StaticConfigV4};
use mcp_hil_board_startup::address::Address;

/// The address of its own that the board was told, or else one from DHCP. A DHCP server that does not answer is asked
/// again after `retry`: on a local network it has not got the question.
pub fn config(own: Option<Address>, retry: Duration) -> Config {
    match own {
        Some(Address { ip, prefix, gateway }) => Config::ipv4_static(StaticConfigV4 {
            address: Ipv4Cidr::new(ip, prefix),
            gateway,
            dns_servers: Default::default(),
        }),
        None => {
            let mut dhcp = DhcpConfig::default();
            dhcp.retry_config.discover_timeout = retry.into();
            dhcp.retry_config.initial_request_timeout = retry.into();
            Config::dhcpv4(dhcp)
        }
    }
}
