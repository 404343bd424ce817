//! Sockets that hear every multicast answer, besides those of mdns-sd.

use super::interfaces::Interface;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use tokio::net::UdpSocket;

/// Port of mDNS (RFC 6762, 3).
const PORT: u16 = 5353;
const GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb);
/// Longest packet (RFC 6762, 17), bytes.
pub const MAX_PACKET: usize = 9000;

/// A socket for each address family that the interface has, or what the system says instead.
pub fn open(interface: &Interface) -> Vec<io::Result<UdpSocket>> {
    let has = |v4: bool| {
        interface
            .networks
            .iter()
            .any(|network| network.address.is_ipv4() == v4)
    };
    let v4 = has(true).then(|| socket(SocketAddr::from((GROUP_V4, PORT)), interface.index));
    let v6 = has(false).then(|| {
        let group = SocketAddrV6::new(GROUP_V6, PORT, 0, interface.index);
        socket(SocketAddr::V6(group), interface.index)
    });
    v4.into_iter().chain(v6).collect()
}

/// Bound to the group, so that it never takes a packet that was sent to one of the host's own addresses: of several
/// sockets on a port only one gets those.
fn socket(group: SocketAddr, index: u32) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(group), Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    match group {
        SocketAddr::V4(_) => {
            socket.bind(&group.into())?;
            socket.join_multicast_v4_n(&GROUP_V4, &InterfaceIndexOrAddress::Index(index))?;
            // else it hears what comes in by other interfaces too
            #[cfg(target_os = "linux")]
            socket.set_multicast_all_v4(false)?;
        }
        SocketAddr::V6(_) => {
            socket.set_only_v6(true)?;
            socket.bind(&group.into())?;
            socket.join_multicast_v6(&GROUP_V6, index)?;
            #[cfg(target_os = "linux")]
            socket.set_multicast_all_v6(false)?;
        }
    }
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket.into())
}
