//! The MCP device on ESP32-C3 and ESP32-C6, in a Wi-Fi network.
#![no_std]
#![no_main]

mod board;
#[path = "../../virt/src/build_id.rs"] // the same note, found by the same symbol
mod build_id;
mod console;
mod flash;
mod panic;
mod reset;
mod watchdog;
mod wifi;

use core::convert::Infallible;
use core::future::pending;

use embassy_executor::Spawner;
use embassy_futures::join::join;
use embassy_net::{Runner, Stack, StackResources};
use embassy_time::{Duration, Timer};
use esp_hal::clock::CpuClock;
use esp_hal::efuse::{InterfaceMacAddress, interface_mac_address};
use esp_hal::rng::Rng;
use esp_hal::timer::timg::TimerGroup;
use esp_radio::wifi::{Interface, WifiController};
use mcp_device::{Board, Device};
use mcp_device_net::boot::Stage;
use mcp_device_net::http::{Hosts, Seat, Server, Shared};
use mcp_device_net::mdns::{Config, Label, Txt};
use mcp_hil_board_network::door::Door;
use mcp_hil_board_network::listener::{self, Listener};
use mcp_hil_board_network::{addressing, discovery};
use mcp_hil_board_startup::address::Address;
use mcp_hil_board_startup::configuration::{Configuration, Secret};
use mcp_hil_board_startup::guard::Guarded;
use mcp_hil_board_startup::stage::{self, Unconfigured};
use static_cell::{ConstStaticCell, StaticCell};

use crate::board::{Esp32, Lamp, now};
use crate::watchdog::Watchdog;

/// TCP port of the MCP endpoint.
const PORT: u16 = 18791;
/// TCP connections at a time.
const CONNECTIONS: usize = 8;
/// Buffers for request bodies, shared by all connections.
const BODIES: usize = 2;
/// Buffers for answers, shared by all connections.
const ANSWERS: usize = 2;
/// Sockets of the network stack: those for TCP, DHCP, mDNS.
const SOCKETS: usize = listener::SOCKETS + 2;
/// After this a DHCP server has not got the question: in a network just joined the first is often lost.
const DHCP_RETRY: core::time::Duration = core::time::Duration::from_secs(2);
/// RAM that the bootloader has left behind, all of it heap, bytes.
const HEAP_RECLAIMED: usize = 64 * 1024;
/// The rest of the heap, bytes.
const HEAP_OWN: usize = if cfg!(feature = "esp32c6") { 112 } else { 64 } * 1024;
/// Between two lines of a board that can't start.
const REMINDER: Duration = Duration::from_secs(30);
const ONCE: &str = "each task is spawned once";

esp_bootloader_esp_idf::esp_app_desc!();

/// Goes in front of the build id, which becomes a constant by that: `build-id.x` tells why.
#[used]
#[unsafe(link_section = ".build_id")] // holds nothing else
static BEFORE_BUILD_ID: u32 = 0;

