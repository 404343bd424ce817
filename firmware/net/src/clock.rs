//! Gives a device its time. One loop for all boards: it polls the device when that is due, or when a request has made
//! something due sooner.

use core::convert::Infallible;

use embassy_futures::select::select;
use embassy_futures::yield_now;
use embassy_time::{Instant, Timer};
use mcp_device::{Board, Device, Millis};

/// Polls `device` for ever. To be run once, beside the server.
pub async fn run<B: Board>(device: &Device<B>) -> Infallible {
    loop {
        match device.poll(Millis(Instant::now().as_millis())) {
            Some(due) => {
                select(device.sooner(), Timer::at(Instant::from_millis(due.0))).await;
            }
            None => device.sooner().await,
        }
        // Requests come first, also when the next moment has already gone by.
        yield_now().await;
    }
}
