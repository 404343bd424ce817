//! Announces the thermostat as `_mcp._tcp`: mcp-device-net's responder on a UDP socket.

use alloc::vec;
use core::net::{Ipv4Addr, SocketAddrV4};

use mcp_device_net::http::Hosts;
use mcp_device_net::mdns::{Config, Event, GROUP, PORT, Packet, Responder};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::udp;
use smoltcp::wire::{IpAddress, IpEndpoint, Ipv4Cidr};

use crate::machine::{now, println};
use crate::network::Network;

/// Hop limit of every mDNS packet (RFC 6762, 11).
const HOPS: u8 = 255;
const PACKETS: usize = 8;
const BYTES: usize = 4096;

/// The responder and its socket.
pub struct Announcer {
    responder: Responder,
    socket: SocketHandle,
    address: Option<Ipv4Cidr>,
}

impl Announcer {
    /// Announces a service as soon as there is an address.
    pub fn new(network: &mut Network, service: Config) -> Self {
        let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; PACKETS], vec![0; BYTES]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        socket.bind(PORT).expect("the port is free");
        socket.set_hop_limit(Some(HOPS));
        network.join(*GROUP.ip());
        let seed = u64::from_le_bytes([0, 0, 0, 0, 0, 0, network.mac()[4], network.mac()[5]]) ^ now().0;
        Self {
            responder: Responder::new(service, seed),
            socket: network.sockets.add(socket),
            address: None,
        }
    }

    /// Takes what has come, and sends what is due.
    pub fn poll(&mut self, network: &mut Network, hosts: &Hosts<'_>) {
        if network.address() != self.address {
            self.address = network.address();
            match self.address {
                Some(own) => self.responder.link_up(now(), own.address(), own.prefix_len()),
                None => self.responder.link_down(),
            }
        }
        let socket = network.sockets.get_mut::<udp::Socket<'_>>(self.socket);
        while let Ok((payload, from)) = socket.recv() {
            let IpAddress::Ipv4(sender) = from.endpoint.addr;
            let sender = SocketAddrV4::new(sender, from.endpoint.port);
            self.responder.receive(now(), sender, payload);
        }
        let mut packet = Packet::new();
        while socket.can_send()
            && let Some(to) = self.responder.transmit(now(), &mut packet)
        {
            let address: Ipv4Addr = *to.ip();
            let _ = socket.send_slice(&packet, IpEndpoint::new(address.into(), to.port()));
        }
        while let Some(event) = self.responder.event() {
            if event == Event::Announced {
                hosts.announce(self.responder.host());
                println!("announced as {}", self.responder.host());
            }
        }
    }
}
