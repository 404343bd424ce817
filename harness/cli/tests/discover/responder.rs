//! A board's mDNS on loopback, as faulty as a test wants it. Each has a source address of its own, as boards do.

use simple_dns::rdata::{A, PTR, RData, SRV, TXT};
use simple_dns::{CLASS, Name, Packet, PacketFlag, ResourceRecord};
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const PORT: u16 = 5353;

/// A type of service that no other test, and no other run, has.
pub fn service() -> String {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("_t{}-{number}._tcp", std::process::id())
}

/// What is announced.
#[derive(Clone)]
pub struct Announcement {
    pub service: String,
    pub instance: &'static str,
    /// With `.local`; empty: the root.
    pub hostname: &'static str,
    /// None: no SRV record.
    pub port: Option<u16>,
    pub text: Option<&'static [&'static str]>,
    /// Source of its packets, and its address if it announces one.
    pub address: Ipv4Addr,
    pub has_address: bool,
    pub ttl: u32,
    /// How long it takes to answer.
    pub delay: Duration,
}

impl Announcement {
    /// Without a fault.
    pub fn good(service: &str, instance: &'static str, last: u8) -> Self {
        Self {
            service: service.to_owned(),
            instance,
            hostname: match last {
                2 => "two.local",
                3 => "three.local",
                _ => "other.local",
            },
            port: Some(18791),
            text: Some(&["endpoint=mcp", "id=02:00:00:00:00:01"]),
            address: Ipv4Addr::new(127, 0, 0, last),
            has_address: true,
            ttl: 120,
            delay: Duration::ZERO,
        }
    }

    fn packet(&self, ttl: u32) -> Vec<u8> {
        let full = format!("{}.{}.local", self.instance, self.service);
        let service = format!("{}.local", self.service);
        let (service, name) = (Name::new_unchecked(&service), Name::new_unchecked(&full));
        let mut packet = Packet::new_reply(0);
        packet.set_flags(PacketFlag::AUTHORITATIVE_ANSWER);
        let mut say = |owner: &Name<'_>, rdata: RData<'_>| {
            let shared = matches!(rdata, RData::PTR(_));
            // RFC 6762, 10: 75 minutes, but for a goodbye
            let ttl = if shared && ttl > 0 { 4500 } else { ttl };
            let record = ResourceRecord::new(owner.clone(), CLASS::IN, ttl, rdata).with_cache_flush(!shared);
            packet.answers.push(record.into_owned());
        };
        say(&service, RData::PTR(PTR(name.clone())));
        if let Some(port) = self.port {
            let target = Name::new_unchecked(self.hostname);
            say(
                &name,
                RData::SRV(SRV {
                    priority: 0,
                    weight: 0,
                    port,
                    target,
                }),
            );
        }
        if let Some(strings) = self.text {
            let text = strings
                .iter()
                .fold(TXT::new(), |text, string| text.with_string(string).unwrap());
            say(&name, RData::TXT(text));
        }
        if self.has_address {
            say(
                &Name::new_unchecked(self.hostname),
                RData::A(A::from(self.address)),
            );
        }
        packet.build_bytes_vec().unwrap()
    }
}

/// Answers until it is dropped. Dropping it says no goodbye, like a board that loses power.
pub struct Responder {
    announcement: Announcement,
    socket: UdpSocket,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Responder {
    /// Announces once and then answers.
    pub fn start(announcement: Announcement) -> Self {
        let packet = announcement.packet(announcement.ttl);
        Self::with(announcement, packet)
    }

    /// Sends these bytes in place of the announcement.
    pub fn with(announcement: Announcement, packet: Vec<u8>) -> Self {
        let listener = listener();
        let socket = sender(announcement.address);
        let stop = Arc::<AtomicBool>::default();
        send(&socket, &packet);
        let (thread_socket, thread_stop) = (socket.try_clone().unwrap(), Arc::clone(&stop));
        let about = announcement.clone();
        let thread = thread::spawn(move || answer(&listener, &thread_socket, &about, &packet, &thread_stop));
        Self {
            announcement,
            socket,
            stop,
            thread: Some(thread),
        }
    }

    /// Says that it goes.
    pub fn goodbye(self) {
        send(&self.socket, &self.announcement.packet(0));
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(
    listener: &UdpSocket,
    socket: &UdpSocket,
    announcement: &Announcement,
    packet: &[u8],
    stop: &AtomicBool,
) {
    let mut buffer = [0; 9000];
    while !stop.load(Ordering::Relaxed) {
        let Ok((length, _)) = listener.recv_from(&mut buffer) else {
            continue;
        };
        let asked = Packet::parse(&buffer[..length]).is_ok_and(|query| {
            let ours = |name: &Name<'_>| name.to_string().contains(&announcement.service);
            !query.has_flags(PacketFlag::RESPONSE)
                && query.questions.iter().any(|question| ours(&question.qname))
        });
        if asked {
            thread::sleep(announcement.delay);
            send(socket, packet);
        }
    }
}

fn send(socket: &UdpSocket, packet: &[u8]) {
    socket.send_to(packet, (GROUP, PORT)).unwrap();
}

fn listener() -> UdpSocket {
    let socket = shared(SocketAddr::from((GROUP, PORT)));
    let loopback = InterfaceIndexOrAddress::Address(Ipv4Addr::LOCALHOST);
    socket.join_multicast_v4_n(&GROUP, &loopback).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    socket.into()
}

fn sender(source: Ipv4Addr) -> UdpSocket {
    let socket = shared(SocketAddr::from((source, PORT)));
    socket.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
    socket.set_multicast_ttl_v4(255).unwrap();
    socket.into()
}

fn shared(address: SocketAddr) -> Socket {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP)).unwrap();
    socket.set_reuse_address(true).unwrap();
    socket.set_reuse_port(true).unwrap();
    socket.bind(&address.into()).unwrap();
    socket
}
