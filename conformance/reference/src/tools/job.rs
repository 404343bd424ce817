//! Starting, finding and stopping background jobs.

use super::{Outcome, Waiting};
use crate::jobs::{Job, Jobs, Kind, Order, Program, Refusal};
use crate::json::Json;
use crate::state::{Board, State};

const STEPS_DEFAULT: u64 = 10;
const STEP_MS_DEFAULT: u64 = 100;
const TIMEOUT_MS_DEFAULT: u64 = 60_000;
const WAIT_MS_DEFAULT: u64 = 2000;
const REASON_DEFAULT: &str = "failed as asked";

pub(super) fn start(state: &State, arguments: &Json) -> Outcome {
    let order = match order(arguments) {
        Ok(order) => order,
        Err(reason) => return Outcome::Failed(reason),
    };
    let group = Json::from(&*order.group);
    let mut board = state.board();
    let Board { now, jobs, led, .. } = &mut *board;
    let outcome = match jobs.start(order, *now, led) {
        Ok(job) => Outcome::Structured(Json::object([
            ("job_id", (&*job.id).into()),
            ("status", job.status().into()),
        ])),
        Err(Refusal::Full) => Outcome::Failed(
            "16 jobs are live, and no more are kept; stop one with job_stop, or wait until one ends"
                .to_owned(),
        ),
        Err(Refusal::InUse { id }) => Outcome::Failed(format!(
            "group {group} is in use by job {id}; stop it with job_stop, or set replace to have it stopped"
        )),
    };
    state.jobs_changed();
    outcome
}

/// What is asked for, or which argument the program has no use for.
fn order(arguments: &Json) -> Result<Order, String> {
    let program = text(arguments, "program");
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == program);
    let kind = kind.ok_or_else(|| format!("there is no program {}", Json::from(program)))?;
    let none = Json::object([]);
    let args = arguments.get("args").unwrap_or(&none);
    let takes = kind.takes();
    let mut names = args.as_object().unwrap_or_default().iter();
    if let Some((name, _)) = names.find(|(name, _)| !takes.contains(&&**name)) {
        let name = Json::from(&**name);
        let takes = match takes {
            [] => "nothing".to_owned(),
            _ => takes.join(", "),
        };
        return Err(format!(
            "program {program} does not take {name}; it takes {takes}"
        ));
    }
    let reason = Some(text(args, "reason")).filter(|reason| !reason.is_empty());
    Ok(Order {
        program: Program::new(
            kind,
            number(args, "steps", STEPS_DEFAULT),
            number(args, "step_ms", STEP_MS_DEFAULT),
            reason.unwrap_or(REASON_DEFAULT).to_owned(),
        ),
        name: text(arguments, "name").to_owned(),
        group: text(arguments, "exclusive").to_owned(),
        timeout_ms: number(arguments, "timeout_ms", TIMEOUT_MS_DEFAULT),
        replace: arguments.get("replace").and_then(Json::as_bool) == Some(true),
    })
}

pub(super) fn get(state: &State, arguments: &Json) -> Outcome {
    let board = state.board();
    match find(&board.jobs, arguments) {
        Err(reason) => Outcome::Failed(reason),
        Ok(job) => Outcome::Structured(Json::object([
            ("job_id", (&*job.id).into()),
            ("program", job.program.kind().name().into()),
            ("name", (&*job.name).into()),
            ("exclusive", (&*job.group).into()),
            ("status", job.status().into()),
            ("stopping", job.is_stopping().into()),
            ("runtime_ms", job.runtime_ms(board.now).into()),
            ("timeout_ms", job.timeout_ms.into()),
            ("summary", job.summary().into()),
            ("log_lines", job.log.lines().into()),
            ("log_truncated", job.log.is_truncated().into()),
            ("recent_log", job.log.text().into()),
        ])),
    }
}

pub(super) fn list(state: &State, arguments: &Json) -> Outcome {
    let status = arguments.get("status").and_then(Json::as_str);
    let board = state.board();
    let entry = |job: &Job| {
        Json::object([
            ("job_id", (&*job.id).into()),
            ("program", job.program.kind().name().into()),
            ("name", (&*job.name).into()),
            ("exclusive", (&*job.group).into()),
            ("status", job.status().into()),
            ("runtime_ms", job.runtime_ms(board.now).into()),
        ])
    };
    let jobs = board.jobs.iter();
    let listed = jobs.filter(|job| status.is_none_or(|status| job.status() == status));
    Outcome::Structured(Json::object([("jobs", listed.map(entry).collect())]))
}

pub(super) fn stop<'a>(state: &'a State, arguments: &'a Json) -> Waiting<'a> {
    Box::pin(async {
        let (id, already) = {
            let mut board = state.board();
            let (id, status, is_live) = match find(&board.jobs, arguments) {
                Ok(job) => (job.id.clone(), job.status(), job.is_live()),
                Err(reason) => return Outcome::Failed(reason),
            };
            if is_live {
                board.stop(|job| job.id == id);
            }
            (id, (!is_live).then_some(status))
        };
        let (status, outcome) = match already {
            Some(status) => (status, "already_ended"),
            None => match wait(state, std::slice::from_ref(&id), arguments).await {
                0 => ("stopped", "stopped"),
                _ => ("running", "stopping"),
            },
        };
        Outcome::Structured(Json::object([
            ("job_id", id.into()),
            ("status", status.into()),
            ("outcome", outcome.into()),
        ]))
    })
}

pub(super) fn stop_all<'a>(state: &'a State, arguments: &'a Json) -> Waiting<'a> {
    Box::pin(async {
        let group = text(arguments, "exclusive");
        let told = state.board().stop(|job| group.is_empty() || job.group == group);
        let stopping = wait(state, &told, arguments).await;
        Outcome::Structured(Json::object([
            ("stopped", ((told.len() - stopping) as u64).into()),
            ("stopping", (stopping as u64).into()),
        ]))
    })
}

/// Waits until none of these jobs winds down any more, at most for `wait_ms`; how many still do. One call waits at a
/// time, and another does not wait at all.
async fn wait(state: &State, ids: &[String], arguments: &Json) -> usize {
    state.jobs_changed();
    let until = state.uptime() + number(arguments, "wait_ms", WAIT_MS_DEFAULT);
    let mut turn = None;
    loop {
        let due = {
            let board = state.board();
            let live = board.jobs.live_among(ids);
            turn = turn.or_else(|| (live > 0).then(|| state.turn_to_wait()).flatten());
            if live == 0 || turn.is_none() || board.now >= until {
                return live;
            }
            board.jobs.next_due().unwrap_or(until).min(until)
        };
        state.sleep_until(due).await;
    }
}

/// The job that `job_id`, or where there is none `name`, means.
fn find<'j>(jobs: &'j Jobs, arguments: &Json) -> Result<&'j Job, String> {
    let hint = "job_list tells which jobs there are";
    match (text(arguments, "job_id"), text(arguments, "name")) {
        ("", "") => Err(format!("give job_id or name; {hint}")),
        ("", name) => jobs
            .with_name(name)
            .ok_or_else(|| format!("there is no job named {}; {hint}", Json::from(name))),
        (id, _) => jobs
            .with_id(id)
            .ok_or_else(|| format!("there is no job with id {}; {hint}", Json::from(id))),
    }
}

/// Empty where it is left out.
fn text<'a>(arguments: &'a Json, name: &str) -> &'a str {
    arguments.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn number(arguments: &Json, name: &str, default: u64) -> u64 {
    let number = arguments.get(name).and_then(Json::as_integer);
    number
        .and_then(|number| u64::try_from(number).ok())
        .unwrap_or(default)
}
