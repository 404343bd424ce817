//! The MCP device as a Linux process on loopback: needs no hardware and no privileges, and several run at once.

mod board;
mod build_id;
mod discovery;
mod listener;
mod options;
mod stop;

use std::io::{self, Write};
use std::process;

use anyhow::{Context, Result};
use clap::Parser;
use embassy_executor::Spawner;
use embassy_futures::select::{Either3, select3};
use embassy_time::Instant;
use mcp_device::{Device, Millis};
use mcp_device_net::boot::Stage;
use mcp_device_net::clock;
use mcp_device_net::http::{Hosts, Server};
use peak_alloc::PeakAlloc;
use static_cell::ConstStaticCell;

use board::Native;
use listener::Listener;
use options::Options;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Connections that are open at once; more wait in the kernel.
const CONNECTIONS: usize = 16;

static SERVER: ConstStaticCell<Server<CONNECTIONS, 2, 2>> = ConstStaticCell::new(Server::new());

#[embassy_executor::main]
async fn main(_spawner: Spawner) {
    if let Err(error) = serve(Options::parse()).await {
        eprintln!("mcp-hil-board-native: {error:#}");
        process::exit(1);
    }
    process::exit(0);
}

async fn serve(options: Options) -> Result<()> {
    let stop = stop::asked_for(options.exit_on_stdin_eof).context("cannot listen for signals")?;
    log(Stage::Reset { reason: "power-on" });
    let build_id = build_id::read()?;
    log(Stage::Build { id: &build_id });

    let listener = Listener::bind(options.port).with_context(|| {
        let port = options.port;
        format!(
            "cannot listen on 127.0.0.1:{port}; choose another with --port N, or any free one with --port 0"
        )
    })?;
    let address = listener.address().context("cannot tell the port")?;
    let mac = options.mac(address.port());
    log(Stage::Mac { mac });
    log(Stage::Address { ip: address.ip() });

    let name = options.name(mac);
    let service = discovery::service(&name, address.port(), mac, &build_id)?;
    let device = Device::new(Native { name, mac, build_id }, Millis(Instant::now().as_millis()));
    log(Stage::Serving {
        ip: address.ip(),
        port: address.port(),
    });
    let hosts = Hosts::default();
    match select3(
        SERVER.take().run(&listener, &device, &hosts),
        clock::run(&device),
        discovery::announce(service, &hosts, stop),
    )
    .await
    {
        Either3::First(never) | Either3::Second(never) => match never {},
        Either3::Third(()) => Ok(()),
    }
}

/// One line on the console. That nobody reads it is no reason to stop.
fn log(stage: Stage<'_>) {
    let mut console = io::stdout().lock();
    let _ = writeln!(console, "{stage}").and_then(|()| console.flush());
}
