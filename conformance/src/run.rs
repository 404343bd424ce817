//! Runs checks against a target.

use crate::check::{Check, Over};
use crate::checks;
use crate::lab::{Lab, Shared, Stop};
use crate::only::Only;
use crate::survey::{is_no_message, judge_unopened, survey};
use crate::uncalled::Uncalled;
use crate::verdict::{Judged, Report, Verdict};
use futures_util::StreamExt as _;
use futures_util::stream;
use mcp_hil_harness::client::{Limits, Probe, probe};
use mcp_hil_harness::fault::seconds;
use mcp_hil_harness::revision::Revision;
use mcp_hil_harness::shown;
use mcp_hil_harness::target::Target;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

/// The revisions that can be graded.
pub const GRADED: [Revision; 2] = [Revision::R2025_11_25, Revision::R2026_07_28];
/// The check that calls every tool.
const CALLS: &str = "tools/results";
/// The longest that a check may take, times the deadline factor. Every exchange has a limit of its own.
const CHECK_LIMIT: Duration = Duration::from_secs(120);

/// The longest that a run may take unless the user says otherwise.
pub const TIME_LIMIT: Duration = Duration::from_secs(30 * 60);

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Revisions to grade; empty: those that the server speaks.
    pub revisions: Vec<Revision>,
    /// The checks that are asked.
    pub only: Only,
    /// Tools that may be called besides those that say they change nothing.
    pub allow_tools: Vec<String>,
    /// Interface on which mDNS is checked, by name or address; none: it is not.
    pub interface: Option<String>,
    /// Seed of generated arguments.
    pub seed: u64,
    /// Connections at once.
    pub jobs: u8,
    /// Factor for time limits.
    pub deadline_factor: f64,
    /// The longest that the run may take, whatever the factor. What was not judged by then has no verdict.
    pub time_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            revisions: Vec::new(),
            only: Only::default(),
            allow_tools: Vec::new(),
            interface: None,
            seed: 0,
            jobs: 2,
            deadline_factor: 1.0,
            time_limit: TIME_LIMIT,
        }
    }
}

/// Why nothing could be graded.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is nobody to talk to, or nobody who speaks MCP.
    #[error("{0}")]
    Unreachable(String),
    /// The server speaks no revision that is graded.
    #[error("the server speaks none of 2025-11-25 and 2026-07-28: it speaks {0}")]
    NoRevision(String),
}

/// When the time of the run is over.
#[derive(Clone, Copy)]
struct End {
    at: Instant,
    limit: Duration,
}

impl End {
    /// Waits for something, to the end at most.
    async fn within<T>(self, what: impl Future<Output = T>) -> Result<T, RunError> {
        timeout_at(self.at, what)
            .await
            .map_err(|_| RunError::Unreachable(self.reason()))
    }

    fn reason(self) -> String {
        format!(
            "the time of the run was over, {}; more is given by --time-limit",
            seconds(&self.limit)
        )
    }
}

/// When a check runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Round {
    /// It talks MCP; several at once.
    Exchanges,
    /// It needs more than one connection: apart, so that one that waits for its second keeps none of the others waiting.
    Connections,
    /// It asks by multicast, which a board answers once a second: one at a time.
    Network,
    /// It looks back at what was said.
    LookingBack,
}

impl Round {
    fn of(check: &Check) -> Self {
        match check {
            _ if check.is_once() => Self::Network,
            _ if check.looks_back => Self::LookingBack,
            _ if check.connections > 1 => Self::Connections,
            _ => Self::Exchanges,
        }
    }
}

