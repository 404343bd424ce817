//! How long the board has been running.

use serde::Serialize;

use super::{Call, ToolError};
use crate::{Board, Device};

#[derive(Serialize)]
struct Uptime {
    uptime_ms: u64,
}

pub(super) async fn uptime<B: Board>(
    _: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    Ok(call.answer.structured(&Uptime {
        uptime_ms: call.now.0,
    })?)
}
