//! A DHCP server (RFC 2131) for one network. Pure: a frame in, a frame or nothing out.
//!
//! Boards of the address plan always get the address of their place, other machines one from a small pool. It
//! keeps no clock: an address stays with its MAC for as long as the server lives, whatever the lease's time.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use dhcproto::v4::{
    CLIENT_PORT, DhcpOption, HType, MIN_PACKET_SIZE, Message, MessageType, Opcode, OptionCode, SERVER_PORT,
};
use dhcproto::{Decodable, Decoder, Encodable};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

use crate::plan::{self, HOST_ADDRESS, Mac, NETMASK};
use crate::switch::MAX_FRAME;

/// How long a lease is said to last, in seconds. Clients ask to renew it after half of that.
pub const LEASE_SECONDS: u32 = 3600;

/// What the server makes of a frame that was for it.
#[derive(Debug, PartialEq, Eq)]
pub enum Answer {
    /// This frame goes back to where the request came from.
    Reply(Vec<u8>),
    /// Nothing is said.
    Silence,
}

/// The server. It speaks with the address and MAC of the namespace's own stack.
#[derive(Debug, Default)]
pub struct Server {
    lent: HashMap<Mac, Ipv4Addr>,
}

impl Server {
    /// A server that has lent nothing yet.
    pub fn new() -> Self {
        Server::default()
    }

    /// Looks at any Ethernet frame. None when it is no packet to a DHCP server, and so not for this one.
    pub fn receive(&mut self, frame: &[u8]) -> Option<Answer> {
        let packet = SlicedPacket::from_ethernet(frame).ok()?;
        let (Some(NetSlice::Ipv4(_)), Some(TransportSlice::Udp(udp))) = (&packet.net, &packet.transport)
        else {
            return None;
        };
        if udp.destination_port() != SERVER_PORT {
            return None;
        }
        let reply = parse(udp.payload()).and_then(|(mac, request)| self.reply(mac, &request));
        Some(reply.map_or(Answer::Silence, Answer::Reply))
    }

    fn reply(&mut self, mac: Mac, request: &Message) -> Option<Vec<u8>> {
        let options = request.opts();
        // A request that names another server is an answer to that one (RFC 2131 4.3.2).
        if let Some(DhcpOption::ServerIdentifier(server)) = options.get(OptionCode::ServerIdentifier)
            && *server != HOST_ADDRESS
        {
            return None;
        }
        match options.msg_type()? {
            MessageType::Discover => {
                let address = self.address_for(mac)?;
                answer(mac, request, MessageType::Offer, address)
            }
            MessageType::Request => {
                let wanted = match options.get(OptionCode::RequestedIpAddress) {
                    Some(DhcpOption::RequestedIpAddress(address)) => *address,
                    _ => request.ciaddr(),
                };
                let address = self.address_for(mac)?;
                let kind = if wanted == address {
                    MessageType::Ack
                } else {
                    MessageType::Nak
                };
                answer(mac, request, kind, address)
            }
            // The client has an address and wants the rest (RFC 2131 4.3.5): no address, no lease time.
            MessageType::Inform => answer(mac, request, MessageType::Ack, Ipv4Addr::UNSPECIFIED),
            // An address that is given back or found taken stays with its MAC: the plan has no other for it.
            _ => None,
        }
    }

    /// The address of a MAC; none when the pool is empty.
    fn address_for(&mut self, mac: Mac) -> Option<Ipv4Addr> {
        if let Some(planned) = plan::address_of(mac) {
            return Some(planned);
        }
        if let Some(lent) = self.lent.get(&mac) {
            return Some(*lent);
        }
        let free = plan::DYNAMIC
            .map(plan::host)
            .find(|address| !self.lent.values().any(|lent| lent == address))?;
        self.lent.insert(mac, free);
        Some(free)
    }
}

/// A client's message on Ethernet and its hardware address; none when it is anything else.
fn parse(payload: &[u8]) -> Option<(Mac, Message)> {
    const HLEN: usize = 2;
    if payload.get(HLEN) != Some(&6) {
        return None;
    }
    let message = Message::decode(&mut Decoder::new(payload)).ok()?;
    let from_client = message.opcode() == Opcode::BootRequest
        && message.htype() == HType::Eth
        && message.giaddr() == Ipv4Addr::UNSPECIFIED;
    let mac = Mac::try_from(message.chaddr()).ok()?;
    from_client.then_some((mac, message))
}

