//! Keeps the station in its network: does what [`Station`] says, and tells it what comes of it.

use core::convert::Infallible;
use core::fmt::Write;
use core::future::pending;

use embassy_futures::select::{Either3, select3};
use embassy_net::Stack;
use embassy_time::{Duration, Instant, Timer, with_deadline, with_timeout};
use esp_hal::peripherals::WIFI;
use esp_radio::wifi::sta::StationConfig;
use esp_radio::wifi::{
    AuthenticationMethodConfig, Config, ConnectionError, ControllerConfig, WifiController, WifiError,
};
use mcp_device::Millis;
use mcp_hil_board_startup::configuration::Wifi;
use mcp_hil_board_startup::stage::Told;
use mcp_hil_board_startup::station::{Event, Station, Step};

use crate::board::now;
use crate::console;

/// Buffers that the radio always has for frames from the air: the fewest that Espressif recommends, 1.6 KB each.
const RECEIVING: u8 = 6;
/// Frames of up to 1.6 KB that the radio may keep on the heap, for each direction: more than [`RECEIVING`], and than fit in
/// the window of its block acknowledgements. The driver's own bound, 32, would let a busy network take all of the heap.
const FRAMES: u16 = 8;
/// For the radio to tell that it has left.
const LEAVE: Duration = Duration::from_secs(5);
/// For the UART to send what it holds, before a restart.
const LAST_WORDS: Duration = Duration::from_millis(100);
/// How often address and link are looked at. The stack wakes one task for its address, and that is discovery's; and the
/// driver may lose the event that tells of a lost link, but not the state.
const LOOK: Duration = Duration::from_millis(250);

/// Starts the radio for a network: WPA2 where there is a password, else open.
///
/// # Panics
/// Where the radio does not start: the board is of no use without it, and a reset may help.
pub fn start(radio: WIFI<'static>, network: Wifi<'_>) -> WifiController<'static> {
    match configuration(network).and_then(|configuration| WifiController::new(radio, configuration)) {
        Ok(controller) => controller,
        Err(error) => panic!("the radio does not start: {error}"),
    }
}

fn configuration(network: Wifi<'_>) -> Result<ControllerConfig, WifiError> {
    let authentication = match network.password {
        Some(password) => AuthenticationMethodConfig::Wpa2Personal(password.reveal().try_into()?),
        None => AuthenticationMethodConfig::Open,
    };
    let station = StationConfig::default()
        .with_ssid(network.ssid.try_into()?)
        .with_authentication(authentication);
    Ok(ControllerConfig::default()
        .with_static_rx_buf_num(RECEIVING)
        .with_dynamic_rx_buf_num(FRAMES)
        .with_dynamic_tx_buf_num(FRAMES)
        .with_initial_config(Config::Station(station)))
}

/// Why the radio is out of its network, in its driver's words.
type Reason = heapless::String<48>;

/// Joins the network, and joins it again whenever it is lost.
pub async fn stay_joined(
    mut controller: WifiController<'static>,
    stack: Stack<'static>,
    seed: u32,
) -> Infallible {
    let mut station = Station::new(seed, now());
    let mut reason = Reason::new();
    loop {
        let from = station.step();
        let event = match from {
            Step::Join { until } => join(&mut controller, until, &mut reason).await,
            Step::Stay { until } => watch(&controller, stack, until, &mut reason).await,
            Step::Leave => {
                let _ = with_timeout(LEAVE, controller.disconnect_async()).await; // it has left, or never was in
                Event::Gone
            }
            Step::Wait { until } => {
                Timer::at(instant(until)).await;
                Event::Elapsed
            }
            Step::Restart => {
                Timer::after(LAST_WORDS).await;
                esp_hal::system::software_reset()
            }
        };
        let now = now();
        let to = station.on(event, now);
        if let Some(told) = Told::of(from, event, to, &reason, now) {
            console!("{told}");
        }
    }
}

async fn join(controller: &mut WifiController<'_>, until: Millis, reason: &mut Reason) -> Event {
    match with_deadline(instant(until), controller.connect_async()).await {
        Ok(Ok(_)) => Event::Joined,
        Ok(Err(ConnectionError::Failed(info))) => {
            note(reason, format_args!("{:?}", info.reason));
            Event::Refused
        }
        Ok(Err(error)) => {
            note(reason, format_args!("{error}"));
            Event::Refused
        }
        Err(_) => Event::Elapsed,
    }
}

/// Until the network is lost, the address comes or goes, or time is up.
async fn watch(
    controller: &WifiController<'_>,
    stack: Stack<'_>,
    until: Option<Millis>,
    reason: &mut Reason,
) -> Event {
    let addressed = until.is_none();
    let gone = controller.wait_for_disconnect_async();
    let looked = async {
        while controller.is_connected() && stack.is_config_up() == addressed {
            Timer::after(LOOK).await;
        }
    };
    let elapsed = async {
        match until {
            Some(until) => Timer::at(instant(until)).await,
            None => pending().await,
        }
    };
    match select3(gone, looked, elapsed).await {
        Either3::First(info) => {
            match info {
                Ok(info) => note(reason, format_args!("{:?}", info.reason)),
                Err(error) => note(reason, format_args!("{error}")),
            }
            Event::Gone
        }
        Either3::Second(()) if !controller.is_connected() => {
            note(reason, format_args!("link lost"));
            Event::Gone
        }
        Either3::Second(()) if addressed => Event::Unaddressed,
        Either3::Second(()) => Event::Addressed,
        Either3::Third(()) => Event::Elapsed,
    }
}

fn note(reason: &mut Reason, text: core::fmt::Arguments<'_>) {
    reason.clear();
    let _ = reason.write_fmt(text); // what doesn't fit is cut off
}

fn instant(at: Millis) -> Instant {
    Instant::from_millis(at.0)
}
