//! Boards, from what was heard: pure. A faulty announcement costs nobody but its own board, and says what is wrong.

use super::endpoint::{Place, endpoint};
use super::heard::{Data, Name, Record, Text};
use super::interfaces::{Interface, Network};
use super::oddity::Oddity;
use crate::access::Access;
use crate::target::Endpoint;
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::time::Instant;

/// A board that is announced. The first seven members are those of ESP-Claw's `mcp_discover`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Found {
    /// Instance name.
    pub instance: String,
    /// Hostname, without `.local`.
    pub hostname: Option<String>,
    /// The address to use.
    pub ip: Option<IpAddr>,
    /// Port of the SRV record.
    pub port: Option<u16>,
    /// Path without its leading slash.
    pub endpoint: String,
    /// URL without the path.
    pub server_url: Option<String>,
    /// URL; none if the announcement gives no way to the board.
    pub url: Option<String>,
    /// All addresses, the best first.
    pub addresses: Vec<IpAddr>,
    /// TXT record.
    pub txt: BTreeMap<String, Option<String>>,
    /// TXT key `id`, on our boards the MAC address.
    pub id: Option<String>,
    /// TXT key `build`, on our boards the GNU build id.
    pub build: Option<String>,
    /// Our interface that leads to it.
    pub interface: String,
    /// Whether everything that it takes to reach the board was announced.
    pub complete: bool,
    /// Whether a TCP connection could be made; none: not tried.
    pub reachable: Option<bool>,
    /// What is odd about it.
    pub oddities: Vec<Oddity>,
    /// When what describes it, its TXT record or else its SRV record, was last heard.
    #[serde(skip)]
    pub heard: Option<Instant>,
    /// Number of the interface, which a link-local address needs.
    #[serde(skip)]
    scope: u32,
}

impl Found {
    /// Where to connect: by address, never by name.
    pub fn socket_address(&self) -> Option<SocketAddr> {
        let (ip, port) = (self.ip?, self.port.filter(|port| *port > 0)?);
        Some(match ip {
            IpAddr::V4(_) => SocketAddr::new(ip, port),
            IpAddr::V6(ip) => {
                let scope = if ip.is_unicast_link_local() { self.scope } else { 0 };
                SocketAddrV6::new(ip, port, 0, scope).into()
            }
        })
    }

    /// The endpoint to talk to, an address in its `Host` header.
    pub fn target(&self) -> Option<Endpoint> {
        let address = self.socket_address()?;
        let host = match address {
            // the resolver of the system takes the interface's number after the address
            SocketAddr::V6(v6) if v6.scope_id() > 0 => format!("{}%{}", v6.ip(), v6.scope_id()),
            _ => address.ip().to_string(),
        };
        Some(Endpoint {
            host,
            port: address.port(),
            authority: format!("{}:{}", bracketed(address.ip()), address.port()),
            path: format!("/{}", self.endpoint),
            tls: false,
            access: Access::default(),
        })
    }

    /// Chooses another of the addresses.
    pub fn use_address(&mut self, ip: Option<IpAddr>) {
        self.ip = ip;
        let address = self.socket_address().map(|address| address.port());
        let server = ip.zip(address).map(|(ip, port)| match ip {
            // RFC 6874 writes the interface into the URL
            IpAddr::V6(v6) if v6.is_unicast_link_local() => {
                format!("http://[{v6}%25{}]:{port}", self.interface)
            }
            ip => format!("http://{}:{port}", bracketed(ip)),
        });
        self.url = server
            .as_ref()
            .map(|server| format!("{server}/{}", self.endpoint));
        self.server_url = server;
    }

    /// Whether this is the board that a person means: its instance or hostname, with or without what follows it.
    pub fn is_called(&self, name: &str) -> bool {
        let lower = name.trim_end_matches('.').to_ascii_lowercase();
        let host = lower.strip_suffix(".local").unwrap_or(&lower);
        let instance = ["._tcp.local", "._udp.local"]
            .iter()
            .find_map(|suffix| lower.strip_suffix(suffix)?.rsplit_once("._"))
            .map_or(lower.as_str(), |(instance, _)| instance);
        let is = |own: &str| {
            [&*lower, host, instance]
                .iter()
                .any(|name| own.eq_ignore_ascii_case(name))
        };
        is(&self.instance) || self.hostname.as_deref().is_some_and(is)
    }
}

