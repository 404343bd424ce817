//! The good server, a fault before it, and the suite.

use libtest_mimic::Failed;
use mcp_hil_conformance::only::Only;
use mcp_hil_conformance::run::{Options, run};
use mcp_hil_conformance::text;
use mcp_hil_conformance::verdict::{Report, Verdict};
use mcp_hil_faults::{Fault, Proxy, Responder, Transport};
use mcp_hil_harness::report::style::Style;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::target::{Command, Endpoint, Target};
use mcp_hil_reference::{Features, Options as ServerOptions, Server, serve_http, serve_stdio};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::net::{TcpListener, lookup_host};
use tokio::runtime::{Builder, Runtime};

/// First argument with which this test is the good server on its standard streams.
pub const SERVE: &str = "--serve-stdio";
/// Makes the limit for an answer 2 s: faults that keep silent need not take longer.
const FACTOR: f64 = 0.2;
/// Port of every endpoint that is announced by mDNS.
const LINK: u16 = 18791;

/// How many links with cables there are, as `links` makes them: 10.99.N.1 is the board of link N.
const LINKS: &str = "MCP_HIL_LINKS";

/// A good server that a fault breaks.
#[derive(Clone, Copy)]
pub struct Broken {
    pub fault: &'static Fault,
    pub transport: Transport,
}

/// What the suite says.
pub struct Graded {
    pub report: Report,
    /// How often the fault changed something; over stdio it can't be told.
    pub changed: u64,
}

impl Graded {
    /// The check that found this clause broken.
    pub fn red(&self, clause: &str) -> Option<String> {
        let judged = self
            .report
            .results
            .iter()
            .find(|judged| judged.findings.iter().any(|finding| finding.row == clause));
        judged.map(|judged| judged.name.to_owned())
    }

    pub fn summary(&self) -> String {
        let bad = self
            .report
            .results
            .iter()
            .filter(|judged| !matches!(judged.verdict, Verdict::Pass | Verdict::Skip));
        bad.map(|judged| text::judged(judged, Style::PLAIN, false))
            .collect()
    }
}

pub fn runtime() -> Result<Runtime, Failed> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failed::from)
}

/// The good server with these features.
fn server(features: Features) -> Arc<Server> {
    Arc::new(Server::new(ServerOptions {
        features,
        ..ServerOptions::default()
    }))
}

/// What the good server must have for a fault to have something to act on.
fn needed(fault: &Fault) -> Features {
    let needed = fault.needs.iter().map(|name| name.parse::<Features>().unwrap());
    needed.collect()
}

/// Serves on standard input and output until they end, with the features of these names.
pub fn serve(features: impl Iterator<Item = String>) -> ExitCode {
    let features = features.map(|name| name.parse::<Features>().unwrap()).collect();
    let served = runtime().map(|runtime| {
        let server = server(features);
        runtime.block_on(serve_stdio(tokio::io::stdin(), tokio::io::stdout(), &server))
    });
    if matches!(served, Ok(Ok(()))) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn options(revision: Revision, only: &[String]) -> Result<Options, Failed> {
    Ok(Options {
        revisions: vec![revision],
        only: Only::parse(only)?,
        allow_tools: ["slow_count", "long_count", "ask_name"]
            .map(str::to_owned)
            .to_vec(),
        deadline_factor: FACTOR,
        ..Options::default()
    })
}

/// Grades a broken server in one revision with these checks or areas, or all.
pub fn grade(broken: Broken, revision: Revision, only: Vec<String>) -> Result<Graded, Failed> {
    let options = options(revision, &only)?;
    runtime()?.block_on(async {
        if broken.transport == Transport::Stdio {
            let this = std::env::current_exe()?;
            let this = this.to_string_lossy();
            let own = ["--fault", broken.fault.name, "--", &this, SERVE];
            let target = Target::Stdio(Command {
                program: env!("CARGO_BIN_EXE_mcp-hil-faults").to_owned(),
                arguments: own.iter().chain(broken.fault.needs).map(ToString::to_string).collect(),
            });
            let report = run("broken", &target, &options, |_| {}).await.map_err(Failed::from)?;
            return Ok(Graded { report, changed: 1 });
        }
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let upstream = listener.local_addr()?;
        let proxy = Proxy::start(upstream, broken.fault).await?;
        let target = Target::Http(Endpoint::parse(&format!("http://{}/mcp", proxy.address()))?);
        let report = tokio::select! {
            report = run("broken", &target, &options, |_| {}) => report.map_err(Failed::from)?,
            served = serve_http(listener, server(needed(broken.fault)), std::future::pending()) => return Err(Failed::from(format!("the server ended: {served:?}"))),
        };
        Ok(Graded { report, changed: proxy.changed() })
    })
}

/// A link of its own, and the interface from which it is asked: the endpoint's port, which is the same on each, claims it.
async fn link() -> Result<(TcpListener, String), Failed> {
    if let Some(links) = std::env::var_os(LINKS) {
        let count: u8 = links.to_string_lossy().parse()?;
        for number in 0..count {
            let address = Ipv4Addr::new(10, 99, number, 1);
            if let Ok(listener) = TcpListener::bind((address, LINK)).await {
                return Ok((listener, format!("asker{number}")));
            }
        }
        return Err(Failed::from("no link is free"));
    }
    let first = std::process::id()
        ^ std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)?
            .subsec_nanos();
    for number in 0..1000_u32 {
        let [a, b, ..] = first.wrapping_add(number * 7).to_le_bytes();
        let address = Ipv4Addr::new(127, 1 + a % 250, b, 1);
        if let Ok(listener) = TcpListener::bind((address, LINK)).await {
            return Ok((listener, "lo".to_owned()));
        }
    }
    Err(Failed::from("no link of 127.0.0.0/8 is free"))
}

