//! mDNS from outside, with sockets of our own: every answer of one board, by multicast and by unicast.

pub mod wire;

use crate::lab::Stop;
use mcp_hil_harness::client::Exchange;
use mcp_hil_harness::discover::interfaces::{self, Interface};
use mcp_hil_harness::target::Endpoint;
use socket2::{Domain, InterfaceIndexOrAddress, Protocol, Socket, Type};
use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::time::{Instant, timeout_at};
use wire::{A, IN, Message, Name, PTR, SRV, TXT, name, query, same};

/// RFC 6762, 3.
pub const GROUP: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
/// See [`GROUP`].
pub const PORT: u16 = 5353;
/// The service that MCP boards announce.
pub const SERVICE: &str = "_mcp._tcp.local";
/// Points to the types of service there are (RFC 6763, 9).
pub const TYPES: &str = "_services._dns-sd._udp.local";
/// Longest packet (RFC 6762, 17), bytes, without the heads of IP and UDP.
pub const MAX_PACKET: usize = 9000 - 28;
/// Longest packet that UDP carries, bytes.
const MAX_UDP: usize = 65536;
/// A board that others ask all the time is not waited for longer.
const BUSY: Duration = Duration::from_secs(5);
/// What waits in a socket is read in this time.
const DRAIN: Duration = Duration::from_millis(2);
/// A record is multicast at most once in this time (RFC 6762, 6), and a little more.
const REST: Duration = Duration::from_millis(1150);
/// How long an answer may take: a shared record waits up to 120 ms, and the network is not ideal.
pub const WAIT: Duration = Duration::from_millis(900);

/// How a packet came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// To the group.
    Multicast,
    /// To us alone.
    Unicast,
}

/// A packet of the board.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Its sender.
    pub from: SocketAddr,
    /// How it came.
    pub by: By,
    /// Time since the question.
    pub after: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What they say; none if they are no DNS.
    pub message: Option<Message>,
}

/// What was asked and what the board said to it.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Responses of the board.
    pub heard: Vec<Heard>,
    /// Everything as bytes, for the evidence.
    pub exchange: Exchange,
}

impl Asked {
    /// The responses that are DNS.
    pub fn messages(&self) -> impl Iterator<Item = (&Heard, &Message)> {
        self.heard
            .iter()
            .filter_map(|heard| Some((heard, heard.message.as_ref()?)))
    }

    /// The first answer or additional record of this owner and type.
    pub fn record(&self, owner: &Name, kind: u16) -> Option<&wire::Record> {
        self.messages()
            .flat_map(|(_, message)| message.records())
            .find(|record| record.kind == kind && same(&record.name, owner))
    }

    /// Where the PTR records of a name lead, each once.
    pub fn pointers(&self, owner: &Name) -> Vec<Name> {
        let mut found: Vec<Name> = Vec::new();
        let answers = self.messages().flat_map(|(_, message)| &message.answers);
        for pointer in answers
            .filter(|record| same(&record.name, owner))
            .filter_map(wire::Record::pointer)
        {
            if !found.contains(&pointer) {
                found.push(pointer);
            }
        }
        found
    }

    /// Whether an answer section has a record of this owner and type.
    pub fn answers(&self, owner: &Name, kind: u16) -> bool {
        let mut answers = self.messages().flat_map(|(_, message)| &message.answers);
        answers.any(|record| record.kind == kind && same(&record.name, owner))
    }
}

/// The board and its names.
#[derive(Clone, Debug)]
pub struct Board {
    /// Its address.
    pub address: Ipv4Addr,
    /// `INSTANCE._mcp._tcp.local`.
    pub instance: Name,
    /// `HOST.local`.
    pub host: Name,
    /// Port of its SRV record.
    pub port: u16,
}

/// Sockets on one interface.
#[derive(Debug)]
pub struct Air {
    group: UdpSocket,
    own: UdpSocket,
    legacy: UdpSocket,
    board: Ipv4Addr,
    port: u16,
    seen: Rc<Seen>,
}

/// Why the names of a board are not known.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The clause that it breaks; none if nothing says that it announces MCP at all.
    pub row: Option<&'static str>,
    /// What is missing.
    pub what: String,
    /// What was asked last.
    pub exchange: Exchange,
}

/// What is known of the board from earlier checks.
#[derive(Debug, Default)]
pub struct Seen {
    /// When it may multicast again.
    quiet_from: Cell<Option<Instant>>,
    /// Its names, or why they are not known.
    board: RefCell<Option<Result<Board, Lost>>>,
}

fn socket(bind: SocketAddrV4, interface: &Interface) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_reuse_address(true)?;
    socket.set_reuse_port(true)?;
    socket.bind(&SocketAddr::V4(bind).into())?;
    if *bind.ip() == GROUP {
        socket.join_multicast_v4_n(&GROUP, &InterfaceIndexOrAddress::Index(interface.index))?;
        #[cfg(target_os = "linux")]
        socket.set_multicast_all_v4(false)?;
    } else {
        socket.set_multicast_if_v4(bind.ip())?;
        socket.set_multicast_ttl_v4(255)?;
        socket.set_multicast_loop_v4(true)?;
    }
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket.into())
}

