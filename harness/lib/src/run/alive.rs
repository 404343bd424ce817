//! Whether a board is still there while transcripts are played on it.

use super::up::{CONNECT, LOOK, Up, answers, down};
use crate::bench::failure::{Failure, Kind};
use crate::fault::seconds;
use crate::report::{Case, Verdict};
use std::cell::Cell;
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// A failure that took longer may be a board's that stands still.
const SLOW: Duration = Duration::from_millis(2500);
/// The transcript that a restart fell into ends by then.
const GRACE: Duration = Duration::from_secs(12);

/// Looks after a board.
pub struct Alive<'a> {
    up: &'a Up,
    board: &'a str,
    factor: f64,
    /// Transcripts played.
    played: Cell<usize>,
    /// The last failed, slowly.
    doubtful: Cell<bool>,
}

impl<'a> Alive<'a> {
    /// For a board that is up.
    pub fn new(up: &'a Up, factor: f64) -> Self {
        Self {
            up,
            board: up.subject.board.as_deref().unwrap_or_default(),
            factor,
            played: Cell::new(0),
            doubtful: Cell::new(false),
        }
    }

    /// Takes a result.
    pub fn played(&self, played: &Case) {
        self.played.set(self.played.get() + 1);
        let bad = matches!(played.verdict, Verdict::Fail(_) | Verdict::Infrastructure(_));
        if bad && played.time >= SLOW.mul_f64(self.factor) {
            self.doubtful.set(true);
        }
    }

    /// Waits until the board is not there any more, for ever if it stays.
    pub async fn failure(&self) -> Failure {
        loop {
            if let Some(failure) = self.down() {
                self.next().await;
                // a panic is told before the restart that it leads to
                return self.down().unwrap_or(failure);
            }
            if self.doubtful.take() && !self.answers().await && !self.answers().await {
                let within = seconds(&(2 * CONNECT.mul_f64(self.factor)));
                let cause =
                    format!("it took no connection within {within}, in the middle of the transcripts");
                return self
                    .down()
                    .unwrap_or_else(|| Failure::new(Kind::Hung, self.board, cause));
            }
            sleep(LOOK).await;
        }
    }

    /// The same when everything has been played.
    ///
    /// # Errors
    /// What has become of the board.
    pub fn at_end(&self) -> Result<(), Failure> {
        self.down().map_or(Ok(()), Err)
    }

    fn down(&self) -> Option<Failure> {
        down(self.board, &self.up.started, self.up.since)
    }

    /// Waits for the end of the transcript that is being played.
    async fn next(&self) {
        let (before, end) = (self.played.get(), Instant::now() + GRACE.mul_f64(self.factor));
        while self.played.get() == before && Instant::now() < end {
            sleep(LOOK).await;
        }
    }

    async fn answers(&self) -> bool {
        answers(&self.up.endpoint, self.factor).await
    }
}
