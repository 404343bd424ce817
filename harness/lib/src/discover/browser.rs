//! Asks and listens: the I/O of discovery. mdns-sd asks, again and again, and renews what is about to run out; the
//! answers are heard beside it, because what it can't resolve it keeps to itself.

use super::found::{Found, found};
use super::heard::{Data, Heard, Name, Unreadable};
use super::interfaces::{self, Interface, InterfaceError};
use super::listen;
use mdns_sd::{IfKind, Receiver, ResolvedService, ServiceDaemon, ServiceEvent};
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant as Clock;
use tokio::net::UdpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant, sleep_until, timeout};

/// The type of service that MCP servers announce.
pub const SERVICE: &str = "_mcp._tcp";
/// Asks which types of service there are (RFC 6763, 9).
pub const ENUMERATION: &str = "_services._dns-sd._udp";
/// How often what was heard is looked through for what has run out.
const TICK: Duration = Duration::from_millis(100);

/// What to look for.
#[derive(Clone, Debug)]
pub struct Options {
    /// As `_mcp._tcp`.
    pub service: String,
    /// Names or addresses of interfaces; without any, all that are up.
    pub interfaces: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            service: SERVICE.to_owned(),
            interfaces: Vec::new(),
        }
    }
}

/// Why nobody could be asked.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// Not a type of service.
    #[error("{0:?} is no type of service; it is two labels, as _mcp._tcp, of 63 bytes at most")]
    Service(String),
    /// No interface to ask on.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// mdns-sd does not start.
    #[error("mDNS could not be started: {0}")]
    Start(String),
}

/// A search that goes on until it is dropped.
#[derive(Debug)]
pub struct Browser {
    service: Name,
    /// All interfaces of this host.
    pub interfaces: Vec<Interface>,
    /// Those that are asked and listened on.
    pub chosen: Vec<Interface>,
    /// Interfaces that could not be listened on, and what the system says.
    pub deaf: BTreeMap<String, String>,
    heard: Arc<Mutex<Heard>>,
    changed: watch::Receiver<()>,
    tell: Arc<watch::Sender<()>>,
    daemon: Daemon,
    tasks: JoinSet<()>,
}

impl Browser {
    /// Starts to search. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// [`DiscoverError`].
    pub fn start(options: &Options) -> Result<Self, DiscoverError> {
        let bare = options.service.trim_end_matches('.').trim_end_matches(".local");
        let bad = || DiscoverError::Service(options.service.clone());
        let (kind, protocol) = bare.split_once('.').ok_or_else(bad)?;
        if !((2..=63).contains(&kind.len()) && kind.starts_with('_') && matches!(protocol, "_tcp" | "_udp")) {
            return Err(bad());
        }
        let interfaces = interfaces::list()?;
        let chosen = interfaces::choose(&interfaces, &options.interfaces)?;
        let (tell, changed) = watch::channel(());
        let mut browser = Self {
            service: Name::dotted(&format!("{bare}.local")),
            deaf: BTreeMap::new(),
            heard: Arc::default(),
            changed,
            tell: Arc::new(tell),
            daemon: Daemon::start(&chosen, !options.interfaces.is_empty())?,
            tasks: JoinSet::new(),
            interfaces,
            chosen,
        };
        // before anybody is asked, so that no answer is missed
        for interface in &browser.chosen {
            for socket in listen::open(interface) {
                match socket {
                    Ok(socket) => {
                        let name = interface.name.clone();
                        let (heard, tell) = (Arc::clone(&browser.heard), Arc::clone(&browser.tell));
                        browser.tasks.spawn(hear(socket, name, heard, tell));
                    }
                    Err(error) => {
                        browser.deaf.insert(interface.name.clone(), error.to_string());
                    }
                }
            }
        }
        browser.ask(bare)?;
        Ok(browser)
    }

    /// The type of service that is searched for, as `_mcp._tcp.local`.
    pub const fn service(&self) -> &Name {
        &self.service
    }

    /// Asks which other types of service there are.
    ///
    /// # Errors
    /// [`DiscoverError::Start`].
    pub fn ask_for_types(&mut self) -> Result<(), DiscoverError> {
        self.ask(ENUMERATION)
    }

    /// The boards that are there now.
    pub fn found(&self) -> Vec<Found> {
        found(
            self.heard().records(Clock::now()),
            &self.service,
            &self.interfaces,
        )
    }

    /// Waits until the boards that are there satisfy a condition, until the deadline at the latest; then says who is there.
    pub async fn wait(&mut self, until: Instant, mut enough: impl FnMut(&[Found]) -> bool) -> Vec<Found> {
        loop {
            let found = self.found();
            if enough(&found) || Instant::now() >= until {
                return found;
            }
            tokio::select! {
                () = sleep_until(until) => {}
                // what runs out does not tell
                _ = timeout(TICK, self.changed.changed()) => {}
            }
        }
    }

