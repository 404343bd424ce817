//! What the scenarios do inside.

use std::fs;
use std::io::{ErrorKind, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use dhcproto::v4::{DhcpOption, Message, MessageType};
use dhcproto::{Decodable, Decoder, Encodable};
use etherparse::{
    ArpHardwareId, ArpOperation, ArpPacket, EtherType, NetSlice, PacketBuilder, SlicedPacket, TransportSlice,
};
use mcp_hil_virtual_board::plan::{HOST_ADDRESS, Mac, board_address, mac_of};
use mcp_hil_virtual_board::{BoardOptions, Error, Options, VirtualNetwork};
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::guest;

const BROADCAST: Mac = [0xff; 6];
const LONG: Duration = Duration::from_secs(10);

type Outcome = Result<(), Box<dyn std::error::Error>>;

pub fn run(name: &str) -> ExitCode {
    let scenario: fn() -> Outcome = match name {
        "enter" => enter,
        "threads" => threads,
        "wire" => wire,
        "cables" => cables,
        "capture" => capture,
        "board" => board,
        "inside" => inside,
        "stay" => || company(true),
        "leave" => || company(false),
        _ => || Err("there is no such scenario".into()),
    };
    match scenario() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn folder() -> PathBuf {
    std::env::var_os(crate::FOLDER).unwrap().into()
}

fn network(boards: usize) -> Result<VirtualNetwork, Error> {
    VirtualNetwork::enter(&Options {
        boards,
        ..Options::default()
    })
}

fn enter() -> Outcome {
    let _network = network(2)?;
    let names = crate::interfaces(&fs::read_to_string("/proc/net/dev")?);
    println!("interfaces: {}", names.join(" "));

    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    TcpStream::connect(listener.local_addr()?)?;
    TcpListener::bind((HOST_ADDRESS, 0))?;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.send_to(b"hello", "224.0.0.251:5353")?;
    let outside = socket.send_to(b"hello", "192.0.2.1:9").unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::NetworkUnreachable);
    Ok(())
}

fn threads() -> Outcome {
    let (_end, started) = (thread::spawn(|| thread::sleep(LONG)), ());
    let () = started;
    network(1)?;
    Ok(())
}

/// Stands in for board 0: raw frames over its end of the wire.
struct FakeBoard {
    wire: UdpSocket,
}

impl FakeBoard {
    fn plug_in() -> Self {
        let wire = UdpSocket::bind("127.0.0.1:20001").unwrap();
        wire.connect("127.0.0.1:20000").unwrap();
        FakeBoard { wire }
    }

    fn mac() -> Mac {
        mac_of(board_address(0))
    }

    fn send(&self, frame: &[u8]) {
        self.wire.send(frame).unwrap();
    }

    /// The first frame that `look` finds something in; none when the time is up.
    fn receive<T>(&self, timeout: Duration, look: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + timeout;
        let mut buffer = [0; 2000];
        loop {
            let left = deadline
                .checked_duration_since(Instant::now())
                .filter(|left| !left.is_zero())?;
            self.wire.set_read_timeout(Some(left)).unwrap();
            // Refused says that the switch was not there for an earlier frame.
            let Ok(length) = self.wire.recv(&mut buffer) else {
                continue;
            };
            if let Some(found) = look(&buffer[..length]) {
                return Some(found);
            }
        }
    }

    /// Asks by ARP who has the host's address; the MAC that answers and how long that took.
    fn ask_for_host(&self, timeout: Duration) -> Option<(Mac, Duration)> {
        let request = ArpPacket::new(
            ArpHardwareId::ETHERNET,
            EtherType::IPV4,
            ArpOperation::REQUEST,
            &Self::mac(),
            &board_address(0).octets(),
            &[0; 6],
            &HOST_ADDRESS.octets(),
        )
        .unwrap();
        let mut frame = Vec::new();
        PacketBuilder::ethernet2(Self::mac(), BROADCAST)
            .arp(request)
            .write(&mut frame)
            .unwrap();
        let asked = Instant::now();
        self.send(&frame);
        let mac = self.receive(timeout, |frame| {
            match SlicedPacket::from_ethernet(frame).ok()?.net? {
                NetSlice::Arp(arp) if arp.operation() == ArpOperation::REPLY => {
                    assert_eq!(arp.sender_protocol_addr(), HOST_ADDRESS.octets());
                    arp.sender_hw_addr().try_into().ok()
                }
                _ => None,
            }
        })?;
        Some((mac, asked.elapsed()))
    }
}

/// A board's frames reach the kernel behind the TAP interface and the DHCP server, and theirs the board.
fn wire() -> Outcome {
    let _network = network(1)?;
    let board = FakeBoard::plug_in();
    let (mac, _) = board.ask_for_host(LONG).ok_or("no answer to ARP")?;
    assert_eq!(mac, mac_of(HOST_ADDRESS));

    let mut discover = Message::default();
    discover.set_xid(7).set_chaddr(&FakeBoard::mac());
    discover
        .opts_mut()
        .insert(DhcpOption::MessageType(MessageType::Discover));
    let mut frame = Vec::new();
    PacketBuilder::ethernet2(FakeBoard::mac(), BROADCAST)
        .ipv4([0; 4], [255; 4], 64)
        .udp(68, 67)
        .write(&mut frame, &discover.to_vec()?)?;
    board.send(&frame);
    let offered = board.receive(LONG, |frame| {
        let Some(TransportSlice::Udp(udp)) = SlicedPacket::from_ethernet(frame).ok()?.transport else {
            return None;
        };
        (udp.destination_port() == 68).then(|| {
            Message::decode(&mut Decoder::new(udp.payload()))
                .unwrap()
                .yiaddr()
        })
    });
    assert_eq!(offered, Some(Ipv4Addr::new(10, 13, 37, 10)));

    // What programs here send to a group reaches the board.
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.send_to(b"to the group", "224.0.0.251:5353")?;
    let group = board.receive(LONG, |frame| {
        frame.ends_with(b"to the group").then(|| frame[..6].to_vec())
    });
    assert_eq!(group.as_deref(), Some(&[0x01, 0x00, 0x5e, 0x00, 0x00, 0xfb][..]));
    Ok(())
}

fn cables() -> Outcome {
    let network = network(1)?;
    let board = FakeBoard::plug_in();
    let quick = board.ask_for_host(LONG).ok_or("no answer on a perfect cable")?.1;
    network.impair(0, "delay=50ms".parse()?)?;
    let slow = board.ask_for_host(LONG).ok_or("no answer on a slow cable")?.1;
    assert!(slow >= Duration::from_millis(100), "there and back in {slow:?}");
    println!("perfect {quick:?}, 50 ms each way {slow:?}");

    let short = Duration::from_millis(200);
    network.impair(0, "loss=100%".parse()?)?;
    assert!(board.ask_for_host(short).is_none());
    network.impair(0, "".parse()?)?;
    network.connect(0, false)?;
    assert!(board.ask_for_host(short).is_none());
    network.connect(0, true)?;
    board.ask_for_host(LONG).ok_or("no answer on a mended cable")?;
    let counters = network.counters(0)?;
    assert!(counters.lost >= 1 && counters.cut >= 1, "{counters:?}");
    assert!(matches!(
        network.impair(1, "".parse()?),
        Err(Error::NoSuchBoard { board: 1, size: 1 })
    ));
    Ok(())
}

fn capture() -> Outcome {
    let path = folder().join("run.pcapng");
    let options = Options {
        boards: 1,
        capture: Some(path.clone()),
        ..Options::default()
    };
    let network = VirtualNetwork::enter(&options)?;
    let board = FakeBoard::plug_in();
    board.ask_for_host(LONG).ok_or("no answer to ARP")?;
    drop(network);

    let mut reader = PcapNgReader::new(fs::File::open(path)?)?;
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block?
            && let Ok(SlicedPacket {
                net: Some(NetSlice::Arp(arp)),
                ..
            }) = SlicedPacket::from_ethernet(&packet.data)
            && arp.operation() == ArpOperation::REPLY
        {
            seen.push(packet.interface_id);
        }
    }
    assert_eq!(
        seen,
        [0, 1],
        "the answer, where the host sent it and where the board got it"
    );
    Ok(())
}

