//! The listening socket.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use async_io::Async;
use edge_nal::TcpAccept;
use edge_nal_std::TcpSocket;

/// Accepts connections on loopback. Unlike `edge_nal_std`'s own acceptor it knows its port, and sends without delay.
pub struct Listener(Async<TcpListener>);

impl Listener {
    /// Listens on `port` of 127.0.0.1, or on any free one if it is 0.
    pub fn bind(port: u16) -> io::Result<Self> {
        Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, port)).map(Self)
    }

    /// Where it listens.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.get_ref().local_addr()
    }
}

impl TcpAccept for Listener {
    type Error = io::Error;
    type Socket<'a> = TcpSocket;

    async fn accept(&self) -> io::Result<(SocketAddr, TcpSocket)> {
        let (socket, peer) = self.0.accept().await?;
        // Pipelined answers would otherwise wait for the client's delayed acknowledgement.
        socket.get_ref().set_nodelay(true)?;
        Ok((peer, TcpSocket::new(socket)))
    }
}
