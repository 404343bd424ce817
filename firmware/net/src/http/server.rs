//! Drives the connections over `edge-nal` sockets, all on one task.

use core::cell::{Cell, RefCell};
use core::convert::Infallible;
use core::num::NonZeroU32;
use core::time::Duration;

use edge_nal::{Close, TcpAccept, TcpShutdown};
use embassy_futures::join::{join, join_array};
use embassy_futures::select::{Either, Either3, select, select3};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::{Instant, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use mcp_device::{Board, Device, Millis, Request, Response};

use super::fault::Fault;
use super::pace::Pace;
use super::policy::{Buffer, Phase, Table, Verdict};
use super::pool::{Lease, Pool};
use super::{
    ANSWER_DEADLINE, ANSWER_MAX, BODY_MAX, BUFFER_WAIT, CONNECTION_BYTES, HEAD_ROOM, MAX_HEADERS,
    WRITE_DEADLINE,
};
use super::{Action, Connection, Hosts};

/// Bytes of an answer buffer.
const ANSWER_BYTES: usize = HEAD_ROOM + ANSWER_MAX;
/// Longest answer body that need not be in the buffer lent to [`Handler::handle`], bytes.
pub const CONSTANT_MAX: usize = 128;
/// For a closing handshake with a client that may be gone.
const CLOSE_DEADLINE: Duration = Duration::from_millis(250);
/// Between two attempts to accept when the network gives an error.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// Answers requests.
pub trait Handler {
    /// Answers `request`; the body of the answer is borrowed from `answer`, [`ANSWER_MAX`] bytes, or a constant of at
    /// most [`CONSTANT_MAX`] bytes. Several calls may be under way at once, on one thread. A call that takes longer than [`ANSWER_DEADLINE`] is
    /// dropped, and answered 503.
    #[allow(async_fn_in_trait)] // one executor, one thread: the future need not be Send
    async fn handle<'a>(&self, now: Millis, request: &Request<'_>, answer: &'a mut [u8]) -> Response<'a>;
}

impl<B: Board> Handler for Device<B> {
    async fn handle<'a>(&self, now: Millis, request: &Request<'_>, answer: &'a mut [u8]) -> Response<'a> {
        Device::handle(self, now, request, answer).await
    }
}

/// The memory of a server for `CONNECTIONS` sockets, with `BODIES` buffers for bodies and `ANSWERS` for answers. All of
/// it is zero at the start, so that a static one takes no flash.
pub struct Server<const CONNECTIONS: usize, const BODIES: usize, const ANSWERS: usize> {
    connections: [[u8; CONNECTION_BYTES]; CONNECTIONS],
    bodies: [[u8; BODY_MAX]; BODIES],
    answers: [[u8; ANSWER_BYTES]; ANSWERS],
}

impl<const CONNECTIONS: usize, const BODIES: usize, const ANSWERS: usize> Default
    for Server<CONNECTIONS, BODIES, ANSWERS>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<const CONNECTIONS: usize, const BODIES: usize, const ANSWERS: usize>
    Server<CONNECTIONS, BODIES, ANSWERS>
{
    /// A server that doesn't run yet. Keep it in a static: it is large.
    pub const fn new() -> Self {
        const { assert!(CONNECTIONS > 0 && BODIES > 0 && ANSWERS > 0) }
        Self {
            connections: [[0; CONNECTION_BYTES]; CONNECTIONS],
            bodies: [[0; BODY_MAX]; BODIES],
            answers: [[0; ANSWER_BYTES]; ANSWERS],
        }
    }

    /// Takes the server apart, for an executor that runs each connection as a task of its own: what they share, and
    /// a seat for each. Spawn [`Shared::make_room`] once and [`Shared::serve`] once a seat. That takes far less stack
    /// than [`Server::run`], which makes all the futures before it stores them, and a packet wakes one task only.
    pub fn split(&mut self) -> (Shared<'_, CONNECTIONS, BODIES, ANSWERS>, [Seat<'_>; CONNECTIONS]) {
        let shared = Shared {
            table: RefCell::new(Table::new()),
            pace: Cell::new(Pace::new()),
            changed: Signal::new(),
            leave: [const { Signal::new() }; CONNECTIONS],
            bodies: Pool::new(&mut self.bodies),
            answers: Pool::new(&mut self.answers),
        };
        let mut index = 0..CONNECTIONS;
        let seats = self.connections.each_mut().map(|buffer| {
            let index = index.next().unwrap_or_default();
            let connection = Connection::new(buffer);
            Seat { index, connection }
        });
        (shared, seats)
    }

    /// Serves for ever, on one task. `acceptor` must be able to have `CONNECTIONS` sockets open at once. An error of the
    /// network ends one connection at most.
    pub async fn run<A: TcpAccept, H: Handler>(
        &mut self,
        acceptor: &A,
        handler: &H,
        hosts: &Hosts<'_>,
    ) -> Infallible {
        let (shared, seats) = self.split();
        let connections = seats.map(|seat| shared.serve(seat, acceptor, handler, hosts));
        join(shared.make_room(), join_array(connections)).await.0
    }
}

