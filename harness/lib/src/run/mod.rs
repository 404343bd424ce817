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
use crate::report::{Failure, Played, Report, Verdict};
use crate::target::Target;
use crate::transcript::Transcript;
use futures_util::future::join_all;
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
    let (publish, seen) = watch::channel(Ok(Vec::new()));
    let boards = duts.iter_mut().map(|dut| {
        let way = Way {
            board: dut.name().to_owned(),
            firmware,
            options,
            told: &told,
        };
        let seen = seen.clone();
        async move { way.go(dut, seen, transcripts).await }
    });
    let results = tokio::select! {
        results = join_all(boards) => results,
        // never ends before them
        never = listen(publish) => match never {},
    };
    Report {
        target: firmware.file.display().to_string(),
        results: results.into_iter().flatten().collect(),
        time: started.elapsed(),
    }
}

/// Who is announced, or why nobody can be heard.
type Heard = Result<Vec<Found>, String>;

/// Listens from before the first board starts, for ever.
async fn listen(publish: watch::Sender<Heard>) -> std::convert::Infallible {
    match Browser::start(&Search::default()) {
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

/// One board's way.
struct Way<'a, F> {
    board: String,
    firmware: &'a Firmware,
    options: &'a Options,
    told: &'a F,
}

impl<F: Fn(Event<'_>)> Way<'_, F> {
    async fn go<D: Dut>(
        self,
        dut: &mut D,
        seen: watch::Receiver<Heard>,
        transcripts: &[Transcript],
    ) -> Vec<Played> {
        let began = Instant::now();
        let tell = |stage: &Stage| (self.told)(Event::Stage(&self.board, stage));
        let stages = Stages::new(&tell);
        let mut console = None;
        let mut results = Vec::new();
        let end = self.through(dut, &stages, seen, transcripts, &mut console, &mut results);
        if let Err(trouble) = end.await {
            let lines = console.map(|console: Arc<dyn Console>| console.since(began));
            let played = trouble_as_result(&self.board, &trouble, lines.unwrap_or_default(), began.elapsed());
            (self.told)(Event::Played(&played));
            results.push(played);
        }
        results
    }

    async fn through<D: Dut>(
        &self,
        dut: &mut D,
        stages: &Stages<'_>,
        mut seen: watch::Receiver<Heard>,
        transcripts: &[Transcript],
        console: &mut Option<Arc<dyn Console>>,
        results: &mut Vec<Played>,
    ) -> Result<(), Trouble> {
        let factor = self.options.deadline_factor;
        let build = self.firmware.build_id.as_deref();
        let started = dut.start(self.firmware, stages).await?;
        *console = Some(Arc::clone(&started.console));
        let boot = boot(&started, &seen, BOOT_LIMIT.mul_f64(factor));
        let clues = stages.run("boot", boot).await?;
        let find = find(&clues, build, &mut seen, FIND_LIMIT.mul_f64(factor));
        let found = stages.run("find", or_ended(&started, find)).await?;
        let target = found.target().map(Target::Http);
        let target = target.ok_or_else(|| Trouble::Refused { url: String::new() })?;
        let mut subject = Subject::new(target, self.options.contract.clone());
        subject.board = Some(self.board.clone());
        subject.console = Some(Arc::clone(&started.console));
        let serving = Instant::now();
        let replay = async {
            let tell = |played: &Played| (self.told)(Event::Played(played));
            let report = replay("", &[subject], transcripts, factor, tell).await;
            let note = format!("{} transcripts", report.results.len());
            Ok((report.results, note))
        };
        *results = stages.run("replay", replay).await?;
        if started.console.ended() {
            return Err(ended(&started));
        }
        let again = started.console.since(serving).into_iter();
        match again
            .filter(|line| parse(line).is_some_and(|(stage, _)| stage == "reset"))
            .last()
        {
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
        clues.address = clues.address.or(boot.address);
        if let Some(url) = boot.url {
            return Ok((clues, format!("serving {url}")));
        }
        let is_announced = |heard: &Heard| heard.iter().flatten().any(|found| clues.fit(found));
        if is_announced(&seen.borrow()) {
            return Ok((clues, "announced".to_owned()));
        }
        let after = started.at.elapsed();
        if started.console.ended() {
            return Err(ended(started));
        }
        if after >= limit {
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
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// Waits until the board is announced with the build that was started, and a connection can be made.
async fn find(
    clues: &Clues,
    build: Option<&str>,
    seen: &mut watch::Receiver<Heard>,
    limit: Duration,
) -> Result<(Found, String), Trouble> {
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
    if board.reachable != Some(true) {
        return Err(Trouble::Refused { url });
    }
    let proof = match (build, &board.build) {
        (None, _) => "; the file has no build id to compare with",
        (_, None) => "; it tells no build id",
        _ => ", runs this build",
    };
    let note = format!("{} at {url}{proof}", board.instance);
    Ok((board, note))
}

/// What kept a board from its transcripts, as a result that every report can show.
fn trouble_as_result(board: &str, trouble: &Trouble, console: Vec<String>, time: Duration) -> Played {
    let reason = trouble.to_string();
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
    format!("stage {board} {name}  ({})  {note}\n", seconds(time))
}
