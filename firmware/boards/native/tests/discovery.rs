//! The board as a program on loopback, looked for by another project's mDNS browser.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mdns_sd::{IfKind, ServiceDaemon, ServiceEvent};

const PATIENCE: Duration = Duration::from_secs(20);

/// A board that dies with the test.
struct Board(Child);

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

    let program = env!("CARGO_BIN_EXE_mcp-hil-board-native");
    let mut board = Board(
        Command::new(program)
            .args(["--port", "0", "--exit-on-stdin-eof"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut console = BufReader::new(board.0.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap);
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
