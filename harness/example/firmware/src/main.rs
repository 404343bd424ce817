//! A thermostat that speaks MCP, on QEMU's `virt` machine: one loop, no operating system, no async runtime. The MCP
//! server is its own (`thermostat.rs`); HTTP and mDNS are mcp-device-net's, which does no I/O itself.
#![no_std]
#![no_main]

extern crate alloc;

mod http;
mod machine;
mod mdns;
mod network;
mod thermostat;

use core::panic::PanicInfo;
use core::time::Duration;

use mcp_device_net::http::Hosts;
use mcp_device_net::mdns::{Config, Label, Txt};

use crate::http::Server;
use crate::machine::{build_id, now, println, sleep};
use crate::mdns::Announcer;
use crate::network::Network;
use crate::thermostat::Thermostat;

/// TCP port of the MCP endpoint.
const PORT: u16 = 18791;
/// How long the processor sleeps when there is nothing to do.
const PAUSE: Duration = Duration::from_millis(1);

#[riscv_rt::entry]
fn main() -> ! {
    machine::init();
    println!("thermostat, build {}", build_id());
    let mut network = Network::new();
    let mac = network.mac();
    let name = Label::from_mac(mac);
    let txt = Txt::of_board(mac, &build_id());
    let service = Config::new(name.as_str(), "Thermostat", PORT, txt).expect("the names are legal");

    let hosts = Hosts::default();
    let mut server = Server::new(&mut network, PORT);
    let mut announcer = Announcer::new(&mut network, service);
    let mut thermostat = Thermostat::default();
    loop {
        network.poll();
        announcer.poll(&mut network, &hosts);
        server.poll(&mut network, &hosts, now(), |request| thermostat.answer(request));
        sleep(PAUSE);
    }
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    println!("{info}");
    machine::power_off()
}
