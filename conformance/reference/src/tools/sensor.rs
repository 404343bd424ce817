//! Simulated sensors: temperature swings slowly, the supply is steady, humidity is not fitted.

use super::Outcome;
use crate::json::{Json, Number};
use crate::state::State;

struct Channel {
    name: &'static str,
    unit: &'static str,
    /// Gives the value at a time since start in milliseconds; none where the sensor is not fitted.
    read: Option<fn(u64) -> f64>,
}

const CHANNELS: [Channel; 3] = [
    Channel {
        name: "temperature",
        unit: "celsius",
        read: Some(temperature),
    },
    Channel {
        name: "supply_voltage",
        unit: "volt",
        read: Some(|_| 3.3),
    },
    Channel {
        name: "humidity",
        unit: "percent",
        read: None,
    },
];

/// 21 to 22 degrees and back within a minute.
fn temperature(uptime: u64) -> f64 {
    let phase = (uptime % 60_000) as f64 / 60_000.0;
    21.5 + 0.5 * (phase * std::f64::consts::TAU).sin()
}

pub(super) fn list(_: &State, _: &Json) -> Outcome {
    let entry = |channel: &Channel| {
        Json::object([
            ("channel", channel.name.into()),
            ("unit", channel.unit.into()),
            ("fitted", channel.read.is_some().into()),
        ])
    };
    Outcome::Structured(Json::object([("channels", CHANNELS.iter().map(entry).collect())]))
}

pub(super) fn read(state: &State, arguments: &Json) -> Outcome {
    let name = arguments
        .get("channel")
        .and_then(Json::as_str)
        .unwrap_or_default();
    match CHANNELS.iter().find(|channel| channel.name == name) {
        Some(Channel {
            name,
            unit,
            read: Some(read),
        }) => Outcome::Structured(Json::object([
            ("channel", (*name).into()),
            ("value", Json::Number(Number::rounded(read(state.uptime())))),
            ("unit", (*unit).into()),
        ])),
        _ => Outcome::Failed(format!(
            "sensor {name} is not fitted on this board; sensor_list tells which are"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temperature_is_the_same_at_the_same_time() {
        assert_eq!(Number::rounded(temperature(0)).text(), "21.5");
        assert_eq!(Number::rounded(temperature(15_000)).text(), "22");
        assert_eq!(Number::rounded(temperature(45_000)).text(), "21");
        assert_eq!(Number::rounded(temperature(61_000)).text(), "21.55");
    }
}
