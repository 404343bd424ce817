//! The MCP device on QEMU's `virt` machine: RISC-V, 32 bits, virtio network.
#![no_std]
#![no_main]

extern crate alloc;

mod board;
mod build_id;
mod clock;
mod console;
mod entropy;
mod interrupts;
mod listener;
mod machine;
mod memory;
mod network;
mod power;
mod virtio;

use alloc::format;
use alloc::string::String;
use core::net::IpAddr;
use core::panic::PanicInfo;

use embassy_executor::{Executor, Spawner};
use embassy_net::{Stack, StackResources};
use embassy_time::{Duration, with_timeout};
use mcp_device::{Board, Device};
use mcp_device_net::boot::Stage;
use mcp_device_net::http::{Hosts, Seat, Server, Shared};
use static_cell::{ConstStaticCell, StaticCell};

use crate::board::{Virt, now};
use crate::entropy::Entropy;
use crate::listener::Listener;

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
const ONCE: &str = "each task is spawned once";

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
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();
    static DEVICE: StaticCell<Device<Virt>> = StaticCell::new();

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
    let dhcp = embassy_net::Config::dhcpv4(Default::default());
    let resources = RESOURCES.init_with(StackResources::new);
    let (stack, network) = embassy_net::new(interface, dhcp, resources, entropy.next_u64());
    let device = DEVICE.init(Device::new(Virt::new(mac, build_id, entropy), now()));
    console::listen();
    interrupts::enable();
    spawner.spawn(run_network(network).expect(ONCE));
    serve(spawner, stack, device);
    spawner.spawn(report_address(stack).expect(ONCE));
    spawner.spawn(obey().expect(ONCE));
}

#[embassy_executor::task]
async fn run_network(mut runner: embassy_net::Runner<'static, network::Device>) {
    runner.run().await
}

type Connections = Shared<'static, CONNECTIONS, BODIES, ANSWERS>;

/// Has every connection served by a task of its own.
fn serve(spawner: Spawner, stack: Stack<'static>, device: &'static Device<Virt>) {
    static SERVER: ConstStaticCell<Server<CONNECTIONS, BODIES, ANSWERS>> =
        ConstStaticCell::new(Server::new());
    static SHARED: StaticCell<Connections> = StaticCell::new();
    static HOST: StaticCell<String> = StaticCell::new();

    let (shared, seats) = SERVER.take().split();
    let shared = SHARED.init(shared);
    let listener = Listener::start(spawner, stack, PORT);
    let host = HOST.init(format!("{}.local", device.board().name()));
    spawner.spawn(make_room(shared).expect(ONCE));
    for seat in seats {
        spawner
            .spawn(serve_connection(shared, seat, listener, device, host).expect("as many tasks as seats"));
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
    device: &'static Device<Virt>,
    host: &'static str,
) {
    shared.serve(seat, &listener, device, &Hosts::new(&[host])).await;
}

/// Says on the console where the device is reached, again whenever that changes.
#[embassy_executor::task]
async fn report_address(stack: Stack<'static>) {
    const PATIENCE: Duration = Duration::from_secs(10);

    let mut last = None;
    if with_timeout(PATIENCE, stack.wait_config_up()).await.is_err() {
        console!(
            "mcp-device warning: no address after {} s: no DHCP server answers",
            PATIENCE.as_secs()
        );
    }
    loop {
        stack.wait_config_up().await;
        let ip = stack
            .config_v4()
            .map(|config| IpAddr::V4(config.address.address()));
        if let Some(ip) = ip.filter(|_| ip != last) {
            console!("{}", Stage::Address { ip });
            console!("{}", Stage::Serving { ip, port: PORT });
            last = Some(ip);
        }
        stack.wait_config_down().await;
    }
}

/// Obeys the command line on the console.
#[embassy_executor::task]
async fn obey() {
    let mut line = [0; console::LINE];
    loop {
        match console::read_line(&mut line).await {
            b"stats" => console!("mcp-device stats {}", memory::Figures::now()),
            b"restart" => power::restart(),
            b"shutdown" => power::off(),
            other => console!(
                "mcp-device unknown command `{}`: stats, restart, shutdown",
                other.escape_ascii()
            ),
        }
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
