//! The network cable between a board's machine and the switch, which faults of the network sit in.

use std::io::{self, PipeReader, PipeWriter};
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::thread::{self, JoinHandle};

use etherparse::{NetHeaders, PacketBuilder, PacketHeaders, TcpHeader, TransportHeader};
use rustix::event::{PollFd, PollFlags, poll};

use super::fault::Fault;
use crate::Error;
use crate::machine::Wire;
use crate::network::{MCP_PATH, MCP_PORT};

const MDNS_PORT: u16 = 5353;
/// More than the longest frame.
const BUFFER: usize = 2048;

/// A cable as laid for one start of a machine.
pub(super) struct Cable {
    end: Option<Wire>,
    _meddler: Option<Meddler>,
}

impl Cable {
    /// Lays it over a wire, with a fault in it.
    pub fn lay(wire: Option<Wire>, fault: Option<Fault>) -> Result<Self, Error> {
        let (end, meddler) = match (wire, fault) {
            (None, _) | (_, Some(Fault::NoNetwork)) => (None, None),
            (Some(wire), Some(fault @ (Fault::NotAnnounced | Fault::Refused | Fault::NotMcp))) => {
                let (end, meddler) = Meddler::start(wire, fault).map_err(Error::io("meddle with a cable"))?;
                (Some(end), Some(meddler))
            }
            (wire, _) => (wire, None),
        };
        Ok(Cable {
            end,
            _meddler: meddler,
        })
    }

    /// Where the machine plugs in.
    pub fn end(&self) -> Option<Wire> {
        self.end
    }
}

/// The thread that passes frames on. It ends when this is dropped.
struct Meddler {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Meddler {
    fn start(wire: Wire, fault: Fault) -> io::Result<(Wire, Self)> {
        let to_switch = UdpSocket::bind(wire.board)?;
        to_switch.connect(wire.switch)?;
        let to_board = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // A port that is free now is the machine's in an instant.
        let board = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        to_board.connect(board)?;
        let end = Wire {
            switch: to_board.local_addr()?,
            board,
        };
        let (stopped, stop) = io::pipe()?;
        let thread = thread::Builder::new()
            .name("meddler".to_owned())
            .spawn(move || pass(&to_switch, &to_board, &stopped, fault))?;
        let (stop, thread) = (Some(stop), Some(thread));
        Ok((end, Meddler { stop, thread }))
    }
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pass(to_switch: &UdpSocket, to_board: &UdpSocket, stopped: &PipeReader, fault: Fault) {
    let mut buffer = [0; BUFFER];
    loop {
        let mut fds = [stopped.as_fd(), to_switch.as_fd(), to_board.as_fd()]
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let [stopped, from_switch, from_board] = fds.map(|fd| !fd.revents().is_empty());
        if stopped {
            return;
        }
        // A machine that is not there yet, or any more, is an error of the socket, and its frame is lost.
        if from_board
            && let Ok(length) = to_board.recv(&mut buffer)
            && !is_lost(&buffer[..length], fault)
        {
            let _ = to_switch.send(&buffer[..length]);
        }
        if from_switch && let Ok(length) = to_switch.recv(&mut buffer) {
            let _ = match meddle(&buffer[..length], fault) {
                Some(Meddled::Passes(frame)) => to_board.send(&frame),
                Some(Meddled::Answered(frame)) => to_switch.send(&frame),
                None => to_board.send(&buffer[..length]),
            };
        }
    }
}

/// Whether a frame of the board gets no further.
fn is_lost(frame: &[u8], fault: Fault) -> bool {
    let headers = PacketHeaders::from_ethernet_slice(frame);
    let from = headers.ok().and_then(|headers| match headers.transport {
        Some(TransportHeader::Udp(udp)) => Some(udp.source_port),
        _ => None,
    });
    fault == Fault::NotAnnounced && from == Some(MDNS_PORT)
}

/// What becomes of a frame for the board.
#[derive(Debug, PartialEq, Eq)]
enum Meddled {
    /// It goes on, changed.
    Passes(Vec<u8>),
    /// It goes no further, and this comes back.
    Answered(Vec<u8>),
}

/// None for a frame that goes on as it is.
fn meddle(frame: &[u8], fault: Fault) -> Option<Meddled> {
    let headers = PacketHeaders::from_ethernet_slice(frame).ok()?;
    let (Some(link), Some(NetHeaders::Ipv4(ip, _))) = (headers.link, headers.net) else {
        return None;
    };
    let Some(TransportHeader::Tcp(tcp)) = headers.transport else {
        return None;
    };
    if tcp.destination_port != MCP_PORT {
        return None;
    }
    match fault {
        Fault::Refused if !tcp.rst => {
            let link = link.ethernet2()?;
            let answer = PacketBuilder::ethernet2(link.destination, link.source)
                .ipv4(ip.destination, ip.source, 64)
                .tcp(MCP_PORT, tcp.source_port, tcp.acknowledgment_number, 0)
                .rst()
                .ack(tcp.sequence_number.wrapping_add(1));
            let mut bytes = Vec::with_capacity(answer.size(0));
            answer.write(&mut bytes, &[]).ok()?;
            Some(Meddled::Answered(bytes))
        }
        Fault::NotMcp => {
            let payload = headers.payload.slice();
            let line = payload.split(|byte| *byte == b'\r').next().unwrap_or_default();
            let path = line
                .windows(MCP_PATH.len())
                .position(|part| part == MCP_PATH.as_bytes())?;
            let start = payload.as_ptr() as usize - frame.as_ptr() as usize;
            let mut changed = frame.to_vec();
            // Another path, of the same length.
            changed[start + path + MCP_PATH.len() - 1] ^= 1;
            let sum = tcp
                .calc_checksum_ipv4(&ip, &changed[start..start + payload.len()])
                .ok()?;
            let checksum = start - tcp.header_len() + CHECKSUM;
            changed[checksum..checksum + 2].copy_from_slice(&sum.to_be_bytes());
            Some(Meddled::Passes(changed))
        }
        _ => None,
    }
}

/// Where a TCP header has its checksum (RFC 9293, 3.1).
const CHECKSUM: usize = TcpHeader::MIN_LEN - 4;

#[cfg(test)]
mod tests {
    use super::*;

