//! The watchdog: resets the chip when the network's task has not run for long.

use core::convert::Infallible;

use embassy_time::{Duration, Timer};
use esp_hal::peripherals::TIMG1;
use esp_hal::timer::timg::{MwdtStage, MwdtStageAction, TimerGroup, Wdt};

/// Without being fed, seconds. Long, for an emulator on a busy machine.
const TIMEOUT: u64 = 20;
/// Between two feedings.
const PERIOD: Duration = Duration::from_secs(2);

/// The watchdog, which does not run yet.
pub struct Watchdog(Wdt<TIMG1<'static>>);

impl Watchdog {
    /// Of this timer group.
    pub fn new(timers: TIMG1<'static>) -> Self {
        Self(TimerGroup::new(timers).wdt)
    }

    /// Starts it, and feeds it for ever.
    pub async fn feed(mut self) -> Infallible {
        self.0
            .set_timeout(MwdtStage::Stage0, esp_hal::time::Duration::from_secs(TIMEOUT));
        self.0
            .set_stage_action(MwdtStage::Stage0, MwdtStageAction::ResetSystem);
        self.0.enable();
        loop {
            self.0.feed();
            Timer::after(PERIOD).await;
        }
    }
}
