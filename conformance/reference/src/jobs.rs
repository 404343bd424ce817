//! Background jobs: which are kept, which run, and how each ends (`fixtures/contract`, Jobs).
//!
//! A table without clock, timer or lock: every change comes with the time at which it happens, and [`Jobs::next_due`]
//! tells when to look again.

mod log;
mod program;

pub(crate) use program::{Kind, Program};

use crate::state::Led;
use log::Log;

/// Jobs that are kept.
const KEPT: usize = 16;
/// Jobs that run at once.
const RUNNING: usize = 4;
/// Odd, so that multiples of it meet every id before one comes again.
const ID_STRIDE: u32 = 0x9e37_79b1;

/// Milliseconds since the server started.
pub(crate) type Millis = u64;

/// The jobs that are kept, in the order of their start.
#[derive(Debug)]
pub(crate) struct Jobs {
    jobs: Vec<Job>,
    next_id: u32,
}

/// One run of a program.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) id: String,
    pub(crate) program: Program,
    /// May be empty: none.
    pub(crate) name: String,
    /// May be empty: none.
    pub(crate) group: String,
    pub(crate) timeout_ms: u64,
    pub(crate) log: Log,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Queued,
    Running {
        since: Millis,
        next_step: Millis,
        stopping: bool,
    },
    Ended {
        end: End,
        runtime_ms: u64,
    },
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Done,
    Failed { reason: String },
    Timeout,
    Stopped,
}

/// What `job_start` asks for, its arguments judged.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) program: Program,
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) timeout_ms: u64,
    /// Whether live jobs of the group make way.
    pub(crate) replace: bool,
}

/// Why a job is not started.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Every job that is kept is live.
    Full,
    /// The group has this live job.
    InUse { id: String },
}

impl Jobs {
    /// No jobs; ids begin with this one.
    pub(crate) fn new(first_id: u32) -> Self {
        Self {
            jobs: Vec::new(),
            next_id: first_id,
        }
    }

    /// Starts a job, which runs or is queued.
    pub(crate) fn start(&mut self, order: Order, now: Millis, led: &mut Led) -> Result<&Job, Refusal> {
        if self.jobs.iter().filter(|job| job.is_live()).count() == KEPT {
            return Err(Refusal::Full);
        }
        let in_group = |job: &Job| job.is_live() && !job.group.is_empty() && job.group == order.group;
        if let Some(job) = self.jobs.iter().rfind(|job| in_group(job)) {
            if !order.replace {
                return Err(Refusal::InUse { id: job.id.clone() });
            }
            for job in self.jobs.iter_mut().filter(|job| in_group(job)) {
                job.stop(now, led);
            }
        }
        if self.jobs.len() == KEPT
            && let Some(first_ended) = self.jobs.iter().position(|job| !job.is_live())
        {
            self.jobs.remove(first_ended);
        }
        let place = self.jobs.len();
        self.jobs.push(Job {
            id: format!("{:08x}", self.next_id),
            program: order.program,
            name: order.name,
            group: order.group,
            timeout_ms: order.timeout_ms,
            log: Log::default(),
            phase: Phase::Queued,
        });
        self.next_id = self.next_id.wrapping_add(ID_STRIDE);
        self.begin_queued(now);
        Ok(&self.jobs[place])
    }

    /// Does what is due.
    pub(crate) fn advance(&mut self, now: Millis, led: &mut Led) {
        for job in &mut self.jobs {
            job.advance(now, led);
        }
        self.begin_queued(now);
    }

    /// When something is due next, if ever.
    pub(crate) fn next_due(&self) -> Option<Millis> {
        self.jobs.iter().filter_map(Job::due).min()
    }

    /// Stops the live jobs that fit, and gives their ids: of those that have ended by it, and those that wind down.
    pub(crate) fn stop(&mut self, fits: impl Fn(&Job) -> bool, now: Millis, led: &mut Led) -> Vec<String> {
        let mut told = Vec::new();
        for job in self.jobs.iter_mut().filter(|job| job.is_live() && fits(job)) {
            job.stop(now, led);
            told.push(job.id.clone());
        }
        self.begin_queued(now);
        told
    }

