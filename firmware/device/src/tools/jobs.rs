//! Background jobs, started, looked at and stopped.

use alloc::boxed::Box;
use alloc::string::ToString;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{Call, ToolError};
use crate::jobs::{Args, Entry, Id, Job, Jobs, Order, PROGRAMS, Refusal, Status};
use crate::json::{Text, each_member, integer, members, string};
use crate::{Board, Device, Millis};

/// A text that is not empty.
fn text(value: &RawValue) -> Option<Text<'_>> {
    string(value).filter(|text| *text != *"")
}

fn owned(text: Text<'_>) -> Box<str> {
    text.to_string().into()
}

fn number<T: TryFrom<i64>>(value: Option<&RawValue>) -> Option<T> {
    value.and_then(integer).and_then(|value| value.try_into().ok())
}

// Defaults of the contract.
const STEPS: u16 = 10;
const STEP_MS: u32 = 100;
const TIMEOUT_MS: u32 = 60_000;
const WAIT_MS: u32 = 2000;

#[derive(Serialize)]
struct Started {
    job_id: Id,
    status: Status,
}

pub(super) async fn start<'a, B: Board>(
    device: &Device<B>,
    call: Call<'a, '_, '_>,
) -> Result<(), ToolError<'a>> {
    let names = ["program", "args", "name", "timeout_ms", "exclusive", "replace"];
    let [program, args, name, timeout, group, replace] = members(call.arguments, names).unwrap_or_default();
    let program = program.and_then(string).unwrap_or_default();
    let entry = PROGRAMS
        .iter()
        .find(|entry| program == *entry.name)
        .ok_or(ToolError::NotThere)?;
    let group = group.and_then(text).unwrap_or_default();
    let order = Order {
        entry,
        args: arguments(entry, args.map_or("{}", RawValue::get))?,
        name: owned(name.and_then(text).unwrap_or_default()),
        group: owned(group),
        timeout_ms: number(timeout).unwrap_or(TIMEOUT_MS),
        replace: replace.is_some_and(|replace| replace.get() == "true"),
    };
    let seed = device.board.entropy();
    let started = device.change_jobs(call.now, |jobs, outside| {
        jobs.start(order, seed, outside).map(|job| Started {
            job_id: job.id,
            status: job.status(),
        })
    });
    let started = started.map_err(|refusal| match refusal {
        Refusal::Full => ToolError::JobsFull,
        Refusal::GroupInUse(job) => ToolError::GroupInUse { group, job },
    })?;
    device.hurry();
    Ok(call.answer.structured(&started)?)
}

/// What a program is given; it must take all that was sent.
fn arguments(program: &'static Entry, args: &str) -> Result<Args, ToolError<'static>> {
    let names = ["steps", "step_ms", "reason"];
    let mut wrong = None;
    each_member(args, &mut |sent, _| {
        let argument = names.into_iter().find(|name| sent == **name);
        wrong = wrong.or(argument.filter(|name| !program.takes.contains(name)));
    });
    if let Some(argument) = wrong {
        return Err(ToolError::NotTaken { program, argument });
    }
    let [steps, step_ms, reason] = members(args, names).unwrap_or_default();
    Ok(Args {
        steps: number(steps).unwrap_or(STEPS),
        step_ms: number(step_ms).unwrap_or(STEP_MS),
        reason: reason.and_then(text).map(owned),
    })
}

#[derive(Serialize)]
struct Details<'a> {
    job_id: Id,
    program: &'static str,
    name: &'a str,
    exclusive: &'a str,
    status: Status,
    stopping: bool,
    runtime_ms: u64,
    timeout_ms: u32,
    summary: &'a str,
    log_lines: u32,
    log_truncated: bool,
    recent_log: &'a str,
}

pub(super) async fn get<'a, B: Board>(
    device: &Device<B>,
    call: Call<'a, '_, '_>,
) -> Result<(), ToolError<'a>> {
    let [id, name] = members(call.arguments, ["job_id", "name"]).unwrap_or_default();
    let jobs = device.jobs.borrow();
    let job = find(&jobs, id, name)?;
    Ok(call.answer.structured(&Details {
        job_id: job.id,
        program: job.entry.name,
        name: &job.name,
        exclusive: &job.group,
        status: job.status(),
        stopping: job.is_stopping(),
        runtime_ms: job.runtime(call.now),
        timeout_ms: job.timeout_ms,
        summary: job.summary(),
        log_lines: job.log.lines(),
        log_truncated: job.log.is_truncated(),
        recent_log: job.log.text(),
    })?)
}

