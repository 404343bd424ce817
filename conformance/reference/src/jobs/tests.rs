//! Scripts of the job table: what is asked at which millisecond, and what is there then.

use super::{Job, Jobs, Kind, Millis, Order, Program, Refusal};
use crate::state::Led;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const DARK: Led = Led {
    on: false,
    brightness: 70,
};

/// State, run time, summary and log.
type Seen = (&'static str, u64, String, String);

struct Table {
    jobs: Jobs,
    now: Millis,
    led: Led,
}

fn table() -> Table {
    Table {
        jobs: Jobs::new(0),
        now: 0,
        led: DARK,
    }
}

/// Of three steps or rounds, 10 ms each, a minute at most, without name or group.
fn order(kind: Kind) -> Order {
    Order {
        program: Program::new(kind, 3, 10, "broken".to_owned()),
        name: String::new(),
        group: String::new(),
        timeout_ms: 60_000,
        replace: false,
    }
}

fn in_group(kind: Kind, group: &str, replace: bool) -> Order {
    Order {
        group: group.to_owned(),
        replace,
        ..order(kind)
    }
}

impl Table {
    fn start(&mut self, order: Order) -> Result<String, Refusal> {
        let job = self.jobs.start(order, self.now, &mut self.led)?;
        Ok(job.id.clone())
    }

    fn stop(&mut self, id: &str) {
        self.jobs.stop(|job| job.id == id, self.now, &mut self.led);
    }

    /// Lets time go on, stepping the jobs whenever they are due.
    fn until(&mut self, time: Millis) {
        while let Some(due) = self.jobs.next_due().filter(|due| *due <= time) {
            assert!(due > self.now, "what is due lies in the future");
            self.now = due;
            self.jobs.advance(due, &mut self.led);
        }
        self.now = time;
    }

    fn job(&self, id: &str) -> &Job {
        self.jobs.with_id(id).unwrap()
    }

    fn status(&self, id: &str) -> &'static str {
        self.job(id).status()
    }

    fn seen(&self, id: &str) -> Seen {
        let job = self.job(id);
        (
            job.status(),
            job.runtime_ms(self.now),
            job.summary(),
            job.log.text(),
        )
    }
}

fn seen(status: &'static str, runtime_ms: u64, summary: &str, log: &str) -> Seen {
    (status, runtime_ms, summary.to_owned(), log.to_owned())
}

#[test]
fn count_has_its_first_step_after_one_pace() {
    let mut table = table();
    table.now = 5;
    let id = table.start(order(Kind::Count)).unwrap();
    table.until(14);
    assert_eq!(table.seen(&id), seen("running", 9, "", ""));
    table.until(15);
    assert_eq!(table.seen(&id), seen("running", 10, "", "1\n"));
    table.until(100);
    assert_eq!(table.seen(&id), seen("done", 30, "steps done: 3", "1\n2\n3\n"));
}

#[test]
fn a_late_step_is_one_step_and_puts_off_the_next() {
    let mut table = table();
    let id = table.start(order(Kind::Count)).unwrap();
    table.jobs.advance(25, &mut table.led);
    assert_eq!((table.job(&id).log.lines(), table.jobs.next_due()), (1, Some(35)));
}

#[test]
fn blink_keeps_the_brightness_and_gives_the_led_back() {
    let mut table = table();
    let id = table.start(order(Kind::Blink)).unwrap();
    table.until(10);
    assert_eq!((table.led.on, table.led.brightness), (true, 70));
    // What a user sets meanwhile shows, and goes.
    table.led.brightness = 5;
    table.until(30);
    assert_eq!((table.led.on, table.led.brightness), (true, 5));
    table.until(60);
    assert_eq!(
        table.seen(&id),
        seen("done", 60, "steps done: 3", "on\noff\non\noff\non\noff\n")
    );
    assert_eq!((table.led.on, table.led.brightness), (false, 70));
}

#[test]
fn sweep_goes_up_and_down_in_tens() {
    let mut table = table();
    let id = table.start(order(Kind::Sweep)).unwrap();
    let mut levels = Vec::new();
    for step in 1..=21 {
        table.until(10 * step);
        levels.push(table.led.brightness);
    }
    let golden = [
        10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 90, 80, 70, 60, 50, 40, 30, 20, 10, 0, 10,
    ];
    assert_eq!(levels, golden);
    table.until(599);
    assert_eq!((table.status(&id), table.led.brightness), ("running", 10));
    table.until(600);
    assert_eq!(
        (table.status(&id), table.led.on, table.led.brightness),
        ("done", false, 70)
    );
    assert_eq!(
        (table.job(&id).log.lines(), table.job(&id).summary()),
        (60, "steps done: 3".to_owned())
    );
}

