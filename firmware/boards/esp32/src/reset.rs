//! Why the chip was reset.

use esp_hal::rtc_cntl::SocResetReason;

/// One word, as the boot log tells it. A panic resets by software.
pub fn reason() -> &'static str {
    use SocResetReason as Reason;
    match esp_hal::system::reset_reason() {
        Some(Reason::ChipPowerOn) => "power-on", // the reset pin, too
        Some(Reason::CoreSw | Reason::Cpu0Sw) => "software",
        Some(
            Reason::CoreMwdt0
            | Reason::CoreMwdt1
            | Reason::CoreRtcWdt
            | Reason::Cpu0Mwdt0
            | Reason::Cpu0Mwdt1
            | Reason::Cpu0RtcWdt
            | Reason::SysRtcWdt
            | Reason::SysSuperWdt,
        ) => "watchdog",
        Some(Reason::SysBrownOut) => "brown-out",
        Some(Reason::CoreDeepSleep) => "deep-sleep",
        Some(Reason::CoreUsbUart | Reason::CoreUsbJtag) => "usb",
        Some(_) => "fault",
        None => "unknown",
    }
}