/// Grades what a board announces by mDNS, with a fault or without, on a link of its own.
pub fn grade_mdns(fault: Option<&'static Fault>, only: Vec<String>) -> Result<Graded, Failed> {
    runtime()?.block_on(async {
        let (listener, interface) = link().await?;
        let SocketAddr::V4(address) = listener.local_addr()? else {
            return Err(Failed::from("the link has no IPv4 address"));
        };
        let responder = Responder::start(address, fault)?;
        let target = Target::Http(Endpoint::parse(&format!("http://{address}/mcp"))?);
        let options = Options {
            interface: Some(interface),
            deadline_factor: 1.0,
            ..options(Revision::R2025_11_25, &only)?
        };
        let report = tokio::select! {
            report = run("announced", &target, &options, |_| {}) => report.map_err(Failed::from)?,
            served = serve_http(listener, server(Features::default()), std::future::pending()) => return Err(Failed::from(format!("the server ended: {served:?}"))),
        };
        Ok(Graded { report, changed: responder.changed() })
    })
}

/// Grades a board that serves here, behind a fault or a variant if there is one.
pub async fn grade_at(
    endpoint: &Endpoint,
    fault: Option<&'static Fault>,
    options: &Options,
) -> Result<Graded, Failed> {
    let mut found = lookup_host((endpoint.host.as_str(), endpoint.port)).await?;
    let upstream = found.next().ok_or("the board's host has no address")?;
    let proxy = match fault {
        Some(fault) => Some(Proxy::start(upstream, fault).await?),
        None => None,
    };
    let mut endpoint = endpoint.clone();
    if let Some(proxy) = &proxy {
        endpoint = Endpoint::parse(&format!("http://{}{}", proxy.address(), endpoint.path))?;
    }
    let report = run("board", &Target::Http(endpoint), options, |_| {}).await?;
    Ok(Graded {
        report,
        changed: proxy.map_or(1, |proxy| proxy.changed()),
    })
}

/// Grades the good server with these features.
pub fn grade_good(revision: Revision, features: Features) -> Result<Graded, Failed> {
    runtime()?.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let target = Target::Http(Endpoint::parse(&format!("http://{}/mcp", listener.local_addr()?))?);
        let options = options(revision, &[])?;
        let report = tokio::select! {
            report = run("good", &target, &options, |_| {}) => report.map_err(Failed::from)?,
            served = serve_http(listener, server(features), std::future::pending()) => return Err(Failed::from(format!("the server ended: {served:?}"))),
        };
        Ok(Graded { report, changed: 1 })
    })
}
