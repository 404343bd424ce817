//! From a board's start to an endpoint that is proved to be its own.

use super::known::{self, Known};
use super::{Clues, Dut, Event, Heard, Match, Stage, Stages, Started, Way, tail};
use crate::bench::failure::{Failure, Kind};
use crate::bench::recognise::Recogniser;
use crate::board::console::{Boot, Console};
use crate::client::{Limits, Probe, probe};
use crate::discover::{Browser, Found, Options as Search, reach};
use crate::fault::seconds;
use crate::replay::{CONTRACT, CONTRACT_NAME, Subject};
use crate::report::exchange_text;
use crate::target::{Endpoint, Target};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// From the board's start until it tells that it serves.
const BOOT_LIMIT: Duration = Duration::from_secs(30);
/// From then until it is announced.
const FIND_LIMIT: Duration = Duration::from_secs(10);
/// What runs takes a connection by then.
pub const CONNECT: Duration = Duration::from_secs(3);
/// How often a console is looked at.
pub const LOOK: Duration = Duration::from_millis(10);

/// A board that is up.
pub struct Up {
    /// What to talk to.
    pub subject: Subject,
    /// Where that is.
    pub endpoint: Endpoint,
    /// The board.
    pub started: Started,
    /// When it was known to be up.
    pub since: Instant,
    /// Why it is not proved that it runs what was started; none: it is.
    pub unproved: Option<&'static str>,
}