/// The boards that these records announce, in the order in which they were first heard.
pub fn found(records: &[Record], service: &Name, interfaces: &[Interface]) -> Vec<Found> {
    let mut boards: Vec<Board<'_>> = Vec::new();
    for name in instances(records, service) {
        boards.extend(boards_of(records, name));
    }
    (0..boards.len())
        .map(|at| describe(&boards, at, service, interfaces))
        .collect()
}

/// What one sender said of one instance on one interface.
#[derive(Clone, Debug)]
struct View<'a> {
    sender: Option<IpAddr>,
    interface: &'a str,
    service: Option<(u16, &'a Name)>,
    text: Option<&'a Text>,
    /// When the record was heard that describes it.
    at: Option<Instant>,
    addresses: Vec<IpAddr>,
}

#[derive(Clone, Debug)]
struct Board<'a> {
    name: &'a Name,
    views: Vec<View<'a>>,
    /// Addresses of its host from whoever told them.
    hearsay: Vec<IpAddr>,
}

fn instances<'a>(records: &'a [Record], service: &Name) -> Vec<&'a Name> {
    let mut names: Vec<&Name> = Vec::new();
    for record in records.iter().filter(|record| record.name == *service) {
        match &record.data {
            Data::Pointer(target) if !names.contains(&target) => names.push(target),
            _ => {}
        }
    }
    names
}

/// Boards can share an instance's name without knowing: those that did not probe for it. Their senders tell them apart.
fn boards_of<'a>(records: &'a [Record], name: &'a Name) -> Vec<Board<'a>> {
    let about = |record: &Record| match &record.data {
        Data::Pointer(target) => target == name,
        Data::Service { .. } | Data::Text(_) => record.name == *name,
        Data::Address(_) => false,
    };
    let mut views: Vec<View<'a>> = Vec::new();
    for record in records.iter().filter(|record| about(record)) {
        let known = |view: &View<'_>| view.sender == record.sender && view.interface == record.interface;
        if !views.iter().any(known) {
            views.push(view(records, name, record.sender, &record.interface));
        }
    }
    // what was resolved elsewhere only fills gaps
    views.sort_by_key(|view| view.sender.is_none());
    let mut boards: Vec<Board<'a>> = Vec::new();
    for view in views {
        match boards
            .iter_mut()
            .find(|board| board.views.iter().all(|other| !other.is_another(&view)))
        {
            Some(board) if view.sender.is_none() && board.is_whole() => {}
            Some(board) => board.views.push(view),
            None => boards.push(Board {
                name,
                hearsay: Vec::new(),
                views: vec![view],
            }),
        }
    }
    for board in &mut boards {
        if let Some((_, host)) = board.service() {
            board.hearsay = addresses(records, host, |_| true);
        }
    }
    boards
}

fn view<'a>(records: &'a [Record], name: &Name, sender: Option<IpAddr>, interface: &'a str) -> View<'a> {
    let own = |record: &&Record| record.sender == sender && record.interface == interface;
    let newest_first = || {
        records
            .iter()
            .rev()
            .filter(own)
            .filter(|record| record.name == *name)
    };
    let service = newest_first().find_map(|record| match &record.data {
        Data::Service { port, host } => Some((*port, host)),
        _ => None,
    });
    let text = newest_first().find_map(|record| match &record.data {
        Data::Text(text) => Some(text),
        _ => None,
    });
    let described = |record: &&Record| match &record.data {
        Data::Text(_) => true,
        Data::Service { .. } => text.is_none(),
        _ => false,
    };
    View {
        sender,
        interface,
        service,
        text,
        at: newest_first().find(described).map(|record| record.at),
        addresses: service
            .map(|(_, host)| addresses(records, host, |record| own(&record)))
            .unwrap_or_default(),
    }
}

fn addresses(records: &[Record], host: &Name, of: impl Fn(&Record) -> bool) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for record in records.iter().filter(|record| record.name == *host && of(record)) {
        match record.data {
            Data::Address(address) if !addresses.contains(&address) => addresses.push(address),
            _ => {}
        }
    }
    addresses
}