/// The frame that answers a request; none when the client's identifier is too long to be echoed in one.
fn answer(mac: Mac, request: &Message, kind: MessageType, address: Ipv4Addr) -> Option<Vec<u8>> {
    let mut reply = Message::default();
    reply
        .set_opcode(Opcode::BootReply)
        .set_xid(request.xid())
        .set_flags(request.flags())
        .set_giaddr(request.giaddr())
        .set_chaddr(&mac);
    let options = reply.opts_mut();
    options.insert(DhcpOption::MessageType(kind));
    options.insert(DhcpOption::ServerIdentifier(HOST_ADDRESS));
    // RFC 6842: the client's identifier comes back.
    if let Some(identifier) = request.opts().get(OptionCode::ClientIdentifier) {
        options.insert(identifier.clone());
    }
    if kind != MessageType::Nak {
        options.insert(DhcpOption::SubnetMask(NETMASK));
        options.insert(DhcpOption::Router(vec![HOST_ADDRESS]));
        if address != Ipv4Addr::UNSPECIFIED {
            options.insert(DhcpOption::AddressLeaseTime(LEASE_SECONDS));
        }
        reply.set_yiaddr(address).set_ciaddr(request.ciaddr());
    }
    let (to_mac, to_address) = destination(mac, request, kind, address);
    envelope(to_mac, to_address, &reply)
}

/// Where an answer goes (RFC 2131 4.1).
fn destination(mac: Mac, request: &Message, kind: MessageType, address: Ipv4Addr) -> (Mac, Ipv4Addr) {
    if kind == MessageType::Nak {
        ([0xff; 6], Ipv4Addr::BROADCAST)
    } else if request.ciaddr() != Ipv4Addr::UNSPECIFIED {
        (mac, request.ciaddr())
    } else if request.flags().broadcast() || address == Ipv4Addr::UNSPECIFIED {
        ([0xff; 6], Ipv4Addr::BROADCAST)
    } else {
        (mac, address)
    }
}

