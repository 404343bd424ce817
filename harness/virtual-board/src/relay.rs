//! A loopback address outside for each board inside. The listening sockets are made before the namespace is
//! entered and so stay in the machine's own network; connections accepted there are carried to the board here.
//!
//! What a board does to a connection reaches the other side as bytes and an end; a reset becomes an end. Tests of
//! such things dial the board itself, inside.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::Error;

/// How long a board may take to accept a connection; after that the client's is closed.
const CONNECT: Duration = Duration::from_secs(5);
/// Connections to one board at a time; more are closed at once.
const MAX_CONNECTIONS: usize = 64;

/// Sockets that listen on any free ports of loopback, in the network of the caller.
pub fn listen(count: usize) -> Result<Vec<TcpListener>, Error> {
    (0..count)
        .map(|_| {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            listener.set_nonblocking(true)?;
            Ok(listener)
        })
        .collect::<io::Result<_>>()
        .map_err(Error::io("listen on loopback"))
}

/// The relay at work, on a thread of its own. Dropping it closes all connections.
pub struct Relay {
    addresses: Vec<SocketAddr>,
    open: Vec<watch::Sender<bool>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Relay {
    /// Starts to carry connections from each listener to the target beside it. All are closed at first.
    pub fn start(relays: Vec<(TcpListener, SocketAddr)>) -> Result<Self, Error> {
        let local = |(listener, _): &(TcpListener, _)| listener.local_addr();
        let addresses = relays.iter().map(local).collect::<io::Result<_>>();
        let addresses = addresses.map_err(Error::io("ask for the relay's port"))?;
        let (open, opened): (Vec<_>, Vec<_>) = relays.iter().map(|_| watch::channel(false)).unzip();
        let (stop, stopped) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::io("start the relay's runtime"))?;
        let work = async move {
            for ((listener, target), opened) in relays.into_iter().zip(opened) {
                tokio::spawn(serve(listener, target, opened));
            }
            let _ = stopped.await;
        };
        let thread = thread::Builder::new()
            .name("relay".to_owned())
            .spawn(move || runtime.block_on(work))
            .map_err(Error::io("start the relay's thread"))?;
        Ok(Relay {
            addresses,
            open,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where a board is reached from outside.
    pub fn address(&self, board: usize) -> SocketAddr {
        self.addresses[board]
    }

    /// Opens the way to a board, or closes it together with the connections there are.
    pub fn set_open(&self, board: usize, open: bool) {
        self.open[board].send_replace(open);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn serve(listener: TcpListener, target: SocketAddr, open: watch::Receiver<bool>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // Out of file descriptors, most likely: no use in asking again at once.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(place) = Arc::clone(&room).try_acquire_owned() else {
            continue;
        };
        let mut open = open.clone();
        if *open.borrow_and_update() {
            tokio::spawn(async move {
                tokio::select! {
                    _ = carry(client, target) => {}
                    _ = open.wait_for(|open| !open) => {}
                }
                drop(place);
            });
        }
    }
}

async fn carry(mut client: TcpStream, target: SocketAddr) -> io::Result<()> {
    let mut board = timeout(CONNECT, TcpStream::connect(target)).await??;
    client.set_nodelay(true)?;
    board.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut client, &mut board).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};

    use super::*;

    /// A relay to a listener that stands in for a board.
    fn relay() -> (Relay, TcpListener) {
        let board = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let target = board.local_addr().unwrap();
        let listener = listen(1).unwrap().remove(0);
        (Relay::start(vec![(listener, target)]).unwrap(), board)
    }

    fn dial(relay: &Relay) -> TcpStream {
        let client = TcpStream::connect(relay.address(0)).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        client
    }

    #[test]
    fn bytes_go_both_ways_and_each_side_may_end_first() {
        let (relay, board) = relay();
        relay.set_open(0, true);
        let mut client = dial(&relay);
        client.write_all(b"request").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut at_board, _) = board.accept().unwrap();
        let mut text = String::new();
        at_board.read_to_string(&mut text).unwrap();
        assert_eq!(text, "request");
        at_board.write_all(b"answer").unwrap();
        drop(at_board);
        text.clear();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "answer");
    }

    #[test]
    fn a_board_that_is_off_closes_the_connection() {
        let (relay, board) = relay();
        assert_eq!(dial(&relay).read(&mut [0]).unwrap(), 0);
        board.set_nonblocking(true).unwrap();
        assert_eq!(board.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn switching_a_board_off_ends_its_connections() {
        let (relay, board) = relay();
        relay.set_open(0, true);
        let mut client = dial(&relay);
        let _at_board = board.accept().unwrap();
        relay.set_open(0, false);
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }

    #[test]
    fn dropping_the_relay_frees_its_port() {
        let (relay, _board) = relay();
        let address = relay.address(0);
        drop(relay);
        assert_eq!(
            TcpStream::connect(address).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
    }
}
