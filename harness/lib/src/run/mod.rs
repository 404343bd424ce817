//! A firmware's way through a run: onto a board, up, found over mDNS, replayed.
//!
//! [`Dut`] is where kinds of board differ: how the firmware gets onto the board and starts. From there on all are
//! treated alike. Nothing that a board does is taken for granted but that it serves MCP and is announced: a firmware that
//! is not ours has no boot lines on its console and keeps no contract, and is replayed as far as that goes.

mod alive;
mod find;
mod firmware;
mod known;
mod port;
mod stage;
mod up;

pub use find::{Clues, Match};
pub use firmware::{Firmware, FirmwareError, Machine};
pub use port::{Flashing, Port};
pub use stage::{Stage, Stages};

use crate::access::Access;
use crate::bench::failure::{Blame, Failure};
use crate::bench::recognise::Recogniser;
use crate::bench::symbols::Symbols;
use crate::board::console::Console;
use crate::discover::{Browser, Found, Options as Search};
use crate::fault::seconds;
use crate::replay::{Subject, replay};
use crate::report::{Case, Finding, Report, Verdict, escape_line};
use crate::transcript::Transcript;
use alive::Alive;
use futures_util::future::join_all;
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// A board that can take a firmware: a device under test.
pub trait Dut {
    /// Its name in reports.
    fn name(&self) -> &str;

    /// Puts its firmware on the board and starts it, and tells each stage of that.
    #[allow(async_fn_in_trait)] // one thread: the future need not be Send
    async fn start(&mut self, stages: &Stages<'_>) -> Result<Started, Failure>;
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
    /// GNU build id of the firmware; none: what runs can't be compared with it.
    pub build: Option<String>,
    /// ELF file by which addresses of a panic are explained, where the board does not do so itself.
    pub symbols: Option<PathBuf>,
    /// The contract that the firmware keeps; none: it is asked what it is.
    pub contract: Option<String>,
    /// Stretches every time limit.
    pub deadline_factor: f64,
    /// Where the boards are looked for.
    pub search: Search,
    /// What it takes to be let in.
    pub access: Access,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            build: None,
            symbols: None,
            contract: None,
            deadline_factor: 1.0,
            search: Search::default(),
            access: Access::default(),
        }
    }
}

/// Something that a run tells as soon as it knows.
#[derive(Debug)]
pub enum Event<'a> {
    /// A board went through a stage.
    Stage(&'a str, &'a Stage),
    /// A transcript was played on a board, or could not be.
    Played(&'a Case),
}

/// Runs each board's firmware, all at the same time, and plays the transcripts. What kept a board from them is a result
/// too, with the id `run`. `target` is what the user named.
pub async fn run<D: Dut>(
    target: &str,
    duts: &mut [D],
    transcripts: &[Transcript],
    options: &Options,
    told: impl Fn(Event<'_>),
) -> Report {
    let started = Instant::now();
    let stages = RefCell::new(Vec::new());
    let told = |event: Event<'_>| {
        if let Event::Stage(board, stage) = event {
            stages.borrow_mut().push((board.to_owned(), stage.clone()));
        }
        told(event);
    };
    let way = &Way { options, told: &told };
    let results = listening(&options.search, |seen| {
        let boards = duts.iter_mut().map(|dut| way.go(dut, seen.clone(), transcripts));
        join_all(boards)
    });
    let results = results.await.into_iter().flatten().collect();
    Report {
        command: "run",
        target: target.to_owned(),
        stages: stages.take(),
        results,
        time: started.elapsed(),
        ..Report::default()
    }
}

