//! The sensor channels of the contract.

use serde::Serialize;

use super::{Call, ToolError};
use crate::json::{members, string};
use crate::{Board, Device, ReadError};

/// Channels and their units, in the order of `sensor_list`.
const CHANNELS: [(&str, &str); 3] = [
    ("temperature", "celsius"),
    ("supply_voltage", "volt"),
    ("humidity", "percent"),
];

#[derive(Serialize)]
struct List {
    channels: [Channel; CHANNELS.len()],
}

#[derive(Serialize)]
struct Channel {
    channel: &'static str,
    unit: &'static str,
    fitted: bool,
}

pub(super) async fn list<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let channels = CHANNELS.map(|(channel, unit)| {
        let fitted = device.board.sensor_fitted(channel);
        Channel {
            channel,
            unit,
            fitted,
        }
    });
    Ok(call.answer.structured(&List { channels })?)
}

#[derive(Serialize)]
struct Reading {
    channel: &'static str,
    value: f64,
    unit: &'static str,
}

pub(super) async fn read<B: Board>(
    device: &Device<B>,
    call: Call<'_, '_, '_>,
) -> Result<(), ToolError<'static>> {
    let [wanted] = members(call.arguments, ["channel"]).unwrap_or_default();
    let wanted = wanted.and_then(string).unwrap_or_default();
    let (channel, unit) = CHANNELS
        .into_iter()
        .find(|(name, _)| wanted == **name)
        .ok_or(ToolError::NotThere)?;
    let value = device
        .board
        .read_sensor(channel)
        .await
        .map_err(|error| match error {
            ReadError::NotFitted => ToolError::NotFitted(channel),
            ReadError::Failed => ToolError::SensorFailed(channel),
        })?;
    if !value.is_finite() {
        return Err(ToolError::SensorFailed(channel));
    }
    Ok(call.answer.structured(&Reading {
        channel,
        value: two_decimals(value),
        unit,
    })?)
}

/// Rounds to hundredths, halves away from zero.
fn two_decimals(value: f32) -> f64 {
    let hundredths = f64::from(value) * 100.0;
    (hundredths + 0.5f64.copysign(hundredths)) as i64 as f64 / 100.0
}

#[cfg(test)]
mod tests {
    use super::two_decimals;

    #[test]
    fn values_are_rounded_to_hundredths() {
        for (value, rounded) in [
            (21.456f32, 21.46),
            (21.454, 21.45),
            (-21.456, -21.46),
            (0.125, 0.13),
            (-0.125, -0.13),
            (0.0, 0.0),
            (3.3, 3.3),
            (100.0, 100.0),
            (1.0e6, 1.0e6),
        ] {
            assert_eq!(two_decimals(value), rounded, "{value}");
        }
    }
}