impl View<'_> {
    fn id(&self) -> Option<&str> {
        self.text.and_then(|text| value(text, "id"))
    }

    /// Of another board than `other`, although both are about the same instance.
    fn is_another(&self, other: &Self) -> bool {
        match (self.id(), other.id()) {
            (Some(one), Some(two)) => !one.eq_ignore_ascii_case(two),
            _ => self.lives_elsewhere(other),
        }
    }

    /// On one interface, with nothing in common: a board with addresses of both kinds, or on two networks, may well
    /// tell half of them each time.
    fn lives_elsewhere(&self, other: &Self) -> bool {
        let both = |is: fn(&IpAddr) -> bool| self.addresses.iter().any(is) && other.addresses.iter().any(is);
        self.interface == other.interface
            && (both(IpAddr::is_ipv4) || both(IpAddr::is_ipv6))
            && !self
                .addresses
                .iter()
                .any(|address| other.addresses.contains(address))
    }
}

impl<'a> Board<'a> {
    fn service(&self) -> Option<(u16, &'a Name)> {
        self.views.iter().find_map(|view| view.service)
    }

    /// What was resolved elsewhere was not heard at that time, so it has a say only if it is all there is.
    fn heard(&self) -> Option<Instant> {
        let latest = |is: fn(&View<'_>) -> bool| {
            let views = self.views.iter().filter(|view| is(view));
            views.filter_map(|view| view.at).max()
        };
        latest(|view| view.sender.is_some()).or_else(|| latest(|_| true))
    }

    fn text(&self) -> Option<&'a Text> {
        self.views.iter().find_map(|view| view.text)
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for address in self.views.iter().flat_map(|view| &view.addresses) {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        if addresses.is_empty() {
            self.hearsay.clone()
        } else {
            addresses
        }
    }

    fn is_whole(&self) -> bool {
        self.service().is_some() && self.text().is_some() && !self.addresses().is_empty()
    }

    fn shares_hostname(&self, other: &Self) -> bool {
        let host = |board: &Self| board.service().map(|(_, host)| host.clone());
        host(self).is_some_and(|own| !own.is_root() && host(other) == Some(own))
            && self
                .views
                .iter()
                .all(|one| other.views.iter().all(|two| one.lives_elsewhere(two)))
    }
}