#[test]
fn sweep_winds_down_from_either_side() {
    for (told_at, log, end) in [
        (30, "10 %\n20 %\n30 %\n20 %\n10 %\n0 %\n", 60),
        (10, "10 %\n0 %\n", 20),
    ] {
        let mut table = table();
        let id = table.start(order(Kind::Sweep)).unwrap();
        table.until(told_at);
        table.stop(&id);
        assert!(table.job(&id).is_stopping());
        table.until(end - 1);
        // Again, without effect.
        table.stop(&id);
        assert_eq!(table.status(&id), "running");
        table.until(end);
        assert_eq!(table.seen(&id), seen("stopped", end, "stopped", log));
        assert_eq!(table.led.brightness, 70);
    }
    // On its way down already, and in its last round: it has stopped, and is not done.
    let mut table = table();
    let id = table.start(order(Kind::Sweep)).unwrap();
    table.until(550);
    table.stop(&id);
    table.until(600);
    assert_eq!(
        (table.status(&id), table.job(&id).runtime_ms(table.now)),
        ("stopped", 600)
    );
    assert!(
        table
            .job(&id)
            .log
            .text()
            .ends_with("\n60 %\n50 %\n40 %\n30 %\n20 %\n10 %\n0 %\n")
    );
}

#[test]
fn sweep_that_is_dark_stops_at_once() {
    for told_at in [5, 200] {
        let mut table = table();
        let id = table.start(order(Kind::Sweep)).unwrap();
        table.until(told_at);
        table.stop(&id);
        assert_eq!(
            (table.status(&id), table.led.brightness),
            ("stopped", 70),
            "{told_at}"
        );
    }
}

#[test]
fn fail_tells_its_reason() {
    let mut table = table();
    let id = table.start(order(Kind::Fail)).unwrap();
    table.until(10);
    assert_eq!(table.seen(&id), seen("failed", 10, "broken", ""));
}

#[test]
fn time_ends_a_job_and_what_winds_down() {
    let mut table = table();
    let limited = |kind, timeout_ms| Order {
        timeout_ms,
        ..order(kind)
    };
    // A last step together with the timeout is a timeout.
    let together = table.start(limited(Kind::Count, 30)).unwrap();
    let spin = table.start(limited(Kind::Spin, 15)).unwrap();
    let sweep = table.start(limited(Kind::Sweep, 45)).unwrap();
    table.until(40);
    assert_eq!(
        table.seen(&together),
        seen("timeout", 30, "timed out after 30 ms", "1\n2\n")
    );
    assert_eq!(
        (table.status(&spin), table.job(&spin).log.lines()),
        ("timeout", 14)
    );
    table.stop(&sweep);
    table.until(45);
    assert_eq!(
        table.seen(&sweep),
        seen("stopped", 45, "stopped", "10 %\n20 %\n30 %\n40 %\n")
    );
    assert_eq!(table.led.brightness, 70);
}

#[test]
fn four_run_and_the_queue_goes_in_order() {
    let mut table = table();
    let ids: Vec<_> = (0..6).map(|_| table.start(order(Kind::Spin)).unwrap()).collect();
    assert_eq!(ids.iter().filter(|id| table.status(id) == "running").count(), 4);
    table.until(50);
    assert_eq!(table.seen(&ids[4]), seen("queued", 0, "", ""));
    table.stop(&ids[2]);
    assert_eq!(
        (table.status(&ids[4]), table.status(&ids[5])),
        ("running", "queued")
    );
    table.until(53);
    assert_eq!(table.job(&ids[4]).runtime_ms(table.now), 3);
    // All at once: none of those that wait begins.
    table.jobs.stop(|_| true, table.now, &mut table.led);
    assert_eq!(table.seen(&ids[5]), seen("stopped", 0, "stopped", ""));
}

#[test]
fn a_group_has_one_job_at_a_time() {
    let mut table = table();
    let sweep = table.start(in_group(Kind::Sweep, "led", false)).unwrap();
    assert_eq!(
        table.start(in_group(Kind::Spin, "led", false)),
        Err(Refusal::InUse { id: sweep.clone() })
    );
    assert_eq!(table.status(&sweep), "running");
    table.until(10);
    let next = table.start(in_group(Kind::Spin, "led", true)).unwrap();
    // Both are live: the last started is named, and both are told to go.
    assert_eq!(
        table.start(in_group(Kind::Spin, "led", false)),
        Err(Refusal::InUse { id: next.clone() })
    );
    let last = table.start(in_group(Kind::Spin, "led", true)).unwrap();
    assert_eq!(
        (table.status(&sweep), table.status(&next), table.status(&last)),
        ("running", "stopped", "queued")
    );
    // A later job that may run does not wait behind one that may not.
    let free = table.start(order(Kind::Spin)).unwrap();
    assert_eq!(table.status(&free), "running");
    table.until(20);
    assert_eq!(
        (table.status(&sweep), table.status(&last)),
        ("stopped", "running")
    );
}

