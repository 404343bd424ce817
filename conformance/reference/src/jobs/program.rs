//! The programs that jobs run. Where a program stands is told by the number of its last step alone.

use super::End;
use super::log::Log;
use crate::state::Led;

/// Steps of a sweep: up to full brightness and down to none.
const SWEEP_STEPS: u64 = 20;
/// Brightness from one step of a sweep to the next, in percent.
const SWEEP_STRIDE: u64 = 10;
/// From one step of `spin` to the next, milliseconds.
const SPIN_PACE: u64 = 1;
/// Turns of work in a step of `spin`: microseconds.
const SPIN_WORK: u32 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Count,
    Blink,
    Sweep,
    Fail,
    Spin,
}

impl Kind {
    pub(crate) const ALL: [Self; 5] = [Self::Count, Self::Blink, Self::Sweep, Self::Fail, Self::Spin];

    /// The name in the contract.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Blink => "blink",
            Self::Sweep => "sweep",
            Self::Fail => "fail",
            Self::Spin => "spin",
        }
    }

    /// The arguments that mean something to it.
    pub(crate) fn takes(self) -> &'static [&'static str] {
        match self {
            Self::Count | Self::Blink | Self::Sweep => &["steps", "step_ms"],
            Self::Fail => &["step_ms", "reason"],
            Self::Spin => &[],
        }
    }
}

/// A program under way.
#[derive(Debug)]
pub(crate) struct Program {
    kind: Kind,
    steps: u64,
    step_ms: u64,
    reason: String,
    /// Number of the last step; 0 before the first.
    at: u64,
    /// The LED as it was before the first step that changed it.
    found: Option<Led>,
}

impl Program {
    pub(crate) fn new(kind: Kind, steps: u64, step_ms: u64, reason: String) -> Self {
        Self {
            kind,
            steps,
            step_ms,
            reason,
            at: 0,
            found: None,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// From one step to the next, milliseconds.
    pub(super) fn pace(&self) -> u64 {
        match self.kind {
            Kind::Spin => SPIN_PACE,
            _ => self.step_ms,
        }
    }

    /// Does a step; the end, if that was the last.
    pub(super) fn step(&mut self, led: &mut Led, log: &mut Log) -> Option<End> {
        self.at += 1;
        let done = |last: u64| (self.at == last).then_some(End::Done);
        match self.kind {
            Kind::Count => {
                log.write(self.at);
                done(self.steps)
            }
            Kind::Blink => {
                self.found.get_or_insert(*led);
                led.on = self.at % 2 == 1;
                log.write(if led.on { "on" } else { "off" });
                done(2 * self.steps)
            }
            Kind::Sweep => {
                self.found.get_or_insert(*led);
                *led = Led {
                    on: true,
                    brightness: self.brightness(),
                };
                log.write(format_args!("{} %", led.brightness));
                done(SWEEP_STEPS * self.steps)
            }
            Kind::Fail => Some(End::Failed {
                reason: self.reason.clone(),
            }),
            Kind::Spin => {
                std::hint::black_box((0..SPIN_WORK).fold(0, |sum, turn| std::hint::black_box(sum ^ turn)));
                log.write(format_args!("slice {}", self.at));
                None
            }
        }
    }

    /// Of a sweep, in percent.
    fn brightness(&self) -> u64 {
        let step = self.at % SWEEP_STEPS;
        SWEEP_STRIDE * step.min(SWEEP_STEPS - step)
    }

    /// Whether it may be stopped where it stands.
    pub(super) fn may_stop(&self) -> bool {
        self.kind != Kind::Sweep || self.brightness() == 0
    }

    /// Has a sweep that rises fall from where it is.
    pub(super) fn turn_down(&mut self) {
        let step = self.at % SWEEP_STEPS;
        self.at += SWEEP_STEPS - step - step.min(SWEEP_STEPS - step);
    }

    /// Gives the LED back as it was found.
    pub(super) fn leave(&mut self, led: &mut Led) {
        if let Some(found) = self.found.take() {
            *led = found;
        }
    }
}