fn write_guest(text: &str) -> Result<PathBuf, std::io::Error> {
    let path = folder().join("guest.elf");
    fs::write(&path, guest::elf(text))?;
    Ok(path)
}

fn board() -> Outcome {
    let network = network(1)?;
    let elf = write_guest(
        "mcp-device boot stage=reset reason=power-on\nmcp-device boot stage=address ip=10.13.37.10\n",
    )?;
    let log = folder().join("board.log");
    let options = BoardOptions {
        log: Some(log.clone()),
        ..BoardOptions::default()
    };

    let mut board = network.start_board(0, &elf, &options)?;
    let address = board.wait_for_stage("address", LONG)?;
    assert_eq!(address.field("ip"), Some("10.13.37.10"));
    assert!(board.wait_for_stage("reset", Duration::ZERO).is_ok());
    let again = network
        .start_board(0, &elf, &options)
        .err()
        .map(|error| error.to_string());
    assert!(again.is_some_and(|error| error.contains("board 0 is already running")));
    let silent = board
        .wait_for_stage("serving", Duration::from_millis(100))
        .unwrap_err()
        .to_string();
    assert!(
        silent.contains("did not report stage=serving within 100ms"),
        "{silent}"
    );
    assert!(silent.contains("stage=address ip=10.13.37.10"), "{silent}");

    assert!(board.exit_status()?.is_none());
    board.type_line("shutdown")?;
    assert_eq!(
        board.wait_for_exit(LONG)?.and_then(|status| status.code()),
        Some(0)
    );
    assert!(matches!(
        board.wait_for_stage("serving", LONG),
        Err(Error::BoardEnded { board: 0, .. })
    ));
    assert!(
        fs::read_to_string(&log)?
            .lines()
            .next()
            .is_some_and(|line| line.ends_with("stage=reset reason=power-on"))
    );

    // Its place is free again, also after its power was taken away.
    let mut board = network.start_board(0, &elf, &BoardOptions::default())?;
    board.wait_for_stage("address", LONG)?;
    board.kill()?;

    // The firmware has no build id; a board that tells one runs something else.
    let elf =
        write_guest("mcp-device boot stage=build id=17f4\nmcp-device boot stage=serving url=http://x/mcp\n")?;
    let mut board = network.start_board(0, &elf, &BoardOptions::default())?;
    let other = board.wait_until_serving(LONG).unwrap_err().to_string();
    assert!(
        other.contains("board 0 runs build \"17f4\"") && other.contains("is build \"\""),
        "{other}"
    );
    board.kill()?;
    let elf = write_guest("mcp-device boot stage=serving url=http://x/mcp\n")?;
    let mut board = network.start_board(0, &elf, &BoardOptions::default())?;
    assert_eq!(board.wait_until_serving(LONG)?.url, "http://x/mcp");
    board.kill()?;
    let wrong = BoardOptions {
        qemu_arguments: vec!["-no-such-option".into()],
        ..BoardOptions::default()
    };
    let board = network.start_board(0, &elf, &wrong)?;
    let ended = board.wait_for_stage("address", LONG).unwrap_err().to_string();
    assert!(
        ended.contains("board 0 ended") && ended.contains("-no-such-option: invalid option"),
        "{ended}"
    );

    let missing = network.start_board(1, &elf, &options).err();
    assert!(matches!(missing, Some(Error::NoSuchBoard { board: 1, size: 1 })));
    let missing = network
        .start_board(0, Path::new("/no/such.elf"), &options)
        .err()
        .map(|error| error.to_string());
    assert!(missing.is_some_and(|error| error.contains("/no/such.elf")));
    Ok(())
}

