//! Finds boards over mDNS (RFC 6762, 6763), as `_mcp._tcp`, and says what is wrong where it does not.
//!
//! Pure: [`heard`] keeps what was said, [`found`] makes boards of it and names their [`oddity`]s, [`diagnosis`] says why
//! there are none. I/O: [`interfaces`] lists them, `listen` opens sockets, [`browser`] asks and waits, and this file
//! tries the addresses. Nothing here talks to a board beyond opening a TCP connection and closing it.

pub mod browser;
pub mod diagnosis;
mod endpoint;
pub mod found;
pub mod heard;
pub mod interfaces;
mod listen;
pub mod oddity;

pub use browser::{Browser, DiscoverError, Options, SERVICE};
pub use diagnosis::Diagnosis;
pub use found::Found;
pub use oddity::Oddity;

use crate::target::Endpoint;
use diagnosis::{Host, Looked};
use heard::Unreadable;
use serde::Serialize;
use serde::ser::Serializer;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

/// Time to make a TCP connection on a local network.
const CONNECT: Duration = Duration::from_secs(1);
/// Answers to one question come within this (RFC 6762, 6: at most 120 ms, and a little for the way).
const SETTLE: Duration = Duration::from_millis(250);

/// How to search.
#[derive(Clone, Debug)]
pub struct Search {
    /// What to look for.
    pub options: Options,
    /// Boards to wait for; none: whoever answers in time, and one is enough.
    pub wait: Option<usize>,
    /// How long at most.
    pub limit: Duration,
    /// Endpoints that are known otherwise, as from a console.
    pub known: Vec<Endpoint>,
}

/// What a search came to.
#[derive(Clone, Debug, Serialize)]
pub struct Discovery {
    /// Length of `devices`.
    pub count: usize,
    /// The boards.
    pub devices: Vec<Found>,
    /// Endpoints that are known otherwise and answer, but are not announced.
    #[serde(serialize_with = "urls")]
    pub unannounced: Vec<Endpoint>,
    /// Senders of packets that could not be read, with the reason of the last one.
    #[serde(serialize_with = "reasons")]
    pub unreadable: BTreeMap<IpAddr, Unreadable>,
    /// If there were not enough boards that can be used: why that may be.
    pub diagnosis: Option<Diagnosis>,
}

impl Discovery {
    /// All of it as JSON, with a line break at the end.
    pub fn json(&self) -> String {
        // strings, numbers and lists of them can't fail to be written
        crate::shown::json(&serde_json::json!(self))
    }
}

/// Searches for boards. Ends when those that are waited for are there, or when the time is over.
///
/// # Errors
/// [`DiscoverError`]; that nobody answers is none.
pub async fn discover(search: &Search) -> Result<Discovery, DiscoverError> {
    let mut browser = Browser::start(&search.options)?;
    let until = Instant::now() + search.limit;
    let wait = search.wait;
    let enough = |found: &[Found]| {
        wait.is_some_and(|count| found.iter().filter(|board| board.complete).count() >= count)
    };
    // while everybody may still answer, nobody is asked about anything else
    let half = Instant::now() + search.limit / 2;
    let mut found = browser.wait(half, enough).await;
    if !enough(&found) {
        if found.is_empty() {
            browser.ask_for_types()?;
        }
        found = browser.wait(until, enough).await;
    }
    Ok(finish(&browser, found, Some(wait.unwrap_or(1)), &search.known).await)
}

