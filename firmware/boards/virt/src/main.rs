//! The MCP device on QEMU's `virt` machine: RISC-V, 32 bits, virtio network.
#![no_std]
#![no_main]

mod board;
mod build_id;
mod clock;
mod commands;
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
use embassy_net::{DhcpConfig, Stack, StackResources};
use mcp_device::{Board, Device};
use mcp_device_net::boot::Stage;
use mcp_device_net::http::{Hosts, Seat, Server, Shared};
use mcp_device_net::mdns::{Config, Txt};
use mcp_hil_board_network::discovery;
use mcp_hil_board_network::door::Door;
use mcp_hil_board_network::listener::{self, Listener};
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
    static RESOURCES: ConstStaticCell<StackResources<SOCKETS>> = ConstStaticCell::new(StackResources::new());
    static DEVICE: StaticCell<Device<Virt>> = StaticCell::new();
    static HOSTS: StaticCell<Hosts<'static>> = StaticCell::new();

    console!(
        "{}",
        Stage::Reset {
            reason: power::reset_reason()
        }
    );
    let build_id = build_id::read(BUILD_ID.take());
    console!("{}", Stage::Build { id: build_id });
    let interface = network::Device::find(BUFFERS.take());
    let mac = interface.mac();
    console!("{}", Stage::Mac { mac });

    let entropy = Entropy::find();
    let dhcp = embassy_net::Config::dhcpv4(dhcp());
    let (stack, network) = embassy_net::new(
        Door::new(interface, PORT),
        dhcp,
        RESOURCES.take(),
        entropy.next_u64(),
    );
    let seed = entropy.next_u64();
    let device = DEVICE.init(Device::new(Virt::new(mac, build_id, entropy), now()));
    console::listen();
    interrupts::enable();
    spawner.spawn(run_network(network).expect(ONCE));
    spawner.spawn(keep_time(device).expect(ONCE));
    let hosts = HOSTS.init(Hosts::default());
    let connections = serve(spawner, stack, device, hosts);
    spawner.spawn(be_found(stack, device.board(), seed, hosts).expect(ONCE));
    spawner.spawn(commands::obey(connections).expect(ONCE));
}

fn dhcp() -> DhcpConfig {
    let mut config = DhcpConfig::default();
    config.retry_config.discover_timeout = DHCP_RETRY.into();
    config.retry_config.initial_request_timeout = DHCP_RETRY.into();
    config
}

#[embassy_executor::task]
async fn run_network(mut runner: embassy_net::Runner<'static, Door<network::Device>>) {
    runner.run().await
}

#[embassy_executor::task]
async fn keep_time(device: &'static Device<Virt>) {
    mcp_device_net::clock::run(device).await;
}

type Connections = Shared<'static, CONNECTIONS, BODIES, ANSWERS>;

/// Has every connection served by a task of its own; gives what they share.
fn serve(
    spawner: Spawner,
    stack: Stack<'static>,
    device: &'static Device<Virt>,
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
    device: &'static Device<Virt>,
    hosts: &'static Hosts<'static>,
) {
    shared.serve(seat, &listener, device, hosts).await;
}

/// Has the board be found on its network until it is told to end, and ends it.
#[embassy_executor::task]
async fn be_found(stack: Stack<'static>, board: &'static Virt, seed: u64, hosts: &'static Hosts<'static>) {
    static MEMORY: ConstStaticCell<discovery::Memory> = ConstStaticCell::new(discovery::Memory::new());

    let txt = Txt::of_board(board.mac(), board.build_id());
    let service =
        Config::new(board.name(), board.name(), PORT, txt).expect("the name is made of the MAC address");
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
    power::fail()
}
