//! The simulated board behind the tools.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Log lines that are kept.
const LOG_LINES: usize = 64;

#[derive(Debug)]
pub(crate) struct State {
    started: Instant,
    board: Mutex<Board>,
}

/// What changes while the server runs.
#[derive(Debug)]
pub(crate) struct Board {
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

impl State {
    pub(crate) fn start() -> Self {
        let led = Led {
            on: false,
            brightness: 100,
        };
        let board = Board {
            led,
            requests: 0,
            errors: 0,
            log: VecDeque::new(),
        };
        let state = Self {
            started: Instant::now(),
            board: Mutex::new(board),
        };
        state.log(concat!("reference ", env!("CARGO_PKG_VERSION"), " started"));
        state
    }

    /// Milliseconds since start.
    pub(crate) fn uptime(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    pub(crate) fn board(&self) -> MutexGuard<'_, Board> {
        // Every change under the lock is whole, so a panic elsewhere leaves nothing half done.
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
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
