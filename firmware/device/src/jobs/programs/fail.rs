//! Fails, to show what a failed job looks like.

use alloc::boxed::Box;

use super::{Args, Run, Step};
use crate::jobs::Outside;
use crate::log::Log;

pub struct Fail {
    reason: Box<str>,
}

impl Run for Fail {
    const TAKES: &'static [&'static str] = &["step_ms", "reason"];

    fn new(args: &Args) -> Self {
        Self {
            reason: args.reason.clone().unwrap_or_else(|| "failed as asked".into()),
        }
    }

    fn step(&mut self, _: &mut Outside<'_>, _: &mut Log) -> Step {
        Step::Failed(core::mem::take(&mut self.reason))
    }
}
