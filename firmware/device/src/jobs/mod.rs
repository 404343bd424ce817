//! Background jobs: a table of bounded size in which programs run step by step.
//!
//! Nothing in here does I/O, waits, or reads a clock: time, the LED and the board's log come in as [`Outside`].

mod job;
mod programs;

use alloc::boxed::Box;
use alloc::vec::Vec;

pub(crate) use job::{Id, Job, Status};
pub(crate) use programs::{Args, Entry, PROGRAMS};

use crate::json::Text;
use crate::log::Log;
use crate::{Led, MAX_JOBS, MAX_RUNNING_JOBS, Millis};

/// Size of a job without its log and texts on a chip, so that the figure in the README holds.
const _: () = assert!(size_of::<usize>() != 4 || size_of::<Job>() <= 96);

/// What jobs reach outside of their table.
pub(crate) struct Outside<'a> {
    pub now: Millis,
    pub led: &'a mut Led,
    /// The board's log.
    pub log: &'a mut Log,
}

/// A job that is to be started.
pub(crate) struct Order {
    pub entry: &'static Entry,
    pub args: Args,
    /// Empty: none.
    pub name: Box<str>,
    /// Empty: none.
    pub group: Box<str>,
    pub timeout_ms: u32,
    /// Whether live jobs of the group are stopped first.
    pub replace: bool,
}

/// Why a job is not started. Nothing has changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// As many jobs are live as are kept.
    Full,
    /// This job of the group is live.
    GroupInUse(Id),
}

/// Jobs that wind down: only those that run can.
pub(crate) type Winding = [Option<Id>; MAX_RUNNING_JOBS];

/// The jobs that are kept, in the order of their start.
pub(crate) struct Jobs {
    jobs: Vec<Job>,
    /// Logs of the places that are free, so that their memory is taken once and never again.
    logs: Vec<Log>,
}

impl Jobs {
    pub fn new() -> Self {
        Self {
            jobs: Vec::with_capacity(MAX_JOBS),
            logs: (0..MAX_JOBS).map(|_| Log::new()).collect(),
        }
    }

    /// Starts a job, which runs at once or is queued. `seed` becomes its id, or the next one that is free.
    ///
    /// # Errors
    /// There is no place for it, or its group is in use.
    pub fn start(&mut self, order: Order, seed: u32, outside: &mut Outside<'_>) -> Result<&Job, Refusal> {
        if self.jobs.iter().filter(|job| job.is_live()).count() >= MAX_JOBS {
            return Err(Refusal::Full);
        }
        let clash = self
            .live_in(&order.group)
            .last()
            .map(|job| job.id)
            .filter(|_| !order.group.is_empty());
        match clash {
            Some(id) if !order.replace => return Err(Refusal::GroupInUse(id)),
            Some(_) => self.live_in(&order.group).for_each(|job| job.stop(outside)),
            None => {}
        }
        let log = self.free_log().ok_or(Refusal::Full)?;
        let mut id = Id(seed);
        while self.jobs.iter().any(|job| job.id == id) {
            id = Id(id.0.wrapping_add(1));
        }
        self.jobs.push(Job::new(id, order, log));
        self.begin_queued(outside);
        self.jobs.last().ok_or(Refusal::Full)
    }

    /// An empty log, if need be that of the ended job which was started first; that job is forgotten.
    fn free_log(&mut self) -> Option<Log> {
        self.logs.pop().or_else(|| {
            let oldest = self.jobs.iter().position(|job| !job.is_live())?;
            let mut log = self.jobs.remove(oldest).log;
            log.clear();
            Some(log)
        })
    }

    fn live_in(&mut self, group: &str) -> impl Iterator<Item = &mut Job> {
        self.jobs
            .iter_mut()
            .filter(move |job| job.is_live() && *job.group == *group)
    }

    fn running(&self) -> impl Iterator<Item = &Job> {
        self.jobs.iter().filter(|job| job.status() == Status::Running)
    }

    /// Lets queued jobs run where they may.
    fn begin_queued(&mut self, outside: &mut Outside<'_>) {
        while self.running().count() < MAX_RUNNING_JOBS
            && let Some(next) = self.jobs.iter().position(|job| {
                job.status() == Status::Queued
                    && (job.group.is_empty() || self.running().all(|other| other.group != job.group))
            })
            && let Some(job) = self.jobs.get_mut(next)
        {
            job.begin(outside);
        }
    }

    /// Does what is due, and says when something is due again.
    pub fn poll(&mut self, outside: &mut Outside<'_>) -> Option<Millis> {
        self.jobs.iter_mut().for_each(|job| job.poll(outside));
        self.begin_queued(outside);
        self.jobs.iter().filter_map(Job::due).min()
    }

    /// Tells the live jobs that fit to stop, all before a queued one may begin. How many these are, and which of them
    /// wind down.
    pub fn stop(&mut self, fits: impl Fn(&Job) -> bool, outside: &mut Outside<'_>) -> (usize, Winding) {
        let mut told = 0;
        let mut winding = [None; MAX_RUNNING_JOBS];
        let mut places = winding.iter_mut();
        for job in self.jobs.iter_mut().filter(|job| job.is_live() && fits(job)) {
            told += 1;
            job.stop(outside);
            if job.is_stopping()
                && let Some(place) = places.next()
            {
                *place = Some(job.id);
            }
        }
        self.begin_queued(outside);
        (told, winding)
    }

    /// How many of these still wind down.
    pub fn still_winding(&self, winding: &Winding) -> usize {
        let stopping = |id: &&Id| self.with_id(**id).is_some_and(Job::is_stopping);
        winding.iter().flatten().filter(stopping).count()
    }

    /// In the order of their start.
    pub fn iter(&self) -> impl Iterator<Item = &Job> + Clone {
        self.jobs.iter()
    }

    pub fn with_id(&self, id: Id) -> Option<&Job> {
        self.jobs.iter().find(|job| job.id == id)
    }

    /// The last started live job of this name, or if none is live the last started.
    pub fn named(&self, name: Text<'_>) -> Option<&Job> {
        self.jobs
            .iter()
            .filter(|job| name == *job.name)
            .max_by_key(|job| job.is_live())
    }
}