/// The job that is meant by id or name.
fn find<'j, 'a>(
    jobs: &'j Jobs,
    id: Option<&'a RawValue>,
    name: Option<&'a RawValue>,
) -> Result<&'j Job, ToolError<'a>> {
    if let Some(id) = id.and_then(text) {
        return Id::read(id)
            .and_then(|id| jobs.with_id(id))
            .ok_or(ToolError::NoJobWithId(id));
    }
    let name = name.and_then(text).ok_or(ToolError::WhichJob)?;
    jobs.named(name).ok_or(ToolError::NoJobNamed(name))
}

#[derive(Serialize)]
#[serde(bound = "")] // what Sequence asks for is enough
struct List<I: Iterator<Item: Serialize> + Clone> {
    jobs: Sequence<I>,
}

/// Serialises as an array, without making one.
struct Sequence<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Sequence<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

#[derive(Serialize)]
struct Line<'a> {
    job_id: Id,
    program: &'static str,
    name: &'a str,
    exclusive: &'a str,
    status: Status,
    runtime_ms: u64,
}

pub(super) async fn list<'a, B: Board>(
    device: &Device<B>,
    call: Call<'a, '_, '_>,
) -> Result<(), ToolError<'a>> {
    let [wanted] = members(call.arguments, ["status"]).unwrap_or_default();
    let wanted = wanted.and_then(string);
    let jobs = device.jobs.borrow();
    let entries = jobs
        .iter()
        .filter(|job| wanted.is_none_or(|wanted| wanted == *job.status().name()))
        .map(|job| Line {
            job_id: job.id,
            program: job.entry.name,
            name: &job.name,
            exclusive: &job.group,
            status: job.status(),
            runtime_ms: job.runtime(call.now),
        });
    Ok(call.answer.structured(&List {
        jobs: Sequence(entries),
    })?)
}

#[derive(Serialize)]
struct Stopped {
    job_id: Id,
    status: Status,
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Stopped,
    Stopping,
    AlreadyEnded,
}

pub(super) async fn stop<'a, B: Board>(
    device: &Device<B>,
    call: Call<'a, '_, '_>,
) -> Result<(), ToolError<'a>> {
    let [id, name, wait] = members(call.arguments, ["job_id", "name", "wait_ms"]).unwrap_or_default();
    let (job_id, status) = find(&device.jobs.borrow(), id, name).map(|job| (job.id, job.status()))?;
    let (status, outcome) = match stop_those(device, call.now, wait, |job| job.id == job_id).await {
        (0, _) => (status, Outcome::AlreadyEnded),
        (_, 0) => (Status::Stopped, Outcome::Stopped),
        _ => (Status::Running, Outcome::Stopping),
    };
    Ok(call.answer.structured(&Stopped {
        job_id,
        status,
        outcome,
    })?)
}

#[derive(Serialize)]
struct AllStopped {
    stopped: usize,
    stopping: usize,
}

pub(super) async fn stop_all<'a, B: Board>(
    device: &Device<B>,
    call: Call<'a, '_, '_>,
) -> Result<(), ToolError<'a>> {
    let [group, wait] = members(call.arguments, ["exclusive", "wait_ms"]).unwrap_or_default();
    let group = group.and_then(text);
    let fits = |job: &Job| group.is_none_or(|group| group == *job.group);
    let (told, stopping) = stop_those(device, call.now, wait, fits).await;
    let stopped = told - stopping;
    Ok(call.answer.structured(&AllStopped { stopped, stopping })?)
}

/// Stops the live jobs that fit and waits for their end: how many these are, and how many still wind down.
async fn stop_those<B: Board>(
    device: &Device<B>,
    now: Millis,
    wait: Option<&RawValue>,
    fits: impl Fn(&Job) -> bool,
) -> (usize, usize) {
    let (told, winding) = device.change_jobs(now, |jobs, outside| jobs.stop(fits, outside));
    device.hurry();
    let wait = number(wait).unwrap_or(WAIT_MS);
    (told, device.wind_down(&winding, now, wait).await)
}
