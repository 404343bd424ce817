//! Text there and back.

use super::Outcome;
use crate::json::Json;
use crate::state::State;

pub(super) fn echo(_: &State, arguments: &Json) -> Outcome {
    let text = arguments.get("text").and_then(Json::as_str).unwrap_or_default();
    let repeat = arguments.get("repeat").and_then(Json::as_integer);
    Outcome::Text(
        text.repeat(
            repeat
                .and_then(|repeat| usize::try_from(repeat).ok())
                .unwrap_or(1),
        ),
    )
}
