//! The stages of a run, each with the time it took.

use crate::bench::failure::Failure;
use std::time::{Duration, Instant};

/// A stage that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// As `boot`.
    pub name: &'static str,
    /// Time it took.
    pub time: Duration,
    /// What came of it; may be empty.
    pub note: String,
}

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
        (self.tell)(&Stage { name, time, note });
    }

    /// Goes through a stage, which gives its result and what to say of it. One that fails is told by its error alone.
    ///
    /// # Errors
    /// The stage's own.
    pub async fn run<T>(
        &self,
        name: &'static str,
        stage: impl Future<Output = Result<(T, String), Failure>>,
    ) -> Result<T, Failure> {
        let started = Instant::now();
        let (result, note) = stage.await?;
        self.done(name, started.elapsed(), note);
        Ok(result)
    }
}
