//! Flashes the LED.

use super::{Args, Run, Step};
use crate::Led;
use crate::jobs::Outside;
use crate::log::Log;

pub struct Blink {
    found: Option<Led>,
    lit: bool,
    flashes: u16,
    steps: u16,
}

impl Run for Blink {
    const TAKES: &'static [&'static str] = &["steps", "step_ms"];

    fn new(args: &Args) -> Self {
        Self {
            found: None,
            lit: false,
            flashes: 0,
            steps: args.steps,
        }
    }

    fn step(&mut self, outside: &mut Outside<'_>, log: &mut Log) -> Step {
        self.found.get_or_insert(*outside.led);
        self.lit = !self.lit;
        outside.led.on = self.lit;
        log.line(if self.lit { "on" } else { "off" });
        if self.lit {
            return Step::More;
        }
        self.flashes += 1;
        if self.flashes < self.steps {
            Step::More
        } else {
            Step::Done(self.steps)
        }
    }

    fn leave(&mut self, led: &mut Led) {
        *led = self.found.unwrap_or(*led);
    }
}
