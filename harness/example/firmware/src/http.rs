//! HTTP: mcp-device-net's connections on smoltcp's sockets.

use alloc::vec;
use alloc::vec::Vec;

use mcp_device::{Millis, Request, Response};
use mcp_device_net::http::{Action, BODY_MAX, CONNECTION_BYTES, Connection, Fault, Hosts, MAX_HEADERS};
use smoltcp::iface::SocketHandle;
use smoltcp::socket::tcp;

use crate::network::Network;

const CONNECTIONS: usize = 6;
const BUFFER: usize = 4096;

/// Connections, each on a socket of its own.
pub struct Server {
    seats: Vec<Seat>,
    port: u16,
}

struct Seat {
    socket: SocketHandle,
    connection: Connection<'static>,
    body: Vec<u8>,
    /// Not sent yet.
    output: Vec<u8>,
    is_open: bool,
}

/// What the MCP server answers: HTTP status, and the body if there is one.
pub type Answer = (u16, Option<Vec<u8>>);

impl Server {
    /// Listens on a port.
    pub fn new(network: &mut Network, port: u16) -> Self {
        let seat = |_| {
            let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
            let memory = vec![0; CONNECTION_BYTES].leak();
            let memory = memory.try_into().expect("it has this length");
            Seat {
                socket: network.sockets.add(tcp::Socket::new(buffer(), buffer())),
                connection: Connection::new(memory),
                body: vec![0; BODY_MAX],
                output: Vec::new(),
                is_open: false,
            }
        };
        let seats = (0..CONNECTIONS).map(seat).collect();
        Self { seats, port }
    }

    /// Goes on with every connection as far as it goes now.
    pub fn poll(
        &mut self,
        network: &mut Network,
        hosts: &Hosts<'_>,
        now: Millis,
        mut answer: impl FnMut(&Request<'_>) -> Answer,
    ) {
        for seat in &mut self.seats {
            let socket = network.sockets.get_mut::<tcp::Socket<'_>>(seat.socket);
            seat.poll(socket, self.port, hosts, now, &mut answer);
        }
    }
}

impl Seat {
    fn poll(
        &mut self,
        socket: &mut tcp::Socket<'_>,
        port: u16,
        hosts: &Hosts<'_>,
        now: Millis,
        answer: &mut impl FnMut(&Request<'_>) -> Answer,
    ) {
        if !socket.is_open() {
            self.is_open = false;
            socket.listen(port).expect("a closed socket can listen");
            socket.set_nagle_enabled(false);
        }
        if !self.is_open {
            if !socket.is_active() || !socket.may_send() {
                return;
            }
            self.is_open = true;
            self.output.clear();
            self.connection.open(now);
        }
        loop {
            if !self.output.is_empty() {
                match socket.send_slice(&self.output) {
                    Ok(sent) => drop(self.output.drain(..sent)),
                    Err(_) => return socket.abort(),
                }
                if !self.output.is_empty() {
                    return;
                }
            }
            match self.connection.poll(now, hosts, Some(&mut self.body)) {
                Action::Read if socket.can_recv() => match socket.recv_slice(self.connection.room()) {
                    Ok(count) => self.connection.received(count, now),
                    Err(_) => return socket.abort(),
                },
                Action::Read if !socket.may_recv() && !self.connection.is_ended() => self.connection.ended(),
                Action::Read if now < self.connection.deadline() => return,
                // polled again, it ends by itself
                Action::Read | Action::Buffer => {}
                Action::Send => {
                    self.output.extend_from_slice(self.connection.output());
                    self.connection.sent();
                }
                Action::Handle => self.handle(now, answer),
                Action::HalfClose => socket.close(),
                Action::Close => {
                    self.is_open = false;
                    return socket.abort();
                }
            }
        }
    }

    fn handle(&mut self, now: Millis, answer: &mut impl FnMut(&Request<'_>) -> Answer) {
        let mut slots = [("", &[][..]); MAX_HEADERS];
        let Some(request) = self.connection.request(Some(&self.body), &mut slots) else {
            return self.connection.refuse(Fault::RequestLine);
        };
        let (status, body) = answer(&request);
        let response = Response {
            status,
            content_type: body.is_some().then_some("application/json"),
            allow: (status == 405).then_some("POST"),
            body: body.as_deref().unwrap_or_default(),
        };
        match self.connection.answer(&response) {
            Some((head, has_body)) => {
                self.output.extend_from_slice(head.as_bytes());
                if has_body {
                    self.output.extend_from_slice(response.body);
                }
                self.connection.answered(now);
            }
            None => self.connection.refuse(Fault::BadAnswer),
        }
    }
}
