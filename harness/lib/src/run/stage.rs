//! The stages of a run, each with the time it took.

use crate::bench::failure::Failure;
pub use crate::report::Stage;
use std::time::{Duration, Instant};

/// The stages of one board, told one by one.
pub struct Stages<'a> {
    tell: &'a dyn Fn(&Stage),
}

impl<'a> Stages<'a> {
    /// Stages that are told to `tell` as soon as each is done.
    pub const fn new(tell: &'a dyn Fn(&Stage)) -> Self {
        Self { tell }
    }

    /// Tells a stage that is done.
    pub fn done(&self, name: &'static str, time: Duration, note: String) {
        let failed = false;
        (self.tell)(&Stage {
            name,
            time,
            note,
            failed,
        });
    }

    /// Tells the stage in which a board's way ended; the failure itself is told by whoever gets it.
    pub fn failed(&self, name: &'static str, time: Duration, failure: &Failure) {
        (self.tell)(&Stage {
            name,
            time,
            note: failure.kind.to_string(),
            failed: true,
        });
    }

    /// Goes through a stage, which gives its result and what to say of it.
    ///
    /// # Errors
    /// The stage's own.
    pub async fn run<T>(
        &self,
        name: &'static str,
        stage: impl Future<Output = Result<(T, String), Failure>>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        match stage.await {
            Ok((result, note)) => {
                self.done(name, started.elapsed(), note);
                Ok(result)
            }
            Err(failure) => {
                self.failed(name, started.elapsed(), &failure);
                Err(failure)
            }
        }
    }
}
