//! What a cable does to the frames on it. Pure: decides, never waits.

use std::str::FromStr;
use std::time::{Duration, Instant};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// How much later than its turn a reordered frame arrives; frames sent in the meantime overtake it.
pub const REORDER_HOLD: Duration = Duration::from_millis(10);

/// The longest delay a cable can have; longer ones are cut to it.
pub const MAX_DELAY: Duration = Duration::from_secs(10);

/// A probability between 0 and 1.
///
/// Kept as the number of the 2³² equally likely draws that hit, so a run repeats exactly on every machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Probability(u64);

impl Probability {
    /// Never.
    pub const NEVER: Probability = Probability(0);
    /// Always.
    pub const ALWAYS: Probability = Probability(1 << 32);

    /// From a fraction; none when it is not between 0 and 1.
    pub fn new(fraction: f64) -> Option<Self> {
        (0.0..=1.0)
            .contains(&fraction)
            .then(|| Probability((fraction * Self::ALWAYS.0 as f64).round() as u64))
    }

    fn hits(self, draw: u32) -> bool {
        u64::from(draw) < self.0
    }
}

/// What happens to frames on one cable, in each of its two directions. The default is a perfect cable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Impairment {
    /// How many frames vanish.
    pub loss: Probability,
    /// How many of the remaining arrive twice.
    pub duplicate: Probability,
    /// How many are held back by [`REORDER_HOLD`], so that later ones overtake them.
    pub reorder: Probability,
    /// How long every frame takes, at most [`MAX_DELAY`]; there and back is twice this.
    pub delay: Duration,
}

/// Why a text is no impairment.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{part:?} is no impairment: write loss=10%,delay=20ms,duplicate=1%,reorder=5% (any of them; delay up to 10s)"
)]
pub struct ParseImpairmentError {
    part: String,
}

/// `loss=10%,delay=20ms,duplicate=1%,reorder=5%`, any of them in any order.
impl FromStr for Impairment {
    type Err = ParseImpairmentError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut impairment = Impairment::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let error = || ParseImpairmentError {
                part: part.to_owned(),
            };
            let (name, value) = part.split_once('=').ok_or_else(error)?;
            match name.trim() {
                "loss" => impairment.loss = parse_percent(value).ok_or_else(error)?,
                "duplicate" => impairment.duplicate = parse_percent(value).ok_or_else(error)?,
                "reorder" => impairment.reorder = parse_percent(value).ok_or_else(error)?,
                "delay" => impairment.delay = parse_delay(value).ok_or_else(error)?,
                _ => return Err(error()),
            }
        }
        Ok(impairment)
    }
}

fn parse_percent(text: &str) -> Option<Probability> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    Probability::new(percent / 100.0)
}

fn parse_delay(text: &str) -> Option<Duration> {
    let text = text.trim();
    let delay = if let Some(number) = text.strip_suffix("us") {
        Duration::from_micros(number.trim().parse().ok()?)
    } else if let Some(number) = text.strip_suffix("ms") {
        Duration::from_millis(number.trim().parse().ok()?)
    } else {
        Duration::from_secs(text.strip_suffix('s')?.trim().parse().ok()?)
    };
    (delay <= MAX_DELAY).then_some(delay)
}

/// What a cable does with one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Arrives { at: Instant, copies: usize, late: bool },
}

/// One direction of one cable.
///
/// It has random numbers of its own: the nth frame in this direction meets the same fate in every run with the
/// same seed, whatever happens on the other cables.
pub(crate) struct Lane {
    random: ChaCha8Rng,
}