    /// How many of these are still live.
    pub(crate) fn live_among(&self, ids: &[String]) -> usize {
        let live = self.jobs.iter().filter(|job| job.is_live());
        live.filter(|job| ids.contains(&job.id)).count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter()
    }

    pub(crate) fn with_id(&self, id: &str) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// The last started live job of this name, or if none is live the last started.
    pub(crate) fn with_name(&self, name: &str) -> Option<&Job> {
        let named = || self.jobs.iter().rev().filter(|job| job.name == name);
        named().find(|job| job.is_live()).or_else(|| named().next())
    }

    fn begin_queued(&mut self, now: Millis) {
        while let Some(place) = self.next_to_begin() {
            let job = &mut self.jobs[place];
            job.phase = Phase::Running {
                since: now,
                next_step: now + job.program.pace(),
                stopping: false,
            };
        }
    }

    fn next_to_begin(&self) -> Option<usize> {
        let running: Vec<_> = self.jobs.iter().filter(|job| job.is_running()).collect();
        if running.len() >= RUNNING {
            return None;
        }
        let is_free = |group: &str| group.is_empty() || running.iter().all(|job| job.group != group);
        self.jobs
            .iter()
            .position(|job| matches!(job.phase, Phase::Queued) && is_free(&job.group))
    }
}

impl Job {
    /// The state's name in the contract.
    pub(crate) fn status(&self) -> &'static str {
        match &self.phase {
            Phase::Queued => "queued",
            Phase::Running { .. } => "running",
            Phase::Ended { end, .. } => match end {
                End::Done => "done",
                End::Failed { .. } => "failed",
                End::Timeout => "timeout",
                End::Stopped => "stopped",
            },
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        !matches!(self.phase, Phase::Ended { .. })
    }

    fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running { .. })
    }

    /// Whether it winds down.
    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Running { stopping: true, .. })
    }

    /// How long it has run, or did run.
    pub(crate) fn runtime_ms(&self, now: Millis) -> u64 {
        match self.phase {
            Phase::Queued => 0,
            Phase::Running { since, .. } => now.saturating_sub(since),
            Phase::Ended { runtime_ms, .. } => runtime_ms,
        }
    }

    /// What came of it; empty while it is live.
    pub(crate) fn summary(&self) -> String {
        let Phase::Ended { end, .. } = &self.phase else {
            return String::new();
        };
        match end {
            End::Done => format!("steps done: {}", self.program.steps()),
            End::Failed { reason } => reason.clone(),
            End::Timeout => format!("timed out after {} ms", self.timeout_ms),
            End::Stopped => "stopped".to_owned(),
        }
    }

    fn due(&self) -> Option<Millis> {
        match self.phase {
            Phase::Running { since, next_step, .. } => Some(next_step.min(since + self.timeout_ms)),
            _ => None,
        }
    }

    /// At most one step, however late it comes: between two there is time for others.
    fn advance(&mut self, now: Millis, led: &mut Led) {
        let Phase::Running {
            since,
            next_step,
            stopping,
        } = &mut self.phase
        else {
            return;
        };
        let stopping = *stopping;
        if now >= *since + self.timeout_ms {
            self.end(if stopping { End::Stopped } else { End::Timeout }, now, led);
        } else if now >= *next_step {
            *next_step = now + self.program.pace();
            let end = self.program.step(led, &mut self.log);
            if stopping && self.program.may_stop() {
                self.end(End::Stopped, now, led);
            } else if let Some(end) = end {
                self.end(end, now, led);
            }
        }
    }

    fn stop(&mut self, now: Millis, led: &mut Led) {
        match &mut self.phase {
            Phase::Ended { .. } => {}
            Phase::Running { stopping, .. } if !self.program.may_stop() => {
                *stopping = true;
                self.program.turn_down();
            }
            Phase::Queued | Phase::Running { .. } => self.end(End::Stopped, now, led),
        }
    }

    fn end(&mut self, end: End, now: Millis, led: &mut Led) {
        self.program.leave(led);
        self.phase = Phase::Ended {
            end,
            runtime_ms: self.runtime_ms(now),
        };
    }
}

#[cfg(test)]
mod tests;
