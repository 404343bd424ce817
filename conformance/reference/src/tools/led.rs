//! The LED: a state that is kept.

use super::Outcome;
use crate::json::Json;
use crate::state::{Led, State};

pub(super) fn set(state: &State, arguments: &Json) -> Outcome {
    let on = arguments.get("on").and_then(Json::as_bool).unwrap_or_default();
    let brightness = arguments.get("brightness").and_then(Json::as_integer);
    let led = {
        let mut board = state.board();
        let brightness = brightness.and_then(|percent| u64::try_from(percent).ok());
        board.led = Led {
            on,
            brightness: brightness.unwrap_or(board.led.brightness),
        };
        board.led
    };
    state.log(if on { "led on" } else { "led off" });
    show(led)
}

pub(super) fn get(state: &State, _: &Json) -> Outcome {
    show(state.board().led)
}

fn show(led: Led) -> Outcome {
    Outcome::Structured(Json::object([
        ("on", led.on.into()),
        ("brightness", led.brightness.into()),
    ]))
}
