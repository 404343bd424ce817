//! Lets the board be found over mDNS on loopback, where several boards and other mDNS programs share port 5353.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use anyhow::{Context, Result};
use async_io::Async;
use mcp_device_net::boot::Stage;
use mcp_device_net::http::Hosts;
use mcp_device_net::mdns::{Config, Event, GROUP, PORT, Responder, Txt, driver};
use socket2::{Domain, Protocol, Socket, Type};

/// Length of loopback's network prefix, bits.
const PREFIX: u8 = 8;
/// Largest packet on an Ethernet, which is also the largest that other programs send here, bytes.
const BUFFER: usize = 1500;

/// What is announced of a board that serves on this port of loopback.
pub fn service(name: &str, port: u16, mac: [u8; 6], build_id: &str) -> Result<Config> {
    Config::new(name, name, port, Txt::of_board(mac, build_id)).context("cannot announce the board")
}

/// Announces the board until `until` is done, and then withdraws it. `hosts` hears of the name that it has got. A board that
/// can't be announced still serves.
pub async fn announce(service: Config, hosts: &Hosts<'_>, until: impl Future<Output = ()>) {
    let mut socket = match socket() {
        Ok(socket) => socket,
        Err(error) => {
            complain(error);
            return until.await;
        }
    };
    let mut responder = Responder::new(service, seed());
    responder.link_up(driver::now(), Ipv4Addr::LOCALHOST, PREFIX);
    let mut buffer = [0; BUFFER];
    let tell = |event, responder: &Responder| tell(event, responder, hosts);
    driver::run(&mut socket, &mut buffer, &mut responder, until, tell, complain).await;
    if let Err(error) = driver::shut_down(&mut socket, &mut responder).await {
        complain(error);
    }
}

fn tell(event: Event, responder: &Responder, hosts: &Hosts<'_>) {
    let name = responder.host();
    match event {
        Event::Announced => {
            hosts.announce(name);
            crate::log(Stage::Announced { name: name.as_str() });
        }
        Event::Renamed => {
            let instance = responder.instance();
            eprintln!("mcp-hil-board-native: the name is taken; trying {instance} at {name}.local");
        }
    }
}

fn complain(error: io::Error) {
    eprintln!("mcp-hil-board-native: not to be found over mDNS on loopback: {error}");
}

fn socket() -> io::Result<edge_nal_std::UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&(std::net::SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))).into())?;
    socket.set_multicast_if_v4(&Ipv4Addr::LOCALHOST)?;
    // RFC 6762 §11; and other programs on this host must hear us.
    socket.set_multicast_ttl_v4(255)?;
    socket.set_ttl_v4(255)?;
    socket.set_multicast_loop_v4(true)?;
    socket.join_multicast_v4(GROUP.ip(), &Ipv4Addr::LOCALHOST)?;
    socket.set_nonblocking(true)?;
    Ok(edge_nal_std::UdpSocket::new(Async::<UdpSocket>::new_nonblocking(
        socket.into(),
    )?))
}

fn seed() -> u64 {
    // Only delays depend on it.
    getrandom::u64().unwrap_or_default()
}
