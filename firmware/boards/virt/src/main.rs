//! The MCP device on QEMU's `virt` machine: RISC-V, 32 bits, virtio network.
#![no_std]
#![no_main]

mod backtrace;
mod board;
mod build_id;
mod clock;
mod commands;
mod configuration;
mod console;
mod entropy;
mod interrupts;
mod machine;
mod memory;
mod network;
mod power;
mod virtio;

use core::panic::PanicInfo;
use core::time::Duration;

use embassy_executor::{Executor, Spawner};
use embassy_net::{Stack, StackResources};
use embassy_time::Timer;
use mcp_device::{Board, Device};
use mcp_device_net::boot::Stage;
use mcp_device_net::http::{Hosts, Seat, Server, Shared};
use mcp_device_net::mdns::{Config, Label, Txt};
use mcp_hil_board_network::door::Door;
use mcp_hil_board_network::listener::{self, Listener};
use mcp_hil_board_network::{addressing, discovery};
use mcp_hil_board_startup::configuration::{Configuration, Secret};
use mcp_hil_board_startup::guard::Guarded;
use mcp_hil_board_startup::stage::{self, Unconfigured};
use static_cell::{ConstStaticCell, StaticCell};

use crate::board::{Virt, now};
use crate::commands::{END, End};
use crate::entropy::Entropy;

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
/// After this a DHCP server on a local network has not got the question.
const DHCP_RETRY: Duration = Duration::from_secs(1);
/// Between two lines of a board that can't start.
const REMINDER: embassy_time::Duration = embassy_time::Duration::from_secs(30);
const ONCE: &str = "each task is spawned once";

/// Goes in front of the build id, which becomes a constant by that: `build-id.x` tells why.
#[used]
#[unsafe(link_section = ".build_id")] // holds nothing else
static BEFORE_BUILD_ID: u32 = 0;

#[riscv_rt::entry]
fn main() -> ! {
    memory::init();
    static EXECUTOR: StaticCell<Executor> = StaticCell::new();
    EXECUTOR.init(Executor::new()).run(start)
}

#[inline(never)] // or its frame would stay on the stack for ever
fn start(spawner: Spawner) {
    static BUILD_ID: ConstStaticCell<[u8; build_id::TEXT]> = ConstStaticCell::new([0; build_id::TEXT]);
    static BUFFERS: ConstStaticCell<network::Buffers> = ConstStaticCell::new(network::Buffers::new());

    console!(
        "{}",
        Stage::Reset {
            reason: power::reset_reason()
        }
    );
    let build_id = build_id::read(BUILD_ID.take());
    console!("{}", Stage::Build { id: build_id });
    let interface = network::Device::find(BUFFERS.take());
    console!("{}", Stage::Mac { mac: interface.mac() });
    let (state, configuration) = stage::wired(configuration::read());
    console!("{state}");
    console::listen();
    interrupts::enable();
    match configuration {
        Ok(configuration) => run(spawner, interface, build_id, configuration),
        Err(reason) => spawner.spawn(wait(reason).expect(ONCE)),
    }
}

/// Tells why the board can't start, again and again: a person may come later.
#[embassy_executor::task]
async fn wait(reason: Unconfigured) -> ! {
    loop {
        console!("{reason}");
        Timer::after(REMINDER).await;
    }
}

/// Starts all that the board does in its network.
fn run(
    spawner: Spawner,
    interface: network::Device,
    build_id: &'static str,
    configuration: Configuration<'static>,
) {
    static RESOURCES: ConstStaticCell<StackResources<SOCKETS>> = ConstStaticCell::new(StackResources::new());
    static DEVICE: StaticCell<Guarded<'static, Device<Virt>>> = StaticCell::new();
    static HOSTS: StaticCell<Hosts<'static>> = StaticCell::new();

    let mac = interface.mac();
    let entropy = Entropy::find();
    let (stack, network) = embassy_net::new(
        Door::new(interface, PORT),
        addressing::config(configuration.address, DHCP_RETRY),
        RESOURCES.take(),
        entropy.next_u64(),
    );
    let seed = entropy.next_u64();
    let name = configuration.hostname.unwrap_or_else(|| Label::from_mac(mac));
    let device = Device::new(Virt::new(name, mac, build_id, entropy), now());
    let device = DEVICE.init(Guarded::new(device, configuration.token.map(Secret::reveal)));
    spawner.spawn(run_network(network).expect(ONCE));
    spawner.spawn(keep_time(device).expect(ONCE));
    let hosts = HOSTS.init(Hosts::default());
    let connections = serve(spawner, stack, device, hosts);
    spawner.spawn(be_found(stack, device.inner().board(), seed, hosts).expect(ONCE));
    spawner.spawn(commands::obey(connections).expect(ONCE));
}

#[embassy_executor::task]
async fn run_network(mut runner: embassy_net::Runner<'static, Door<network::Device>>) {
    runner.run().await
}

#[embassy_executor::task]
async fn keep_time(device: &'static Guarded<'static, Device<Virt>>) {
    mcp_device_net::clock::run(device.inner()).await;
}

type Connections = Shared<'static, CONNECTIONS, BODIES, ANSWERS>;

/// Has every connection served by a task of its own; gives what they share.
fn serve(
    spawner: Spawner,
    stack: Stack<'static>,
    device: &'static Guarded<'static, Device<Virt>>,
    hosts: &'static Hosts<'static>,
) -> &'static Connections {
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
    shared
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
    device: &'static Guarded<'static, Device<Virt>>,
    hosts: &'static Hosts<'static>,
) {
    shared.serve(seat, &listener, device, hosts).await;
}

/// Has the board be found on its network until it is told to end, and ends it.
#[embassy_executor::task]
async fn be_found(stack: Stack<'static>, board: &'static Virt, seed: u64, hosts: &'static Hosts<'static>) {
    static MEMORY: ConstStaticCell<discovery::Memory> = ConstStaticCell::new(discovery::Memory::new());

    let txt = Txt::of_board(board.mac(), board.build_id());
    let service = Config::new(board.name(), board.name(), PORT, txt).expect("the name is a host name");
    let log = |line: core::fmt::Arguments<'_>| console!("{line}");
    match discovery::run(stack, MEMORY.take(), service, seed, hosts, END.wait(), log).await {
        End::Off => power::off(),
        End::Restart => power::restart(),
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    match info.location() {
        Some(place) => console!("mcp-device panic at {place}: {}", info.message()),
        None => console!("mcp-device panic: {}", info.message()),
    }
    for caller in backtrace::callers() {
        console!("mcp-device backtrace {caller:#010x}");
    }
    power::fail()
}