/// Why a name does not lead to a board.
#[derive(Debug, thiserror::Error)]
pub enum NameError {
    /// Nobody could be asked.
    #[error(transparent)]
    Discover(#[from] DiscoverError),
    /// Several boards have this name.
    #[error("{name:?} is the name of {} boards; use the URL of one:{}", .boards.len(), lines(.boards))]
    Ambiguous {
        /// What was asked for.
        name: String,
        /// The boards.
        boards: Vec<Found>,
    },
    /// The board is announced in a way that can't be used.
    #[error("{name:?} is announced, but there is no way to it:{}", lines(.boards))]
    Unusable {
        /// What was asked for.
        name: String,
        /// The board.
        boards: Vec<Found>,
    },
    /// No such board.
    #[error("no board called {name:?} answered{}\n{}", there(&.discovery.devices), .discovery.diagnosis.as_ref().map(ToString::to_string).unwrap_or_default())]
    NotFound {
        /// What was asked for.
        name: String,
        /// Who answered instead.
        discovery: Box<Discovery>,
    },
}

/// Searches for the board of this instance or host name.
///
/// # Errors
/// [`NameError`].
pub async fn by_name(name: &str, options: &Options, limit: Duration) -> Result<Found, NameError> {
    let mut browser = Browser::start(options)?;
    let until = Instant::now() + limit;
    let called = |found: &[Found]| -> Vec<Found> {
        found
            .iter()
            .filter(|board| board.is_called(name))
            .cloned()
            .collect()
    };
    let enough = |found: &[Found]| called(found).iter().any(|board| board.complete);
    let half = Instant::now() + limit / 2;
    let mut found = browser.wait(half, enough).await;
    if !enough(&found) {
        browser.ask_for_types().map_err(NameError::Discover)?;
        found = browser.wait(until, enough).await;
    }
    if enough(&found) {
        // another board of the same name may be about to answer
        found = browser.wait(Instant::now() + SETTLE, |_| false).await;
    }
    let mut boards = called(&found);
    let name = name.to_owned();
    match boards.len() {
        0 => {
            let discovery = Box::new(finish(&browser, found, None, &[]).await);
            Err(NameError::NotFound { name, discovery })
        }
        1 if boards[0].url.is_none() => Err(NameError::Unusable { name, boards }),
        1 => {
            let mut board = boards.remove(0);
            reach(&mut board).await;
            Ok(board)
        }
        _ => Err(NameError::Ambiguous { name, boards }),
    }
}

/// Tries the addresses in order; the first that answers is the one to use.
pub async fn reach(board: &mut Found) {
    let announced = board.ip;
    let mut reachable = None;
    for address in board.addresses.clone() {
        board.use_address(Some(address));
        if let Some(address) = board.socket_address() {
            reachable = Some(connects(address).await);
        }
        if reachable == Some(true) {
            break;
        }
    }
    if reachable != Some(true) {
        board.use_address(announced);
    }
    board.reachable = reachable;
}

/// Whether a TCP connection can be made; it is closed at once.
async fn connects(address: SocketAddr) -> bool {
    matches!(timeout(CONNECT, TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// Tries the ways to the boards, and diagnoses if fewer than `wanted` can be used; none: in any case.
async fn finish(
    browser: &Browser,
    found: Vec<Found>,
    wanted: Option<usize>,
    known: &[Endpoint],
) -> Discovery {
    let mut devices = reach_all(found).await;
    devices.sort_by(|one, other| one.instance.cmp(&other.instance));
    let usable = devices.iter().filter(|board| board.url.is_some()).count();
    let (mut unannounced, mut silent) = (Vec::new(), Vec::new());
    for endpoint in known {
        let host = (endpoint.host.as_str(), endpoint.port);
        let addresses: Vec<SocketAddr> = lookup_host(host).await.map(Iterator::collect).unwrap_or_default();
        let is = |board: &Found| {
            let own = |address: &SocketAddr| {
                board.port == Some(address.port()) && board.addresses.contains(&address.ip())
            };
            addresses.iter().any(own)
        };
        if devices.iter().any(is) {
            continue;
        }
        let mut answers = false;
        for address in &addresses {
            answers = answers || connects(*address).await;
        }
        if answers { &mut unannounced } else { &mut silent }.push(endpoint.clone());
    }
    let urls = |endpoints: &[Endpoint]| endpoints.iter().map(ToString::to_string).collect();
    let looked = |interface: &interfaces::Interface| Looked {
        searched: browser.chosen.contains(interface),
        trouble: browser.deaf.get(&interface.name).cloned(),
        interface: interface.clone(),
    };
    let enough = wanted.is_some_and(|wanted| usable >= wanted) && unannounced.is_empty();
    let diagnosis = (!enough).then(|| Diagnosis {
        service: browser.service().to_string(),
        usable,
        wanted: wanted.unwrap_or(1),
        faulty: devices.len() - usable,
        interfaces: browser.interfaces.iter().map(looked).collect(),
        others: browser.others(),
        unannounced: urls(&unannounced),
        silent: urls(&silent),
        hints: Host::look().hints(),
    });
    Discovery {
        count: devices.len(),
        devices,
        unannounced,
        unreadable: browser.unreadable(),
        diagnosis,
    }
}

/// Tries all boards at the same time, each over one connection.
async fn reach_all(found: Vec<Found>) -> Vec<Found> {
    let mut tasks = JoinSet::new();
    for (at, mut board) in found.into_iter().enumerate() {
        tasks.spawn(async move {
            reach(&mut board).await;
            (at, board)
        });
    }
    let mut done = tasks.join_all().await;
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, board)| board).collect()
}

fn there(boards: &[Found]) -> String {
    if boards.is_empty() {
        String::new()
    } else {
        format!("; there are{}", lines(boards))
    }
}

/// The boards, a line each, with what is odd about them.
fn lines(boards: &[Found]) -> String {
    let line = |board: &Found| {
        let way = board.url.as_deref().unwrap_or("no way to it");
        let host = board.hostname.as_deref().unwrap_or("no hostname");
        let oddities: String = board
            .oddities
            .iter()
            .map(|oddity| format!("\n    {oddity}"))
            .collect();
        format!(
            "\n  {:?} ({host:?}): {}{oddities}",
            board.instance,
            way.escape_debug()
        )
    };
    boards.iter().map(line).collect()
}

fn urls<S: Serializer>(endpoints: &[Endpoint], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(endpoints.iter().map(ToString::to_string))
}

fn reasons<S: Serializer>(senders: &BTreeMap<IpAddr, Unreadable>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        senders
            .iter()
            .map(|(sender, unreadable)| (sender, &unreadable.reason)),
    )
}
