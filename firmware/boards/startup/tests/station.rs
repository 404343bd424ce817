//! The station's joining, as a script of what happens and what it does about it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

use mcp_device::Millis;
use mcp_hil_board_startup::station::{Event, Station, Step};

/// A station and its clock.
struct Script {
    station: Station,
    now: u64,
}

impl Script {
    fn new(seed: u32) -> Self {
        Self {
            station: Station::new(seed, Millis(0)),
            now: 0,
        }
    }

    fn on(&mut self, event: Event) -> Step {
        self.station.on(event, Millis(self.now))
    }

    /// Lets the time pass that the station waits for, and gives its length.
    fn sit_out(&mut self) -> u64 {
        let start = self.now;
        match self.station.step() {
            Step::Wait { until } => self.now = until.0,
            step => panic!("{step:?} is no pause"),
        }
        assert_eq!(
            self.on(Event::Elapsed),
            Step::Join {
                until: Millis(self.now + 30_000)
            }
        );
        self.now - start
    }

    /// Joins and gets an address.
    fn come_up(&mut self) {
        assert_eq!(
            self.on(Event::Joined),
            Step::Stay {
                until: Some(Millis(self.now + 45_000))
            }
        );
        assert_eq!(self.on(Event::Addressed), Step::Stay { until: None });
    }
}

#[test]
fn it_joins_at_once_and_stays() {
    let mut script = Script::new(7);
    assert_eq!(
        script.station.step(),
        Step::Join {
            until: Millis(30_000)
        }
    );
    script.come_up();
    script.now = 1_000_000;
    assert_eq!(
        script.on(Event::Elapsed),
        Step::Stay { until: None },
        "nothing was due"
    );
}

#[test]
fn pauses_double_up_to_a_minute_and_vary_by_a_quarter() {
    let mut script = Script::new(7);
    for longest in [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000] {
        script.on(Event::Refused);
        let pause = script.sit_out();
        assert!(
            (longest * 3 / 4..=longest).contains(&pause),
            "{pause} of {longest}"
        );
    }
    assert_eq!(script.station.failures(), 9);
}

#[test]
fn boards_that_lose_their_network_together_come_back_apart() {
    let pauses: Vec<u64> = [1, 0x1000_0001, 0xdead_beef]
        .map(|seed| {
            let mut script = Script::new(seed);
            (0..6)
                .map(|_| {
                    script.on(Event::Refused);
                    script.sit_out()
                })
                .sum()
        })
        .to_vec();
    assert!(pauses[0] != pauses[1] && pauses[1] != pauses[2], "{pauses:?}");
}

#[test]
fn a_network_that_held_is_rejoined_soon_and_one_that_flaps_is_not() {
    for (held, pause) in [(29_999, 2_000), (30_000, 1_000)] {
        let mut script = Script::new(7);
        script.on(Event::Refused);
        script.sit_out();
        script.come_up();
        script.now += held;
        script.on(Event::Gone);
        let found = script.sit_out();
        assert!(
            (pause * 3 / 4..=pause).contains(&found),
            "held {held} ms: {found}"
        );
    }
}

#[test]
fn a_join_that_never_ends_is_stopped_and_tried_again() {
    let mut script = Script::new(7);
    script.now = 30_000;
    assert_eq!(script.on(Event::Elapsed), Step::Leave);
    assert_eq!(
        script.on(Event::Refused),
        Step::Leave,
        "an answer that comes late"
    );
    script.on(Event::Gone);
    assert!(script.sit_out() <= 1_000);
}

#[test]
fn a_network_without_addresses_is_left_after_45_s() {
    let mut script = Script::new(7);
    script.on(Event::Joined);
    script.now = 45_000;
    assert_eq!(script.on(Event::Elapsed), Step::Leave);
    script.on(Event::Gone);
    assert_eq!(script.station.failures(), 1);
    script.sit_out();
    script.come_up();
}

#[test]
fn an_address_that_is_lost_may_come_back() {
    let mut script = Script::new(7);
    script.on(Event::Joined);
    script.on(Event::Addressed);
    script.now = 100_000;
    assert_eq!(
        script.on(Event::Unaddressed),
        Step::Stay {
            until: Some(Millis(145_000))
        }
    );
    assert_eq!(script.on(Event::Addressed), Step::Stay { until: None });
}

#[test]
fn a_network_lost_before_its_address_counts_as_a_failure() {
    let mut script = Script::new(7);
    for failures in 1..=3 {
        script.on(Event::Joined);
        script.on(Event::Gone);
        assert_eq!(script.station.failures(), failures);
        script.sit_out();
    }
}

#[test]
fn a_radio_that_stays_silent_is_restarted_with_the_board() {
    let mut script = Script::new(7);
    for attempt in 1..=5 {
        if attempt % 2 == 0 {
            script.on(Event::Joined);
        }
        let due = if attempt < 5 { Step::Leave } else { Step::Restart };
        assert_eq!(script.on(Event::Elapsed), due, "attempt {attempt}");
        if due == Step::Leave {
            script.on(Event::Gone);
            script.sit_out();
        }
    }
    assert_eq!(script.on(Event::Gone), Step::Restart, "nothing comes after it");
}

#[test]
fn neither_a_refusal_nor_a_network_that_gave_an_address_restarts_the_board() {
    let mut script = Script::new(7);
    for _ in 0..20 {
        script.on(Event::Refused);
        script.sit_out();
    }
    for _ in 0..20 {
        for _ in 0..4 {
            script.on(Event::Joined);
            assert_eq!(script.on(Event::Elapsed), Step::Leave);
            script.on(Event::Gone);
            script.sit_out();
        }
        script.come_up();
        script.on(Event::Gone);
        script.sit_out();
    }
}
