//! Gives text back.

use core::fmt;

use super::{Call, ToolError};
use crate::json::{Text, integer, members, string};
use crate::{Board, Device};

pub(super) async fn echo<B: Board>(_: &Device<B>, call: Call<'_, '_, '_>) -> Result<(), ToolError<'static>> {
    let [text, repeat] = members(call.arguments, ["text", "repeat"]).unwrap_or_default();
    let echo = Repeated {
        text: text.and_then(string).unwrap_or_default(),
        times: repeat.and_then(integer).unwrap_or(1),
    };
    Ok(call.answer.text(echo)?)
}

struct Repeated<'a> {
    text: Text<'a>,
    times: i64,
}

impl fmt::Display for Repeated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.times).try_for_each(|_| self.text.fmt(f))
    }
}
