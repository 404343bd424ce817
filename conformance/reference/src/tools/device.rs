//! What the board says about itself.

use super::Outcome;
use crate::json::Json;
use crate::state::State;

const LOG_TAIL_DEFAULT: usize = 10;

pub(super) fn info(_: &State, _: &Json) -> Outcome {
    Outcome::Structured(Json::object([
        ("name", "reference".into()),
        ("board", "reference".into()),
        ("chip", "host".into()),
        // Locally administered, so it is no maker's.
        ("mac", "02:00:00:00:00:01".into()),
        ("firmware", env!("CARGO_PKG_VERSION").into()),
        ("build_id", "".into()),
    ]))
}

pub(super) fn stats(state: &State, _: &Json) -> Outcome {
    let uptime = state.uptime();
    let board = state.board();
    Outcome::Structured(Json::object([
        ("uptime_ms", uptime.into()),
        ("requests", board.requests.into()),
        ("errors", board.errors.into()),
        ("heap_used", 0.into()),
        ("heap_peak", 0.into()),
    ]))
}

pub(super) fn uptime(state: &State, _: &Json) -> Outcome {
    Outcome::Structured(Json::object([("uptime_ms", state.uptime().into())]))
}

pub(super) fn log_tail(state: &State, arguments: &Json) -> Outcome {
    let lines = arguments.get("lines").and_then(Json::as_integer);
    let lines = lines
        .and_then(|lines| usize::try_from(lines).ok())
        .unwrap_or(LOG_TAIL_DEFAULT);
    Outcome::Structured(Json::object([(
        "lines",
        state.log_tail(lines).into_iter().map(Json::from).collect(),
    )]))
}