fn inside() -> Outcome {
    let network = network(1)?;
    let run = |script: &str| {
        network
            .run_inside("sh".as_ref(), &["-c", script])
            .map(|status| status.code())
    };
    assert_eq!(
        run("grep -o hil0 /proc/net/dev | sed 's/^/from inside: /'")?,
        Some(0)
    );
    assert_eq!(run("exit 42")?, Some(42));
    assert_eq!(run("kill -TERM $$")?, Some(128 + 15));
    assert_eq!(
        network.run_inside("no-such-program".as_ref(), &[""; 0])?.code(),
        Some(127)
    );

    // What it leaves in the background ends with it.
    let note = folder().join("note");
    let left = format!("(sleep 0.3; touch {}) & exit 0", note.display());
    assert_eq!(run(&left)?, Some(0));
    thread::sleep(Duration::from_millis(600));
    assert!(!note.exists());
    Ok(())
}

/// Two boards and a program inside; stays until it is killed, or ends by itself.
fn company(stay: bool) -> Outcome {
    let network = network(2)?;
    let elf = write_guest("mcp-device boot stage=serving\n")?;
    let boards = [0, 1].map(|number| {
        network
            .start_board(number, &elf, &BoardOptions::default())
            .unwrap()
    });
    let relay: SocketAddr = network.relay_address(0)?;
    thread::scope(|scope| {
        let script = if stay {
            "sleep 1000 & sleep 1000"
        } else {
            "sleep 1000 & sleep 0.2"
        };
        let program = scope.spawn(|| network.run_inside("sh".as_ref(), &["-c", script]));
        for board in &boards {
            board.wait_for_stage("serving", LONG).unwrap();
        }
        // Until the program has become a process with children.
        thread::sleep(Duration::from_millis(500));
        println!(
            "namespace {}",
            fs::read_link("/proc/self/ns/net").unwrap().display()
        );
        println!("relay {relay}");
        println!("boards {} {}", boards[0].process_id(), boards[1].process_id());
        std::io::stdout().flush().unwrap();
        program.join().unwrap().unwrap();
    });
    Ok(())
}
