//! The simulated board behind the tools.

use crate::jobs::{Job, Jobs, Millis};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

/// Log lines that are kept.
const LOG_LINES: usize = 64;

#[derive(Debug)]
pub(crate) struct State {
    started: Instant,
    board: Mutex<Board>,
    /// Tells who waits for the next due job that it may be another now.
    changed: Notify,
    waiting: Semaphore,
}

/// What changes while the server runs.
#[derive(Debug)]
pub(crate) struct Board {
    /// When the lock was taken. All that was due by then has been done.
    pub(crate) now: Millis,
    pub(crate) jobs: Jobs,
    pub(crate) led: Led,
    /// Requests answered, errors included.
    pub(crate) requests: u64,
    /// Requests answered with an error.
    pub(crate) errors: u64,
    log: VecDeque<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Led {
    pub(crate) on: bool,
    /// Percent, 0 to 100.
    pub(crate) brightness: u64,
}

impl Board {
    /// Stops the live jobs that fit, and gives their ids.
    pub(crate) fn stop(&mut self, fits: impl Fn(&Job) -> bool) -> Vec<String> {
        self.jobs.stop(fits, self.now, &mut self.led)
    }
}

impl State {
    pub(crate) fn start() -> Self {
        let led = Led {
            on: false,
            brightness: 100,
        };
        // Not the ids of an earlier run: a client may still have those.
        let first_id = RandomState::new().hash_one(0) as u32;
        let board = Board {
            now: 0,
            jobs: Jobs::new(first_id),
            led,
            requests: 0,
            errors: 0,
            log: VecDeque::new(),
        };
        let state = Self {
            started: Instant::now(),
            board: Mutex::new(board),
            changed: Notify::new(),
            waiting: Semaphore::new(1),
        };
        state.log(concat!("reference ", env!("CARGO_PKG_VERSION"), " started"));
        state
    }

    /// Milliseconds since start.
    pub(crate) fn uptime(&self) -> Millis {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        // Every change under the lock is whole, so a panic elsewhere leaves nothing half done.
        let mut board = self.board.lock().unwrap_or_else(PoisonError::into_inner);
        let Board { now, jobs, led, .. } = &mut *board;
        *now = self.uptime();
        jobs.advance(*now, led);
        board
    }

    /// Does what jobs do when it is due, for as long as it is polled.
    pub(crate) async fn run_jobs(&self) -> Infallible {
        loop {
            let due = self.board().jobs.next_due();
            let sleep = async {
                match due {
                    Some(due) => self.sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = sleep => {}
                () = self.changed.notified() => {}
            }
        }
    }

    /// To be called after a job was started or stopped.
    pub(crate) fn jobs_changed(&self) {
        self.changed.notify_one();
    }

    pub(crate) async fn sleep_until(&self, time: Millis) {
        sleep_until(self.started + Duration::from_millis(time)).await;
    }

    /// Leave to wait for jobs that wind down; none while another call has it.
    pub(crate) fn turn_to_wait(&self) -> Option<SemaphorePermit<'_>> {
        self.waiting.try_acquire().ok()
    }

    pub(crate) fn count(&self, failed: bool) {
        let mut board = self.board();
        board.requests += 1;
        board.errors += u64::from(failed);
    }

    pub(crate) fn log(&self, what: &str) {
        let line = format!("{} ms: {what}", self.uptime());
        let mut board = self.board();
        if board.log.len() == LOG_LINES {
            board.log.pop_front();
        }
        board.log.push_back(line);
    }

    /// The newest lines, oldest first.
    pub(crate) fn log_tail(&self, lines: usize) -> Vec<String> {
        let board = self.board();
        board
            .log
            .iter()
            .skip(board.log.len().saturating_sub(lines))
            .cloned()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_keeps_the_newest_lines() {
        let state = State::start();
        assert!(state.log_tail(10)[0].contains("started"));
        for n in 0..LOG_LINES {
            state.log(&format!("line {n}"));
        }
        let tail = state.log_tail(usize::MAX);
        assert_eq!(tail.len(), 64);
        assert!(tail[0].ends_with(": line 0") && tail[63].ends_with(": line 63"));
    }
}
