//! The clock by which time limits are measured, which can be made to run slower than the real one: pure.

use core::num::NonZeroU32;
use core::time::Duration;

use mcp_device::Millis;

/// How fast that clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    factor: NonZeroU32,
    /// A real time, and what the clock showed then.
    real: Millis,
    shown: Millis,
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Pace {
    /// As fast as the real time.
    pub const fn new() -> Self {
        Self {
            factor: NonZeroU32::MIN,
            real: Millis(0),
            shown: Millis(0),
        }
    }

    /// From `real` on every limit takes `factor` times as long; the part of it that is past stays past.
    pub fn stretch(&mut self, factor: NonZeroU32, real: Millis) {
        *self = Self {
            factor,
            real,
            shown: self.shown(real),
        };
    }

    /// What the clock shows at a real time.
    pub fn shown(&self, real: Millis) -> Millis {
        let passed = real.0.saturating_sub(self.real.0) / u64::from(self.factor.get());
        Millis(self.shown.0.saturating_add(passed))
    }

    /// The first real time at which the clock shows `shown`.
    pub fn real(&self, shown: Millis) -> Millis {
        let passed = shown.0.saturating_sub(self.shown.0);
        Millis(
            self.real
                .0
                .saturating_add(passed.saturating_mul(u64::from(self.factor.get()))),
        )
    }

    /// How long a limit really takes.
    pub fn really(&self, limit: Duration) -> Duration {
        limit.saturating_mul(self.factor.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn factor(factor: u32) -> NonZeroU32 {
        NonZeroU32::new(factor).unwrap()
    }

    #[test]
    fn the_clock_shows_the_real_time_until_it_is_stretched() {
        let pace = Pace::new();
        assert_eq!(pace.shown(Millis(12_345)), Millis(12_345));
        assert_eq!(pace.real(Millis(12_345)), Millis(12_345));
        assert_eq!(pace.really(Duration::from_secs(5)), Duration::from_secs(5));
    }

    #[test]
    fn it_goes_on_from_what_it_showed_and_is_slower() {
        let mut pace = Pace::new();
        pace.stretch(factor(10), Millis(1_000));
        assert_eq!(pace.shown(Millis(1_000)), Millis(1_000));
        assert_eq!(pace.shown(Millis(1_009)), Millis(1_000));
        assert_eq!(pace.shown(Millis(51_000)), Millis(6_000));
        assert_eq!(pace.real(Millis(6_000)), Millis(51_000));
        assert_eq!(pace.really(Duration::from_secs(5)), Duration::from_secs(50));
        pace.stretch(factor(1), Millis(51_000));
        assert_eq!(pace.shown(Millis(52_000)), Millis(7_000));
    }

    #[test]
    fn a_time_that_is_past_stays_past() {
        let mut pace = Pace::new();
        pace.stretch(factor(3), Millis(9_000));
        assert_eq!(pace.real(Millis(8_000)), Millis(9_000));
    }

    #[test]
    fn the_end_of_time_does_not_overflow() {
        let mut pace = Pace::new();
        pace.stretch(factor(u32::MAX), Millis(0));
        assert_eq!(pace.real(Millis(u64::MAX)), Millis(u64::MAX));
        assert_eq!(pace.really(Duration::MAX), Duration::MAX);
    }
}
