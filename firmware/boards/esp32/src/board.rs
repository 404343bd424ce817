//! The board's functions, as the device's tools call them.

use embassy_time::Instant;
use esp_hal::gpio::{Level, Output, OutputConfig, OutputPin};
use esp_hal::peripherals::TSENS;
use esp_hal::rng::Rng;
use esp_hal::tsens::{self, TemperatureSensor};
use mcp_device::{Board, Led, Millis, ReadError, Stats};
use mcp_device_net::mdns::Label;

/// What the regulator of these boards gives, volt. Nothing on the chip can measure it.
const NOMINAL_SUPPLY: f32 = 3.3;

/// A chip with its LED.
pub struct Esp32 {
    name: Label,
    mac: [u8; 6],
    build_id: &'static str,
    lamp: core::cell::RefCell<Lamp>,
    thermometer: Option<TemperatureSensor<'static>>,
    random: Rng,
}

impl Esp32 {
    /// The board of this name and MAC address.
    pub fn new(
        name: Label,
        mac: [u8; 6],
        build_id: &'static str,
        lamp: Lamp,
        thermometer: TSENS<'static>,
        random: Rng,
    ) -> Self {
        Self {
            name,
            mac,
            build_id,
            lamp: lamp.into(),
            thermometer: TemperatureSensor::new(thermometer, tsens::Config::default()).ok(),
            random,
        }
    }
}

impl Board for Esp32 {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn kind(&self) -> &str {
        esp_hal::chip!()
    }

    fn chip(&self) -> &str {
        esp_hal::chip!()
    }

    fn mac(&self) -> [u8; 6] {
        self.mac
    }

    fn build_id(&self) -> &str {
        self.build_id
    }

    async fn read_sensor(&self, channel: &str) -> Result<f32, ReadError> {
        match channel {
            "temperature" => {
                let thermometer = self.thermometer.as_ref().ok_or(ReadError::Failed)?;
                Ok(thermometer.get_temperature().to_celsius())
            }
            "supply_voltage" => Ok(NOMINAL_SUPPLY),
            _ => Err(ReadError::NotFitted),
        }
    }

    fn sensor_fitted(&self, channel: &str) -> bool {
        matches!(channel, "temperature" | "supply_voltage")
    }

    fn set_led(&self, led: Led) {
        self.lamp.borrow_mut().set(led.on && led.brightness > 0);
    }

    fn stats(&self) -> Stats {
        let heap = esp_alloc::HEAP.stats();
        Stats {
            heap_used: heap.current_usage,
            heap_peak: heap.max_usage,
        }
    }

    fn entropy(&self) -> u32 {
        self.random.random()
    }
}

/// The LED between a pin and the supply, as on most small boards: a low level lights it. It has no brightness.
pub struct Lamp(Output<'static>);

impl Lamp {
    /// Dark.
    pub fn new(pin: impl OutputPin + 'static) -> Self {
        Self(Output::new(pin, Level::High, OutputConfig::default()))
    }

    fn set(&mut self, lit: bool) {
        self.0.set_level(if lit { Level::Low } else { Level::High });
    }
}

/// Time since the board started.
pub fn now() -> Millis {
    Millis(Instant::now().as_millis())
}
