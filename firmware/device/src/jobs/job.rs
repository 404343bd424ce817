//! One job and its states.

use alloc::boxed::Box;
use alloc::format;
use core::fmt;

use serde::{Serialize, Serializer};

use super::Outside;
use super::programs::{Entry, Program, Step};
use crate::Millis;
use crate::json::Text;
use crate::log::Log;

/// Name of a job for as long as it is kept: eight hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(pub u32);

impl Id {
    /// The id that is written so; none for any other text.
    pub fn read(text: Text<'_>) -> Option<Self> {
        let is_digit = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        (text.chars().count() == 8 && text.chars().all(is_digit)).then(|| {
            Self(
                text.chars()
                    .filter_map(|c| c.to_digit(16))
                    .fold(0, |id, digit| id << 4 | digit),
            )
        })
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// State of a job, in the words of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Status {
    Queued,
    Running,
    Done,
    Failed,
    Timeout,
    Stopped,
}

impl Status {
    /// Its name in the contract.
    pub fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
        }
    }

    /// Whether it may still change.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

enum State {
    Queued,
    Running {
        since: Millis,
        /// When the next step is due.
        due: Millis,
        /// Was told to stop, and winds down.
        stopping: bool,
    },
    Ended {
        status: Status,
        runtime: u64,
        summary: Box<str>,
    },
}

/// One run of a program.
pub(crate) struct Job {
    pub id: Id,
    pub entry: &'static Entry,
    /// Empty: it has none.
    pub name: Box<str>,
    /// Group of which one job runs at a time; empty: it is in none.
    pub group: Box<str>,
    pub timeout_ms: u32,
    pub log: Log,
    program: Program,
    pace: u32,
    state: State,
}

impl Job {
    /// A queued job; `log` is empty.
    pub fn new(id: Id, order: super::Order, log: Log) -> Self {
        let super::Order {
            entry,
            args,
            name,
            group,
            timeout_ms,
            ..
        } = order;
        let (program, pace) = entry.load(&args);
        Self {
            id,
            entry,
            name,
            group,
            timeout_ms,
            log,
            program,
            pace,
            state: State::Queued,
        }
    }

    pub fn status(&self) -> Status {
        match self.state {
            State::Queued => Status::Queued,
            State::Running { .. } => Status::Running,
            State::Ended { status, .. } => status,
        }
    }

    pub fn is_live(&self) -> bool {
        self.status().is_live()
    }

    /// Whether it was told to stop and is not yet at its end.
    pub fn is_stopping(&self) -> bool {
        matches!(self.state, State::Running { stopping: true, .. })
    }

    /// From when it began to run until its end, milliseconds.
    pub fn runtime(&self, now: Millis) -> u64 {
        match self.state {
            State::Queued => 0,
            State::Running { since, .. } => now.0.saturating_sub(since.0),
            State::Ended { runtime, .. } => runtime,
        }
    }

    /// What came of it; empty before the end.
    pub fn summary(&self) -> &str {
        match &self.state {
            State::Ended { summary, .. } => summary,
            _ => "",
        }
    }

    /// When it has something to do: its next step, or the end of its time.
    pub fn due(&self) -> Option<Millis> {
        match self.state {
            State::Running { since, due, .. } => Some(due.min(self.deadline(since))),
            _ => None,
        }
    }

    fn deadline(&self, since: Millis) -> Millis {
        Millis(since.0 + u64::from(self.timeout_ms))
    }

    fn next_step(&self, now: Millis) -> Millis {
        Millis(now.0 + u64::from(self.pace))
    }

    /// Lets a queued job run.
    pub fn begin(&mut self, outside: &mut Outside<'_>) {
        let now = outside.now;
        self.state = State::Running {
            since: now,
            due: self.next_step(now),
            stopping: false,
        };
        outside
            .log
            .add(now, format_args!("job {} runs {}", self.id, self.entry.name));
    }

    /// Does what is due.
    pub fn poll(&mut self, outside: &mut Outside<'_>) {
        let now = outside.now;
        let State::Running {
            since, due, stopping, ..
        } = self.state
        else {
            return;
        };
        if now >= self.deadline(since) {
            return if stopping {
                self.end(Status::Stopped, "stopped".into(), outside)
            } else {
                let summary = format!("timed out after {} ms", self.timeout_ms);
                self.end(Status::Timeout, summary.into(), outside)
            };
        }
        if now < due {
            return;
        }
        match self.program.step(outside, &mut self.log) {
            Step::More => {
                self.state = State::Running {
                    since,
                    due: self.next_step(now),
                    stopping,
                }
            }
            _ if stopping => self.end(Status::Stopped, "stopped".into(), outside),
            Step::Done(steps) => self.end(Status::Done, format!("steps done: {steps}").into(), outside),
            Step::Failed(reason) => self.end(Status::Failed, reason, outside),
        }
    }

    /// Tells it to stop; an ended or stopping job hears nothing.
    pub fn stop(&mut self, outside: &mut Outside<'_>) {
        match &mut self.state {
            State::Running { stopping, .. } => {
                if !*stopping && self.program.stop() {
                    *stopping = true;
                }
                if *stopping {
                    return;
                }
            }
            State::Queued => {}
            State::Ended { .. } => return,
        }
        self.end(Status::Stopped, "stopped".into(), outside);
    }

    fn end(&mut self, status: Status, summary: Box<str>, outside: &mut Outside<'_>) {
        self.program.leave(outside.led);
        self.state = State::Ended {
            status,
            runtime: self.runtime(outside.now),
            summary,
        };
        outside
            .log
            .add(outside.now, format_args!("job {} {}", self.id, status.name()));
    }
}
