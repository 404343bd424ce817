//! The board as a program on loopback, looked for by another project's mDNS browser.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of tests for code

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mdns_sd::{IfKind, ServiceDaemon, ServiceEvent};
use socket2::{Domain, Socket, Type};

const PATIENCE: Duration = Duration::from_secs(20);

/// A board that dies with the test.
struct Board(Child);

impl Board {
    /// The board and the lines of its console.
    fn start() -> (Self, impl Iterator<Item = String>) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mcp-hil-board-native"))
            .args(["--port", "0", "--exit-on-stdin-eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let console = BufReader::new(child.stdout.take().unwrap())
            .lines()
            .map(Result::unwrap);
        (Self(child), console)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_board_is_found_and_withdraws_itself_when_its_input_ends() {
    let browser = ServiceDaemon::new().unwrap();
    browser.disable_interface(IfKind::All).unwrap();
    browser.enable_interface(IfKind::LoopbackV4).unwrap();
    let events = browser.browse("_mcp._tcp.local.").unwrap();

    let (mut board, mut console) = Board::start();
    let mut value = |key: &str| {
        let line = console.find(|line| line.starts_with(key)).unwrap();
        line[key.len()..].to_owned()
    };
    let build = value("mcp-device boot stage=build id=");
    let mac = value("mcp-device boot stage=mac mac=");
    let url = value("mcp-device boot stage=serving url=");
    let name = value("mcp-device boot stage=announced name=");
    let fullname = format!("{name}._mcp._tcp.local.");

    let start = Instant::now();
    let next = || {
        events
            .recv_timeout(PATIENCE.saturating_sub(start.elapsed()))
            .unwrap()
    };
    let found = loop {
        match next() {
            ServiceEvent::ServiceResolved(service) if service.fullname == fullname => break service,
            _ => {}
        }
    };
    assert_eq!(found.host, format!("{name}.local."));
    assert_eq!(url, format!("http://127.0.0.1:{}/mcp", found.port));
    let addresses: Vec<String> = found
        .addresses
        .iter()
        .map(|ip| ip.to_ip_addr().to_string())
        .collect();
    assert_eq!(addresses, ["127.0.0.1"]);
    let txt = ["endpoint", "id", "build"].map(|key| found.txt_properties.get_property_val_str(key).unwrap());
    assert_eq!(txt, ["mcp", &mac, &build]);

    drop(board.0.stdin.take());
    assert!(board.0.wait().unwrap().success());
    loop {
        match next() {
            ServiceEvent::ServiceRemoved(_, removed) if removed == fullname => break,
            _ => {}
        }
    }
    browser.shutdown().unwrap();
}

/// `mdns/source-port-5353`: answers come from port 5353, to plain DNS clients as well.
#[test]
fn a_plain_dns_client_is_answered_from_port_5353() {
    let (_board, console) = Board::start();
    let announced = "mcp-device boot stage=announced name=";
    let line = { console }.find(|line| line.starts_with(announced)).unwrap();
    let name = &line[announced.len()..];

    let client = Socket::new(Domain::IPV4, Type::DGRAM, None).unwrap();
    client.set_multicast_if_v4(&Ipv4Addr::LOCALHOST).unwrap();
    client
        .bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
        .unwrap();
    let client = UdpSocket::from(client);
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut question = b"\xbe\xef\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00".to_vec();
    question.push(u8::try_from(name.len()).unwrap());
    question.extend_from_slice(name.as_bytes());
    question.extend_from_slice(b"\x05local\x00\x00\x01\x00\x01");
    client.send_to(&question, "224.0.0.251:5353").unwrap();

    let mut answer = [0; 1500];
    let (len, from) = client.recv_from(&mut answer).unwrap();
    assert_eq!(from, SocketAddr::from((Ipv4Addr::LOCALHOST, 5353)));
    assert_eq!(answer[..4], [0xbe, 0xef, 0x84, 0], "the id, a response, no error");
    assert!(
        answer[..len].windows(4).any(|bytes| bytes == [127, 0, 0, 1]),
        "{:02x?}",
        &answer[..len]
    );
}