impl Lane {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(stream);
        Lane { random }
    }

    pub(crate) fn carry(&mut self, impairment: &Impairment, now: Instant) -> Fate {
        // Every frame takes three draws, so that changing one probability leaves the other decisions alone.
        let [lost, twice, late] = [(); 3].map(|()| self.random.next_u32());
        if impairment.loss.hits(lost) {
            return Fate::Lost;
        }
        let late = impairment.reorder.hits(late);
        let hold = if late { REORDER_HOLD } else { Duration::ZERO };
        let copies = if impairment.duplicate.hits(twice) { 2 } else { 1 };
        Fate::Arrives {
            at: now + impairment.delay.min(MAX_DELAY) + hold,
            copies,
            late,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_an_impairment() {
        let impairment: Impairment = "loss=10%, delay=20ms,duplicate=0.5%,reorder=100%"
            .parse()
            .unwrap();
        assert_eq!(impairment.loss, Probability::new(0.1).unwrap());
        assert_eq!(impairment.delay, Duration::from_millis(20));
        assert_eq!(impairment.duplicate, Probability::new(0.005).unwrap());
        assert_eq!(impairment.reorder, Probability::ALWAYS);
        assert_eq!("".parse(), Ok(Impairment::default()));
        assert_eq!(
            "delay=1500us".parse::<Impairment>().unwrap().delay,
            Duration::from_micros(1500)
        );
    }

    #[test]
    fn a_wrong_text_is_named() {
        for (text, part) in [
            ("loss=10", "loss=10"),
            ("delay=20ms,loss=101%", "loss=101%"),
            ("loss=-1%", "loss=-1%"),
            ("loss=NaN%", "loss=NaN%"),
            ("delay=20", "delay=20"),
            ("delay=11s", "delay=11s"),
            ("jitter=1ms", "jitter=1ms"),
            ("loss", "loss"),
        ] {
            let error = text.parse::<Impairment>().unwrap_err();
            assert_eq!(error.part, part, "{text}");
        }
    }

    /// How the first 10,000 frames of a lane fare; the seed makes every number exact.
    fn tally(impairment: &str, seed: u64) -> (usize, usize, usize) {
        let impairment = impairment.parse().unwrap();
        let mut lane = Lane::new(seed, 0);
        let (mut lost, mut twice, mut late_ones) = (0, 0, 0);
        let now = Instant::now();
        for _ in 0..10_000 {
            match lane.carry(&impairment, now) {
                Fate::Lost => lost += 1,
                Fate::Arrives { copies, late, .. } => {
                    twice += copies - 1;
                    late_ones += usize::from(late);
                }
            }
        }
        (lost, twice, late_ones)
    }

    #[test]
    fn each_fate_follows_from_its_three_draws() {
        let impairment: Impairment = "loss=10%,duplicate=5%,reorder=20%,delay=20ms".parse().unwrap();
        let mut lane = Lane::new(42, 6);
        let mut draws = ChaCha8Rng::seed_from_u64(42);
        draws.set_stream(6);
        let now = Instant::now();
        for frame in 0..10_000 {
            let mut below = |fraction: f64| f64::from(draws.next_u32()) / 4_294_967_296.0 < fraction;
            let (lost, twice, late) = (below(0.1), below(0.05), below(0.2));
            let time = Duration::from_millis(if late { 30 } else { 20 });
            let expected = match lost {
                true => Fate::Lost,
                false => Fate::Arrives {
                    at: now + time,
                    copies: 1 + usize::from(twice),
                    late,
                },
            };
            assert_eq!(lane.carry(&impairment, now), expected, "frame {frame}");
        }
    }

    #[test]
    fn never_and_always_are_exact() {
        assert_eq!(tally("", 1), (0, 0, 0));
        assert_eq!(tally("loss=100%", 1), (10_000, 0, 0));
        assert_eq!(tally("duplicate=100%,reorder=100%", 1), (0, 10_000, 10_000));
    }

    #[test]
    fn probabilities_hold_within_five_deviations() {
        for seed in 0..20 {
            let (lost, twice, late) = tally("loss=10%,duplicate=5%,reorder=20%", seed);
            // n·p ± 5·√(n·p·(1−p)): 1000 ± 150, of the 9000 left 450 ± 104 and 1800 ± 190.
            assert!((850..=1150).contains(&lost), "seed {seed}: {lost} lost");
            assert!((346..=554).contains(&twice), "seed {seed}: {twice} doubled");
            assert!((1600..=2000).contains(&late), "seed {seed}: {late} late");
        }
    }

    #[test]
    fn a_seed_repeats_and_another_differs() {
        let impairment = "loss=50%".parse().unwrap();
        let now = Instant::now();
        let run = |seed, stream| -> Vec<bool> {
            let mut lane = Lane::new(seed, stream);
            (0..256)
                .map(|_| lane.carry(&impairment, now) == Fate::Lost)
                .collect()
        };
        assert_eq!(run(7, 0), run(7, 0));
        assert_ne!(run(7, 0), run(8, 0));
        assert_ne!(run(7, 0), run(7, 1));
    }

    #[test]
    fn losses_do_not_depend_on_the_other_settings() {
        let now = Instant::now();
        let lost = |text: &str| -> Vec<bool> {
            let impairment = text.parse().unwrap();
            let mut lane = Lane::new(3, 0);
            (0..256)
                .map(|_| lane.carry(&impairment, now) == Fate::Lost)
                .collect()
        };
        assert_eq!(
            lost("loss=10%"),
            lost("loss=10%,duplicate=50%,reorder=30%,delay=5ms")
        );
    }
}
