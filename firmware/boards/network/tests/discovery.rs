//! The board's side of a link, frame by frame.
#![allow(clippy::unwrap_used, reason = "a panic is a failed test")]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::task::{Context, Waker};

use embassy_futures::select::{Either, select};
use embassy_net::{Config, Ipv4Address, Ipv4Cidr, Stack, StackResources, StaticConfigV4};
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Timer, with_timeout};
use mcp_device_net::http::Hosts;
use mcp_device_net::mdns::{self, Txt};
use mcp_hil_board_network::discovery::{self, Memory};
use simple_dns::Packet;

const MAC: [u8; 6] = [2, 0, 0, 0x49, 0x89, 0x0b];
const PORT: u16 = 18791;

/// A link and what the board has sent to it.
#[derive(Default)]
struct Link {
    up: bool,
    sent: VecDeque<Vec<u8>>,
    waker: Option<Waker>,
}

/// The board's network device, and the test's hold of it.
#[derive(Clone, Default)]
struct Device(Rc<RefCell<Link>>);

impl Device {
    fn set_link(&self, up: bool) {
        let mut link = self.0.borrow_mut();
        link.up = up;
        if let Some(waker) = link.waker.take() {
            waker.wake();
        }
    }

    /// The next `count` DNS messages that the board sends, in frames that are all as they must be.
    async fn messages(&self, count: usize) -> Vec<Vec<u8>> {
        let mut messages = Vec::new();
        while messages.len() < count {
            let frame = self.0.borrow_mut().sent.pop_front();
            match frame {
                Some(frame) => messages.extend(message(&frame)),
                None => Timer::after_millis(10).await,
            }
        }
        messages
    }
}

/// The payload of an mDNS frame; none for ARP and IGMP.
fn message(frame: &[u8]) -> Option<Vec<u8>> {
    const IPV4: [u8; 2] = [0x08, 0x00];
    const UDP: u8 = 17;
    let (ethernet, ip) = frame.split_at(14);
    if ethernet[12..] != IPV4 || ip[9] != UDP {
        return None;
    }
    assert_eq!(
        ethernet[..6],
        [0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb],
        "RFC 1112, 6.4"
    );
    assert_eq!(ip[0], 0x45);
    assert_eq!(ip[8], 255, "the hop limit (RFC 6762, 11)");
    assert_eq!(ip[16..20], [224, 0, 0, 251]);
    assert_eq!(
        ip[20..24],
        [0x14, 0xe9, 0x14, 0xe9],
        "from port 5353 to port 5353"
    );
    Some(ip[28..].to_vec())
}

impl Driver for Device {
    type RxToken<'a> = Nothing;
    type TxToken<'a> = Frame;

    fn receive(&mut self, context: &mut Context) -> Option<(Nothing, Frame)> {
        self.0.borrow_mut().waker = Some(context.waker().clone());
        None
    }

    fn transmit(&mut self, context: &mut Context) -> Option<Frame> {
        self.0.borrow_mut().waker = Some(context.waker().clone());
        Some(Frame(self.clone()))
    }

    fn link_state(&mut self, context: &mut Context) -> LinkState {
        self.0.borrow_mut().waker = Some(context.waker().clone());
        if self.0.borrow().up {
            LinkState::Up
        } else {
            LinkState::Down
        }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = 1514;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(MAC)
    }
}

struct Nothing;

impl RxToken for Nothing {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, _: F) -> R {
        unreachable!("nothing is received")
    }
}

struct Frame(Device);

impl TxToken for Frame {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let result = write(&mut frame);
        let mut link = self.0.0.borrow_mut();
        if link.up {
            link.sent.push_back(frame);
        }
        result
    }
}

/// A board with a static address, its link, and its console.
struct Board {
    link: Device,
    console: RefCell<Vec<String>>,
    end: Signal<NoopRawMutex, ()>,
    /// Done when the board has ended.
    ended: Signal<NoopRawMutex, ()>,
}

