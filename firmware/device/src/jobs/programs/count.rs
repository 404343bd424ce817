//! Counts, to have something that takes its time.

use super::{Args, Run, Step};
use crate::jobs::Outside;
use crate::log::Log;

pub struct Count {
    counted: u16,
    steps: u16,
}

impl Run for Count {
    const TAKES: &'static [&'static str] = &["steps", "step_ms"];

    fn new(args: &Args) -> Self {
        Self {
            counted: 0,
            steps: args.steps,
        }
    }

    fn step(&mut self, _: &mut Outside<'_>, log: &mut Log) -> Step {
        self.counted += 1;
        log.line(self.counted);
        if self.counted < self.steps {
            Step::More
        } else {
            Step::Done(self.steps)
        }
    }
}