fn describe(boards: &[Board<'_>], at: usize, service: &Name, interfaces: &[Interface]) -> Found {
    let board = &boards[at];
    let others = || {
        boards
            .iter()
            .enumerate()
            .filter(move |(other, _)| *other != at)
            .map(|(_, other)| other)
    };
    let mut oddities = Vec::new();
    let instance = board
        .name
        .below(service)
        .unwrap_or_else(|| board.name.to_string());

    let twins: Vec<_> = others()
        .filter(|other| other.name == board.name)
        .filter_map(first_address)
        .collect();
    if !twins.is_empty() {
        oddities.push(Oddity::SameInstance(twins));
    }
    let host = board
        .service()
        .map(|(_, host)| host.clone())
        .filter(|host| !host.is_root());
    let port = board.service().map(|(port, _)| port);
    let hostname = host.as_ref().map(|host| {
        let local = host.below(&Name::dotted("local"));
        if local.is_none() {
            oddities.push(Oddity::NotLocal(host.to_string()));
        }
        local.unwrap_or_else(|| host.to_string())
    });
    match (board.service(), &hostname) {
        (None, _) => oddities.push(Oddity::NoService),
        (Some(_), None) => oddities.push(Oddity::NoHostname),
        (Some(_), Some(hostname)) => {
            let sharing: Vec<_> = others()
                .filter(|other| board.shares_hostname(other))
                .map(|other| {
                    let instance = other
                        .name
                        .below(service)
                        .unwrap_or_else(|| other.name.to_string());
                    let address = first_address(other).map_or_else(String::new, |ip| format!(" at {ip}"));
                    format!("{instance:?}{address}")
                })
                .collect();
            if !sharing.is_empty() {
                oddities.push(Oddity::SameHostname {
                    hostname: hostname.clone(),
                    others: sharing,
                });
            }
        }
    }
    if port == Some(0) {
        oddities.push(Oddity::PortZero);
    }

    let announced = board.addresses();
    let heard_on = board.views.first().map(|view| view.interface).unwrap_or_default();
    let mut usable: Vec<IpAddr> = Vec::new();
    for address in announced {
        let off_loopback = !interfaces.iter().any(|one| one.name == heard_on && one.loopback);
        if address.is_unspecified() || address.is_multicast() || address == IpAddr::from([255; 4]) {
            oddities.push(Oddity::NoBoardAddress(address));
        } else if address.is_loopback() && off_loopback {
            oddities.push(Oddity::Loopback {
                address,
                interface: heard_on.to_owned(),
            });
        } else {
            usable.push(address);
        }
    }
    if let (true, Some(hostname)) = (usable.is_empty(), &hostname) {
        oddities.push(Oddity::NoAddress(hostname.clone()));
    }
    let mut complete = !usable.is_empty() && port.is_some_and(|port| port > 0) && board.text().is_some();
    if usable.is_empty() && port.is_some_and(|port| port > 0) {
        complete = false;
        usable.extend(board.views.iter().filter_map(|view| view.sender).take(1));
        oddities.extend(usable.first().map(|sender| Oddity::SenderUsed(*sender)));
    }
    let networks = || {
        interfaces
            .iter()
            .filter(|one| one.up)
            .flat_map(|one| &one.networks)
    };
    let near = |address: IpAddr| networks().any(|network| network.contains(address));
    usable.sort_by_key(|address| (!near(*address), is_link_local_v6(*address), address.is_ipv6()));
    for address in usable.iter().filter(|address| !near(**address)) {
        let ours: Vec<_> = networks()
            .filter(|own| own.address.is_ipv4() == address.is_ipv4())
            .collect();
        oddities.push(Oddity::OffSubnet {
            address: *address,
            ours: listed(&ours),
        });
    }
    if !usable.is_empty() && usable.iter().all(IpAddr::is_ipv6) {
        let link_local = usable.iter().all(|address| is_link_local_v6(*address));
        oddities.push(Oddity::Ipv6Only { link_local });
    }

    let mut hosts: Vec<String> = usable.iter().map(|address| bracketed(*address)).collect();
    hosts.extend(host.as_ref().map(Name::to_string));
    let place = Place { port, hosts: &hosts };
    let (path, of_text) = if board.service().is_none() && board.text().is_none() {
        // that nothing is described has been said
        (endpoint(None, place).0, Vec::new())
    } else {
        endpoint(board.text(), place)
    };
    oddities.extend(of_text);

    let ip = usable.first().copied();
    let leads = |one: &&Interface| {
        ip.is_some_and(|ip| {
            !is_link_local_v6(ip) && one.up && one.networks.iter().any(|own| own.contains(ip))
        })
    };
    let interface = interfaces
        .iter()
        .find(leads)
        .map_or(heard_on, |one| one.name.as_str());
    let txt = board.text();
    let mut found = Found {
        instance,
        hostname,
        ip: None,
        port,
        endpoint: path,
        server_url: None,
        url: None,
        addresses: usable,
        id: txt.and_then(|text| value(text, "id")).map(str::to_owned),
        build: txt.and_then(|text| value(text, "build")).map(str::to_owned),
        // the first of several equal keys counts (RFC 6763, 6.4), so it goes in last
        txt: txt
            .map(|text| text.iter().rev().cloned().collect())
            .unwrap_or_default(),
        interface: interface.to_owned(),
        complete,
        reachable: None,
        oddities,
        heard: board.heard(),
        scope: interfaces
            .iter()
            .find(|one| one.name == interface)
            .map_or(0, |one| one.index),
    };
    found.use_address(ip);
    found
}

fn first_address(board: &Board<'_>) -> Option<IpAddr> {
    board.addresses().first().copied()
}

/// The first value of a key, in any letter case.
fn value<'a>(text: &'a Text, key: &str) -> Option<&'a str> {
    text.iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(key))?
        .1
        .as_deref()
}

fn is_link_local_v6(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}

/// As it stands in a URL.
fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

fn listed(networks: &[&Network]) -> String {
    if networks.is_empty() {
        return "there is none of its kind".to_owned();
    }
    networks
        .iter()
        .map(|network| network.to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[path = "found_tests.rs"]
mod tests;