impl Board {
    /// Runs a board through the script, which must end it or may leave it running.
    fn run(script: impl AsyncFnOnce(&Self, Stack<'_>)) {
        let board = Self {
            link: Device::default(),
            console: RefCell::default(),
            end: Signal::new(),
            ended: Signal::new(),
        };
        let mut resources = StackResources::<3>::new();
        let config = Config::ipv4_static(address([192, 168, 7, 2]));
        let (stack, mut runner) = embassy_net::new(board.link.clone(), config, &mut resources, 1);
        let mut memory = Memory::new();
        let service = mdns::Config::new("board", "board", PORT, Txt::of_board(MAC, "b1")).unwrap();
        let hosts = Hosts::default();
        let log = |line: fmt::Arguments<'_>| board.console.borrow_mut().push(line.to_string());
        let discovery = async {
            discovery::run(stack, &mut memory, service, 1, &hosts, board.end.wait(), log).await;
            board.ended.signal(());
            std::future::pending::<()>().await
        };
        let script = with_timeout(Duration::from_secs(20), script(&board, stack));
        async_io::block_on(async {
            match select(script, select(runner.run(), discovery)).await {
                Either::First(done) => done.expect("the script takes too long"),
                Either::Second(_) => unreachable!("both run for ever"),
            }
        });
    }

    /// The console lines since the last call.
    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.console.borrow_mut())
    }
}

fn address(octets: [u8; 4]) -> StaticConfigV4 {
    StaticConfigV4 {
        address: Ipv4Cidr::new(Ipv4Address::from(octets), 24),
        gateway: None,
        dns_servers: Default::default(),
    }
}

/// What each message is.
fn kinds(messages: &[Vec<u8>]) -> Vec<&'static str> {
    let kind = |message: &Vec<u8>| {
        let packet = Packet::parse(message).unwrap();
        if !packet.has_flags(simple_dns::PacketFlag::RESPONSE) {
            "probe"
        } else if packet.answers.iter().all(|record| record.ttl == 0) {
            "goodbye"
        } else {
            "announcement"
        }
    };
    messages.iter().map(kind).collect()
}

fn holds(message: &[u8], octets: [u8; 4]) -> bool {
    message.windows(4).any(|window| window == octets)
}

const COMING_UP: [&str; 5] = ["probe", "probe", "probe", "announcement", "announcement"];
const ANNOUNCED: &str = "mcp-device boot stage=announced name=board";

#[test]
fn a_board_comes_up_loses_its_link_comes_back_and_leaves() {
    Board::run(async |board, _| {
        Timer::after_millis(300).await;
        assert_eq!(board.told(), [""; 0], "there is no link");
        board.link.set_link(true);
        assert_eq!(kinds(&board.link.messages(5).await), COMING_UP);
        let lines = [
            "mcp-device boot stage=address ip=192.168.7.2",
            "mcp-device boot stage=serving url=http://192.168.7.2:18791/mcp",
            ANNOUNCED,
        ];
        assert_eq!(board.told(), lines);

        board.link.set_link(false);
        Timer::after_millis(300).await;
        board.link.set_link(true);
        assert_eq!(kinds(&board.link.messages(5).await), COMING_UP);
        assert_eq!(board.told(), [ANNOUNCED], "the address is the same");

        board.end.signal(());
        board.ended.wait().await;
        assert_eq!(kinds(&board.link.messages(1).await), ["goodbye"]);
    });
}

#[test]
fn a_new_address_is_told_and_announced() {
    Board::run(async |board, stack| {
        board.link.set_link(true);
        let messages = board.link.messages(5).await;
        assert!(messages.iter().all(|message| holds(message, [192, 168, 7, 2])));
        board.told();

        stack.set_config_v4(embassy_net::ConfigV4::Static(address([10, 1, 2, 3])));
        let messages = board.link.messages(5).await;
        let lines = [
            "mcp-device boot stage=address ip=10.1.2.3",
            "mcp-device boot stage=serving url=http://10.1.2.3:18791/mcp",
            ANNOUNCED,
        ];
        assert_eq!(board.told(), lines);
        assert_eq!(kinds(&messages), COMING_UP);
        assert!(messages.iter().all(|message| holds(message, [10, 1, 2, 3])));
    });
}

#[test]
fn a_board_without_a_network_warns_and_ends_all_the_same() {
    Board::run(async |board, _| {
        Timer::after_millis(10_500).await;
        let line = "mcp-device warning: no address after 10 s: the network's link is down";
        assert_eq!(board.told(), [line]);
        board.end.signal(());
        board.ended.wait().await;
    });
}
