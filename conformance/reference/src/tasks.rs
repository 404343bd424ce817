//! Tasks: calls that go on after they were answered. What both forms share; how they speak is in `dispatch`.

use crate::clock::rfc3339;
use crate::json::{Json, Number};
use crate::jsonrpc::{Error, Kind};
use crate::unique;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// Tasks that are kept, those that have ended included.
const MAX_TASKS: usize = 64;
/// Tasks that may work at once.
const MAX_WORKING: usize = 16;
/// How long a task is kept, in milliseconds, where the client names no time, and at most.
const TTL_DEFAULT: u64 = 60_000;
const TTL_MAX: u64 = 300_000;
/// How often to look, in milliseconds.
const POLL_INTERVAL: u64 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Working,
    Completed,
    Failed,
    Cancelled,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

#[derive(Debug)]
struct State {
    status: Status,
    updated: SystemTime,
    /// What the call came to.
    result: Option<Json>,
}

/// Whom a task belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A legacy client: that of this session, where there are sessions.
    Legacy(Option<String>),
    /// Whoever knows its id.
    Modern,
}

#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    owner: Owner,
    created: SystemTime,
    ttl: u64,
    kept_until: Instant,
    state: watch::Sender<State>,
    stop: Notify,
}

impl Task {
    fn end(&self, status: Status, result: Option<Json>) -> bool {
        self.state.send_if_modified(|state| {
            let works = state.status == Status::Working;
            if works {
                *state = State {
                    status,
                    updated: SystemTime::now(),
                    result,
                };
            }
            works
        })
    }

    /// Cancels it; false if it had ended.
    pub(crate) fn cancel(&self) -> bool {
        self.stop.notify_one();
        self.end(Status::Cancelled, None)
    }

    pub(crate) fn is_working(&self) -> bool {
        self.state.borrow().status == Status::Working
    }

    /// What the call came to, once it has ended; none if it was cancelled.
    pub(crate) async fn result(&self) -> Option<Json> {
        let mut state = self.state.subscribe();
        // The sender lives in this very task, so it can't be gone.
        state
            .wait_for(|state| state.status != Status::Working)
            .await
            .ok()?
            .result
            .clone()
    }

    /// Tells of changes.
    pub(crate) fn changes(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.state.subscribe();
        async move {
            state.changed().await.ok();
        }
    }

    /// The task as its revision writes it.
    pub(crate) fn show(&self) -> Json {
        let state = self.state.borrow();
        let legacy = self.owner != Owner::Modern;
        let mut shown = Json::object([
            ("taskId", (&*self.id).into()),
            ("status", state.status.as_str().into()),
        ]);
        if state.status == Status::Failed {
            let why = state
                .result
                .as_ref()
                .and_then(|result| result.get("content")?.as_array()?.first()?.get("text").cloned());
            shown = shown.with("statusMessage", why.unwrap_or_else(|| "the tool failed".into()));
        }
        let names = if legacy {
            ["ttl", "pollInterval"]
        } else {
            ["ttlMs", "pollIntervalMs"]
        };
        shown
            .with("createdAt", rfc3339(self.created).into())
            .with("lastUpdatedAt", rfc3339(state.updated).into())
            .with(names[0], self.ttl.into())
            .with(names[1], POLL_INTERVAL.into())
    }

    /// The same with what it came to, as a modern client gets it.
    pub(crate) fn show_whole(&self) -> Json {
        let shown = self.show();
        match &self.state.borrow().result {
            Some(result) => shown.with("result", result.clone()),
            None => shown,
        }
    }
}

/// The tasks, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Tasks(Mutex<Vec<Arc<Task>>>);

impl Tasks {
    /// Begins one that does this work, and keeps it for `ttl` milliseconds, if that is a time it can be kept for.
    pub(crate) fn begin(
        &self,
        owner: Owner,
        ttl: Option<i128>,
        work: impl Future<Output = Json> + Send + 'static,
    ) -> Result<Arc<Task>, Error> {
        let ttl = ttl
            .and_then(|ttl| u64::try_from(ttl).ok())
            .unwrap_or(TTL_DEFAULT)
            .clamp(1000, TTL_MAX);
        let now = SystemTime::now();
        let task = Arc::new(Task {
            id: unique::id(),
            owner,
            created: now,
            ttl,
            kept_until: Instant::now() + Duration::from_millis(ttl),
            state: watch::Sender::new(State {
                status: Status::Working,
                updated: now,
                result: None,
            }),
            stop: Notify::new(),
        });
        {
            let mut tasks = self.kept();
            if tasks.iter().filter(|task| task.is_working()).count() >= MAX_WORKING {
                let message = format!("{MAX_WORKING} tasks work already; wait for one to end, or cancel one");
                return Err(Error::new(Kind::Busy, message));
            }
            if tasks.len() == MAX_TASKS
                && let Some(ended) = tasks.iter().position(|task| !task.is_working())
            {
                tasks.remove(ended);
            }
            tasks.push(Arc::clone(&task));
        }
        let worker = Arc::clone(&task);
        tokio::spawn(async move {
            tokio::select! {
                result = work => {
                    let failed = result.get("isError").is_some() && worker.owner != Owner::Modern;
                    worker.end(if failed { Status::Failed } else { Status::Completed }, Some(result));
                }
                () = worker.stop.notified() => {}
            }
        });
        Ok(task)
    }

    /// The task that `params.taskId` means.
    pub(crate) fn find(&self, owner: &Owner, params: &Json) -> Result<Arc<Task>, Error> {
        let wrong = |what: &str| Error::new(Kind::InvalidParams, what);
        let id = params
            .get("taskId")
            .and_then(Json::as_str)
            .ok_or_else(|| wrong("params.taskId must be a string"))?;
        let found = self
            .kept()
            .iter()
            .find(|task| task.id == id && task.owner == *owner)
            .cloned();
        found.ok_or_else(|| wrong("there is no task with this taskId; it may have expired"))
    }

    /// All of one owner, the oldest first.
    pub(crate) fn of(&self, owner: &Owner) -> Vec<Arc<Task>> {
        self.kept()
            .iter()
            .filter(|task| task.owner == *owner)
            .cloned()
            .collect()
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Task>>> {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        tasks.retain(|task| task.kept_until > now);
        tasks
    }
}

/// How many milliseconds a legacy client wants a task kept.
pub(crate) fn ttl(task: &Json) -> Result<Option<i128>, Error> {
    match task.get("ttl") {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Number(number)) => Ok(Number::integer(number)),
        Some(_) => Err(Error::new(
            Kind::InvalidParams,
            "params.task.ttl must be a number of milliseconds",
        )),
    }
}
