//! A firmware's way through a run: onto a board, up, found over mDNS, replayed.
//!
//! [`Dut`] is where kinds of board differ: how the firmware gets onto the board and starts. From there on all are
//! treated alike. Nothing that a board does is taken for granted but that it serves MCP and is announced: a firmware that
//! is not ours has no boot lines on its console and keeps no contract, and is replayed as far as that goes.

mod find;
mod firmware;
mod stage;
mod trouble;

pub use find::{Clues, Match};
pub use firmware::{Firmware, FirmwareError, Machine};
pub use stage::{Stage, Stages};
pub use trouble::Trouble;

use crate::board::console::{Boot, Console, parse};
use crate::discover::{Browser, Found, Options as Search, reach};
use crate::fault::seconds;
use crate::replay::{Subject, replay};
use crate::report::{Failure, Played, Report, Verdict, escape_line};
use crate::target::{Endpoint, Target};
use crate::transcript::Transcript;
use futures_util::future::join_all;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// From the board's start until it tells that it serves.
const BOOT_LIMIT: Duration = Duration::from_secs(30);
/// From then until it is announced.
const FIND_LIMIT: Duration = Duration::from_secs(10);
/// How often a console is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// Lines of a console in an error.
const TAIL: usize = 20;

/// A board that can take a firmware: a device under test.
pub trait Dut {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// Puts the firmware on the board and starts it, and tells each stage of that.
    #[allow(async_fn_in_trait)] // one thread: the future need not be Send
    async fn start(&mut self, firmware: &Firmware, stages: &Stages<'_>) -> Result<Started, Trouble>;
}

/// A board that was started just now. It runs as long as its [`Dut`] lives.
#[derive(Clone, Debug)]
pub struct Started {
    /// When.
    pub at: Instant,
    /// What it prints since.
    pub console: Arc<dyn Console>,
    /// By what it is known, as far as the bench can tell.
    pub clues: Clues,
}

/// What a run does with its boards.
#[derive(Clone, Debug)]
pub struct Options {
    /// The contract that the firmware keeps; none: it is asked what it is.
    pub contract: Option<String>,
    /// Stretches every time limit.
    pub deadline_factor: f64,
    /// Where the boards are looked for.
    pub search: Search,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            contract: None,
            deadline_factor: 1.0,
            search: Search::default(),
        }
    }
}

/// Something that a run tells as soon as it knows.
#[derive(Debug)]
pub enum Event<'a> {
    /// A board went through a stage.
    Stage(&'a str, &'a Stage),
    /// A transcript was played on a board, or could not be.
    Played(&'a Played),
}