/// The place of one connection at a time in a [`Server`].
pub struct Seat<'s> {
    index: usize,
    connection: Connection<'s>,
}

/// What the connections of a [`Server`] share.
pub struct Shared<'b, const C: usize, const B: usize, const A: usize> {
    table: RefCell<Table<C>>,
    pace: Cell<Pace>,
    changed: Signal<NoopRawMutex, ()>,
    leave: [Signal<NoopRawMutex, ()>; C],
    bodies: Pool<'b, B, BODY_MAX, C>,
    answers: Pool<'b, A, ANSWER_BYTES, C>,
}

impl<const C: usize, const B: usize, const A: usize> Shared<'_, C, B, A> {
    /// Has the connections that must make room leave, for ever.
    pub async fn make_room(&self) -> Infallible {
        loop {
            let verdict = self.table.borrow_mut().settle(self.now());
            match verdict {
                Verdict::Leave(index) => {
                    if let Some(leave) = self.leave.get(index) {
                        leave.signal(());
                    }
                }
                Verdict::Later(at) => {
                    select(self.changed.wait(), Timer::at(self.instant(at))).await;
                }
                Verdict::Settled => self.changed.wait().await,
            }
        }
    }

    /// Serves one connection after the other in `seat`, for ever. An error of the network ends one of them at most.
    pub async fn serve<S: TcpAccept, H: Handler>(
        &self,
        seat: Seat<'_>,
        acceptor: &S,
        handler: &H,
        hosts: &Hosts<'_>,
    ) -> Infallible {
        let Seat { index, connection } = seat;
        Worker {
            index,
            shared: self,
            handler,
            hosts,
        }
        .run(acceptor, connection)
        .await
    }

    /// From now on every time limit takes `factor` times as long as it says, for a network on which frames are lost.
    pub fn stretch_deadlines(&self, factor: NonZeroU32) {
        let mut pace = self.pace.get();
        pace.stretch(factor, real_time());
        self.pace.set(pace);
        self.changed.signal(());
    }

    /// Time as the limits count it.
    fn now(&self) -> Millis {
        self.pace.get().shown(real_time())
    }

    fn instant(&self, at: Millis) -> Instant {
        Instant::from_millis(self.pace.get().real(at).0)
    }

    fn ticks(&self, limit: Duration) -> embassy_time::Duration {
        let time = self.pace.get().really(limit);
        embassy_time::Duration::from_millis(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    fn update(&self, change: impl FnOnce(&mut Table<C>)) {
        change(&mut self.table.borrow_mut());
        self.changed.signal(());
    }
}

/// Serves one connection after the other.
struct Worker<'s, 'b, H, const C: usize, const B: usize, const A: usize> {
    index: usize,
    shared: &'s Shared<'b, C, B, A>,
    handler: &'s H,
    hosts: &'s Hosts<'s>,
}

type Body<'p, 'b, const C: usize> = Lease<'p, 'b, BODY_MAX, C>;
type Answer<'p, 'b, const C: usize> = Lease<'p, 'b, ANSWER_BYTES, C>;

/// The connection can't be used any more.
struct Broken;

/// A request that waits for a buffer, until dropped: the wait may be given up.
struct Waiting<'s, 'b, const C: usize, const B: usize, const A: usize> {
    shared: &'s Shared<'b, C, B, A>,
    buffer: Buffer,
}

impl<'s, 'b, const C: usize, const B: usize, const A: usize> Waiting<'s, 'b, C, B, A> {
    fn new(shared: &'s Shared<'b, C, B, A>, buffer: Buffer) -> Self {
        shared.update(|table| table.wait(buffer));
        Self { shared, buffer }
    }
}

impl<const C: usize, const B: usize, const A: usize> Drop for Waiting<'_, '_, C, B, A> {
    fn drop(&mut self) {
        self.shared.update(|table| table.waited(self.buffer));
    }
}

impl<'s, 'b, H: Handler, const C: usize, const B: usize, const A: usize> Worker<'s, 'b, H, C, B, A> {
    async fn run<S: TcpAccept>(self, acceptor: &S, mut connection: Connection<'_>) -> Infallible {
        loop {
            match acceptor.accept().await {
                Ok((_, mut socket)) => {
                    connection.open(self.shared.now());
                    let served = self.serve(&mut connection, &mut socket).await;
                    self.enter(Phase::Closing, false);
                    if served.is_err() || !connection.is_ended() {
                        let _ = with_timeout(self.shared.ticks(CLOSE_DEADLINE), socket.abort()).await;
                    }
                    drop(socket);
                    self.enter(Phase::Free, false);
                }
                Err(_) => Timer::after(self.shared.ticks(ACCEPT_RETRY)).await,
            }
        }
    }

    /// Until the connection is over; an error means that it broke.
    async fn serve<T>(&self, connection: &mut Connection<'_>, socket: &mut T) -> Result<(), Broken>
    where
        T: Read + Write + TcpShutdown,
    {
        let mut body: Option<Body<'_, '_, C>> = None;
        loop {
            let action = connection.poll(
                self.shared.now(),
                self.hosts,
                body.as_deref_mut().map(|b| &mut b[..]),
            );
            if matches!(action, Action::Send | Action::HalfClose | Action::Close) {
                body = None;
            }
            self.enter(connection.phase(), body.is_some());
            match action {
                Action::Read => self.read(connection, socket).await?,
                // Who waits may have to make room too.
                Action::Buffer => match select(self.body_buffer(), self.leave().wait()).await {
                    Either::First(Some(buffer)) => body = Some(buffer),
                    Either::First(None) => connection.refuse(Fault::NoBuffer),
                    Either::Second(()) => connection.evict(),
                },
                Action::Send => {
                    self.send(socket, connection.output()).await?;
                    connection.sent();
                }
                Action::Handle => {
                    self.answer(connection, body.as_ref(), socket).await?;
                    body = None;
                }
                Action::HalfClose => {
                    let closed =
                        with_timeout(self.shared.ticks(CLOSE_DEADLINE), socket.close(Close::Write)).await;
                    if matches!(closed, Ok(Err(_))) {
                        return Err(Broken);
                    }
                }
                Action::Close => return Ok(()),
            }
        }
    }

    /// Tells the others what this connection is doing.
    fn enter(&self, phase: Phase, holds_buffer: bool) {
        let mut table = self.shared.table.borrow_mut();
        if table.set(self.index, phase, holds_buffer, self.shared.now()) {
            self.shared.changed.signal(());
        }
        if !table.is_leaving(self.index) {
            self.leave().reset();
        }
    }

    async fn read<T: Read>(&self, connection: &mut Connection<'_>, socket: &mut T) -> Result<(), Broken> {
        let deadline = Timer::at(self.shared.instant(connection.deadline()));
        // Bytes come first: a request that has arrived is not thrown out.
        match select3(socket.read(connection.room()), deadline, self.leave().wait()).await {
            Either3::First(Ok(0)) => connection.ended(),
            Either3::First(Ok(count)) => connection.received(count, self.shared.now()),
            Either3::First(Err(_)) => return Err(Broken),
            Either3::Second(()) => {}
            Either3::Third(()) => connection.evict(),
        }
        Ok(())
    }

    fn leave(&self) -> &'s Signal<NoopRawMutex, ()> {
        &self.shared.leave[self.index]
    }

    async fn body_buffer(&self) -> Option<Body<'s, 'b, C>> {
        if let Some(buffer) = self.shared.bodies.try_lend() {
            return Some(buffer);
        }
        let _waiting = Waiting::new(self.shared, Buffer::Body);
        self.shared.bodies.lend(self.shared.ticks(BUFFER_WAIT)).await
    }

    async fn answer_buffer(&self) -> Option<Answer<'s, 'b, C>> {
        if let Some(buffer) = self.shared.answers.try_lend() {
            return Some(buffer);
        }
        let _waiting = Waiting::new(self.shared, Buffer::Answer);
        self.shared.answers.lend(self.shared.ticks(BUFFER_WAIT)).await
    }

    async fn answer<T: Write>(
        &self,
        connection: &mut Connection<'_>,
        body: Option<&Body<'_, '_, C>>,
        socket: &mut T,
    ) -> Result<(), Broken> {
        let Some(mut buffer) = self.answer_buffer().await else {
            connection.refuse(Fault::NoBuffer);
            return Ok(());
        };
        match self.make_answer(connection, body, &mut buffer).await {
            Ok((from, to)) => {
                self.send(socket, buffer.get(from..to).unwrap_or_default())
                    .await?;
                connection.answered(self.shared.now());
            }
            Err(fault) => connection.refuse(fault),
        }
        Ok(())
    }

    /// Sends all of `bytes`, if the client takes them in time and need not make room meanwhile.
    async fn send<T: Write>(&self, socket: &mut T, mut bytes: &[u8]) -> Result<(), Broken> {
        let mut deadline = Timer::after(self.shared.ticks(WRITE_DEADLINE));
        while !bytes.is_empty() {
            self.taken();
            // No flush: it may wait for the acknowledgement, and closing does that anyway.
            match select3(socket.write(bytes), &mut deadline, self.leave().wait()).await {
                Either3::First(Ok(count @ 1..)) => bytes = bytes.get(count..).unwrap_or_default(),
                _ => return Err(Broken),
            }
        }
        Ok(())
    }

    /// Tells the others that the client takes its answer.
    fn taken(&self) {
        let mut table = self.shared.table.borrow_mut();
        if table.taken(self.index, self.shared.now()) {
            self.shared.changed.signal(());
        }
        if !table.is_leaving(self.index) {
            self.leave().reset();
        }
    }

    /// Has the device answer, and puts the head in front of the body, so that both leave in one piece. Gives the range
    /// of the whole in `buffer`.
    async fn make_answer(
        &self,
        connection: &Connection<'_>,
        body: Option<&Body<'_, '_, C>>,
        buffer: &mut [u8; ANSWER_BYTES],
    ) -> Result<(usize, usize), Fault> {
        let base = buffer.as_ptr().addr();
        let mut slots = [("", &[][..]); MAX_HEADERS];
        let request = connection
            .request(body.map(|b| &b[..]), &mut slots)
            .ok_or(Fault::RequestLine)?;
        let answer = self
            .handler
            .handle(real_time(), &request, &mut buffer[HEAD_ROOM..]);
        let response = with_timeout(self.shared.ticks(ANSWER_DEADLINE), answer)
            .await
            .map_err(|_| Fault::NoAnswer)?;

        let (head, has_body) = connection.answer(&response).ok_or(Fault::BadAnswer)?;
        let length = response.body.len();
        let place = response.body.as_ptr().addr().wrapping_sub(base);
        let in_place = (HEAD_ROOM..ANSWER_BYTES).contains(&place) && length <= ANSWER_BYTES - place;
        let start = if in_place { place } else { HEAD_ROOM };
        if !in_place {
            let constant: heapless::Vec<u8, CONSTANT_MAX> =
                heapless::Vec::from_slice(response.body).map_err(|_| Fault::BadAnswer)?;
            buffer[HEAD_ROOM..HEAD_ROOM + constant.len()].copy_from_slice(&constant);
        }
        let from = start - head.len();
        buffer[from..start].copy_from_slice(head.as_bytes());
        Ok((from, if has_body { start + length } else { start }))
    }
}

fn real_time() -> Millis {
    Millis(Instant::now().as_millis())
}
