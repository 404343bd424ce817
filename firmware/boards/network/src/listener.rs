//! TCP sockets that listen, more than there are connections. The network stack has no backlog: a client that comes while
//! no socket listens is refused, and one that comes while all connections are taken could not wait for its turn.

use core::net::SocketAddr;
use core::num::NonZeroU32;
use core::sync::atomic::{AtomicU32, Ordering};

use edge_nal::{Close, Readable, TcpAccept, TcpShutdown, TcpSplit};
use embassy_executor::Spawner;
use embassy_net::Stack;
use embassy_net::tcp::{self, State, TcpReader, TcpSocket, TcpWriter};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::mutex::{Mutex, MutexGuard};
use embassy_sync::semaphore::{FairSemaphore, Semaphore};
use embassy_time::{Duration, with_timeout};
use embedded_io_async::{ErrorType, Read, Write};
use static_cell::{ConstStaticCell, StaticCell};

/// Sockets, each of which takes some 5 KB: for eight connections, those that end, and clients that wait. A client that
/// comes while none is free asks again after a second, so fewer make a crowd wait for longer and lose nobody.
pub const SOCKETS: usize = if cfg!(feature = "few-sockets") { 10 } else { 14 };
/// Bytes that a socket holds for the client: two full segments, which a client acknowledges without delay.
const SEND: usize = 2920;
/// Bytes that a socket holds from the client: a full segment.
const RECEIVE: usize = 1460;

/// For a client that does not complete its handshake, or is gone without a word. Longer than every deadline of HTTP.
pub(crate) const SILENCE: Duration = Duration::from_secs(20);
/// For a client to acknowledge the end of its connection, before the socket listens again.
const FAREWELL: Duration = Duration::from_millis(250);

/// How many times as long these limits are for clients that have come.
static STRETCH: AtomicU32 = AtomicU32::new(1);

/// Has clients that come from now on be waited for `factor` times as long, for a network on which frames are lost; to be
/// called together with `mcp_device_net::http::Shared::stretch_deadlines`.
pub fn stretch_deadlines(factor: NonZeroU32) {
    STRETCH.store(factor.get(), Ordering::Relaxed);
}

fn stretched(limit: Duration) -> Duration {
    limit * STRETCH.load(Ordering::Relaxed)
}

type Socket = Mutex<NoopRawMutex, TcpSocket<'static>>;
type Accepted = Channel<NoopRawMutex, Connection, SOCKETS>;

/// Clients that have come.
#[derive(Clone, Copy)]
pub struct Listener {
    accepted: &'static Accepted,
    /// Whose turn it is to take the next one: a channel knows one receiver, and several would wake each other for ever.
    turn: &'static FairSemaphore<NoopRawMutex, SOCKETS>,
}

impl Listener {
    /// Listens on `port`. To be called once.
    pub fn start(spawner: Spawner, stack: Stack<'static>, port: u16) -> Self {
        static BUFFERS: ConstStaticCell<[([u8; RECEIVE], [u8; SEND]); SOCKETS]> =
            ConstStaticCell::new([([0; RECEIVE], [0; SEND]); SOCKETS]);
        static SOCKET: StaticCell<[Socket; SOCKETS]> = StaticCell::new();
        static ACCEPTED: StaticCell<Accepted> = StaticCell::new();
        static TURN: StaticCell<FairSemaphore<NoopRawMutex, SOCKETS>> = StaticCell::new();

        let accepted = ACCEPTED.init(Channel::new());
        let sockets = BUFFERS.take().each_mut().map(|(receive, send)| {
            let mut socket = TcpSocket::new(stack, receive, send);
            socket.set_nagle_enabled(false);
            Mutex::new(socket)
        });
        for socket in SOCKET.init(sockets) {
            spawner.spawn(listen(socket, port, accepted).expect("as many tasks as sockets"));
        }
        Self {
            accepted,
            turn: TURN.init(FairSemaphore::new(1)),
        }
    }
}

/// Listens with one socket whenever nobody uses it.
#[embassy_executor::task(pool_size = SOCKETS)]
async fn listen(socket: &'static Socket, port: u16, accepted: &'static Accepted) {
    loop {
        let mut socket = socket.lock().await;
        end(&mut socket).await;
        socket.set_timeout(Some(SILENCE));
        if socket.accept(port).await.is_ok() {
            socket.set_timeout(Some(stretched(SILENCE)));
            accepted.send(Connection(socket)).await;
        }
    }
}

/// Ends what the last client left, in good order if it takes part.
async fn end(socket: &mut TcpSocket<'_>) {
    let farewell = stretched(FAREWELL);
    socket.close();
    let _ = with_timeout(farewell, socket.flush()).await;
    if !matches!(socket.state(), State::Closed | State::TimeWait) {
        socket.abort();
        let _ = with_timeout(farewell, socket.flush()).await;
    }
}

impl TcpAccept for Listener {
    type Error = tcp::Error;
    type Socket<'a> = Connection;

    async fn accept(&self) -> Result<(SocketAddr, Connection), tcp::Error> {
        let _turn = self
            .turn
            .acquire(1)
            .await
            .expect("fewer wait than there are sockets");
        loop {
            let connection = self.accepted.receive().await;
            if let Some(peer) = connection.0.remote_endpoint() {
                return Ok((SocketAddr::new(peer.addr.into(), peer.port), connection));
            }
        }
    }
}

/// A client's connection. When it is dropped its socket is ended, and listens again.
pub struct Connection(MutexGuard<'static, NoopRawMutex, TcpSocket<'static>>);

impl ErrorType for Connection {
    type Error = tcp::Error;
}

impl Read for Connection {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, tcp::Error> {
        self.0.read(bytes).await
    }
}

impl Write for Connection {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, tcp::Error> {
        self.0.write(bytes).await
    }

    async fn flush(&mut self) -> Result<(), tcp::Error> {
        self.0.flush().await
    }
}

impl Readable for Connection {
    async fn readable(&mut self) -> Result<(), tcp::Error> {
        self.0.wait_read_ready().await;
        Ok(())
    }
}

impl TcpShutdown for Connection {
    async fn close(&mut self, what: Close) -> Result<(), tcp::Error> {
        // The stack can't refuse to read on: closing ends the writing side only.
        if matches!(what, Close::Write | Close::Both) {
            self.0.close();
        }
        self.0.flush().await
    }

    async fn abort(&mut self) -> Result<(), tcp::Error> {
        self.0.abort();
        self.0.flush().await
    }
}

impl TcpSplit for Connection {
    type Read<'a> = Reader<'a>;
    type Write<'a> = TcpWriter<'a>;

    fn split(&mut self) -> (Reader<'_>, TcpWriter<'_>) {
        let (reader, writer) = self.0.split();
        (Reader(reader), writer)
    }
}

/// The reading half of a [`Connection`].
pub struct Reader<'a>(TcpReader<'a>);

impl ErrorType for Reader<'_> {
    type Error = tcp::Error;
}

impl Read for Reader<'_> {
    async fn read(&mut self, bytes: &mut [u8]) -> Result<usize, tcp::Error> {
        self.0.read(bytes).await
    }
}

impl Readable for Reader<'_> {
    async fn readable(&mut self) -> Result<(), tcp::Error> {
        self.0.wait_read_ready().await;
        Ok(())
    }
}