/// Grades a target; tells each verdict as it is known.
///
/// # Errors
/// [`RunError`].
pub async fn run(
    name: &str,
    target: &Target,
    options: &Options,
    mut told: impl FnMut(&Judged),
) -> Result<Report, RunError> {
    let started = Instant::now();
    let end = End {
        at: started + options.time_limit,
        limit: options.time_limit,
    };
    let limits = Limits::scaled(options.deadline_factor);
    let mut report = Report {
        target: shown::target(name),
        seed: options.seed,
        ..Report::default()
    };
    let mut revisions = options.revisions.clone();
    if revisions.is_empty() {
        let detected = match end.within(probe(target, limits)).await? {
            Ok(detected) => detected,
            Err(error) => {
                let results = judge_unplaced(target, &error, limits, options);
                let results = end.within(results).await??;
                results.iter().for_each(&mut told);
                report.results = results;
                report.time = started.elapsed();
                return Ok(report);
            }
        };
        report.server = detected.name;
        revisions = GRADED
            .into_iter()
            .filter(|graded| detected.revisions.contains(graded))
            .collect();
        if revisions.is_empty() {
            let spoken: Vec<_> = detected
                .revisions
                .iter()
                .map(|revision| revision.as_str())
                .collect();
            return Err(RunError::NoRevision(spoken.join(", ")));
        }
    }
    let mut uncalled = Uncalled::default();
    for revision in revisions {
        let chosen: Vec<Check> = checks::all()
            .filter(|check| check.revisions.contains(&revision))
            .filter(|check| options.only.chooses(check, revision))
            // what is asked of the network has no revision: once is enough
            .filter(|check| Round::of(check) != Round::Network || report.results.is_empty())
            .copied()
            .collect();
        if chosen.is_empty() {
            continue;
        }
        let surveyed = match end.within(survey(target, revision, limits, options)).await {
            Ok(surveyed) => surveyed?,
            // the report of what came before is worth more than an error
            Err(error) if !report.results.is_empty() => {
                let over = Err(Stop::Unreachable(error.to_string()));
                let untried = chosen
                    .iter()
                    .map(|check| judged(revision, check, over.clone(), Vec::new(), Duration::ZERO));
                report.results.extend(untried.inspect(&mut told));
                continue;
            }
            Err(error) => return Err(error),
        };
        let (shared, _) = surveyed;
        let shared = Rc::new(shared);
        if chosen.iter().any(|check| check.name == CALLS) {
            uncalled.take(&shared.offer.tools, &options.allow_tools, options.seed);
        }
        for (round, jobs) in [
            (Round::Exchanges, options.jobs),
            (Round::Connections, options.jobs),
            (Round::Network, 1),
            (Round::LookingBack, options.jobs),
        ] {
            let now: Vec<Check> = chosen
                .iter()
                .filter(|check| Round::of(check) == round)
                .copied()
                .collect();
            report
                .results
                .extend(run_all(&shared, &now, jobs, options, end, &mut told).await);
        }
        report.notes.extend(shared.log.borrow().note());
        let idle = std::mem::take(&mut *shared.idle.borrow_mut());
        for client in idle {
            client.close().await;
        }
    }
    report.notes.extend(uncalled.note());
    report.time = started.elapsed();
    Ok(report)
}

/// Judges a server that speaks no revision, by its answers: those that break the protocol.
///
/// # Errors
/// There is no such answer: nobody is there, or what is there refuses to speak MCP.
async fn judge_unplaced(
    target: &Target,
    error: &Probe,
    limits: Limits,
    options: &Options,
) -> Result<Vec<Judged>, RunError> {
    let told = error.report(target);
    let error = match error {
        Probe::NotMcp(error) => error,
        Probe::NoCommonRevision(theirs) => return Err(RunError::NoRevision(theirs.join(", "))),
        Probe::Unreachable(_) | Probe::HttpSse => return Err(RunError::Unreachable(told)),
    };
    let mut results = Vec::new();
    if error.exchange().first_status().is_some() || is_no_message(error) {
        for revision in GRADED {
            let (shared, trouble) = survey(target, revision, limits, options).await?;
            if let Some(trouble) = trouble.filter(|trouble| trouble.answers) {
                results.extend(judge_unopened(shared, &trouble.error, options).await);
            }
        }
    }
    if results.is_empty() {
        Err(RunError::Unreachable(format!("no MCP server: {told}")))
    } else {
        Ok(results)
    }
}

