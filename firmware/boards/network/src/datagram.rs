//! A UDP socket for mDNS. `edge-nal-embassy` has sockets too, but hides their hop limit.

use core::net::SocketAddr;

use edge_nal::{UdpReceive, UdpSend};
use embassy_net::Stack;
use embassy_net::udp::{PacketMetadata, RecvError, SendError, UdpSocket};
use embedded_io_async::{Error, ErrorKind, ErrorType};
use mcp_device_net::mdns::{MAX_SENT, PORT};
use thiserror::Error;

/// Of every packet (RFC 6762 §11).
const HOP_LIMIT: u8 = 255;
/// Packets that wait to be read: all of a network's boards may start at once.
const RECEIVED: usize = 8;
/// Bytes of them: two of the largest, or many of the usual 100 to 400 bytes.
const RECEIVED_BYTES: usize = 3000;
/// Packets that wait to be sent, and their bytes.
const SENT: usize = 2;
const SENT_BYTES: usize = SENT * MAX_SENT;

/// Memory for the packets of a [`Socket`]. All of it is zero at the start, so that a static one takes no flash.
pub(crate) struct Packets {
    received: [u8; RECEIVED_BYTES],
    sent: [u8; SENT_BYTES],
}

impl Packets {
    pub const fn new() -> Self {
        Self {
            received: [0; RECEIVED_BYTES],
            sent: [0; SENT_BYTES],
        }
    }
}

/// Memory for what the stack notes of them.
pub(crate) struct Notes {
    received: [PacketMetadata; RECEIVED],
    sent: [PacketMetadata; SENT],
}

impl Notes {
    pub const fn new() -> Self {
        Self {
            received: [PacketMetadata::EMPTY; RECEIVED],
            sent: [PacketMetadata::EMPTY; SENT],
        }
    }
}

/// Why a packet was not sent.
#[derive(Debug, Error)]
pub(crate) enum Fault {
    /// The stack refused it.
    #[error("a packet could not be sent: {0:?}")]
    Send(SendError),
    /// For an IPv6 address.
    #[error("a packet could not be sent: IPv6 is not spoken here")]
    Ipv6,
}

impl Error for Fault {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

/// A socket on the port of mDNS.
pub(crate) struct Socket<'a>(UdpSocket<'a>);

impl<'a> Socket<'a> {
    pub fn open(stack: Stack<'a>, packets: &'a mut Packets, notes: &'a mut Notes) -> Self {
        let Packets { received, sent } = packets;
        let mut socket = UdpSocket::new(stack, &mut notes.received, received, &mut notes.sent, sent);
        socket
            .bind(PORT)
            .expect("the port is not 0, and the socket is new");
        socket.set_hop_limit(Some(HOP_LIMIT));
        Self(socket)
    }

    /// Until the stack has taken over all that was sent.
    pub async fn flush(&mut self) {
        self.0.flush().await;
    }
}

impl ErrorType for Socket<'_> {
    type Error = Fault;
}

impl UdpReceive for Socket<'_> {
    async fn receive(&mut self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Fault> {
        loop {
            match self.0.recv_from(buffer).await {
                Ok((length, from)) => return Ok((length, from.endpoint.into())),
                // Nobody sends so much but by mistake.
                Err(RecvError::Truncated) => {}
            }
        }
    }
}

impl UdpSend for Socket<'_> {
    async fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> Result<(), Fault> {
        let SocketAddr::V4(to) = to else {
            return Err(Fault::Ipv6);
        };
        self.0
            .send_to(bytes, (*to.ip(), to.port()))
            .await
            .map_err(Fault::Send)
    }
}
