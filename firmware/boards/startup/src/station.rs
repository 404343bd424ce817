//! A Wi-Fi station that stays in its network: it joins, waits for an address, and tries again with longer and longer
//! pauses. What it is told are [`Event`]s; what it says must be done next is a [`Step`].

use mcp_device::Millis;

/// For the radio to join, milliseconds: scan, authentication, association and WPA2's handshake.
const JOIN: u64 = 30_000;
/// For DHCP to give an address, milliseconds: several rounds of discovery.
const ADDRESS: u64 = 45_000;
/// With an address for so long, the network counts as good again, milliseconds.
const STEADY: u64 = 30_000;
/// Attempts in a row at which the radio fell silent, after which the board restarts: its driver may have lost count of the
/// frames that it is sending, and then sends no more. Some five minutes, for a network that has only lost its DHCP server.
const PATIENCE: u32 = 5;
/// First and longest pause, milliseconds. Each is twice the one before.
const PAUSE: [u64; 2] = [1_000, 60_000];

/// What has come to pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The radio is in the network.
    Joined,
    /// The radio could not join.
    Refused,
    /// There is an address.
    Addressed,
    /// The address is lost, while the radio is still in the network.
    Unaddressed,
    /// The radio is no longer in the network, or has left it as it was told.
    Gone,
    /// The time that the step gave has passed.
    Elapsed,
}

/// What must be done, until an event comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Join the network.
    Join {
        /// `Elapsed` is due then.
        until: Millis,
    },
    /// Watch the network and the address.
    Stay {
        /// `Elapsed` is due then; never if none.
        until: Option<Millis>,
    },
    /// Leave the network, or stop joining it.
    Leave,
    /// Restart the board. Nothing comes after it.
    Restart,
    /// Do nothing.
    Wait {
        /// `Elapsed` is due then.
        until: Millis,
    },
}

/// The station's memory.
#[derive(Clone, Debug)]
pub struct Station {
    step: Step,
    /// Attempts in a row that gave no address for [`STEADY`].
    failures: u32,
    /// Attempts since the last address that ended in silence: neither joined nor refused, or no address.
    silences: u32,
    addressed: Option<Millis>,
    random: u32,
}

impl Station {
    /// A station that has not yet joined. `seed` should differ between boards, so that they don't come back all at once.
    pub fn new(seed: u32, now: Millis) -> Self {
        Self {
            step: join(now),
            failures: 0,
            silences: 0,
            addressed: None,
            random: seed | 1,
        }
    }

    /// What must be done now.
    pub fn step(&self) -> Step {
        self.step
    }

    /// Attempts in a row that came to nothing.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Something has come to pass. An event that can't come during a step changes nothing.
    pub fn on(&mut self, event: Event, now: Millis) -> Step {
        self.step = match (self.step, event) {
            (Step::Join { .. }, Event::Joined) => Step::Stay {
                until: Some(after(now, ADDRESS)),
            },
            (Step::Stay { until: Some(_) }, Event::Addressed) => {
                self.addressed = Some(now);
                self.silences = 0;
                Step::Stay { until: None }
            }
            (Step::Stay { until: None }, Event::Unaddressed) => {
                self.settle(now);
                Step::Stay {
                    until: Some(after(now, ADDRESS)),
                }
            }
            (Step::Join { .. } | Step::Stay { until: Some(_) }, Event::Elapsed) => {
                self.silences += 1;
                if self.silences < PATIENCE {
                    Step::Leave
                } else {
                    Step::Restart
                }
            }
            (Step::Join { .. }, Event::Refused | Event::Gone)
            | (Step::Stay { .. } | Step::Leave, Event::Gone) => {
                self.settle(now);
                self.pause(now)
            }
            (Step::Wait { .. }, Event::Elapsed) => join(now),
            (step, _) => step,
        };
        self.step
    }

    /// Forgets earlier failures if the address was held for long enough.
    fn settle(&mut self, now: Millis) {
        let held = self.addressed.take();
        if held.is_some_and(|since| now.0.saturating_sub(since.0) >= STEADY) {
            self.failures = 0;
        }
    }

    fn pause(&mut self, now: Millis) -> Step {
        let [first, longest] = PAUSE;
        let whole = first.saturating_mul(1 << self.failures.min(16)).min(longest);
        self.failures = self.failures.saturating_add(1);
        // Up to a quarter less.
        let less = u64::from(self.next_random()) % (whole / 4 + 1);
        Step::Wait {
            until: after(now, whole - less),
        }
    }

    /// xorshift (Marsaglia 2003): enough to spread boards.
    fn next_random(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 17;
        self.random ^= self.random << 5;
        self.random
    }
}

fn join(now: Millis) -> Step {
    Step::Join {
        until: after(now, JOIN),
    }
}

fn after(now: Millis, time: u64) -> Millis {
    Millis(now.0.saturating_add(time))
}