/// Runs the checks, as many at once as the connections allow; gives the verdicts in the order of the checks.
async fn run_all(
    shared: &Rc<Shared>,
    chosen: &[Check],
    jobs: u8,
    options: &Options,
    end: End,
    told: &mut impl FnMut(&Judged),
) -> Vec<Judged> {
    let connections = Semaphore::new(options.jobs.max(1).into());
    let limit = CHECK_LIMIT.mul_f64(options.deadline_factor.max(1.0));
    let mut running = stream::iter(chosen.iter().enumerate().map(|(index, check)| {
        let connections = &connections;
        async move {
            if check.connections > options.jobs {
                let reason = format!(
                    "needs {} connections at once, and --jobs is {}",
                    check.connections, options.jobs
                );
                return (
                    index,
                    judged(
                        shared.revision,
                        check,
                        Err(Stop::Skip(reason)),
                        Vec::new(),
                        Duration::ZERO,
                    ),
                );
            }
            // never closed
            let _held = connections.acquire_many(check.connections.into()).await;
            let left = end.at.saturating_duration_since(Instant::now());
            if left >= limit {
                return (index, judge(shared, check, limit).await);
            }
            let over = || Err(Stop::Unreachable(end.reason()));
            // a check in the middle has seen too little to say that all is well
            let judged = match left {
                Duration::ZERO => judged(shared.revision, check, over(), Vec::new(), Duration::ZERO),
                left => match timeout(left, judge(shared, check, limit)).await {
                    Ok(judged) => judged,
                    Err(_) => judged(shared.revision, check, over(), Vec::new(), left),
                },
            };
            (index, judged)
        }
    }))
    .buffer_unordered(jobs.max(1).into());
    let mut results = Vec::new();
    while let Some((index, judged)) = running.next().await {
        told(&judged);
        results.push((index, judged));
    }
    drop(running);
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, judged)| judged).collect()
}

/// Runs one check to its end.
pub(crate) async fn judge(shared: &Rc<Shared>, check: &Check, limit: Duration) -> Judged {
    let started = Instant::now();
    let right_transport = match check.over {
        Over::Any => true,
        Over::Http => matches!(shared.target, Target::Http(_)),
        Over::Stdio => matches!(shared.target, Target::Stdio(_)),
    };
    if !right_transport {
        let reason = format!("not over {}", shared.target.transport());
        return judged(
            shared.revision,
            check,
            Err(Stop::Skip(reason)),
            Vec::new(),
            Duration::ZERO,
        );
    }
    let mut lab = Lab::new(Rc::clone(shared), *check);
    let ended = timeout(limit, (check.run)(&mut lab)).await.unwrap_or_else(|_| {
        Err(Stop::Unreachable(format!(
            "the check was not over within {} s",
            limit.as_secs()
        )))
    });
    lab.leave().await;
    judged(
        shared.revision,
        check,
        ended,
        std::mem::take(&mut lab.findings),
        started.elapsed(),
    )
}

pub(crate) fn judged(
    revision: Revision,
    check: &Check,
    ended: Result<(), Stop>,
    findings: Vec<crate::verdict::Finding>,
    time: Duration,
) -> Judged {
    let (verdict, reason) = match ended {
        _ if findings.iter().any(|finding| finding.fails) => (Verdict::Fail, None),
        Err(Stop::Unreachable(reason)) => (Verdict::Infrastructure, Some(reason)),
        _ if !findings.is_empty() => (Verdict::Warn, None),
        Err(Stop::Skip(reason)) => (Verdict::Skip, Some(reason)),
        Ok(()) | Err(Stop::Found) => (Verdict::Pass, None),
    };
    Judged {
        id: check.id(revision),
        name: check.name,
        rows: check.rows,
        revision,
        verdict,
        reason,
        findings,
        time,
    }
}
