//! Tells how the board is reached: on its console, and over mDNS to everyone on its link.

use core::convert::Infallible;
use core::fmt;
use core::future::{Future, pending, poll_fn};
use core::mem::MaybeUninit;
use core::net::IpAddr;
use core::pin::pin;
use core::task::Poll;

use embassy_futures::select::{Either3, select3};
use embassy_net::{Ipv4Cidr, Stack};
use embassy_time::{Duration, Timer, with_timeout};
use mcp_device_net::boot::Stage;
use mcp_device_net::http::Hosts;
use mcp_device_net::mdns::{Config, Event, GROUP, Responder, driver};

use crate::datagram::{Notes, Packets, Socket};

/// Largest packet on an Ethernet, bytes.
const PACKET: usize = 1500;
/// For an address, before a person is told that there is none.
const PATIENCE: Duration = Duration::from_secs(10);
/// For the goodbye to leave. A stuck network must not keep a board from ending.
const GOODBYE: Duration = Duration::from_secs(1);
/// For the network device to send what the stack has given it.
const DEPARTURE: Duration = Duration::from_millis(50);

/// Memory of [`run`], for a static.
pub struct Memory {
    socket: Packets,
    packet: [u8; PACKET],
    responder: MaybeUninit<Responder>,
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            socket: Packets::new(),
            packet: [0; PACKET],
            responder: MaybeUninit::uninit(),
        }
    }
}

/// Announces `service` on the stack's link whenever that is up and there is an address, until `until` is done; then
/// withdraws it. `hosts` hears of the name that the board has got.
///
/// Console lines go to `log`: the boot stages `address`, `serving` and `announced`, and `mcp-device warning: TEXT`.
/// `seed` should differ between boards and between starts.
pub async fn run<T>(
    stack: Stack<'_>,
    memory: &mut Memory,
    service: Config,
    seed: u64,
    hosts: &Hosts<'_>,
    until: impl Future<Output = T>,
    log: impl Fn(fmt::Arguments<'_>),
) -> T {
    let port = service.port();
    let responder = make_responder(&mut memory.responder, service, seed);
    let mut notes = Notes::new();
    let mut socket = Socket::open(stack, &mut memory.socket, &mut notes);
    let mut until = pin!(until);
    let mut warn = pin!(warn(stack, &log));
    let tell = |event, responder: &Responder| {
        let name = responder.host();
        match event {
            Event::Announced => {
                hosts.announce(name);
                log(format_args!("{}", Stage::Announced { name: name.as_str() }));
            }
            Event::Renamed => {
                let instance = responder.instance();
                log(format_args!(
                    "mcp-device warning: the name is taken on this network; trying {instance} at {name}.local"
                ));
            }
        }
    };
    let complain = |fault| log(format_args!("mcp-device warning: mDNS: {fault}"));

    let mut present: Option<Ipv4Cidr> = None;
    let mut told = None;
    let ended = loop {
        // The group is left and joined again, so that the link's switches hear of it again. No call can fail: the address
        // is a group's, and the stack has room for it.
        if let Some(network) = present {
            let ip = IpAddr::V4(network.address());
            if told != Some(ip) {
                log(format_args!("{}", Stage::Address { ip }));
                log(format_args!("{}", Stage::Serving { ip, port }));
                told = Some(ip);
            }
            let _ = stack.join_multicast_group(*GROUP.ip());
            responder.link_up(driver::now(), network.address(), network.prefix_len());
        } else {
            let _ = stack.leave_multicast_group(*GROUP.ip());
            responder.link_down();
        }
        let change = select3(&mut until, network_other_than(stack, present), &mut warn);
        match driver::run(&mut socket, &mut memory.packet, responder, change, tell, complain).await {
            Either3::First(ended) => break ended,
            Either3::Second(network) => present = network,
            Either3::Third(never) => match never {},
        }
    };
    let goodbye = async {
        if let Err(fault) = driver::shut_down(&mut socket, responder).await {
            complain(fault);
        }
        socket.flush().await;
        Timer::after(DEPARTURE).await;
    };
    let _ = with_timeout(GOODBYE, goodbye).await;
    ended
}

/// Makes the responder and moves it to its place.
#[inline(never)] // or every poll of `run` would have room for it on the stack
fn make_responder(place: &mut MaybeUninit<Responder>, service: Config, seed: u64) -> &mut Responder {
    place.write(Responder::new(service, seed))
}

/// The board's address and network once that is no longer `known`; none while the link is down or there is no address.
async fn network_other_than(stack: Stack<'_>, known: Option<Ipv4Cidr>) -> Option<Ipv4Cidr> {
    poll_fn(|context| {
        let config = stack.config_v4();
        let has_config = config.is_some();
        let network = config.filter(|_| stack.is_link_up()).map(|config| config.address);
        if network != known {
            return Poll::Ready(network);
        }
        // What these wait for has not come to pass, but every change of the stack wakes the task that waits.
        if has_config {
            let _ = pin!(stack.wait_config_down()).poll(context);
        } else {
            let _ = pin!(stack.wait_config_up()).poll(context);
        }
        Poll::Pending
    })
    .await
}

/// Tells a person about a network that gives no address.
async fn warn(stack: Stack<'_>, log: impl Fn(fmt::Arguments<'_>)) -> Infallible {
    Timer::after(PATIENCE).await;
    let seconds = PATIENCE.as_secs();
    if !stack.is_link_up() {
        log(format_args!(
            "mcp-device warning: no address after {seconds} s: the network's link is down"
        ));
    } else if stack.config_v4().is_none() {
        log(format_args!(
            "mcp-device warning: no address after {seconds} s: no DHCP server answers"
        ));
    }
    pending().await
}