    /// Other types of service, with those who told of them.
    pub fn others(&self) -> BTreeMap<String, Vec<IpAddr>> {
        let enumeration = Name::dotted(&format!("{ENUMERATION}.local"));
        let mut others: BTreeMap<String, Vec<IpAddr>> = BTreeMap::new();
        for record in self.heard().records(Clock::now()) {
            let Data::Pointer(target) = &record.data else {
                continue;
            };
            let kind = if record.name == enumeration {
                target
            } else {
                &record.name
            };
            if let (false, Some(sender)) = (*kind == self.service, record.sender) {
                let senders = others.entry(kind.to_string()).or_default();
                if !senders.contains(&sender) {
                    senders.push(sender);
                }
            }
        }
        others
    }

    /// Who sent packets that could not be read.
    pub fn unreadable(&self) -> BTreeMap<IpAddr, Unreadable> {
        self.heard().unreadable().clone()
    }

    fn ask(&mut self, kind: &str) -> Result<(), DiscoverError> {
        let events = self.daemon.browse(kind)?;
        let (heard, tell) = (Arc::clone(&self.heard), Arc::clone(&self.tell));
        self.tasks.spawn(take(events, heard, tell));
        Ok(())
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    // nothing panics while it holds this lock; and a record more or less is no reason to
    heard.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

async fn hear(socket: UdpSocket, interface: String, heard: Arc<Mutex<Heard>>, tell: Arc<watch::Sender<()>>) {
    let mut buffer = vec![0; listen::MAX_PACKET];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((length, sender)) => {
                lock(&heard).packet(&buffer[..length], sender.ip(), &interface, Clock::now());
                let _ = tell.send(());
            }
            // an ICMP error of somebody else's packet
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
            Err(_) => return,
        }
    }
}

/// Takes what mdns-sd resolved, for the case that a packet reached it and not us.
async fn take(events: Receiver<ServiceEvent>, heard: Arc<Mutex<Heard>>, tell: Arc<watch::Sender<()>>) {
    while let Ok(event) = events.recv_async().await {
        match event {
            ServiceEvent::ServiceResolved(service) => resolved(&mut lock(&heard), &service),
            ServiceEvent::ServiceRemoved(kind, fullname) => {
                lock(&heard).forget(&instance(&kind, &fullname));
            }
            _ => continue,
        }
        let _ = tell.send(());
    }
}

fn resolved(heard: &mut Heard, service: &ResolvedService) {
    let now = Clock::now();
    let name = instance(&service.ty_domain, &service.fullname);
    let host = Name::dotted(&service.host);
    let interfaces: Vec<_> = service.addresses.iter().map(interface_of).collect();
    let interface = interfaces.first().cloned().unwrap_or_default();
    heard.forget(&name);
    let kind = Name::dotted(&service.ty_domain);
    heard.resolved(kind, Data::Pointer(name.clone()), &interface, now);
    let text = service.txt_properties.iter();
    let text = text.map(|pair| {
        (
            pair.key().to_owned(),
            pair.val().map(|_| pair.val_str().to_owned()),
        )
    });
    heard.resolved(name.clone(), Data::Text(text.collect()), &interface, now);
    let port = service.port;
    let described = Data::Service {
        port,
        host: host.clone(),
    };
    heard.resolved(name, described, &interface, now);
    for address in &service.addresses {
        heard.resolved(host.clone(), Data::Address(address.to_ip_addr()), &interface, now);
    }
}

fn instance(kind: &str, fullname: &str) -> Name {
    let short = fullname
        .strip_suffix(kind)
        .unwrap_or(fullname)
        .trim_end_matches('.');
    Name::dotted(kind).instance(short)
}

fn interface_of(address: &mdns_sd::ScopedIp) -> String {
    let id = match address {
        mdns_sd::ScopedIp::V4(v4) => v4.interface_ids().first(),
        mdns_sd::ScopedIp::V6(v6) => Some(v6.scope_id()),
        _ => None,
    };
    id.map(|id| id.name.clone()).unwrap_or_default()
}

/// mdns-sd, whose thread ends with us.
struct Daemon(ServiceDaemon);

impl Daemon {
    fn start(chosen: &[Interface], only: bool) -> Result<Self, DiscoverError> {
        let daemon = ServiceDaemon::new().map_err(start)?;
        if only {
            daemon.disable_interface(IfKind::All).map_err(start)?;
            let names: Vec<_> = chosen
                .iter()
                .map(|interface| IfKind::Name(interface.name.clone()))
                .collect();
            daemon.enable_interface(names).map_err(start)?;
        }
        Ok(Self(daemon))
    }

    fn browse(&self, kind: &str) -> Result<Receiver<ServiceEvent>, DiscoverError> {
        self.0.browse(&format!("{kind}.local.")).map_err(start)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.shutdown();
    }
}

impl std::fmt::Debug for Daemon {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Daemon")
    }
}

fn start(error: mdns_sd::Error) -> DiscoverError {
    DiscoverError::Start(error.to_string())
}
