//! A board's mDNS responder, right or broken by one fault.
//!
//! [`Responder`] announces an endpoint on an address of this host as its board would. Each /24 counts as a link of its
//! own: on loopback many can be tried at once without privileges.

mod engine;
mod zone;

pub(crate) use engine::{Heard, Said};
pub(crate) use zone::{TYPES, Zone, pointer, record, service, text};

use crate::fault::{Fault, Hooks};
use engine::Engine;
use mcp_hil_conformance::mdns::wire::write;
use mcp_hil_conformance::mdns::{GROUP, PORT};
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// Answers for one board until it is dropped.
#[derive(Debug)]
pub struct Responder {
    changed: Arc<AtomicU64>,
    task: JoinHandle<io::Result<()>>,
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Responder {
    /// Announces the endpoint at an address of this host and a port, broken by a fault if there is one.
    ///
    /// # Errors
    /// Port 5353 can't be had on this address, or its interface carries no multicast.
    pub fn start(address: SocketAddrV4, fault: Option<&Fault>) -> io::Result<Self> {
        let sockets = Sockets {
            group: group(*address.ip())?,
            own: socket(*address.ip(), PORT)?,
            other: socket(*address.ip(), 0)?,
        };
        let hooks = fault.map_or_else(Hooks::default, |fault| fault.hooks);
        let engine = Engine::new(Zone::new(*address.ip(), address.port()), hooks);
        let changed = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(serve(sockets, engine, Arc::clone(&changed)));
        Ok(Self { changed, task })
    }

    /// How often the fault changed what is said.
    pub fn changed(&self) -> u64 {
        self.changed.load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct Sockets {
    group: UdpSocket,
    own: UdpSocket,
    other: UdpSocket,
}

/// Hears the group on the interface with an address.
fn group(of: Ipv4Addr) -> io::Result<UdpSocket> {
    let socket = open(GROUP, PORT)?;
    socket.join_multicast_v4(&GROUP, &of)?;
    #[cfg(target_os = "linux")]
    socket.set_multicast_all_v4(false)?;
    UdpSocket::from_std(socket.into())
}

/// Hears what is sent to an address, and sends from there.
fn socket(address: Ipv4Addr, port: u16) -> io::Result<UdpSocket> {
    let socket = open(address, port)?;
    socket.set_multicast_if_v4(&address)?;
    socket.set_multicast_ttl_v4(255)?;
    socket.set_multicast_loop_v4(true)?;
    UdpSocket::from_std(socket.into())
}

fn open(address: Ipv4Addr, port: u16) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&SocketAddr::from((address, port)).into())?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

async fn serve(sockets: Sockets, mut engine: Engine, changed: Arc<AtomicU64>) -> io::Result<()> {
    let started = Instant::now();
    let (mut group, mut own) = (vec![0; 65536], vec![0; 65536]);
    loop {
        let next = engine.next().unwrap_or(Duration::from_secs(3600));
        tokio::select! {
            got = sockets.group.recv_from(&mut group) => {
                let (length, from) = got?;
                engine.hear(&group[..length], from, false, started.elapsed());
            }
            got = sockets.own.recv_from(&mut own) => {
                let (length, from) = got?;
                engine.hear(&own[..length], from, true, started.elapsed());
            }
            () = sleep_until(started + next) => {}
        }
        changed.store(engine.changed, Ordering::Relaxed);
        for said in engine.due(started.elapsed()) {
            let from = if said.from_other_port {
                &sockets.other
            } else {
                &sockets.own
            };
            let to = said.to.unwrap_or_else(|| (GROUP, PORT).into());
            // what can't be sent is lost, as on any network; the asker asks again
            let _ = from.send_to(&write(&said.message), to).await;
        }
    }
}
