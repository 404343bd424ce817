//! Fades the LED up and down. The one program that winds down when it is told to stop: a light that goes out at once
//! would look like a fault.

use super::{Args, Run, Step};
use crate::Led;
use crate::jobs::Outside;
use crate::log::Log;

/// Change of brightness in a step, percent.
const STRIDE: u8 = 10;

pub struct Sweep {
    found: Option<Led>,
    brightness: u8,
    falling: bool,
    winding_down: bool,
    sweeps: u16,
    steps: u16,
}

impl Run for Sweep {
    const TAKES: &'static [&'static str] = &["steps", "step_ms"];

    fn new(args: &Args) -> Self {
        Self {
            found: None,
            brightness: 0,
            falling: false,
            winding_down: false,
            sweeps: 0,
            steps: args.steps,
        }
    }

    fn step(&mut self, outside: &mut Outside<'_>, log: &mut Log) -> Step {
        self.found.get_or_insert(*outside.led);
        match (self.falling, self.brightness) {
            (false, 100) | (true, 1..) => {
                self.falling = true;
                self.brightness = self.brightness.saturating_sub(STRIDE);
            }
            _ => {
                self.falling = false;
                self.brightness += STRIDE;
            }
        }
        *outside.led = Led {
            on: true,
            brightness: self.brightness,
        };
        log.line(format_args!("{} %", self.brightness));
        if self.brightness > 0 {
            return Step::More;
        }
        self.sweeps += 1;
        if self.winding_down || self.sweeps == self.steps {
            Step::Done(self.steps)
        } else {
            Step::More
        }
    }

    fn stop(&mut self) -> bool {
        self.winding_down = self.brightness > 0;
        self.falling = true;
        self.winding_down
    }

    fn leave(&mut self, led: &mut Led) {
        *led = self.found.unwrap_or(*led);
    }
}