fn envelope(to_mac: Mac, to_address: Ipv4Addr, message: &Message) -> Option<Vec<u8>> {
    let mut payload = message.to_vec().ok()?;
    // Some clients drop shorter messages (RFC 1542 2.1).
    payload.resize(payload.len().max(MIN_PACKET_SIZE), 0);
    let builder = PacketBuilder::ethernet2(plan::mac_of(HOST_ADDRESS), to_mac)
        .ipv4(HOST_ADDRESS.octets(), to_address.octets(), 64)
        .udp(SERVER_PORT, CLIENT_PORT);
    let mut frame = Vec::with_capacity(builder.size(payload.len()));
    builder.write(&mut frame, &payload).ok()?;
    (frame.len() <= MAX_FRAME).then_some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dhcproto::v4::Flags;

    const BOARD: Mac = [0x02, 0x00, 10, 13, 37, 10];
    const BOARD_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 13, 37, 10);
    const STRANGER: Mac = [0x52, 0x54, 0, 0x12, 0x34, 0x56];

    fn message(mac: Mac, kind: MessageType) -> Message {
        let mut message = Message::default();
        message.set_xid(0x1234_5678).set_chaddr(&mac);
        message.opts_mut().insert(DhcpOption::MessageType(kind));
        message
    }

    fn frame(message: &Message) -> Vec<u8> {
        let mac = Mac::try_from(message.chaddr()).unwrap();
        let mut frame = Vec::new();
        PacketBuilder::ethernet2(mac, [0xff; 6])
            .ipv4([0; 4], [255; 4], 64)
            .udp(CLIENT_PORT, SERVER_PORT)
            .write(&mut frame, &message.to_vec().unwrap())
            .unwrap();
        frame
    }

    /// What the server answers: the destinations on Ethernet and IP, and the message.
    fn ask(server: &mut Server, message: &Message) -> Option<(Mac, Ipv4Addr, Message)> {
        let Answer::Reply(reply) = server.receive(&frame(message)).expect("is for the server") else {
            return None;
        };
        let packet = SlicedPacket::from_ethernet(&reply).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &packet.net else {
            panic!("no IPv4")
        };
        let Some(TransportSlice::Udp(udp)) = &packet.transport else {
            panic!("no UDP")
        };
        assert_eq!((udp.source_port(), udp.destination_port()), (67, 68));
        assert_eq!(ip.header().source_addr(), HOST_ADDRESS);
        assert_eq!(reply[6..12], plan::mac_of(HOST_ADDRESS));
        let message = Message::decode(&mut Decoder::new(udp.payload())).unwrap();
        assert_eq!(message.opcode(), Opcode::BootReply);
        assert_eq!(message.xid(), 0x1234_5678);
        Some((
            reply[..6].try_into().unwrap(),
            ip.header().destination_addr(),
            message,
        ))
    }

    #[test]
    fn a_board_gets_the_address_of_its_place() {
        let mut server = Server::new();
        let (mac, ip, offer) = ask(&mut server, &message(BOARD, MessageType::Discover)).unwrap();
        assert_eq!((mac, ip), (BOARD, BOARD_ADDRESS));
        assert_eq!(offer.opts().msg_type(), Some(MessageType::Offer));
        assert_eq!(offer.yiaddr(), BOARD_ADDRESS);
        assert_eq!(offer.chaddr(), BOARD);
        for (code, option) in [
            (
                OptionCode::SubnetMask,
                DhcpOption::SubnetMask(Ipv4Addr::new(255, 255, 255, 0)),
            ),
            (
                OptionCode::Router,
                DhcpOption::Router(vec![Ipv4Addr::new(10, 13, 37, 1)]),
            ),
            (
                OptionCode::ServerIdentifier,
                DhcpOption::ServerIdentifier(Ipv4Addr::new(10, 13, 37, 1)),
            ),
            (OptionCode::AddressLeaseTime, DhcpOption::AddressLeaseTime(3600)),
        ] {
            assert_eq!(offer.opts().get(code), Some(&option));
        }

        let mut request = message(BOARD, MessageType::Request);
        request
            .opts_mut()
            .insert(DhcpOption::RequestedIpAddress(offer.yiaddr()));
        request
            .opts_mut()
            .insert(DhcpOption::ServerIdentifier(HOST_ADDRESS));
        let (.., ack) = ask(&mut server, &request).unwrap();
        assert_eq!(ack.opts().msg_type(), Some(MessageType::Ack));
        assert_eq!(ack.yiaddr(), BOARD_ADDRESS);
    }

    #[test]
    fn a_client_that_cannot_take_unicast_is_answered_by_broadcast() {
        let mut discover = message(BOARD, MessageType::Discover);
        discover.set_flags(Flags::default().set_broadcast());
        let (mac, ip, offer) = ask(&mut Server::new(), &discover).unwrap();
        assert_eq!((mac, ip), ([0xff; 6], Ipv4Addr::BROADCAST));
        assert!(offer.flags().broadcast());
    }

    #[test]
    fn a_lease_is_renewed() {
        let mut renewal = message(BOARD, MessageType::Request);
        renewal.set_ciaddr(BOARD_ADDRESS);
        let (mac, ip, ack) = ask(&mut Server::new(), &renewal).unwrap();
        assert_eq!((mac, ip), (BOARD, BOARD_ADDRESS));
        assert_eq!(ack.opts().msg_type(), Some(MessageType::Ack));
        assert_eq!((ack.ciaddr(), ack.yiaddr()), (BOARD_ADDRESS, BOARD_ADDRESS));
    }

    #[test]
    fn a_wrong_address_is_refused_by_broadcast() {
        let mut request = message(BOARD, MessageType::Request);
        request
            .opts_mut()
            .insert(DhcpOption::RequestedIpAddress(Ipv4Addr::new(192, 168, 1, 7)));
        let (mac, ip, nak) = ask(&mut Server::new(), &request).unwrap();
        assert_eq!((mac, ip), ([0xff; 6], Ipv4Addr::BROADCAST));
        assert_eq!(nak.opts().msg_type(), Some(MessageType::Nak));
        assert_eq!(nak.yiaddr(), Ipv4Addr::UNSPECIFIED);
        assert_eq!(nak.opts().get(OptionCode::AddressLeaseTime), None);
    }

    #[test]
    fn a_request_to_another_server_is_left_to_it() {
        let mut request = message(BOARD, MessageType::Request);
        request
            .opts_mut()
            .insert(DhcpOption::RequestedIpAddress(BOARD_ADDRESS));
        request
            .opts_mut()
            .insert(DhcpOption::ServerIdentifier(Ipv4Addr::new(10, 13, 37, 2)));
        assert!(ask(&mut Server::new(), &request).is_none());
    }

    #[test]
    fn inform_gets_options_without_an_address() {
        let mut inform = message(BOARD, MessageType::Inform);
        inform.set_ciaddr(BOARD_ADDRESS);
        let (mac, ip, ack) = ask(&mut Server::new(), &inform).unwrap();
        assert_eq!((mac, ip), (BOARD, BOARD_ADDRESS));
        assert_eq!(ack.yiaddr(), Ipv4Addr::UNSPECIFIED);
        assert_eq!(ack.opts().get(OptionCode::AddressLeaseTime), None);
    }

    #[test]
    fn strangers_share_a_pool_until_it_is_empty() {
        let mut server = Server::new();
        let mut lent = std::collections::BTreeSet::new();
        for last in 0..55 {
            let (.., offer) = ask(
                &mut server,
                &message([2, 0, 0, 0, 0, last], MessageType::Discover),
            )
            .unwrap();
            assert!((200..=254).contains(&offer.yiaddr().octets()[3]));
            lent.insert(offer.yiaddr());
        }
        assert_eq!(lent.len(), 55);
        assert!(ask(&mut server, &message(STRANGER, MessageType::Discover)).is_none());
        let (.., again) = ask(&mut server, &message([2, 0, 0, 0, 0, 7], MessageType::Discover)).unwrap();
        assert!(lent.contains(&again.yiaddr()));
    }

    #[test]
    fn the_clients_identifier_comes_back() {
        let mut discover = message(BOARD, MessageType::Discover);
        discover
            .opts_mut()
            .insert(DhcpOption::ClientIdentifier(vec![1, 2, 3]));
        let (.., offer) = ask(&mut Server::new(), &discover).unwrap();
        let identifier = offer.opts().get(OptionCode::ClientIdentifier);
        assert_eq!(identifier, Some(&DhcpOption::ClientIdentifier(vec![1, 2, 3])));
    }

    #[test]
    fn other_packets_pass_by_and_broken_requests_are_met_with_silence() {
        let mut server = Server::new();
        assert_eq!(server.receive(&[0; 14]), None);
        let mut other = Vec::new();
        let builder = PacketBuilder::ethernet2(BOARD, [0xff; 6])
            .ipv4([0; 4], [255; 4], 64)
            .udp(68, 5353);
        builder.write(&mut other, b"not DHCP").unwrap();
        assert_eq!(server.receive(&other), None);

        let good = message(BOARD, MessageType::Discover);
        let whole = good.to_vec().unwrap();
        for payload in [&whole[..0], &whole[..3], &whole[..200], &[0xff; 300]] {
            let mut broken = Vec::new();
            PacketBuilder::ethernet2(BOARD, [0xff; 6])
                .ipv4([0; 4], [255; 4], 64)
                .udp(CLIENT_PORT, SERVER_PORT)
                .write(&mut broken, payload)
                .unwrap();
            assert_eq!(server.receive(&broken), Some(Answer::Silence));
        }
        let mut relayed = good.clone();
        relayed.set_giaddr([10, 0, 0, 1]);
        assert_eq!(server.receive(&frame(&relayed)), Some(Answer::Silence));
        let mut reply = good;
        reply.set_opcode(Opcode::BootReply);
        assert_eq!(server.receive(&frame(&reply)), Some(Answer::Silence));
    }

    proptest::proptest! {
        #[test]
        fn no_frame_makes_it_panic(payload: Vec<u8>, cut in 0usize..400) {
            let mut server = Server::new();
            server.receive(&payload);
            let mut mangled = frame(&message(BOARD, MessageType::Discover));
            mangled.truncate(mangled.len().saturating_sub(cut));
            mangled.extend_from_slice(&payload);
            server.receive(&mangled);
        }
    }
}
