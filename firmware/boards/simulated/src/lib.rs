//! The sensors of boards that have none: their values follow the clock, so that a client sees them change and a test
//! knows their bounds.
#![no_std]

use mcp_device::{Millis, ReadError};

/// A sensor whose value goes up and down evenly between two bounds.
struct Sensor {
    channel: &'static str,
    low: f32,
    high: f32,
    /// From one low to the next, milliseconds.
    period: u64,
}

const SENSORS: [Sensor; 2] = [
    Sensor {
        channel: "temperature",
        low: 20.0,
        high: 24.0,
        period: 60_000,
    },
    Sensor {
        channel: "supply_voltage",
        low: 3.25,
        high: 3.35,
        period: 10_000,
    },
];

/// Whether a channel of the contract is fitted: `humidity` is not.
pub fn sensor_fitted(channel: &str) -> bool {
    SENSORS.iter().any(|sensor| sensor.channel == channel)
}

/// Reads a channel: `temperature` between 20 and 24 celsius, `supply_voltage` between 3.25 and 3.35 volt.
pub fn read_sensor(channel: &str, now: Millis) -> Result<f32, ReadError> {
    let sensor = SENSORS
        .iter()
        .find(|sensor| sensor.channel == channel)
        .ok_or(ReadError::NotFitted)?;
    let phase = (now.0 % sensor.period) as f32 / sensor.period as f32;
    let height = 1.0 - (2.0 * phase - 1.0).abs();
    Ok(sensor.low + (sensor.high - sensor.low) * height)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_from_low_to_high_and_back() {
        for (now, value) in [
            (0, 20.0),
            (15_000, 22.0),
            (30_000, 24.0),
            (45_000, 22.0),
            (60_000, 20.0),
        ] {
            assert_eq!(read_sensor("temperature", Millis(now)), Ok(value));
        }
    }

    #[test]
    fn humidity_is_not_fitted() {
        assert!(!sensor_fitted("humidity"));
        assert_eq!(read_sensor("humidity", Millis(0)), Err(ReadError::NotFitted));
    }
}