#[esp_rtos::main]
async fn main(spawner: Spawner) {
    static BUILD_ID: ConstStaticCell<[u8; build_id::TEXT]> = ConstStaticCell::new([0; build_id::TEXT]);
    static SECTOR: ConstStaticCell<flash::Sector> = ConstStaticCell::new(flash::Sector::new());

    let chip = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    esp_alloc::heap_allocator!(#[esp_hal::ram(reclaimed)] size: HEAP_RECLAIMED);
    esp_alloc::heap_allocator!(size: HEAP_OWN);
    // The radio's tasks need the scheduler, so this comes before the radio.
    let timers = TimerGroup::new(chip.TIMG0);
    esp_rtos::start(timers.timer0, chip.FROM_CPU_INTR0);

    let reason = reset::reason();
    console!("{}", Stage::Reset { reason });
    let build_id = build_id::read(BUILD_ID.take());
    console!("{}", Stage::Build { id: build_id });
    let mac = station_mac();
    console!("{}", Stage::Mac { mac });
    let sector = flash::read_configuration(SECTOR.take()).and_then(Configuration::parse);
    let (state, started) = stage::wireless(sector);
    console!("{state}");
    let (network, configuration) = match started {
        Ok(configured) => configured,
        Err(reason) => match wait(reason).await {},
    };

    let name = configuration.hostname.unwrap_or_else(|| Label::from_mac(mac));
    let lamp = Lamp::new(
        #[cfg(feature = "esp32c3")]
        chip.GPIO8,
        #[cfg(feature = "esp32c6")]
        chip.GPIO15,
    );
    // The device takes its memory before the radio does: what is left over is the radio's.
    let device = make_device(
        Esp32::new(name, mac, build_id, lamp, chip.TSENS, Rng::new()),
        configuration.token,
    );
    let controller = wifi::start(chip.WIFI, network);
    run(
        spawner,
        device,
        configuration.address,
        controller,
        Watchdog::new(chip.TIMG1),
    );
}

type Guarding = Guarded<'static, Device<Esp32>>;

#[inline(never)] // or its frame would stay on the stack while the radio starts
fn make_device(board: Esp32, token: Option<Secret<'static>>) -> &'static Guarding {
    static DEVICE: StaticCell<Guarding> = StaticCell::new();
    DEVICE.init(Guarded::new(Device::new(board, now()), token.map(Secret::reveal)))
}

/// The MAC address that the station will have.
fn station_mac() -> [u8; 6] {
    let address = interface_mac_address(InterfaceMacAddress::Station);
    address.as_bytes().try_into().unwrap_or_default() // it has six bytes
}

/// Tells why the board can't start, again and again: a person may come later.
async fn wait(reason: Unconfigured) -> Infallible {
    loop {
        console!("{reason}");
        Timer::after(REMINDER).await;
    }
}

/// Starts all that the board does in its network.
#[inline(never)] // or its frame would stay on the stack for ever
fn run(
    spawner: Spawner,
    device: &'static Guarding,
    address: Option<Address>,
    controller: WifiController<'static>,
    watchdog: Watchdog,
) {
    static RESOURCES: ConstStaticCell<StackResources<SOCKETS>> = ConstStaticCell::new(StackResources::new());
    static HOSTS: StaticCell<Hosts<'static>> = StaticCell::new();

    let board = device.inner().board();
    // Real random numbers, since the radio runs.
    let [seed, names, pauses] =
        [(); 3].map(|()| u64::from(board.entropy()) << 32 | u64::from(board.entropy()));
    let (stack, network) = embassy_net::new(
        Door::new(Interface::station(), PORT),
        addressing::config(address, DHCP_RETRY),
        RESOURCES.take(),
        seed,
    );
    let hosts = HOSTS.init(Hosts::default());
    spawner.spawn(run_network(network, watchdog).expect(ONCE));
    spawner.spawn(stay_joined(controller, stack, pauses as u32).expect(ONCE));
    spawner.spawn(keep_time(device).expect(ONCE));
    serve(spawner, stack, device, hosts);
    spawner.spawn(be_found(stack, board, names, hosts).expect(ONCE));
}

/// The network, and the watchdog in the same task: when the one hangs, the other bites.
#[embassy_executor::task]
async fn run_network(mut runner: Runner<'static, Door<Interface>>, watchdog: Watchdog) {
    join(runner.run(), watchdog.feed()).await;
}

#[embassy_executor::task]
async fn stay_joined(controller: WifiController<'static>, stack: Stack<'static>, seed: u32) {
    wifi::stay_joined(controller, stack, seed).await;
}

type Connections = Shared<'static, CONNECTIONS, BODIES, ANSWERS>;

#[embassy_executor::task]
async fn keep_time(device: &'static Guarding) {
    mcp_device_net::clock::run(device.inner()).await;
}

/// Has every connection served by a task of its own.
fn serve(spawner: Spawner, stack: Stack<'static>, device: &'static Guarding, hosts: &'static Hosts<'static>) {
    static SERVER: ConstStaticCell<Server<CONNECTIONS, BODIES, ANSWERS>> =
        ConstStaticCell::new(Server::new());
    static SHARED: StaticCell<Connections> = StaticCell::new();

    let (shared, seats) = SERVER.take().split();
    let shared = SHARED.init(shared);
    let listener = Listener::start(spawner, stack, PORT);
    spawner.spawn(make_room(shared).expect(ONCE));
    for seat in seats {
        spawner
            .spawn(serve_connection(shared, seat, listener, device, hosts).expect("as many tasks as seats"));
    }
}

#[embassy_executor::task]
async fn make_room(shared: &'static Connections) {
    shared.make_room().await;
}

#[embassy_executor::task(pool_size = CONNECTIONS)]
async fn serve_connection(
    shared: &'static Connections,
    seat: Seat<'static>,
    listener: Listener,
    device: &'static Guarding,
    hosts: &'static Hosts<'static>,
) {
    shared.serve(seat, &listener, device, hosts).await;
}

/// Has the board be found on its network.
#[embassy_executor::task]
async fn be_found(stack: Stack<'static>, board: &'static Esp32, seed: u64, hosts: &'static Hosts<'static>) {
    static MEMORY: ConstStaticCell<discovery::Memory> = ConstStaticCell::new(discovery::Memory::new());

    let txt = Txt::of_board(board.mac(), board.build_id());
    let service = Config::new(board.name(), board.name(), PORT, txt).expect("the name is a host name");
    let log = |line: core::fmt::Arguments<'_>| console!("{line}");
    discovery::run(stack, MEMORY.take(), service, seed, hosts, pending::<()>(), log).await;
}
