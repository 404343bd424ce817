//! Which board this is, and how it is doing.

use alloc::format;

use serde::Serialize;

use super::{Call, ToolError};
use crate::{Board, Device};

#[derive(Serialize)]
struct Info<'a> {
    name: &'a str,
    board: &'a str,
    chip: &'a str,
    mac: &'a str,
    firmware: &'a str,
    build_id: &'a str,
}

pub(super) async fn info<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let board = &device.board;
    let [a, b, c, d, e, f] = board.mac();
    let info = Info {
        name: board.name(),
        board: board.kind(),
        chip: board.chip(),
        mac: &format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}"),
        firmware: env!("CARGO_PKG_VERSION"),
        build_id: board.build_id(),
    };
    Ok(call.answer.structured(&info)?)
}

#[derive(Serialize)]
struct Stats {
    uptime_ms: u64,
    requests: u64,
    errors: u64,
    heap_used: usize,
    heap_peak: usize,
}

pub(super) async fn stats<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let heap = device.board.stats();
    let stats = Stats {
        uptime_ms: call.now.0,
        requests: device.requests.get(),
        errors: device.errors.get(),
        heap_used: heap.heap_used,
        heap_peak: heap.heap_peak,
    };
    Ok(call.answer.structured(&stats)?)
}
