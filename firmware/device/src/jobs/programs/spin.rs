//! Is busy, to show that a busy job holds up nobody: it works in slices that are far shorter than the pause between
//! them.

use super::{Args, Run, Step};
use crate::jobs::Outside;
use crate::log::Log;

/// Turns in a slice: microseconds of work on a chip.
const TURNS: u32 = 1000;

pub struct Spin {
    slices: u32,
    state: u32,
}

impl Run for Spin {
    const TAKES: &'static [&'static str] = &[];
    const PACE: Option<u32> = Some(1);

    fn new(_: &Args) -> Self {
        Self {
            slices: 0,
            state: 1,
        }
    }

    fn step(&mut self, _: &mut Outside<'_>, log: &mut Log) -> Step {
        // Numerical Recipes' generator: work that the compiler can't foresee.
        for _ in 0..TURNS {
            self.state = core::hint::black_box(self.state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        }
        self.slices += 1;
        log.line(format_args!("slice {}", self.slices));
        Step::More
    }
}