impl<F: Fn(Event<'_>)> Way<'_, F> {
    /// From the file to an endpoint that speaks MCP. The console is there for errors as well.
    pub(super) async fn up<D: Dut>(
        &self,
        dut: &mut D,
        mut seen: watch::Receiver<Heard>,
        console: &mut Option<Arc<dyn Console>>,
    ) -> Result<Up, Failure> {
        let board = dut.name().to_owned();
        let tell = |stage: &Stage| (self.told)(Event::Stage(&board, stage));
        let stages = Stages::new(&tell);
        let factor = self.options.deadline_factor;
        let mut started = dut.start(&stages).await?;
        started.clues.since = Some(started.at);
        *console = Some(Arc::clone(&started.console));
        let mut reached = started.clues.endpoint.clone();
        if let Some(endpoint) = &mut reached {
            endpoint.access = self.options.access.clone();
        }
        let boot = boot(&board, &started, &seen, BOOT_LIMIT.mul_f64(factor));
        let boot = or_answers(boot, &started, reached.as_ref(), factor);
        let (clues, told) = stages.run("boot", boot).await?;
        let since = Instant::now();
        let find = async {
            let build = self.options.build.as_deref();
            let limit = FIND_LIMIT.mul_f64(factor);
            let (mut endpoint, known) = match &reached {
                Some(endpoint) => {
                    let known = known::ask(&board, endpoint, &clues, build, limit, factor).await?;
                    (endpoint.clone(), known)
                }
                None => find(&board, &clues, build, &mut seen, &self.options.search, limit).await?,
            };
            endpoint.access = self.options.access.clone();
            let mut subject = Subject::new(Target::Http(endpoint.clone()), self.options.contract.clone());
            if subject.contract.is_none() {
                subject.contract = speaks(&board, &subject.target, factor).await?;
            }
            let proof = known.unproved.unwrap_or("runs this build");
            let note = format!("{}, {proof}", known.note);
            Ok(((subject, endpoint, known.unproved), note))
        };
        let find = or_down(&board, &started, since, find);
        let find = async {
            match find.await {
                Err(failure) => Err(or_hung(failure, reached.as_ref().or(told.as_ref()), factor).await),
                found => found,
            }
        };
        let (mut subject, endpoint, unproved) = stages.run("find", find).await?;
        subject.console = Some(Arc::clone(&started.console));
        subject.board = Some(board);
        Ok(Up {
            subject,
            endpoint,
            started,
            since,
            unproved,
        })
    }
}

/// Waits until the board is up, or answers where it is known to be.
async fn or_answers(
    boot: impl Future<Output = Result<((Clues, Option<Endpoint>), String), Failure>>,
    started: &Started,
    endpoint: Option<&Endpoint>,
    factor: f64,
) -> Result<((Clues, Option<Endpoint>), String), Failure> {
    let Some(endpoint) = endpoint else {
        return boot.await;
    };
    tokio::select! {
        biased;
        up = boot => up,
        () = known::answers(endpoint, factor) => {
            Ok(((started.clues.clone(), None), format!("answers at {endpoint}")))
        }
    }
}

/// Waits until the console says that the board serves, or the network that it is there.
async fn boot(
    board: &str,
    started: &Started,
    seen: &watch::Receiver<Heard>,
    limit: Duration,
) -> Result<((Clues, Option<Endpoint>), String), Failure> {
    loop {
        let lines = started.console.since(started.at);
        let (mut boot, mut served) = (Boot::default(), false);
        for line in &lines {
            boot.line(line);
            if served && boot.url.is_none() {
                return Err(restarted(board, line));
            }
            served = boot.url.is_some();
        }
        let mut clues = started.clues.clone();
        clues.mac = clues.mac.or_else(|| boot.mac.clone());
        clues.address = clues.address.or_else(|| boot.address.as_deref()?.parse().ok());
        if let Some(failure) = started.console.failure() {
            return Err(failure);
        }
        if let Some(url) = boot.url {
            return Ok(((clues, Endpoint::parse(&url).ok()), format!("serving {url}")));
        }
        let is_announced = |heard: &Heard| heard.iter().flatten().any(|found| clues.fit(found));
        if is_announced(&seen.borrow()) {
            return Ok(((clues, None), "announced".to_owned()));
        }
        if started.console.ended() {
            return Err(ended(board, started));
        }
        if started.at.elapsed() >= limit {
            let within = seconds(&limit);
            let (kind, cause) = match boot.mac {
                Some(mac) if boot.address.is_none() => (
                    Kind::NoNetwork,
                    format!("the board {mac} has told no address within {within}"),
                ),
                _ => (
                    Kind::Hung,
                    format!("it told neither on its console nor over mDNS within {within} that it is up"),
                ),
            };
            return Err(Failure::new(kind, board, cause).with_output(tail(&lines)));
        }
        sleep(LOOK).await;
    }
}

/// A stage that fails as soon as the board does.
async fn or_down<T>(
    board: &str,
    started: &Started,
    since: Instant,
    stage: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let down = async {
        loop {
            if let Some(failure) = down(board, started, since) {
                return failure;
            }
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        result = stage => result,
        failure = down => Err(failure),
    }
}

/// What has become of a board that was up at a time, if it isn't any more.
pub fn down(board: &str, started: &Started, since: Instant) -> Option<Failure> {
    let mut signs = Recogniser::default();
    let lines = started.console.since(since);
    for line in &lines {
        signs.line(line);
        if signs.resets().0 > 0 {
            let why = signs.crash().map_or(line.as_str(), |crash| crash.text.as_str());
            return Some(restarted(board, why).with_output(tail(&lines)));
        }
    }
    if let Some(mut failure) = started.console.failure() {
        if failure.kind == Kind::BootPanic {
            // it was up
            failure.kind = Kind::Rebooted;
            failure.cause = format!("it panicked in the middle: {}", failure.cause);
        }
        return Some(failure);
    }
    started.console.ended().then(|| ended(board, started))
}

fn restarted(board: &str, why: &str) -> Failure {
    Failure::new(
        Kind::Rebooted,
        board,
        format!("it started again after it was up: {why}"),
    )
}

fn ended(board: &str, started: &Started) -> Failure {
    let lines = started.console.since(started.at);
    let mut signs = Recogniser::default();
    lines.iter().for_each(|line| {
        signs.line(line);
    });
    let after = seconds(&started.at.elapsed());
    let failure = match signs.crash() {
        Some(crash) => Failure::new(Kind::BootPanic, board, crash.text.clone()),
        None => Failure::new(
            Kind::Hung,
            board,
            format!("the board ended {after} after its start"),
        ),
    };
    failure.with_output(tail(&lines))
}

/// A board that can't be talked to stands still, if not even its network makes a connection where it said that it serves.
async fn or_hung(failure: Failure, told: Option<&Endpoint>, factor: f64) -> Failure {
    let may_be = matches!(failure.kind, Kind::NotAnnounced | Kind::Refused | Kind::NotMcp);
    match told.filter(|_| may_be) {
        Some(endpoint) if !answers(endpoint, factor).await => Failure {
            kind: Kind::Hung,
            cause: format!("it said that it serves, and takes no connection at {endpoint}"),
            ..failure
        },
        _ => failure,
    }
}

/// Whether connections are made or refused there, which a board's network does by itself.
pub async fn answers(endpoint: &Endpoint, factor: f64) -> bool {
    let connecting = TcpStream::connect((endpoint.host.as_str(), endpoint.port));
    match timeout(CONNECT.mul_f64(factor), connecting).await {
        Ok(Ok(_)) => true,
        Ok(Err(error)) => matches!(
            error.kind(),
            ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
        ),
        Err(_) => false,
    }
}

/// Waits until the board is announced with the build that was started, and a connection can be made.
async fn find(
    board: &str,
    clues: &Clues,
    build: Option<&str>,
    seen: &mut watch::Receiver<Heard>,
    search: &Search,
    limit: Duration,
) -> Result<(Endpoint, Known), Failure> {
    let failed = |kind, cause: String| Failure::new(kind, board, cause);
    let done = |heard: &Heard| match heard {
        Ok(found) => matches!(clues.search(found, build), Match::Board(_)),
        Err(_) => true,
    };
    let in_time = timeout(limit / 2, seen.wait_for(done)).await.is_ok();
    let mut heard = seen.borrow().clone();
    // who has answered before its start is not asked again as long as that holds: one that asks anew
    if let (false, Ok(known), Ok(mut anew)) = (in_time, &mut heard, Browser::start(search)) {
        let end = tokio::time::Instant::now() + limit / 2;
        let is_there = |found: &[Found]| matches!(clues.search(found, build), Match::Board(_));
        known.extend(anew.wait(end, is_there).await);
    }
    let heard = heard.map_err(|error| {
        let mut failure = failed(Kind::NoNetwork, format!("nobody can be asked over mDNS: {error}"));
        failure.advice = Some("`mcp-hil discover` tells more".to_owned());
        failure
    })?;
    let mut found = match clues.search(&heard, build) {
        Match::Board(found) => found.clone(),
        Match::OtherBuild(running) => {
            let wanted = build.unwrap_or_default();
            let cause = format!("build {wanted} was started, and build {running} answers");
            return Err(failed(Kind::OldFirmware, cause));
        }
        Match::Nobody => {
            let mut others: Vec<_> = heard.iter().map(|found| found.instance.as_str()).collect();
            others.sort_unstable();
            others.dedup();
            let others = match others.as_slice() {
                [] => String::new(),
                others => format!("; found were {}", others.join(", ")),
            };
            let within = seconds(&limit);
            let cause = format!("the board ({clues}) was not found over mDNS within {within}{others}");
            return Err(failed(Kind::NotAnnounced, cause));
        }
    };
    reach(&mut found).await;
    let url = found.url.clone().unwrap_or_default();
    let reachable = found.target().filter(|_| found.reachable == Some(true));
    let Some(endpoint) = reachable else {
        let cause = format!("the board is announced at {url}, and no connection can be made there");
        return Err(failed(Kind::Refused, cause));
    };
    let unproved = match (build, found.build.as_deref().unwrap_or_default()) {
        (None, _) => Some("the file has no build id to compare with"),
        (_, "") => Some("the board tells no build id"),
        _ => None,
    };
    let note = format!("{} at {url}", found.instance);
    Ok((endpoint, Known { note, unproved }))
}

/// Whether MCP is spoken there; gives the contract that the firmware keeps by its name.
async fn speaks(board: &str, target: &Target, factor: f64) -> Result<Option<String>, Failure> {
    match probe(target, Limits::scaled(factor)).await {
        Ok(found) => Ok((found.name.as_deref() == Some(CONTRACT_NAME)).then(|| CONTRACT.to_owned())),
        // what it speaks instead is for the report
        Err(Probe::NoCommonRevision(_)) => Ok(None),
        Err(Probe::Unreachable(fault)) => Err(Failure::new(Kind::Refused, board, fault.to_string())),
        Err(Probe::HttpSse) => Err(Failure::new(Kind::NotMcp, board, Probe::HttpSse.to_string())),
        Err(Probe::NotMcp(error)) => {
            let came = exchange_text(error.exchange())
                .lines()
                .map(str::to_owned)
                .collect();
            Err(Failure::new(Kind::NotMcp, board, format!("{target}: {error}")).with_output(came))
        }
    }
}