#[test]
fn sixteen_are_kept_and_the_first_ended_gives_way() {
    let mut table = table();
    let ids: Vec<_> = (0..16).map(|_| table.start(order(Kind::Spin)).unwrap()).collect();
    assert_eq!(table.start(in_group(Kind::Count, "g", true)), Err(Refusal::Full));
    table.stop(&ids[3]);
    table.stop(&ids[1]);
    let one = table.start(order(Kind::Spin)).unwrap();
    assert!(table.jobs.with_id(&ids[1]).is_none() && table.jobs.with_id(&ids[3]).is_some());
    table.start(order(Kind::Spin)).unwrap();
    assert!(table.jobs.with_id(&ids[3]).is_none() && table.jobs.with_id(&one).is_some());
    assert_eq!(table.start(order(Kind::Count)), Err(Refusal::Full));
}

#[test]
fn a_name_means_the_last_started_that_lives() {
    let mut table = table();
    let named = || Order {
        name: "n".to_owned(),
        ..order(Kind::Spin)
    };
    let (first, second) = (table.start(named()).unwrap(), table.start(named()).unwrap());
    let meant = |table: &Table| table.jobs.with_name("n").unwrap().id.clone();
    assert_eq!(meant(&table), second);
    table.stop(&second);
    assert_eq!(meant(&table), first);
    table.stop(&first);
    assert_eq!(meant(&table), second);
    assert!(table.jobs.with_name("N").is_none());
}

#[derive(Clone, Debug)]
enum Act {
    Start {
        kind: Kind,
        steps: u64,
        timeout_ms: u64,
        group: &'static str,
        replace: bool,
    },
    Stop(Index),
    StopGroup(&'static str),
    Wait(Millis),
}

fn act() -> impl Strategy<Value = Act> {
    let start = (
        select(&Kind::ALL[..]),
        1_u64..4,
        select(vec![10, 50, 60_000]),
        select(vec!["", "", "a", "b"]),
        any::<bool>(),
    );
    prop_oneof![
        4 => start.prop_map(|(kind, steps, timeout_ms, group, replace)| Act::Start {
            kind, steps, timeout_ms, group, replace
        }),
        1 => any::<Index>().prop_map(Act::Stop),
        1 => select(vec!["", "a", "b"]).prop_map(Act::StopGroup),
        3 => (0_u64..60).prop_map(Act::Wait),
    ]
}

/// What an ended job shows.
fn ended(table: &Table) -> Vec<(String, Seen)> {
    let ended = table.jobs.iter().filter(|job| !job.is_live());
    ended.map(|job| (job.id.clone(), table.seen(&job.id))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_asked_the_bounds_hold(acts in proptest::collection::vec(act(), 0..80)) {
        let mut table = table();
        for act in acts {
            let before = ended(&table);
            let mut live: Vec<_> = table.jobs.iter().filter(|job| job.is_live()).map(|job| job.id.clone()).collect();
            match act {
                Act::Start { kind, steps, timeout_ms, group, replace } => {
                    let is_rival = |job: &&Job| job.is_live() && !group.is_empty() && job.group == group;
                    let rivals: Vec<_> = table.jobs.iter().filter(is_rival).map(|job| job.id.clone()).collect();
                    let clash = !rivals.is_empty();
                    let order = Order {
                        program: Program::new(kind, steps, 10, "broken".to_owned()),
                        name: String::new(),
                        group: group.to_owned(),
                        timeout_ms,
                        replace,
                    };
                    match table.start(order) {
                        Ok(id) => {
                            prop_assert!(live.len() < 16 && (replace || !clash));
                            // one that was replaced ended by that, and may make room for the new one
                            live.retain(|id| !rivals.contains(id));
                            prop_assert!(table.job(&id).is_live());
                        }
                        Err(Refusal::Full) => prop_assert_eq!(live.len(), 16),
                        Err(Refusal::InUse { .. }) => prop_assert!(clash && !replace),
                    }
                }
                Act::Stop(index) if !live.is_empty() => table.stop(&live[index.index(live.len())]),
                Act::Stop(_) => {}
                Act::StopGroup(group) => {
                    let (now, led) = (table.now, &mut table.led);
                    table.jobs.stop(|job| group.is_empty() || job.group == group, now, led);
                }
                Act::Wait(time) => table.until(table.now + time),
            }
            // Live jobs are never forgotten, and ended ones never change.
            for id in &live {
                prop_assert!(table.jobs.with_id(id).is_some());
            }
            for (id, seen) in before {
                if table.jobs.with_id(&id).is_some() {
                    prop_assert_eq!(table.seen(&id), seen);
                }
            }
            let running: Vec<_> = table.jobs.iter().filter(|job| job.status() == "running").collect();
            prop_assert!(table.jobs.iter().count() <= 16 && running.len() <= 4);
            for group in ["a", "b"] {
                prop_assert!(running.iter().filter(|job| job.group == group).count() <= 1);
            }
            // Nobody waits who may run.
            prop_assert!(table.jobs.next_to_begin().is_none());
            for job in table.jobs.iter() {
                prop_assert!(job.log.text().len() <= 2048);
                prop_assert_eq!(job.summary().is_empty(), job.is_live());
            }
        }
        let all = table.jobs.stop(|_| true, table.now, &mut table.led);
        table.until(table.now + 200);
        prop_assert_eq!((table.jobs.live_among(&all), table.jobs.next_due()), (0, None));
    }
}
