//! The newest lines of the board's log.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::{Call, ToolError};
use crate::json::{integer, members};
use crate::{Board, Device};

pub(super) async fn tail<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let [lines] = members(call.arguments, ["lines"]).unwrap_or_default();
    let count = lines
        .and_then(integer)
        .and_then(|lines| usize::try_from(lines).ok())
        .unwrap_or(10);
    let log = device.log.borrow();
    Ok(call.answer.structured(&Tail(log.tail(count)))?)
}

struct Tail<I>(I);

impl<'a, I: Iterator<Item = &'a str> + Clone> Serialize for Tail<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tail = serializer.serialize_struct("Tail", 1)?;
        tail.serialize_field("lines", &Lines(self.0.clone()))?;
        tail.end()
    }
}

struct Lines<I>(I);

impl<'a, I: Iterator<Item = &'a str> + Clone> Serialize for Lines<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}
