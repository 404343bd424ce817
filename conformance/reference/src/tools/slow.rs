//! Tools that take their time, for progress, logging, cancellation and tasks.

use super::Outcome;
use crate::json::Json;
use crate::outlet::Outlet;
use crate::scope::LEVELS;
use std::time::Duration;
use tokio::time::sleep;

pub(super) const TOOLS: &str = include_str!("slow.json");

/// Who logs.
const NAME: &str = "slow_count";
const TO_DEFAULT: u64 = 5;
const STEP_MS_DEFAULT: u64 = 100;

/// What a call is told about while it goes on.
#[derive(Clone, Debug)]
pub(crate) struct Reporter {
    pub(crate) outlet: Outlet,
    /// The progress token; none where none was given, or none is to be told.
    pub(crate) token: Option<Json>,
    /// Index in [`LEVELS`] of the least message that is logged; none where nothing is.
    pub(crate) level: Option<usize>,
}

impl Reporter {
    /// Says nothing.
    pub(crate) fn silent() -> Self {
        Self {
            outlet: Outlet::closed(),
            token: None,
            level: None,
        }
    }

    pub(crate) fn progress(&self, done: u64, total: u64) {
        if let Some(token) = &self.token {
            let params = [
                ("progressToken", token.clone()),
                ("progress", done.into()),
                ("total", total.into()),
                ("message", format!("{done} of {total}").into()),
            ];
            self.outlet.notify("notifications/progress", Json::object(params));
        }
    }

    pub(crate) fn log(&self, logger: &str, level: &str, what: &str) {
        let index = LEVELS.iter().position(|known| *known == level);
        if self
            .level
            .is_some_and(|least| index.is_some_and(|index| index >= least))
        {
            let params = [
                ("level", level.into()),
                ("logger", logger.into()),
                ("data", what.into()),
            ];
            self.outlet.notify("notifications/message", Json::object(params));
        }
    }
}

/// Counts, a step at a time.
pub(super) async fn count(arguments: Json, reporter: Reporter) -> Outcome {
    let number = |name: &str, default| {
        let number = arguments.get(name).and_then(Json::as_integer);
        number
            .and_then(|number| u64::try_from(number).ok())
            .unwrap_or(default)
    };
    let (to, step) = (number("to", TO_DEFAULT), number("step_ms", STEP_MS_DEFAULT));
    reporter.log(NAME, "info", &format!("counting to {to}"));
    for done in 1..=to {
        sleep(Duration::from_millis(step)).await;
        reporter.log(NAME, "debug", &format!("counted {done}"));
        reporter.progress(done, to);
    }
    if arguments.get("fail").and_then(Json::as_bool) == Some(true) {
        reporter.log(NAME, "error", "failing as asked");
        return Outcome::Failed(format!("counted to {to}, then failed as asked"));
    }
    Outcome::Text(format!("counted to {to}"))
}
