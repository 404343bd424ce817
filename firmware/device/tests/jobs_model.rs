//! A random history of calls and of time passing, on a device and on a model of the contract that is as simple as can
//! be: a list of jobs that counts the steps each has left.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]
#[path = "support/bench.rs"]
mod bench;
mod support;

use bench::Bench;
use mcp_device::Millis;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use support::{Legacy, Modern};

#[derive(Clone, Debug)]
enum Act {
    Start {
        program: &'static str,
        steps: u64,
        step_ms: u64,
        timeout_ms: u64,
        name: &'static str,
        group: &'static str,
        replace: bool,
    },
    /// Stops the job of this place in the list, if there is one.
    Stop(usize),
    StopNamed(&'static str),
    StopAll(&'static str),
    /// Lets time pass; the device is polled once, however late that is.
    Pass(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let start = (
        select(vec!["count", "blink", "sweep", "sweep", "fail", "spin"]),
        1..4u64,
        10..60u64,
        select(vec![10, 45, 300, 60_000]),
        select(vec!["", "a", "b"]),
        select(vec!["", "", "g", "h"]),
        any::<bool>(),
    )
        .prop_map(
            |(program, steps, step_ms, timeout_ms, name, group, replace)| Act::Start {
                program,
                steps,
                step_ms,
                timeout_ms,
                name,
                group,
                replace,
            },
        );
    prop_oneof![
        8 => start,
        2 => (0..16usize).prop_map(Act::Stop),
        1 => select(vec!["a", "b"]).prop_map(Act::StopNamed),
        1 => select(vec!["", "g", "h"]).prop_map(Act::StopAll),
        6 => (0..90u64).prop_map(Act::Pass),
    ]
}

#[derive(Clone)]
struct Job {
    id: String,
    program: &'static str,
    name: &'static str,
    group: &'static str,
    step_ms: u64,
    timeout_ms: u64,
    status: &'static str,
    stopping: bool,
    /// When it began to run, its next step, how long it ran.
    began: u64,
    next: u64,
    ran: u64,
    /// Steps it has done, and how many there are in all; winding down, how many from here.
    done: u64,
    left: u64,
    repeats: u64,
    summary: String,
}

impl Job {
    fn is_live(&self) -> bool {
        ["queued", "running"].contains(&self.status)
    }

    /// Brightness of a sweep: up and down in twenty steps.
    fn brightness(&self) -> u64 {
        let phase = self.done % 20;
        if phase <= 10 {
            phase * 10
        } else {
            (20 - phase) * 10
        }
    }

    fn end(&mut self, status: &'static str, summary: String, now: u64) {
        if self.status == "running" {
            self.ran = now - self.began;
        }
        (self.status, self.stopping, self.summary) = (status, false, summary);
    }

    fn stop(&mut self, now: u64) {
        let lit = self.program == "sweep" && self.status == "running" && self.brightness() > 0;
        if lit && !self.stopping {
            self.stopping = true;
            self.left = self.brightness() / 10;
        } else if self.is_live() && !self.stopping {
            self.end("stopped", "stopped".into(), now);
        }
    }

    fn pass(&mut self, now: u64) {
        if self.status != "running" {
        } else if now >= self.began + self.timeout_ms {
            match self.stopping {
                true => self.end("stopped", "stopped".into(), now),
                false => self.end("timeout", format!("timed out after {} ms", self.timeout_ms), now),
            }
        } else if now >= self.next {
            self.next = now + self.step_ms;
            self.done += 1;
            self.left -= 1;
            if self.left == 0 {
                match (self.stopping, self.program) {
                    (true, _) => self.end("stopped", "stopped".into(), now),
                    (_, "fail") => self.end("failed", "failed as asked".into(), now),
                    _ => self.end("done", format!("steps done: {}", self.repeats), now),
                }
            }
        }
    }
}

#[derive(Default)]
struct Model(Vec<Job>);

impl Model {
    fn begin_queued(&mut self, now: u64) {
        for index in 0..self.0.len() {
            let running: Vec<_> = self.0.iter().filter(|job| job.status == "running").collect();
            let job = &self.0[index];
            let group_runs = running
                .iter()
                .any(|other| !job.group.is_empty() && other.group == job.group);
            if job.status == "queued" && running.len() < 4 && !group_runs {
                let job = &mut self.0[index];
                (job.status, job.began, job.next) = ("running", now, now + job.step_ms);
            }
        }
    }

    /// Stops what fits; how many have ended and how many wind down.
    fn stop(&mut self, now: u64, fits: impl Fn(&Job) -> bool) -> (usize, usize) {
        let (mut ended, mut stopping) = (0, 0);
        for job in self.0.iter_mut().filter(|job| job.is_live() && fits(job)) {
            job.stop(now);
            if job.stopping {
                stopping += 1;
            } else {
                ended += 1;
            }
        }
        self.begin_queued(now);
        (ended, stopping)
    }

    /// Whether a start is taken; the job has no id yet.
    fn start(&mut self, now: u64, job: Job, replace: bool) -> Result<(), String> {
        if self.0.iter().filter(|job| job.is_live()).count() == 16 {
            return Err(
                "16 jobs are live, and no more are kept; stop one with job_stop, or wait until one ends"
                    .into(),
            );
        }
        let rivals = |other: &Job| !job.group.is_empty() && other.group == job.group && other.is_live();
        if let Some(rival) = self.0.iter().rfind(|other| rivals(other)) {
            if !replace {
                return Err(format!(
                    "group {:?} is in use by job {}; stop it with job_stop, or set replace to have it stopped",
                    job.group, rival.id
                ));
            }
            self.0
                .iter_mut()
                .filter(|other| rivals(other))
                .for_each(|other| other.stop(now));
        }
        if self.0.len() == 16 {
            let oldest = self.0.iter().position(|job| !job.is_live()).unwrap();
            self.0.remove(oldest);
        }
        self.0.push(job);
        self.begin_queued(now);
        Ok(())
    }

    fn list(&self, now: u64, status: Option<&str>) -> Value {
        let fits = |job: &&Job| status.is_none_or(|status| job.status == status);
        let jobs: Vec<_> = self
            .0
            .iter()
            .filter(fits)
            .map(|job| {
                json!({"job_id": job.id, "program": job.program, "name": job.name, "exclusive": job.group,
                   "status": job.status, "runtime_ms": runtime(job, now)})
            })
            .collect();
        json!({"jobs": jobs})
    }
}

fn runtime(job: &Job, now: u64) -> u64 {
    if job.status == "running" {
        now - job.began
    } else {
        job.ran
    }
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_device_does_as_the_model(acts in prop::collection::vec(act(), 1..80), modern in any::<bool>()) {
        let mut bench = Bench::new(if modern { Modern } else { Legacy });
        let mut model = Model::default();
        // Each job as it was told when it had just ended. No id comes twice: the board's chance is never the same.
        let mut ended: Vec<(String, Value)> = Vec::new();
        let mut led_jobs = 0;
        for (turn, act) in acts.into_iter().enumerate() {
            let now = bench.now;
            bench.device.board().chance.set(100 * turn as u32);
            match act {
                Act::Start { program, steps, step_ms, timeout_ms, name, group, replace } => {
                    let args = match program {
                        "spin" => json!({}),
                        "fail" => json!({"step_ms": step_ms}),
                        _ => json!({"steps": steps, "step_ms": step_ms}),
                    };
                    let order = json!({"program": program, "args": args, "timeout_ms": timeout_ms, "name": name,
                                       "exclusive": group, "replace": replace});
                    let left = match program {
                        "blink" => 2 * steps,
                        "sweep" => 20 * steps,
                        "fail" => 1,
                        "spin" => u64::MAX,
                        _ => steps,
                    };
                    let job = Job {
                        id: String::new(), program, name, group, timeout_ms, left,
                        step_ms: if program == "spin" { 1 } else { step_ms },
                        status: "queued", stopping: false, began: 0, next: 0, ran: 0, done: 0,
                        repeats: steps, summary: String::new(),
                    };
                    led_jobs += usize::from(["blink", "sweep"].contains(&program));
                    let expected = model.start(now, job, replace);
                    let answer = bench.call("job_start", order).json();
                    match expected {
                        Err(told) => {
                            prop_assert_eq!(text(&answer), told);
                            prop_assert_eq!(&answer["result"]["isError"], true);
                        }
                        Ok(()) => {
                            let job = model.0.last_mut().unwrap();
                            job.id = answer["result"]["structuredContent"]["job_id"].as_str().unwrap().into();
                            prop_assert_eq!(
                                &answer["result"]["structuredContent"],
                                &json!({"job_id": job.id, "status": job.status})
                            );
                        }
                    }
                }
                Act::Stop(index) => {
                    let Some(job) = model.0.get(index).cloned() else { continue };
                    stopped(&bench, &mut model, &job, json!({"job_id": job.id, "wait_ms": 0}))?;
                }
                Act::StopNamed(name) => {
                    let named = |live: bool| {
                        model.0.iter().rfind(|job| job.name == name && (job.is_live() || !live)).cloned()
                    };
                    let Some(job) = named(true).or_else(|| named(false)) else { continue };
                    stopped(&bench, &mut model, &job, json!({"name": name, "wait_ms": 0}))?;
                }
                Act::StopAll(group) => {
                    let (stopped, stopping) = model.stop(now, |job| group.is_empty() || job.group == group);
                    let answer = bench.ask("job_stop_all", json!({"exclusive": group, "wait_ms": 0}));
                    prop_assert_eq!(answer, json!({"stopped": stopped, "stopping": stopping}));
                }
                Act::Pass(ms) => {
                    bench.now += ms;
                    let now = bench.now;
                    model.0.iter_mut().for_each(|job| job.pass(now));
                    model.begin_queued(now);
                    let due = bench.device.poll(Millis(now)).map(|due| due.0);
                    let running = model.0.iter().filter(|job| job.status == "running");
                    prop_assert_eq!(due, running.map(|job| job.next.min(job.began + job.timeout_ms)).min());
                    prop_assert!(due.is_none_or(|due| due > now));
                }
            }
            let now = bench.now;
            prop_assert_eq!(bench.ask("job_list", json!({})), model.list(now, None));
            let states = ["queued", "running", "done", "failed", "timeout", "stopped"];
            let status = states[turn % states.len()];
            let list = bench.ask("job_list", json!({"status": status}));
            prop_assert_eq!(list, model.list(now, Some(status)));
            for job in &model.0 {
                let told = bench.get(&job.id);
                for (member, value) in [
                    ("status", json!(job.status)),
                    ("stopping", json!(job.stopping)),
                    ("runtime_ms", json!(runtime(job, now))),
                    ("timeout_ms", json!(job.timeout_ms)),
                    ("summary", json!(job.summary)),
                    ("log_lines", json!(if job.program == "fail" { 0 } else { job.done })),
                ] {
                    prop_assert_eq!(&told[member], &value, "{} of {}", member, told);
                }
                if !job.is_live() && !ended.iter().any(|(id, _)| *id == job.id) {
                    ended.push((job.id.clone(), told.clone()));
                }
            }
        }
        bench.ask("job_stop_all", json!({"wait_ms": 0}));
        bench.pass(1000);
        // Two that drive the LED at a time may each find what the other did: that is what groups are for.
        prop_assert!(led_jobs > 1 || bench.led() == (false, 100), "the LED is not as it was found");
        prop_assert_eq!(bench.device.poll(Millis(bench.now)), None);
        // What had ended is still as it was, to the last line of its log.
        for (id, last) in ended.iter().filter(|(id, _)| model.0.iter().any(|job| job.id == *id)) {
            prop_assert_eq!(&bench.get(id), last);
        }
    }
}

fn stopped(bench: &Bench, model: &mut Model, job: &Job, arguments: Value) -> Result<(), TestCaseError> {
    let told = model.stop(bench.now, |other| other.id == job.id);
    let (status, outcome) = match told {
        (1, 0) => ("stopped", "stopped"),
        (0, 1) => ("running", "stopping"),
        _ => (job.status, "already_ended"),
    };
    let expected = json!({"job_id": job.id, "status": status, "outcome": outcome});
    prop_assert_eq!(bench.ask("job_stop", arguments), expected);
    Ok(())
}
