//! The board's LED.

use serde::Serialize;

use super::{Call, ToolError};
use crate::json::{integer, members};
use crate::{Board, Device, Led};

#[derive(Serialize)]
struct State {
    on: bool,
    brightness: u8,
}

pub(super) async fn set<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let [on, brightness] = members(call.arguments, ["on", "brightness"]).unwrap_or_default();
    let led = Led {
        on: on.is_some_and(|on| on.get() == "true"),
        brightness: brightness
            .and_then(integer)
            .and_then(|percent| u8::try_from(percent).ok())
            .unwrap_or(device.led.get().brightness),
    };
    device.led.set(led);
    device.board.set_led(led);
    device.log(
        call.now,
        format_args!("led {}, {} %", if led.on { "on" } else { "off" }, led.brightness),
    );
    get(device, call).await
}

pub(super) async fn get<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let Led { on, brightness } = device.led.get();
    Ok(call.answer.structured(&State { on, brightness })?)
}