impl Air {
    /// Opens the sockets on an interface, to hear the board at this endpoint.
    ///
    /// # Errors
    /// [`Stop::Skip`]: the board is not named by an IPv4 address; [`Stop::Unreachable`]: no such interface, no sockets.
    pub fn open(wanted: &str, endpoint: &Endpoint, seen: &Rc<Seen>) -> Result<Self, Stop> {
        let Ok(IpAddr::V4(board)) = endpoint.host.parse() else {
            return Err(Stop::Skip(
                "mDNS is checked for targets with an IPv4 address".to_owned(),
            ));
        };
        let trouble = |error: String| Stop::Unreachable(error);
        let all = interfaces::list().map_err(|error| trouble(error.to_string()))?;
        let chosen =
            interfaces::choose(&all, &[wanted.to_owned()]).map_err(|error| trouble(error.to_string()))?;
        let interface = chosen
            .first()
            .ok_or_else(|| trouble(format!("no interface {wanted:?}")))?;
        let address = interface
            .networks
            .iter()
            .find_map(|network| match network.address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            });
        // on loopback the board has our address, and only one of two gets what is sent to it; ours is near it all the same
        let address = if interface.loopback {
            let [a, b, c, last] = board.octets();
            Some(Ipv4Addr::new(a, b, c, if last == 53 { 54 } else { 53 }))
        } else {
            address
        };
        let address = address.ok_or_else(|| trouble(format!("interface {wanted:?} has no IPv4 address")))?;
        let open = |address, port| {
            socket(SocketAddrV4::new(address, port), interface).map_err(|error| trouble(error.to_string()))
        };
        Ok(Self {
            group: open(GROUP, PORT)?,
            own: open(address, PORT)?,
            legacy: open(address, 0)?,
            board,
            port: endpoint.port,
            seen: Rc::clone(seen),
        })
    }

    /// Waits until the board may multicast again what it multicast last, for whomever, and forgets what came meanwhile.
    pub async fn rest(&mut self) {
        let (mut bytes, mut own, mut legacy) = (vec![0; MAX_UDP], [0; 1], [0; 1]);
        let limit = Instant::now() + BUSY;
        loop {
            let until = self.seen.quiet_from.get().unwrap_or_else(Instant::now);
            let heard = async {
                tokio::select! {
                    biased;
                    got = self.group.recv_from(&mut bytes) => got.map(|(_, from)| Some(from)),
                    _ = self.own.recv_from(&mut own) => Ok(None),
                    _ = self.legacy.recv_from(&mut legacy) => Ok(None),
                }
            };
            match timeout_at(until.max(Instant::now() + DRAIN).min(limit), heard).await {
                Ok(Ok(Some(from))) if from.ip() == IpAddr::V4(self.board) => {
                    self.seen.quiet_from.set(Some(Instant::now() + REST));
                }
                Ok(_) => {}
                Err(_) => return,
            }
        }
    }

    /// Asks by multicast, when the board may answer again, and hears until `enough` says so or the time is over. Packets
    /// get lost: without enough it asks once more.
    ///
    /// # Errors
    /// [`Stop::Unreachable`]: the packet could not be sent.
    pub async fn ask(&mut self, packet: &[u8], enough: impl Fn(&Asked) -> bool) -> Result<Asked, Stop> {
        let asked = self.ask_once(packet, &enough).await?;
        if enough(&asked) {
            return Ok(asked);
        }
        self.ask_once(packet, enough).await
    }

    /// Asks by multicast what must not be answered; gives what was answered, if it was twice, for others ask too.
    ///
    /// # Errors
    /// [`Stop::Unreachable`]: the packet could not be sent.
    pub async fn ask_in_vain(
        &mut self,
        packet: &[u8],
        answered: impl Fn(&Asked) -> bool,
    ) -> Result<Option<Asked>, Stop> {
        if !answered(&self.ask_once(packet, &answered).await?) {
            return Ok(None);
        }
        let asked = self.ask_once(packet, &answered).await?;
        Ok(answered(&asked).then_some(asked))
    }

    async fn ask_once(&mut self, packet: &[u8], enough: impl Fn(&Asked) -> bool) -> Result<Asked, Stop> {
        self.rest().await;
        self.ask_now(packet, (GROUP, PORT).into(), false, WAIT, enough)
            .await
    }

    /// Sends a packet to `to`, from port 5353 or with `legacy` from another, and hears for `limit` at most.
    ///
    /// # Errors
    /// [`Stop::Unreachable`]: the packet could not be sent.
    pub async fn ask_now(
        &mut self,
        packet: &[u8],
        to: SocketAddr,
        legacy: bool,
        limit: Duration,
        enough: impl Fn(&Asked) -> bool,
    ) -> Result<Asked, Stop> {
        let from = if legacy { &self.legacy } else { &self.own };
        let started = Instant::now();
        from.send_to(packet, to)
            .await
            .map_err(|error| Stop::Unreachable(format!("mDNS to {to}: {error}")))?;
        let mut asked = Asked::default();
        asked.exchange.sent = packet.to_vec();
        asked.exchange.repeat = repeat(packet);
        let (mut multicast, mut unicast) = (vec![0; MAX_UDP], vec![0; MAX_UDP]);
        while !enough(&asked) {
            let heard = async {
                let alone = if legacy { &self.legacy } else { &self.own };
                // of two that wait, what is sent to us alone was sent first: it is not held back
                tokio::select! {
                    biased;
                    got = alone.recv_from(&mut unicast) => (got, By::Unicast),
                    got = self.group.recv_from(&mut multicast) => (got, By::Multicast),
                }
            };
            let Ok((got, by)) = timeout_at(started + limit, heard).await else {
                break;
            };
            let Ok((length, from)) = got else { continue };
            let bytes = if by == By::Multicast {
                &multicast[..length]
            } else {
                &unicast[..length]
            };
            if from.ip() != IpAddr::V4(self.board) {
                continue;
            }
            let message = wire::read(bytes).ok();
            // our own questions come back on loopback
            if message.as_ref().is_some_and(|message| !message.is_response()) && bytes == packet {
                continue;
            }
            // also after unicast: what is sent to us alone may be multicast besides
            self.seen.quiet_from.set(Some(Instant::now() + REST));
            asked.exchange.received.extend_from_slice(bytes);
            asked.heard.push(Heard {
                from,
                by,
                after: started.elapsed(),
                bytes: bytes.to_vec(),
                message,
            });
        }
        asked.exchange.time = started.elapsed();
        Ok(asked)
    }

    /// The names of the board, as they were when they were last looked for.
    ///
    /// # Errors
    /// [`Stop::Skip`]: they are not known, which a check of its own judges.
    pub async fn board(&mut self) -> Result<Board, Stop> {
        let known = self.seen.board.borrow().clone();
        let found = match known {
            Some(known) => known,
            None => self.find().await?,
        };
        found.map_err(|lost| Stop::Skip(lost.what))
    }

    /// Looks for the names of the board: of the instance that it points to, at the port of the target if there is one.
    ///
    /// # Errors
    /// [`Stop::Unreachable`]: nothing could be sent.
    pub async fn find(&mut self) -> Result<Result<Board, Lost>, Stop> {
        let found = self.look().await?;
        self.seen.board.replace(Some(found.clone()));
        Ok(found)
    }

    async fn look(&mut self) -> Result<Result<Board, Lost>, Stop> {
        let service = name(SERVICE);
        let packet = wire::write(&query(&[(&service, PTR)]));
        let asked = self.ask(&packet, |asked| asked.answers(&service, PTR)).await?;
        let instances = asked.pointers(&service);
        if instances.is_empty() {
            let all = name(TYPES);
            let types = wire::write(&query(&[(&all, PTR)]));
            let types = self.ask(&types, |asked| asked.answers(&all, PTR)).await?;
            let is_named = types.pointers(&all).iter().any(|named| same(named, &service));
            return Ok(Err(Lost {
                row: is_named.then_some("mdns/ptr-answer"),
                what: format!("the board at {} does not answer who offers {SERVICE}", self.board),
                exchange: asked.exchange,
            }));
        }
        let mut first = None;
        let mut last = asked.exchange.clone();
        for instance in &instances {
            let mut found = asked.record(instance, SRV).cloned();
            if found.is_none() {
                let packet = wire::write(&query(&[(instance, SRV), (instance, TXT)]));
                let asked = self.ask(&packet, |asked| asked.answers(instance, SRV)).await?;
                found = asked.record(instance, SRV).cloned();
                last = asked.exchange;
            }
            let Some((_, _, port, host)) = found.as_ref().and_then(wire::Record::service) else {
                continue;
            };
            let board = Board {
                address: self.board,
                instance: instance.clone(),
                host,
                port,
            };
            if port == self.port {
                return Ok(Ok(board));
            }
            first.get_or_insert(board);
        }
        let mut records = asked.messages().flat_map(|(_, message)| message.records());
        let is_astray = records.any(|record| record.kind == SRV);
        let shown: Vec<_> = instances.iter().map(wire::shown).collect();
        Ok(first.ok_or_else(|| Lost {
            row: Some(if is_astray {
                "mdns/ptr-answer"
            } else {
                "mdns/srv-answer"
            }),
            what: format!(
                "the PTR record leads to {}, which has no SRV record",
                shown.join(", ")
            ),
            exchange: last,
        }))
    }
}

/// A shell line that asks the same.
fn repeat(packet: &[u8]) -> String {
    let Ok(message) = wire::read(packet) else {
        return String::new();
    };
    let kind = |kind| match kind {
        A => "A",
        PTR => "PTR",
        TXT => "TXT",
        wire::AAAA => "AAAA",
        SRV => "SRV",
        _ => "ANY",
    };
    let first = message
        .questions
        .first()
        .filter(|question| question.class & 0x7fff == IN);
    first.map_or_else(String::new, |question| {
        format!(
            "dig @{GROUP} -p {PORT} '{}' {}",
            wire::shown(&question.name),
            kind(question.kind)
        )
    })
}