/// Brings the firmware up on each board, all at the same time, for whoever plays the transcripts. The boards run as long as
/// `duts` live.
pub async fn bring_up<D: Dut>(
    duts: &mut [D],
    options: &Options,
    told: impl Fn(Event<'_>),
) -> Vec<Result<Subject, Failure>> {
    let way = &Way { options, told: &told };
    let up = listening(&options.search, |seen| {
        let boards = duts.iter_mut().map(move |dut| {
            let seen = seen.clone();
            async move { way.up(dut, seen, &mut None).await.map(|up| up.subject) }
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
    ) -> Vec<Case> {
        let began = Instant::now();
        let board = dut.name().to_owned();
        let mut console = None;
        let mut results = Vec::new();
        let failed = Cell::new(None);
        let watched = Way {
            options: self.options,
            told: &|event: Event<'_>| {
                if let Event::Stage(_, stage) = event
                    && stage.failed
                {
                    failed.set(Some(stage.name));
                }
                (self.told)(event);
            },
        };
        let end = match watched.up(dut, seen, &mut console).await {
            Ok(up) => {
                if let Some(reason) = up.unproved {
                    let case = unproved_as_result(&board, reason, began.elapsed());
                    (self.told)(Event::Played(&case));
                    results.push(case);
                }
                watched.replay(up, transcripts, &mut results).await
            }
            Err(failure) => Err(failure),
        };
        if let Err(mut failure) = end {
            if failure.output.is_empty() {
                let lines = console.map(|console| console.since(began)).unwrap_or_default();
                failure.output = tail(&lines);
            }
            self.explain(&mut failure);
            let played = failure_as_result(&board, failed.get(), failure, began.elapsed());
            (self.told)(Event::Played(&played));
            results.push(played);
        }
        results
    }

    /// Says by function, file and line what the addresses of a panic are, if nobody has.
    fn explain(&self, failure: &mut Failure) {
        let mut signs = Recogniser::default();
        for line in &failure.output {
            signs.line(line);
        }
        let addresses = signs
            .crash()
            .map(|crash| crash.addresses.clone())
            .unwrap_or_default();
        let explained = failure.output.iter().any(|line| line.starts_with("at 0x"));
        let symbols = self
            .options
            .symbols
            .as_deref()
            .filter(|_| !explained && !addresses.is_empty());
        if let Some(Ok(symbols)) = symbols.map(Symbols::open) {
            let places = symbols.explain(&addresses);
            failure
                .output
                .extend(places.into_iter().map(|place| format!("at {place}")));
        }
    }

    async fn replay(
        &self,
        up: up::Up,
        transcripts: &[Transcript],
        results: &mut Vec<Case>,
    ) -> Result<(), Failure> {
        let board = up.subject.board.clone().unwrap_or_default();
        let tell = |stage: &Stage| (self.told)(Event::Stage(&board, stage));
        let factor = self.options.deadline_factor;
        let first = RefCell::new(None);
        let played = RefCell::new(Vec::new());
        let alive = Alive::new(&up, factor);
        let play = async {
            let tell = |one: &Case| {
                if matches!(one.verdict, Verdict::Pass | Verdict::Fail(_)) {
                    first.borrow_mut().get_or_insert_with(|| up.started.at.elapsed());
                }
                alive.played(one);
                played.borrow_mut().push(one.clone());
                (self.told)(Event::Played(one));
            };
            let subjects = [up.subject.clone()];
            tokio::select! {
                _ = replay("", &subjects, transcripts, factor, tell) => alive.at_end()?,
                failure = alive.failure() => return Err(failure),
            }
            let note = first.borrow().as_ref().map_or_else(
                || "nothing was played".to_owned(),
                |after| format!("first verdict {} after the start", seconds(after)),
            );
            Ok(((), note))
        };
        let end = Stages::new(&tell).run("replay", play).await;
        results.extend(played.take());
        end
    }
}

/// Lines of a console that go with a failure.
const TAIL: usize = 20;

fn tail(lines: &[String]) -> Vec<String> {
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}

/// What kept a board from its transcripts, as a result that every report can show.
fn failure_as_result(board: &str, stage: Option<&str>, failure: Failure, time: Duration) -> Case {
    let verdict = match failure.kind.blame() {
        Blame::Firmware => {
            let reason = format!("{}: {}", failure.kind, failure.cause);
            Verdict::Fail(vec![Finding {
                advice: Some(failure.mend().to_owned()),
                console: failure.output,
                reason,
                ..Finding::default()
            }])
        }
        Blame::Bench => Verdict::Infrastructure(failure.evidence()),
    };
    Case {
        title: "the firmware gets onto the board, starts, is found and stays up".to_owned(),
        about: "Before its transcripts a firmware must boot and be announced, and it must not start again among them."
            .to_owned(),
        stage: stage.map(str::to_owned),
        ..result(board, "run", verdict, time)
    }
}

/// That nobody knows what answers, as a result that every report can show.
fn unproved_as_result(board: &str, reason: &str, time: Duration) -> Case {
    let reason = format!("the build was not proved: {reason}");
    Case {
        title: "what answers runs the file that was started".to_owned(),
        about: "The build id of the file is that which the board tells over mDNS or when it is asked."
            .to_owned(),
        ..result(
            board,
            "run/build",
            Verdict::Warn(vec![Finding::plain("find", reason, None)]),
            time,
        )
    }
}

fn result(board: &str, id: &str, verdict: Verdict, time: Duration) -> Case {
    Case {
        board: Some(board.to_owned()),
        stage: None,
        id: id.to_owned(),
        title: String::new(),
        about: String::new(),
        clauses: Vec::new(),
        verdict,
        expected: None,
        exchanges: Vec::new(),
        time,
    }
}

/// A stage as a line for people.
pub fn line(board: &str, stage: &Stage) -> String {
    let Stage { name, time, note, .. } = stage;
    let word = if stage.failed { "FAILED: " } else { "" };
    let text = format!(
        "stage {board} {name}  ({})  {word}{}",
        seconds(time),
        escape_line(note)
    );
    format!("{}\n", text.trim_end())
}