    const BOARD: [u8; 4] = [10, 13, 37, 10];
    const HOST: [u8; 4] = [10, 13, 37, 1];

    fn tcp(port: u16, payload: &[u8]) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2])
            .ipv4(HOST, BOARD, 64)
            .tcp(40_000, port, 1000, 8192);
        let builder = if payload.is_empty() {
            builder.syn()
        } else {
            builder.ack(7)
        };
        let mut frame = Vec::new();
        builder.write(&mut frame, payload).unwrap();
        frame
    }

    fn udp(port: u16) -> Vec<u8> {
        let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 2], [1, 0, 0x5e, 0, 0, 0xfb])
            .ipv4(BOARD, [224, 0, 0, 251], 255)
            .udp(port, port);
        let mut frame = Vec::new();
        builder.write(&mut frame, b"response").unwrap();
        frame
    }

    #[test]
    fn a_cable_with_a_fault_still_carries_the_rest_and_ends_at_once() {
        let limit = Some(std::time::Duration::from_secs(10));
        let switch = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let board = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .unwrap()
            .local_addr()
            .unwrap();
        switch.connect(board).unwrap();
        let wire = Wire {
            switch: switch.local_addr().unwrap(),
            board,
        };
        let cable = Cable::lay(Some(wire), Some(Fault::Refused)).unwrap();
        let end = cable.end().unwrap();
        let machine = UdpSocket::bind(end.board).unwrap();
        machine.connect(end.switch).unwrap();
        for socket in [&switch, &machine] {
            socket.set_read_timeout(limit).unwrap();
        }
        let mut buffer = [0; BUFFER];
        machine.send(&udp(5353)).unwrap();
        let length = switch.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], udp(5353));
        switch.send(&tcp(18791, b"")).unwrap();
        switch.send(&tcp(80, b"")).unwrap();
        let length = machine.recv(&mut buffer).unwrap();
        assert_eq!(buffer[..length], tcp(80, b""), "the other was answered");
        assert!(switch.recv(&mut buffer).is_ok());
        drop(cable);
        UdpSocket::bind(board).unwrap();
    }

    #[test]
    fn an_unannounced_board_loses_its_mdns_and_nothing_else() {
        assert!(is_lost(&udp(5353), Fault::NotAnnounced));
        assert!(!is_lost(&udp(68), Fault::NotAnnounced));
        assert!(!is_lost(&udp(5353), Fault::Refused));
        assert!(!is_lost(b"no frame", Fault::NotAnnounced));
    }

    #[test]
    fn a_refused_connection_is_reset() {
        let Some(Meddled::Answered(answer)) = meddle(&tcp(18791, b""), Fault::Refused) else {
            panic!("no answer")
        };
        let headers = PacketHeaders::from_ethernet_slice(&answer).unwrap();
        let Some(TransportHeader::Tcp(reset)) = headers.transport else {
            panic!("no TCP")
        };
        assert!(reset.rst && reset.ack);
        assert_eq!((reset.source_port, reset.destination_port), (18791, 40_000));
        assert_eq!(
            reset.acknowledgment_number, 1001,
            "RFC 9293, 3.10.7.1: the SYN counts for one"
        );
        assert_eq!(answer[..6], [2, 0, 0, 0, 0, 1]);
        assert_eq!(meddle(&tcp(80, b""), Fault::Refused), None);
    }

    #[test]
    fn requests_for_the_endpoint_go_elsewhere() {
        let sent = tcp(18791, b"POST /mcp HTTP/1.1\r\nhost: /mcp\r\n");
        let Some(Meddled::Passes(changed)) = meddle(&sent, Fault::NotMcp) else {
            panic!("not changed")
        };
        assert_eq!(
            changed,
            tcp(18791, b"POST /mcq HTTP/1.1\r\nhost: /mcp\r\n"),
            "with the right checksum"
        );
        assert_eq!(meddle(&tcp(18791, b"GET / HTTP/1.1\r\n"), Fault::NotMcp), None);
    }
}