/// Runs a firmware on each board, all at the same time, and plays the transcripts. What kept a board from them is a result
/// too, with the id `run`.
pub async fn run<D: Dut>(
    duts: &mut [D],
    firmware: &Firmware,
    transcripts: &[Transcript],
    options: &Options,
    told: impl Fn(Event<'_>),
) -> Report {
    let started = Instant::now();
    let way = &Way {
        firmware,
        options,
        told: &told,
    };
    let results = listening(&options.search, |seen| {
        let boards = duts.iter_mut().map(|dut| way.go(dut, seen.clone(), transcripts));
        join_all(boards)
    });
    Report {
        target: firmware.file.display().to_string(),
        results: results.await.into_iter().flatten().collect(),
        time: started.elapsed(),
    }
}

/// Brings a firmware up on each board, all at the same time, for whoever plays the transcripts. The boards run as long as
/// `duts` live.
pub async fn bring_up<D: Dut>(
    duts: &mut [D],
    firmware: &Firmware,
    options: &Options,
    told: impl Fn(Event<'_>),
) -> Vec<Result<Subject, Trouble>> {
    let way = &Way {
        firmware,
        options,
        told: &told,
    };
    let up = listening(&options.search, |seen| {
        let boards = duts.iter_mut().map(move |dut| {
            let seen = seen.clone();
            async move { way.up(dut, seen, &mut None).await.map(|(subject, _)| subject) }
        });
        join_all(boards)
    });
    up.await
}

/// Who is announced, or why nobody can be heard.
type Heard = Result<Vec<Found>, String>;

/// Does something while it listens, and listens from before that begins.
async fn listening<T, W: Future<Output = T>>(
    search: &Search,
    work: impl FnOnce(watch::Receiver<Heard>) -> W,
) -> T {
    let (publish, seen) = watch::channel(Ok(Vec::new()));
    tokio::select! {
        biased;
        never = listen(search, publish) => match never {},
        done = work(seen) => done,
    }
}

async fn listen(search: &Search, publish: watch::Sender<Heard>) -> std::convert::Infallible {
    match Browser::start(search) {
        Ok(mut browser) => {
            let mut known = Vec::new();
            loop {
                let soon = tokio::time::Instant::now() + Duration::from_secs(1);
                known = browser.wait(soon, |found| *found != *known).await;
                let _ = publish.send(Ok(known.clone()));
            }
        }
        Err(error) => {
            let _ = publish.send(Err(error.to_string()));
            std::future::pending().await
        }
    }
}

/// The way that each board goes.
struct Way<'a, F> {
    firmware: &'a Firmware,
    options: &'a Options,
    told: &'a F,
}

impl<F: Fn(Event<'_>)> Way<'_, F> {
    /// All of it.
    async fn go<D: Dut>(
        &self,
        dut: &mut D,
        seen: watch::Receiver<Heard>,
        transcripts: &[Transcript],
    ) -> Vec<Played> {
        let began = Instant::now();
        let board = dut.name().to_owned();
        let mut console = None;
        let mut results = Vec::new();
        let end = match self.up(dut, seen, &mut console).await {
            Ok((subject, started)) => self.replay(subject, &started, transcripts, &mut results).await,
            Err(trouble) => Err(trouble),
        };
        if let Err(trouble) = end {
            let lines = console.map(|console| console.since(began)).unwrap_or_default();
            let played = trouble_as_result(&board, &trouble, lines, began.elapsed());
            (self.told)(Event::Played(&played));
            results.push(played);
        }
        results
    }

    /// From the file to an endpoint that takes connections. The console is there for errors as well.
    async fn up<D: Dut>(
        &self,
        dut: &mut D,
        mut seen: watch::Receiver<Heard>,
        console: &mut Option<Arc<dyn Console>>,
    ) -> Result<(Subject, Started), Trouble> {
        let board = dut.name().to_owned();
        let tell = |stage: &Stage| (self.told)(Event::Stage(&board, stage));
        let stages = Stages::new(&tell);
        let factor = self.options.deadline_factor;
        let build = self.firmware.build_id.as_deref();
        let started = dut.start(self.firmware, &stages).await?;
        *console = Some(Arc::clone(&started.console));
        let boot = boot(&started, &seen, BOOT_LIMIT.mul_f64(factor));
        let clues = stages.run("boot", boot).await?;
        let find = find(&clues, build, &mut seen, FIND_LIMIT.mul_f64(factor));
        let endpoint = stages.run("find", or_ended(&started, find)).await?;
        let mut subject = Subject::new(Target::Http(endpoint), self.options.contract.clone());
        subject.console = Some(Arc::clone(&started.console));
        subject.board = Some(board);
        Ok((subject, started))
    }

    async fn replay(
        &self,
        subject: Subject,
        started: &Started,
        transcripts: &[Transcript],
        results: &mut Vec<Played>,
    ) -> Result<(), Trouble> {
        let board = subject.board.clone().unwrap_or_default();
        let tell = |stage: &Stage| (self.told)(Event::Stage(&board, stage));
        let begun = Instant::now();
        let first = Cell::new(None);
        let play = async {
            let tell = |played: &Played| {
                if matches!(played.verdict, Verdict::Pass | Verdict::Fail(_)) && first.get().is_none() {
                    first.set(Some(started.at.elapsed()));
                }
                (self.told)(Event::Played(played));
            };
            let factor = self.options.deadline_factor;
            let report = replay("", &[subject], transcripts, factor, tell).await;
            let note = first.get().map_or_else(
                || "nothing was played".to_owned(),
                |after| format!("first verdict {} after the start", seconds(&after)),
            );
            Ok((report.results, note))
        };
        *results = Stages::new(&tell).run("replay", play).await?;
        if started.console.ended() {
            return Err(ended(started));
        }
        let mut again = started.console.since(begun).into_iter();
        match again.rfind(|line| parse(line).is_some_and(|(stage, _)| stage == "reset")) {
            Some(line) => Err(Trouble::Rebooted { line }),
            None => Ok(()),
        }
    }
}

/// Waits until the console says that the board serves, or the network that it is there.
async fn boot(
    started: &Started,
    seen: &watch::Receiver<Heard>,
    limit: Duration,
) -> Result<(Clues, String), Trouble> {
    loop {
        let lines = started.console.since(started.at);
        let mut boot = Boot::default();
        lines.iter().for_each(|line| boot.line(line));
        let mut clues = started.clues.clone();
        clues.mac = clues.mac.or_else(|| boot.mac.clone());
        clues.address = clues.address.or_else(|| boot.address.as_deref()?.parse().ok());
        if let Some(url) = boot.url {
            return Ok((clues, format!("serving {url}")));
        }
        let is_announced = |heard: &Heard| heard.iter().flatten().any(|found| clues.fit(found));
        if is_announced(&seen.borrow()) {
            return Ok((clues, "announced".to_owned()));
        }
        if started.console.ended() {
            return Err(ended(started));
        }
        if started.at.elapsed() >= limit {
            let after = limit;
            return Err(match boot.mac {
                Some(mac) if boot.address.is_none() => Trouble::NoNetwork { mac, after },
                _ => Trouble::Silent {
                    after,
                    console: tail(&lines),
                },
            });
        }
        sleep(LOOK).await;
    }
}

/// A stage that fails as soon as the board ends.
async fn or_ended<T>(
    started: &Started,
    stage: impl Future<Output = Result<T, Trouble>>,
) -> Result<T, Trouble> {
    let end = async {
        while !started.console.ended() {
            sleep(LOOK).await;
        }
    };
    tokio::select! {
        result = stage => result,
        () = end => Err(ended(started)),
    }
}

fn ended(started: &Started) -> Trouble {
    Trouble::Ended {
        after: started.at.elapsed(),
        console: tail(&started.console.since(started.at)),
    }
}

fn tail(lines: &[String]) -> String {
    if lines.is_empty() {
        return "(nothing was printed)".to_owned();
    }
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// Waits until the board is announced with the build that was started, and a connection can be made.
async fn find(
    clues: &Clues,
    build: Option<&str>,
    seen: &mut watch::Receiver<Heard>,
    limit: Duration,
) -> Result<(Endpoint, String), Trouble> {
    let done = |heard: &Heard| match heard {
        Ok(found) => matches!(clues.search(found, build), Match::Board(_)),
        Err(_) => true,
    };
    let _ = timeout(limit, seen.wait_for(done)).await;
    let heard = seen.borrow().clone().map_err(Trouble::NoSearch)?;
    let mut board = match clues.search(&heard, build) {
        Match::Board(board) => board.clone(),
        Match::OtherBuild(running) => {
            return Err(Trouble::OldFirmware {
                wanted: build.unwrap_or_default().to_owned(),
                running: running.to_owned(),
            });
        }
        Match::Nobody => {
            let others = heard.iter().map(|found| format!("\n  found: {}", found.instance));
            return Err(Trouble::NotAnnounced {
                clues: clues.to_string(),
                after: limit,
                others: others.collect(),
            });
        }
    };
    reach(&mut board).await;
    let url = board.url.clone().unwrap_or_default();
    let reachable = board.target().filter(|_| board.reachable == Some(true));
    let Some(endpoint) = reachable else {
        return Err(Trouble::Refused { url });
    };
    let proof = match (build, &board.build) {
        (None, _) => "; the file has no build id to compare with",
        (_, None) => "; it tells no build id",
        _ => ", runs this build",
    };
    let note = format!("{} at {url}{proof}", board.instance);
    Ok((endpoint, note))
}

/// What kept a board from its transcripts, as a result that every report can show.
fn trouble_as_result(board: &str, trouble: &Trouble, console: Vec<String>, time: Duration) -> Played {
    let reason = trouble.to_string();
    let has_console = matches!(trouble, Trouble::Ended { .. } | Trouble::Silent { .. });
    let console = if has_console { Vec::new() } else { console };
    let verdict = if trouble.is_firmwares() {
        Verdict::Fail(Box::new(Failure {
            console,
            ..Failure::plain("run", reason, None)
        }))
    } else {
        Verdict::Infrastructure(reason)
    };
    Played {
        board: Some(board.to_owned()),
        id: "run".to_owned(),
        title: "the firmware starts, is found and stays up".to_owned(),
        about: "Before its transcripts a firmware must boot and be announced, and it must not start again among them."
            .to_owned(),
        verdict,
        exchanges: Vec::new(),
        time,
    }
}

/// A stage as a line for people.
pub fn line(board: &str, stage: &Stage) -> String {
    let Stage { name, time, note } = stage;
    format!(
        "stage {board} {name}  ({})  {}\n",
        seconds(time),
        escape_line(note)
    )
}
