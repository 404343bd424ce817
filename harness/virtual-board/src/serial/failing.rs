//! How far a board's fault has got. Pure: the time, what was printed and what was written go in.

use std::time::{Duration, Instant};

use super::fault::{Fault, Moment, Planned};

/// Above this a slow line damages bytes.
const SLOW: u32 = 460_800;
/// Between two bytes of a trickle, and between two bursts of noise.
const TRICKLE: Duration = Duration::from_millis(50);
const NOISE: Duration = Duration::from_millis(10);
/// Bytes of a burst.
const BURST: usize = 64;
/// How much of the console is looked at for a fault's moment.
const RECENT: usize = 8 << 10;

/// The fault that was asked for, if any.
pub(super) struct Failing {
    planned: Option<Planned>,
    asked: Instant,
    begun: bool,
    /// When the next byte of a trickle, or burst of noise, is due.
    chatter: Instant,
    random: u32,
    recent: Vec<u8>,
}

impl Failing {
    /// Asks for a fault, now.
    pub fn new(planned: Option<Planned>, now: Instant) -> Self {
        Failing {
            planned,
            asked: now,
            begun: false,
            chatter: now,
            random: 1,
            recent: Vec::new(),
        }
    }

    /// The fault that a chip has which is reset now.
    pub fn at_reset(&self) -> Option<Fault> {
        let planned = self.planned.as_ref()?;
        (self.begun || planned.at == Moment::Start).then_some(planned.fault)
    }

    /// Takes note of what the console has printed.
    pub fn note(&mut self, printed: &[u8]) {
        self.recent.extend(printed);
        let surplus = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..surplus);
    }

    /// Forgets it.
    pub fn forget_console(&mut self) {
        self.recent.clear();
    }

    /// The fault, if it begins at this instant, with so many blocks written.
    pub fn begin(&mut self, now: Instant, blocks: usize) -> Option<Fault> {
        let planned = self.planned.as_ref().filter(|_| !self.begun)?;
        let come = match &planned.at {
            Moment::Start => true,
            Moment::Blocks(count) => blocks >= *count,
            // A line is whole before anything happens to the board.
            Moment::Console(text) => {
                let printed = String::from_utf8_lossy(&self.recent);
                printed
                    .rsplit_once('\n')
                    .is_some_and(|(lines, _)| lines.contains(text))
            }
            Moment::After(time) => self.asked + *time <= now,
        };
        self.begun = come;
        come.then_some(planned.fault)
    }

    /// When something happens by itself next.
    pub fn next_moment(&self) -> Option<Instant> {
        match self.planned.as_ref()?.at {
            _ if self.begun => self.every().map(|_| self.chatter),
            Moment::After(time) => Some(self.asked + time),
            _ => None,
        }
    }

    /// Bytes that come by themselves, if it is time for some.
    pub fn chatter(&mut self, now: Instant) -> Option<Vec<u8>> {
        let every = self.every().filter(|_| self.chatter <= now)?;
        self.chatter = now + every;
        if self.has_begun(Fault::Trickle) {
            return Some(vec![b'\n']);
        }
        let burst = std::iter::repeat_with(|| {
            // Xorshift: any bytes will do, the same each time.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            self.random as u8
        });
        Some(burst.take(BURST).collect())
    }

    /// What a line does to bytes that is too slow for their speed.
    pub fn damage(&self, baud: u32, bytes: &mut [u8]) {
        if self.has_begun(Fault::SlowLine) && baud > SLOW {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = byte.rotate_left(3) ^ 0x5a);
        }
    }

    fn has_begun(&self, fault: Fault) -> bool {
        let planned = self.planned.as_ref();
        self.begun && planned.is_some_and(|planned| planned.fault == fault)
    }

    fn every(&self) -> Option<Duration> {
        if self.has_begun(Fault::Trickle) {
            Some(TRICKLE)
        } else if self.has_begun(Fault::LineNoise) {
            Some(NOISE)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(text: &str, now: Instant) -> Failing {
        Failing::new(Some(text.parse().unwrap()), now)
    }

    #[test]
    fn each_moment_comes_once() {
        let now = Instant::now();
        let later = now + Duration::from_secs(2);
        let mut one = failing("hung@after=2s", now);
        assert_eq!((one.begin(now, 9), one.next_moment()), (None, Some(later)));
        assert_eq!(
            (one.begin(later, 0), one.begin(later, 0)),
            (Some(Fault::Hung), None)
        );
        assert_eq!(one.next_moment(), None);
        let mut one = failing("port-lost@blocks=3", now);
        assert_eq!(
            (one.begin(now, 2), one.begin(now, 3)),
            (None, Some(Fault::PortLost))
        );
        assert_eq!(failing("wrong-chip", now).begin(now, 0), Some(Fault::WrongChip));
        assert_eq!(Failing::new(None, now).begin(later, 99), None);
    }

    #[test]
    fn a_line_of_the_console_is_whole_before_it_counts() {
        let now = Instant::now();
        let mut one = failing("rebooted@console=stage=serving", now);
        one.note(b"boot stage=ser");
        one.note(b"ving url=http://10");
        assert_eq!(one.begin(now, 0), None);
        one.note(b".0.0.1/\r\n");
        assert_eq!(one.begin(now, 0), Some(Fault::Rebooted));
        let mut other = failing("hung", now);
        other.note(b"stage=serving\n");
        other.forget_console();
        assert_eq!(other.begin(now, 0), None);
        other.note(&[b'x'; 3 * RECENT]);
        assert!(other.recent.len() <= RECENT);
    }

    #[test]
    fn a_trickle_has_its_pace() {
        let now = Instant::now();
        let mut one = failing("trickle", now);
        assert_eq!(one.chatter(now), None, "it has not begun");
        one.begin(now, 0);
        assert_eq!(one.chatter(now), Some(b"\n".to_vec()));
        assert_eq!(one.chatter(now), None);
        assert_eq!(one.next_moment(), Some(now + TRICKLE));
    }
}
